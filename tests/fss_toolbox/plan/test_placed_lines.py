"""The lines of a placement to paste: names from outside stay names in fstab, YAML and Terraform."""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.processes import require

from fss_toolbox.hcl import quoted
from fss_toolbox.plan.fleet_placement import FleetPlacement, Home, MovingMount
from fss_toolbox.plan.placed_lines import fstab_lines, persistent_volumes, terraform
from fss_toolbox.sizing.placement import Amounts, MovablePart, PlacedTarget, placed

STANDARD = Amounts(100.0, 100.0, 100.0)
ZONE = ("vcn", "AD-1")
ELSEWHERE = Home("AD-2", "eu-frankfurt-1", "storage")

# Arguments by block, with those that are required. Source: website/docs/r/file_storage_mount_target.html.markdown,
# r/file_storage_export and d/file_storage_mount_targets of oracle/terraform-provider-oci, read 2026-11-28.
DOCUMENTED = {
    "oci_file_storage_mount_target": (
        {"availability_domain", "compartment_id", "subnet_id"},
        {"defined_tags", "display_name", "freeform_tags", "hostname_label", "idmap_type", "ip_address", "is_lock_override",
         "kerberos", "ldap_idmap", "locks", "nsg_ids", "requested_throughput", "security_attributes"},
    ),
    "oci_file_storage_export": (
        {"export_set_id", "file_system_id", "path"},
        {"export_options", "is_idmap_groups_for_sys_auth", "is_lock_override", "locks"},
    ),
    "export_options": (
        {"source"},
        {"access", "allowed_auth", "anonymous_gid", "anonymous_uid", "identity_squash", "is_anonymous_access_allowed",
         "require_privileged_source_port"},
    ),
    "oci_file_storage_mount_targets": (
        {"availability_domain", "compartment_id"},
        {"display_name", "export_set_id", "id", "state"},
    ),
    "compartment_id": ({"type", "description"}, set()),
    "subnet_id": ({"type", "description"}, set()),
    "client_cidr": ({"type", "description"}, set()),
}  # fmt: skip


def fleet(
    *,
    path: str = "/data",
    client: str = "c1",
    name: str = "projects",
    mounts: Sequence[MovingMount] = (),
    addresses: dict[str, str] | None = None,
    domain: str = "AD-1",
    other_home: Home = ELSEWHERE,
) -> FleetPlacement:
    """A full mount target with two clients of a file system, of which the first moves, and another one with unnamed clients."""
    zone = ("vcn", domain)
    parts = tuple(MovablePart("ocid1.fs.a", who, Amounts(45.0, 0.0, 0.0)) for who in (client, "c2"))
    full = PlacedTarget("10.0.0.1", zone, STANDARD, Amounts(90.0, 0.0, 0.0), {path: "ocid1.fs.a"}, parts)
    rest = (MovablePart("ocid1.fs.b", "", Amounts(90.0, 0.0, 0.0)),)
    other = PlacedTarget("10.0.0.2", ("vcn", "AD-2"), STANDARD, Amounts(90.0, 0.0, 0.0), {"/b": "ocid1.fs.b"}, rest)
    free = PlacedTarget("10.0.0.3", ("vcn", "AD-2"), STANDARD, Amounts(0.0, 0.0, 0.0), {"/b": "ocid1.fs.c"})
    placement = placed([full, other, free], STANDARD, 3, 0.8)
    assert len(placement.moves) == 2
    return FleetPlacement(
        placement,
        before={},
        names={"ocid1.fs.a": name, "ocid1.fs.b": name},
        ids={"10.0.0.1": "ocid1.mt.a", "10.0.0.2": "ocid1.mt.b", "10.0.0.3": "ocid1.mt.c"},
        addresses={"10.0.0.1": "10.0.0.1", "10.0.0.2": "10.0.0.2", "10.0.0.3": "10.0.0.3"} | (addresses or {}),
        homes={
            "10.0.0.1": Home(domain, "eu-frankfurt-1", "storage"),
            **dict.fromkeys(("10.0.0.2", "10.0.0.3"), other_home),
        },
        mounts=mounts,
        left_out=(),
        most=None,
    )


def mount(mount_point: str = "/mnt/data", **options: str) -> MovingMount:
    plain = MovingMount("c1", "10.0.0.1", "ocid1.fs.a", mount_point, "3", "1", "true", "sys", "false")
    return replace(plain, **options)


STATED = {"new-1": "10.0.0.9"}


def fields(line: str, folder: Path) -> tuple[str, ...]:
    """The fields of a line as mount(8) reads them."""
    (folder / "fstab").write_text(f"{line}\n")
    findmnt = require("findmnt", "util-linux")
    command = (findmnt, "--json", "--tab-file", folder / "fstab", "--output", "SOURCE,TARGET,FSTYPE,OPTIONS")
    (only,) = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["filesystems"]
    return tuple(only.values())


def test_a_line_of_fstab_has_the_options_of_the_present_mount() -> None:
    lines = fstab_lines(fleet(mounts=[mount(nconnect="4", hard="false", sec="krb5")], addresses=STATED))
    assert lines["c1"] == ["10.0.0.9:/data /mnt/data nfs soft,vers=3,nconnect=4,sec=krb5,_netdev 0 0"]


