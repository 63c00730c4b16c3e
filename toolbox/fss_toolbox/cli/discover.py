# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter discover`: the mount targets of an account as a table, for service discovery, or as a configuration."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import click
import yaml

from fss_exporter.cli.account_sessions import sessions_of
from fss_exporter.cli.flags import CompartmentFlags
from fss_exporter.errors import CloudError, SourceError, UsageError
from fss_exporter.flag_records import flag, takes
from fss_exporter.oci.client import SdkClient, Session, read_credentials
from fss_exporter.oci.inventory.inventory_refresh import InventoryRefresh
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_exporter.settings import LimitOverrides, OciAccount, Settings
from fss_exporter.terminal_text import printable, printable_lines
from fss_toolbox import discovery, printed, tables
from fss_toolbox.cli.toolbox_flags import note_ceilings
from fss_toolbox.tables import Column, Figure

_NOT_SHOWN = frozenset(("ListReplications", "ListOutboundConnectors"))


@dataclass(frozen=True, kw_only=True)
class DiscoverFlags(CompartmentFlags):
    """The flags of `discover`."""

    output: str = flag(
        "--output",
        "For people, for programs, for Prometheus' http_sd or file_sd, as a configuration of this exporter.",
        "table",
        type=click.Choice(("table", "json", "http_sd", "config")),
    )


@click.command()
@takes(DiscoverFlags)
def discover(flags: DiscoverFlags) -> int:
    """List the mount targets of an OCI account with exports, addresses, shapes and ceilings.

    Exit code 1: a listing failed. The output has the rest.
    """
    settings = flags.settings()
    note_ceilings(settings)
    found = _Found()
    for account in settings.each_account:
        _discover_account(account, found, is_one_of_several=bool(settings.oci.accounts))
    for failure in dict.fromkeys(found.failures):
        tables.note(f"incomplete: {failure}")
    if found.failures and not found.mount_targets:
        hint = ". A policy on one compartment is enough with --oci.compartment OCID" if found.is_hidden else ""
        raise SourceError(f"no mount target could be listed{hint}")
    if flags.output == "table":
        _show(found.mount_targets)
    elif flags.output == "json":
        click.echo(tables.as_json({"mount_targets": [_document(row) for row in found.mount_targets]}))
    elif flags.output == "http_sd":
        click.echo(tables.as_json(discovery.http_sd(found.mount_targets)))
    else:
        click.echo(configuration(settings, found.regions, found.mount_targets), nl=False)
    return 1 if found.failures else 0


@dataclass(slots=True)
class _Found:
    """What the accounts answered so far."""

    mount_targets: list[discovery.DiscoveredMountTarget] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    is_hidden: bool = False  # whether an account lists no compartments for want of a permission
    regions: dict[str | None, list[str]] = field(default_factory=dict)  # by name of the account


def _discover_account(account: Settings, found: _Found, *, is_one_of_several: bool) -> None:
    """Add the mount targets of an account. One account of several may fail, and a single one may not."""
    name = f"{account.oci.name}: " if is_one_of_several else ""
    try:
        sessions = sessions_of(account, read_credentials(account.oci))
    except (UsageError, CloudError) as error:
        if not is_one_of_several:
            raise
        found.failures.append(f"{name}{error}")
        return
    found.regions[account.oci.name] = [session.region for session in sessions]
    selection = replace(InventorySelection.of(account), services=(), optional_services=())
    for session in sessions:
        inventory, failed = list_resources(session, selection)
        found.mount_targets += discovery.mount_targets_of(session.tenancy, session.region, inventory, account)
        found.failures += [f"{name}{failure}" for failure in failed]
        found.is_hidden |= any(map(hides_compartments, failed))


def hides_compartments(failure: Exception) -> bool:
    """Whether OCI lists no compartments without a permission."""
    return isinstance(failure, CloudError) and failure.operation == "ListCompartments" and failure.lacks_permission


def list_resources(session: Session, selection: InventorySelection) -> tuple[Inventory, list[Exception]]:
    """Return the resources of one region, and an error for each operation that failed and each mistake of the settings."""
    failures: dict[str, Exception] = {}

    def report(operation: str, error: Exception | None) -> None:
        if error is not None and operation not in _NOT_SHOWN:
            # one for the calls of an operation, and one for each mistake of the settings
            failures.setdefault(operation if isinstance(error, CloudError) else str(error), error)

    refresh = InventoryRefresh(SdkClient(session), selection, now=time.time, report=report)
    with tables.progress() as progress, suppress(CloudError):  # reported
        discovery.refresh_with_progress(refresh, progress)
    return refresh.snapshot.inventory or Inventory(), list(failures.values())


def _addresses(row: discovery.DiscoveredMountTarget) -> list[str]:
    return list(filter(None, (row.target.address, *row.target.further_addresses)))


