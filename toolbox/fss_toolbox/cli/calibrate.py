# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter calibrate`: measure what each NFS request costs a mount target, and compare with the cost table."""

from collections.abc import Callable, Sequence, Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import click

from fss_exporter import units
from fss_exporter.cli.account_sessions import sessions_of
from fss_exporter.cli.flags import NEW_FILE, CompartmentFlags, ExactFlags
from fss_exporter.cli.terminal import clean_up_at_the_end
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.flag_records import PROCFS, FilePath, FiniteRange, argument, flag, switch, takes
from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES
from fss_exporter.nfs.mount_settings import mount_settings
from fss_exporter.nfs.procfs import OWN_PID, Procfs
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.oci.client import SdkClient, Session, read_credentials
from fss_exporter.oci.inventory.mount_target_settings import limits_of
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_exporter.settings import Settings
from fss_kernel_counting.exact_mode import exact
from fss_kernel_counting.sizes.size_counts import Counts
from fss_kernel_counting.sizes.size_reader import ExactReader
from fss_toolbox import printed, tables
from fss_toolbox.calibrate import calibration_run as runs, calibration_steps as steps
from fss_toolbox.calibrate.calibration_report import document, overrides
from fss_toolbox.calibrate.calibration_rows import CalibrationRow, rows_by_iops, rows_by_requests
from fss_toolbox.calibrate.nfs_requests import NfsRequests, RequestCounts
from fss_toolbox.calibrate.oci_clock import ClockFit, Naming
from fss_toolbox.calibrate.oci_minutes import OciMinutes
from fss_toolbox.calibrate.own_directory import opened, own_directory, remove_leftovers
from fss_toolbox.cli.discover import list_resources
from fss_toolbox.cli.facts_flags import FactsFlags
from fss_toolbox.cli.toolbox_flags import check_new_file, note_ceilings, write_file
from fss_toolbox.doctor.account_facts import RegionFacts
from fss_toolbox.tables import Column, Figure, Row

_NO_IOPS: Final = "this tenancy has no MountTargetIOPS: the table compares numbers of requests, not their cost"
_MOUNT_OPTIONS: Final = ("vers", "rsize", "wsize", "proto", "nconnect", "sec", "local_lock")


@dataclass(frozen=True, kw_only=True)
class CalibrateFlags(CompartmentFlags, ExactFlags, FactsFlags):
    """The flags of `calibrate`; times in seconds."""

    directory: Path = argument(type=FilePath(file_okay=False, exists=True, path_type=Path))
    ocid: str | None = flag(
        "--mount-target", "Mount target.  [default: the one with the mount's address]", metavar="OCID"
    )
    steps: tuple[str, ...] = flag("--step", "Only this step. Repeatable.", (), metavar="NAME")
    minutes: int = flag("--minutes", "Whole minutes of each step.", 3, type=click.IntRange(1, 60))
    max_iops: float | None = flag(
        "--max-iops", "Most IOPS to cause.  [default: a tenth of the ceiling]", type=FiniteRange(1)
    )
    patience_s: float = flag("--wait", "Longest wait for OCI's last minute.", 900.0, written="15m", type=units.duration)
    other_clients: bool = switch("--other-clients", "Go on although other clients are connected.")
    dry_run: bool = switch("--dry-run", "Print load, duration and price, and send nothing.")
    out: Path | None = flag("--out", "Write the JSON report here.", type=NEW_FILE)
    output: str = flag(
        "--output",
        "For people, for programs, or cost_model for the configuration.",
        "table",
        type=click.Choice(("table", "json", "config")),
    )
    procfs: Path = flag("--path.procfs", "", PROCFS)
    exact: str = flag(
        "--nfs.exact",
        "Have the kernel count READ and WRITE by size, and lock and ACL calls (tracefs, as root). auto: if the kernel can.",
        "auto",
        type=click.Choice(("off", "auto", "on")),
    )


