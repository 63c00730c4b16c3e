# SPDX-License-Identifier: Apache-2.0
"""The lines of a placement to paste: Terraform, fstab and persistent volumes of Kubernetes.

Names come from outside, so each form escapes them. Sources: the documents of `oci_file_storage_mount_target`,
`oci_file_storage_export` and `oci_file_storage_mount_targets` in oracle/terraform-provider-oci, read 2026-11-28, fstab(5), and
`PersistentVolume` of Kubernetes v1.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from fss_exporter.terminal_text import printable
from fss_toolbox.hcl import assignments, quoted
from fss_toolbox.plan.fleet_placement import FleetPlacement, MovingMount
from fss_toolbox.sizing.placement import Move, PlacedTarget

_POD: Final = "/var/lib/kubelet/"  # below it the kubelet mounts the volumes of pods

_OPTION: Final = re.compile(r"[A-Za-z0-9._:-]+")
_NOT_A_NAME: Final = re.compile(r"[^a-z0-9]+")


def address_of(fleet: FleetPlacement, name: str) -> str:
    """Return the address of a mount target, or a word in its place that no client can mount."""
    address = fleet.addresses.get(name) or f"ADDRESS-OF-{name}"
    return f"[{address}]" if ":" in address else address


def fstab_lines(fleet: FleetPlacement) -> dict[str, list[str]]:
    """Return lines of /etc/fstab by client. Clients that are not scraped are under an empty name, as comments."""
    lines: dict[str, list[str]] = defaultdict(list)
    for move in fleet.placement.moves:
        device = f"{address_of(fleet, move.target)}:{move.path}"
        if not move.part.client:
            lines[""].append(f"# {_others(fleet, move)}: mount {printable(device)} in place of {_present(fleet, move)}")
            continue
        own = _mounts_of(fleet, move)
        if not own:
            lines[move.part.client].append(f"# mount point not known: {printable(device)}")
        for mount in own:
            if not mount.mount_point.startswith(_POD):
                lines[move.part.client].append(_fstab_line(device, mount))
    return lines


def _others(fleet: FleetPlacement, move: Move) -> str:
    name = fleet.names.get(move.part.file_system) or move.part.file_system
    share = "all" if move.share == 1 else f"{move.share:.0%} of the"
    return f"{share} clients of {printable(name)} that are not scraped"


def _present(fleet: FleetPlacement, move: Move) -> str:
    path = fleet.target_named(move.source).path_of(move.part.file_system) or ""
    return printable(f"{address_of(fleet, move.source)}:{path}")


def _mounts_of(fleet: FleetPlacement, move: Move) -> list[MovingMount]:
    wanted = (move.part.client, move.source, move.part.file_system)
    return [mount for mount in fleet.mounts if (mount.client, mount.source, mount.file_system) == wanted]


def _fstab_line(device: str, mount: MovingMount) -> str:
    if mount.encrypted == "true":
        return f"# encrypted in transit, mount it as today from {printable(device)}: {printable(mount.mount_point)}"
    fields = (
        _fstab_field(device),
        _fstab_field(mount.mount_point),
        "nfs",
        ",".join((*_options(mount), "_netdev")),
        "0",
        "0",
    )
    return " ".join(fields)


def _fstab_field(text: str) -> str:
    """Return a text without white space, as fstab(5) wants it: an escape has the octal number of a byte."""
    return "".join(
        "".join(f"\\{byte:03o}" for byte in sign.encode()) if sign in " \\#" or not sign.isprintable() else sign
        for sign in text
    )


def _options(mount: MovingMount) -> Iterator[str]:
    yield "soft" if mount.hard == "false" else "hard"
    for name, value, default in (
        ("vers", mount.nfs_version, ""),
        ("nconnect", mount.nconnect, "1"),
        ("sec", mount.sec, "sys"),
    ):
        if value not in ("", default) and _OPTION.fullmatch(value):
            yield f"{name}={value}"


def persistent_volumes(fleet: FleetPlacement) -> str:
    """Return a volume for each mounted file system on another mount target, as YAML. Empty if no pod moves."""
    volumes: dict[tuple[str, str], dict[str, Any]] = {}
    for move in fleet.placement.moves:
        pods = [mount for mount in _mounts_of(fleet, move) if mount.mount_point.startswith(_POD)]
        if pods or not move.part.client:
            options = list(_options(pods[0])) if pods else []
            key = (move.part.file_system, move.target)
            volumes.setdefault(key, _volume(f"fss-{len(volumes) + 1}", fleet, move, options))
    documents = yaml.safe_dump_all(volumes.values(), sort_keys=False, explicit_start=True, allow_unicode=True)
    return str(documents) if volumes else ""


def _volume(name: str, fleet: FleetPlacement, move: Move, options: Sequence[str]) -> dict[str, Any]:
    """Return a volume. The capacity only has to match a claim: a file system has no size."""
    readable = _NOT_A_NAME.sub("-", fleet.names.get(move.part.file_system, "").lower()).strip("-")[:40].rstrip("-")
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{name}-{readable}" if readable else name},
        "spec": {
            "capacity": {"storage": "50Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            **({"mountOptions": list(options)} if options else {}),
            "nfs": {"server": address_of(fleet, move.target).strip("[]"), "path": move.path},
        },
    }


def terraform(fleet: FleetPlacement) -> str:
    """Return new mount targets and exports, with variables for what Prometheus does not have. Empty if nothing is new.

    Where mount targets of several compartments, networks or regions take part, each has a variable or a provider of its own.
    """
    new = [each for each in fleet.placement.targets if each.is_new]
    exports = [move for move in fleet.placement.moves if move.needs_export]
    present = sorted({move.target for move in exports} - {each.name for each in new})
    homes = {name: fleet.home_of(name) for name in (*(each.name for each in new), *present)}
    compartments = _numbered("compartment_id", (home.compartment for home in homes.values()))
    subnets = _numbered("subnet_id", (each.zone[0] for each in new))
    blocks = list(_variables(compartments, subnets, has_exports=bool(exports)))
    regions = sorted({home.region for home in homes.values()})
    common: dict[str, dict[str, str]] = {
        name: {
            **({"provider": f"oci.{_alias(home.region)}"} if len(regions) > 1 else {}),
            "compartment_id": f"var.{compartments[home.compartment]}",
        }
        for name, home in homes.items()
    }
    if len(regions) > 1:
        blocks += [_provider(region) for region in regions]
    blocks += [_new_mount_target(fleet, each, common[each.name], subnets[each.zone[0]]) for each in new]
    labels = {each.name: each.name.replace("-", "_") for each in new}
    for number, name in enumerate(present, 1):
        labels[name] = f"present_{number}"
        blocks.append(_present_mount_target(fleet, name, common[name], labels[name]))
    blocks += [
        _export(fleet, move, common[move.target], labels[move.target], number) for number, move in enumerate(exports, 1)
    ]
    return "\n".join(blocks)


def _variables(compartments: Mapping[str, str], subnets: Mapping[str, str], *, has_exports: bool) -> Iterator[str]:
    described = {
        name: f"of the compartment {compartment}" if compartment else "of the compartment of the mount targets"
        for compartment, name in compartments.items()
    }
    described |= {name: f"of the new mount targets in the network {network}" for network, name in subnets.items()}
    described |= {"client_cidr": "of the clients that may mount the new exports"} if has_exports else {}
    for name, text in described.items():
        yield _block(f"variable {quoted(name)}", {"type": "string", "description": quoted(text)})


def _numbered(variable: str, values: Iterable[str]) -> dict[str, str]:
    """Return the name of a variable for each value: the plain name for a single value, else with a number."""
    several = sorted(set(values))
    if len(several) == 1:
        return {several[0]: variable}
    return {value: f"{variable}_{number}" for number, value in enumerate(several, 1)}


def _alias(region: str) -> str:
    return "_".join(("in", *_NOT_A_NAME.sub(" ", region.lower()).split()))


def _provider(region: str) -> str:
    return _block('provider "oci"', {"alias": quoted(_alias(region)), "region": quoted(region)})


def _block(head: str, values: dict[str, str], inner: str = "") -> str:
    lines = [f"{head} {{", *assignments(values, "  ")]
    return "\n".join([*lines, *(["", inner] if inner else []), "}"]) + "\n"


def _new_mount_target(fleet: FleetPlacement, new: PlacedTarget, common: Mapping[str, str], subnet: str) -> str:
    values = {
        **common,
        "availability_domain": quoted(new.zone[1]),
        "subnet_id": f"var.{subnet}",
        "display_name": quoted(new.name),
    }
    if new.name in fleet.addresses:
        values["ip_address"] = quoted(fleet.addresses[new.name])
    return _block(f'resource "oci_file_storage_mount_target" "{new.name.replace("-", "_")}"', values)


def _present_mount_target(fleet: FleetPlacement, name: str, common: Mapping[str, str], label: str) -> str:
    values = {
        **common,
        "availability_domain": quoted(fleet.target_named(name).zone[1]),
        "id": quoted(fleet.ids[name]),
    }
    return _block(f'data "oci_file_storage_mount_targets" "{label}"', values)


def _export(fleet: FleetPlacement, move: Move, common: Mapping[str, str], label: str, number: int) -> str:
    is_new = fleet.target_named(move.target).is_new
    of = (
        f"oci_file_storage_mount_target.{label}"
        if is_new
        else (f"data.oci_file_storage_mount_targets.{label}.mount_targets[0]")
    )
    values = {
        **{name: value for name, value in common.items() if name == "provider"},
        "export_set_id": f"{of}.export_set_id",
        "file_system_id": quoted(move.part.file_system),
        "path": quoted(move.path),
    }
    rules = "  # Set access and identity_squash as the present export of this file system has them.\n" + "\n".join(
        ["  export_options {", *assignments({"source": "var.client_cidr", "access": '"READ_WRITE"'}, "    "), "  }"]
    )
    return _block(f'resource "oci_file_storage_export" "export_{number}"', values, rules)