@pytest.mark.parametrize(
    "hostile",
    [
        "/mnt/two words",
        "/mnt/tab\tand\nnew line",
        "/mnt/back\\slash",
        "/mnt/#1",
        "/mnt/\u202erev",
        "/mnt/x 0 0\n/dev/sda / ext4",
    ],
)
def test_a_hostile_path_stays_one_field_of_one_line(hostile: str, tmp_path: Path) -> None:
    (line,) = fstab_lines(fleet(path=hostile, mounts=[mount(hostile)], addresses=STATED))["c1"]
    assert line.isprintable()
    device, mount_point, *rest = fields(line, tmp_path)
    assert device == f"10.0.0.9:{hostile}"
    assert mount_point == hostile
    assert rest == ["nfs", "hard,vers=3,_netdev"]


def test_an_option_that_is_none_is_left_out() -> None:
    (line,) = fstab_lines(fleet(mounts=[mount(nfs_version="3,exec 0 0\n", sec="sys,suid")]))["c1"]
    assert line.split()[3] == "hard,_netdev"


def test_names_cannot_end_a_comment() -> None:
    lines = fstab_lines(fleet(name="a\n10.6.6.6:/x /etc nfs", mounts=[mount("/mnt/\nx", encrypted="true")]))
    assert all(line.startswith("# ") and line.isprintable() for own in lines.values() for line in own)


def test_without_an_address_no_client_can_mount_the_line() -> None:
    (line,) = fstab_lines(fleet(mounts=[mount()]))["c1"]
    assert line.startswith("ADDRESS-OF-new-1:/data ")


def test_an_ipv6_address_has_brackets() -> None:
    (line,) = fstab_lines(fleet(mounts=[mount()], addresses={"new-1": "fd00::7"}))["c1"]
    assert line.startswith("[fd00::7]:/data ")


def test_a_client_whose_mount_point_is_not_known_is_named() -> None:
    assert fstab_lines(fleet())["c1"] == ["# mount point not known: ADDRESS-OF-new-1:/data"]


POD = "/var/lib/kubelet/pods/1f/volumes/kubernetes.io~nfs/data"


def test_a_pod_gets_a_volume_in_place_of_a_line() -> None:
    of_pod = fleet(mounts=[mount(POD, nconnect="2")], addresses=STATED)
    assert fstab_lines(of_pod)["c1"] == []
    first, *_ = yaml.safe_load_all(persistent_volumes(of_pod))
    assert first["kind"] == "PersistentVolume"
    assert first["spec"]["nfs"] == {"server": "10.0.0.9", "path": "/data"}
    assert first["spec"]["mountOptions"] == ["hard", "vers=3", "nconnect=2"]


@pytest.mark.parametrize("hostile", ["/no", "/a: b", "/x\nkind: Secret", "/{{ .Values }}", "/'\"", "/---\n", "/\u2028"])
def test_a_hostile_path_stays_a_value_of_yaml(hostile: str) -> None:
    volumes = list(yaml.safe_load_all(persistent_volumes(fleet(path=hostile, mounts=[mount(POD)], name=hostile))))
    assert len(volumes) == 2
    assert volumes[0]["spec"]["nfs"]["path"] == hostile
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", volume["metadata"]["name"]) for volume in volumes)


def test_terraform_has_only_documented_arguments_and_each_required_one() -> None:
    text = terraform(fleet(addresses=STATED))
    found = {}
    for kind, body in re.findall(
        r'^(?:resource|data|variable)? *"?([a-z_]+)"?(?: "[^"]+")? \{\n(.*?)^ *\}$', text, re.MULTILINE | re.DOTALL
    ):
        found[kind] = set(re.findall(r"^ +([a-z_]+)(?: +=| \{)", body, re.MULTILINE))
        required, optional = DOCUMENTED[kind]
        assert (
            required
            <= found[kind]
            <= required | optional | DOCUMENTED["export_options"][0] | DOCUMENTED["export_options"][1]
        )
    assert found.keys() >= {
        "oci_file_storage_mount_target",
        "oci_file_storage_export",
        "oci_file_storage_mount_targets",
    }
    assert "export_options" in found["oci_file_storage_export"]


def test_each_compartment_and_region_of_the_mount_targets_has_its_own_variable_and_provider() -> None:
    alike = terraform(fleet())
    assert alike.count('variable "compartment_id') == 1
    assert "of the compartment storage" in alike
    assert "provider" not in alike
    text = terraform(fleet(other_home=Home("AD-2", "eu-zurich-1", 'batch"${x}')))
    new, present = (
        re.search(rf"^{kind} .*?^}}$", text, re.MULTILINE | re.DOTALL)
        for kind in ('resource "oci_file_storage_mount_target"', 'data "oci_file_storage_mount_targets"')
    )
    assert new
    assert present
    assert {"provider            = oci.in_eu_frankfurt_1", "compartment_id      = var.compartment_id_2"} <= set(
        map(str.strip, new[0].split("\n"))
    )
    assert {"provider            = oci.in_eu_zurich_1", "compartment_id      = var.compartment_id_1"} <= set(
        map(str.strip, present[0].split("\n"))
    )
    assert quoted('of the compartment batch"${x}') in text
    assert text.count('provider "oci" {') == 2
    assert text.count("  provider       = oci.in_") == 2, "of both exports"


def test_nothing_new_needs_no_terraform() -> None:
    nothing = fleet()
    assert terraform(replace(nothing, placement=replace(nothing.placement, moves=(), targets=()))) == ""


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('a"b', r'"a\"b"'),
        ('${file("/etc/passwd")}', r'"$${file(\"/etc/passwd\")}"'),
        ("%{ if true }", '"%%{ if true }"'),
        ("a\nb\\", r'"a\nb\\"'),
        ("\x1b[2J", r'"\U0000001b[2J"'),
    ],
)
def test_a_string_of_terraform_holds_no_template_and_no_end(text: str, written: str) -> None:
    assert quoted(text) == written