@click.command()
@takes(CalibrateFlags)
def calibrate(flags: CalibrateFlags) -> int:
    """Measure what each NFS request costs a mount target, in a directory on an idle mount.

    The command makes a folder in DIRECTORY and removes the folder at the end, also after Ctrl-C. The next run on the same
    host removes a folder that kill -9 left. The user of the command needs write permission in DIRECTORY.

    Exit code 1: a cost differs from the table.
    """
    if flags.out is not None:
        check_new_file("--out", flags.out)
    settings = flags.settings_of_account()
    note_ceilings(settings)
    mounts = mount_settings(settings)
    source = Procfs(flags.procfs, OWN_PID, mounts.address_map)
    mount = RequestCounts(flags.directory, source.read_in_time).superblock
    session, target = _mount_target(settings, mount.key.address, flags.ocid)
    ceiling = limits_of(target, settings).iops
    largest = (int(mount.record.options.get(name, LARGEST_TRANSFER_BYTES)) for name in ("rsize", "wsize"))
    chosen = steps.chosen_steps(flags.steps, steps.steps_of(*largest))
    plan = steps.CalibrationPlan(chosen, flags.minutes, flags.max_iops or steps.default_max_iops(ceiling))
    facts = flags.recorded_region(session.region)
    if facts is not None and not _has_iops(facts):
        tables.note(_NO_IOPS)
    if flags.dry_run:
        _show_plan(plan, target)
        return 0
    clock = runs.WallClock()
    cloud = OciMinutes(SdkClient(session), target, clock)
    own_connections = None if flags.other_clients else max(1, len(mount.record.transports))
    if own_connections is not None:
        _refuse_other_clients(cloud, own_connections)
    _remove_leftovers(flags.directory)
    reader = None if flags.exact == "off" else exact(flags, source.read_in_time, mounts).reader
    done = _send_requests(flags.directory, plan, source, reader, clock)
    _tell_refused(done)
    naming = (facts and facts.minutes_named_by) or None
    rows, fit = measured_rows(cloud, plan, done, own_connections, flags.patience_s, naming)
    options = {name: value for name, value in mount.record.options.items() if name in _MOUNT_OPTIONS}
    report = tables.as_json(document(plan, rows, done, options, fit))
    _print(rows, report, flags.output)
    if flags.out is not None:
        write_file("--out", flags.out, f"{report}\n")
    return int(any(row.cost.verdict == "differs" for row in rows if row.step != steps.IDLE.name))


def _remove_leftovers(directory: Path) -> None:
    leftovers = remove_leftovers(directory)
    for path in leftovers.removed:
        tables.note(f"removed what an earlier calibration left: {path}")
    for kept in leftovers.kept:
        maker = f"the host {kept.host}" if kept.host else "a host that its mark does not name"
        tables.note(
            f"{kept.path}: kept, because a calibration of {maker} may run there. If none does, remove the directory by hand"
        )


def _send_requests(
    directory: Path, plan: steps.CalibrationPlan, source: Procfs, reader: ExactReader | None, clock: runs.WallClock
) -> list[runs.CountedMinute]:
    """Send the requests of every step from a new directory, and leave nothing behind."""
    with ExitStack() as cleaned_up:
        clean_up_at_the_end(cleaned_up.close)
        counted = None
        if reader is not None:
            cleaned_up.callback(reader.close)
            reader.open()
            counted = partial(_counted, reader)
        own = cleaned_up.enter_context(own_directory(directory))
        requests = RequestCounts(own, source.read_in_time, counted)
        sender = NfsRequests(cleaned_up.enter_context(opened(own)), requests)
        cleaned_up.callback(sender.close)
        return runs.CalibrationRun(plan, sender, clock, tables.note).minutes()


def _counted(reader: ExactReader) -> tuple[Reading, Counts]:
    return reader.read(), reader.counts


def _tell_refused(done: list[runs.CountedMinute]) -> None:
    for minute in done:
        if minute.refusal:
            tables.note(f"{minute.step}: a minute is left out: {minute.refusal}")


def measured_rows(
    cloud: OciMinutes,
    plan: steps.CalibrationPlan,
    done: list[runs.CountedMinute],
    own_connections: int | None,
    patience_s: float,
    recorded: Naming | None = None,
) -> tuple[list[CalibrationRow], ClockFit | None]:
    """Return the results of the minutes, by MountTargetIOPS if the tenancy has the metric, and then the clock that fits.

    A minute with more than `own_connections` to the mount target, or an unknown number, is left out. None for connections
    of other clients. `recorded` is the naming of minutes that a record has.

    Raises:
        SourceError: OCI has none of the minutes.
    """
    others = set() if own_connections is None else cloud.minutes_with_others(done, own_connections, patience_s)
    fit = None
    if cloud.publishes_iops(patience_s):
        io_operations = cloud.io_operations(done, patience_s)
        _tell_others(others & io_operations.keys())
        alone = {name: count for name, count in io_operations.items() if name not in others}
        rows, fit = rows_by_iops(done, alone, plan.steps, recorded)
        late = [step.name for step in plan.steps if step.name not in {row.step for row in rows}]
        if rows and late:
            tables.note(
                f"OCI has no good minute of {', '.join(late)}, so these steps have no row. Try again, or a longer --wait"
            )
        if fit is not None:
            tables.note(str(fit))
    else:
        tables.note(_NO_IOPS)
        requests = cloud.requests(done, patience_s)
        _tell_others(others & {name for _, name in requests})
        alone_by_step = {(step, name): count for (step, name), count in requests.items() if name not in others}
        rows = rows_by_requests(done, alone_by_step, plan.steps, recorded)
    if not rows:
        raise SourceError("OCI Monitoring has no good minute of this calibration. Try again, or a longer --wait")
    return rows, fit