_TENANCY = Figure(Column("tenancy", left=True), lambda row: row.tenancy)
_FIGURES = (
    Figure(Column("mount target", left=True), lambda row: row.target.name),
    Figure(Column("region", 6, left=True), lambda row: row.region),
    Figure(Column("address", left=True), lambda row: ", ".join(_addresses(row)) or printed.NOT_KNOWN),
    Figure(Column("shape", 1, left=True), lambda row: row.shape),
    Figure(Column("IOPS", 2), lambda row: row.limits.iops, printed.number),
    Figure(Column("read MB/s", 2), lambda row: row.limits.read_bytes_per_second, printed.megabytes),
    Figure(Column("write MB/s", 3), lambda row: row.limits.write_bytes_per_second, printed.megabytes),
    Figure(Column("connections", 7), lambda row: row.limits.connections, printed.number),
    Figure(Column("state", 4, left=True), lambda row: row.target.state),
    Figure(Column("compartment", 5, left=True), lambda row: row.compartment),
    Figure(Column("availability domain", 8, left=True), lambda row: row.target.availability_domain),
    Figure(
        Column("exports", 3, left=True),
        lambda row: ", ".join(f"{path} ({system})" for path, system in row.exports.items()),
    ),
)


def _show(mount_targets: Sequence[discovery.DiscoveredMountTarget]) -> None:
    out = tables.console()
    has_several = len({row.tenancy for row in mount_targets}) > 1
    tables.show_figures(out, (_TENANCY, *_FIGURES) if has_several else _FIGURES, mount_targets)
    tables.say(
        out,
        f"{len(mount_targets)} mount targets; - is a ceiling without a published figure, or an unknown address",
        "dim",
    )
    for row in discovery.sharing_an_address(mount_targets):
        tables.note(
            f"{row.target.name}: an address of {', '.join(_addresses(row))} in network {row.places[0].network} is also that of"
            " another mount target. See --output config"
        )


def _document(row: discovery.DiscoveredMountTarget) -> dict[str, Any]:
    target = row.target
    return {
        "tenancy": row.tenancy,
        "region": row.region,
        "id": target.id,
        "name": target.name,
        "compartment": row.compartment,
        "availability_domain": target.availability_domain,
        "state": target.state,
        "network": row.places[0].network,
        "address": target.address or None,
        "further_addresses": list(target.further_addresses),
        "fqdn": target.fqdn or None,
        "shape": row.shape,
        "limits": {name: getattr(row.limits, name) for name in LimitOverrides.model_fields},
        "exports": [{"path": path, "file_system": system} for path, system in row.exports.items()],
    }


def configuration(
    settings: Settings,
    regions: Mapping[str | None, list[str]],
    mount_targets: Sequence[discovery.DiscoveredMountTarget],
) -> str:
    """Return a configuration of `serve` for the found resources, as YAML. `regions` are by name of the account."""
    accounts = {account.name: _account(account, regions.get(account.name)) for account in settings.oci.each_account}
    oci = {"accounts": list(accounts.values())} if settings.oci.accounts else accounts[settings.oci.name]
    parts = [
        "# Made by fss-exporter discover. Use it: fss-exporter serve --collector.oci --config.file THIS_FILE\n",
        _dumped({"oci": oci}),
        _about_ceilings(mount_targets),
        _about_addresses(discovery.sharing_an_address(mount_targets)),
    ]
    return "\n".join(part for part in parts if part)


def _account(account: OciAccount, regions: list[str] | None) -> dict[str, Any]:
    """Return the settings of one account, with the regions that were found. None for an account that did not answer."""
    oci: dict[str, Any] = {"name": account.name} if account.name else {}
    oci["auth"] = account.auth
    if account.auth == "config_file":
        oci |= {"config_file": str(account.config_file), "profile": account.profile}
    chosen = {
        "regions": list(account.regions) if regions is None else regions,
        "tenancy": account.tenancy,
        "compartments": list(account.compartments),
        "in_subtree": account.in_subtree,
        "endpoint": account.endpoint,
        "endpoints": account.endpoints.model_dump(exclude_none=True),
        "network": account.network,
        "networks": account.networks,
        "include": account.include.model_dump() if account.include.tags else None,
        "exclude": account.exclude.model_dump() if account.exclude.tags else None,
    }
    return oci | {name: value for name, value in chosen.items() if value}


def _dumped(document: dict[str, Any]) -> str:
    """Return YAML with readable letters. If a character could control a terminal, all special characters are escaped."""
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return text if printable_lines(text) == text else yaml.safe_dump(document, sort_keys=False)


def _about_ceilings(mount_targets: Sequence[discovery.DiscoveredMountTarget]) -> str:
    shapes = sorted({row.shape for row in mount_targets if row.limits.iops is None})
    lines = "".join(f"#     {shape}: {{iops: FIGURE}}\n" for shape in shapes)
    head = "# No IOPS ceiling is published for these shapes. Where you know one, take the # away:\n# limits:\n#   shapes:\n"
    return head + lines if shapes else ""


def _about_addresses(shared: Sequence[discovery.DiscoveredMountTarget]) -> str:
    """Return lines for the operator to edit, because only the operator knows which clients are in which VCN."""
    names = defaultdict(list)
    for row in shared:
        names[row.target.vcn_id or "OCID_OF_THE_VCN"].append(f"{row.target.name} at {row.target.address}")
    lines = "".join(printable(f"#   {vcn}: NAME  # {', '.join(targets)}") + "\n" for vcn, targets in names.items())
    head = (
        "# These mount targets share an address. Give each VCN a name, start the agents there with --nfs.network=NAME, and move\n"
        "# these lines below oci, without the #:\n# networks:\n"
    )
    return head + lines if shared else ""