def _tell_others(minutes: AbstractSet[int]) -> None:
    if minutes:
        tables.note(f"{len(minutes)} minutes are left out: other clients were connected, or OCI does not say")


def _mount_target(settings: Settings, address: str, ocid: str | None) -> tuple[Session, MountTarget]:
    """Return the mount target of a mount, and the session of its region.

    Raises:
        SourceError: a listing failed, and the others have no such mount target.
        UsageError: none or several of the listed mount targets have the address or OCID.
    """
    matches: list[tuple[Session, MountTarget]] = []
    failures: list[Exception] = []
    for session in sessions_of(settings, read_credentials(settings.oci)):
        inventory, failed = list_resources(
            session, InventorySelection(settings.oci.compartments, settings.oci.in_subtree)
        )
        targets = inventory.mount_targets.values()
        matches += [
            (session, target) for target in targets if target.id == ocid or (ocid is None and target.address == address)
        ]
        failures += failed
    wanted = ocid or f"address {address}"
    if failures and not matches:
        raise SourceError(f"no listed mount target has {wanted}. The list is incomplete: {failures[0]}")
    if len(matches) != 1:
        raise UsageError(f"--mount-target: {len(matches)} mount targets have {wanted}. Give the OCID of one of yours")
    return matches[0]


def _refuse_other_clients(cloud: OciMinutes, own: int) -> None:
    connected = cloud.connections()
    if connected is None:
        raise UsageError("--other-clients: OCI does not say how many clients are connected. Add the flag if none is")
    if connected > own:
        raise UsageError(
            f"--other-clients: {connected:.0f} connections to the mount target, {own} of this client. "
            "Requests of other clients would be taken for ours. Add the flag to go on"
        )


def _show_plan(plan: steps.CalibrationPlan, target: MountTarget) -> None:
    out = tables.console()
    columns = (Column("step", left=True), Column("rounds a minute"), Column("IOPS by the table"))
    loads = {step.name: (step.rounds(plan.max_iops), step.round_cost) for step in plan.steps}
    rows = [
        Row((name, printed.number(rounds), printed.number(rounds * cost / 60)))
        for name, (rounds, cost) in loads.items()
    ]
    tables.show(out, columns, rows)
    tables.say(
        out,
        f"{target.name}: at most {plan.max_iops:,.0f} IOPS for about {plan.total_minutes} minutes, then up to 15 minutes "
        f"until OCI has the last one. {steps.STORED_BYTES / 2**20:.0f} MiB are stored meanwhile: {max(plan.usd, 0.01):.2f} USD "
        "at most. File Storage does not bill requests.",
    )


def _has_iops(facts: RegionFacts) -> bool:
    return any(metric.documented == "MountTargetIOPS" and metric.streams != 0 for metric in facts.metrics)


def _cost(column: Column, text: Callable[[CalibrationRow], str]) -> Figure:
    """Return a figure of the cost. The idle minutes have none."""
    return Figure(column, lambda row: "" if row.step == steps.IDLE.name else text(row))


_FIGURES: Final = (
    Figure(Column("request", left=True), lambda row: row.step),
    Figure(Column("requests", 4), lambda row: row.requests, printed.number),
    Figure(Column("IOPS by table", 3), lambda row: row.table_iops, printed.number),
    Figure(Column("IOPS by OCI", 2), lambda row: row.oci_iops, printed.number),
    _cost(Column("cost by table", 5), lambda row: f"{row.cost.table:g}"),
    _cost(Column("measured", 1), lambda row: printed.NOT_KNOWN if row.oci_iops is None else f"{row.cost.measured:.2f}"),
    _cost(Column("ratio"), lambda row: "" if row.cost.ratio is None else f"{row.cost.ratio:.3f}"),
    _cost(Column("+/-"), lambda row: f"{row.cost.uncertainty / (row.cost.table or 1.0):.3f}"),
    _cost(Column("verdict", left=True), lambda row: row.cost.verdict),
)


def _print(rows: list[CalibrationRow], report: str, output: str) -> None:
    if output == "json":
        click.echo(report)
    elif output == "config":
        click.echo(overrides(rows, datetime.now(UTC).date().isoformat()), nl=False)
    else:
        show_rows(rows)


def show_rows(rows: Sequence[CalibrationRow]) -> None:
    """Print results as a table."""
    tables.show_figures(tables.console(), _FIGURES, rows)
