"""The reports of `iostat`: traffic by mount target, mount and operation, as tables and as JSON."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rich.console import Console

from fss_exporter import units
from fss_exporter.cli import iostat_durations
from fss_exporter.cli.ceilings import Judge
from fss_exporter.model.capacity import CLIENT_NETWORK
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.histograms import CallsByEdge
from fss_exporter.model.limits import Limits, Use, fullest
from fss_exporter.model.operations import READ, READ_CLASS, WRITE, WRITE_CLASS
from fss_exporter.model.purchase import uses_of
from fss_exporter.model.service_table import Ceilings
from fss_exporter.model.thresholds import CRITICAL_RATIO, WARNING_RATIO
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.nfs.superblocks import SeriesKey, Superblock
from fss_exporter.tables import Column, Row, say, show as show_table

MountPoints = Mapping[SeriesKey, tuple[str, ...]]
_LISTS = {"mount": "mounts", "operation": "operations", "class": "classes"}
GROUPINGS = ("mount", "mount-target", "operation", "class")


@dataclass(frozen=True, slots=True)
class Report:
    """One interval."""

    source: str  # where the figures come from
    time: datetime | None  # its end, UTC; None where it is not known
    seconds: float | None  # its length; None where each mount has its own
    traffic: Mapping[SeriesKey, Traffic]  # by mount
    mount_points: MountPoints  # by mount
    notes: tuple[str, ...]  # what the reader should know
    counted: bool = False  # READ and WRITE were counted by size, so their cost is exact
    durations: Mapping[str, CallsByEdge] = field(
        default_factory=dict
    )  # requests by address and class; empty if unknown
    network_bytes_per_second: float | None = None  # bandwidth of the host as the agent knows it


@dataclass(frozen=True, slots=True)
class ReportOrder:
    """Content and order of a report: one of `GROUPINGS`, one of `SORTS`, at most `limit` lines for a mount target, and bytes per
    second of the host's network in each direction.
    """

    by: str
    sort: str
    limit: int | None
    client_bandwidth: float | None = None


SORTS: Mapping[str, Callable[[str, Traffic], Any]] = {
    "iops": lambda _, traffic: -(traffic.iops.point if traffic.iops else 0.0),
    "operations": lambda _, traffic: -traffic.all_operations.operations,
    "read": lambda _, traffic: -traffic.read_bytes,
    "write": lambda _, traffic: -traffic.written_bytes,
    "rtt": lambda _, traffic: -(traffic.all_operations.mean_rtt_seconds or 0.0),
    "name": lambda name, _: name,
}


@dataclass(frozen=True, slots=True)
class _ReportLine:
    """One line below a mount target: a mount, an operation or a class."""

    name: str
    key: SeriesKey | None
    traffic: Traffic


def show(out: Console, report: Report, ceilings: Judge, order: ReportOrder) -> None:
    """Print one report."""
    when = "" if report.time is None else f"{report.time:%Y-%m-%dT%H:%M:%SZ}  "
    length = "" if report.seconds is None else f", {report.seconds:.1f} s"
    say(out, f"{when}{report.source}{length}", "bold", hanging=2)
    if not report.traffic:
        say(out, "no NFS mounts")
        return
    rows = []
    targets = _targets(report, order.sort)
    for address, traffic in targets:
        latency = iostat_durations.cells(report.durations.get(address, {})) if report.durations else ()
        rows.append(_row(address, traffic, _limits(report, ceilings, address), style="bold", latency=latency))
        if order.by != "mount-target":
            rows.extend(
                _row(
                    f"  {part.name}",
                    part.traffic,
                    _limits(report, ceilings, address),
                    latency=("",) * len(latency),
                )
                for part in _parts(report, address, order)
            )
    if len(targets) > 1:
        everything = iostat_durations.all_requests(report.durations)
        latency = iostat_durations.cells(everything) if report.durations else ()
        rows.append(_row("total", together(report.traffic.values()), Limits(), style="bold", latency=latency))
    show_table(out, (*_COLUMNS, *(iostat_durations.COLUMNS if report.durations else ())), rows)
    said = "READ and WRITE are counted by size, so IOPS are exact" if report.counted else "IOPS are estimated"
    say(out, f"{said}. Share: of the ceilings of {ceilings.shape}, by this client alone", "dim")
    network = _network(report, order)
    if network is not None:
        figures = f"{units.megabytes(network.demand)} of {units.megabytes(network.limit)} MB/s"
        say(out, f"{network.resource}: {figures}, {units.percent(network.ratio)}", _colour(network.ratio))
    locks = together(report.traffic.values()).lock_iops
    if locks:
        say(out, f"not included: about {units.number(locks)} IOPS of locks", "dim")
    say(out, "")


_COLUMNS = (
    Column("mount target", left=True),
    Column("ops/s", 2),
    Column("IOPS"),
    Column("IOPS bounds", 6),
    Column("share"),
    Column("of", 6, left=True),
    Column("read MB/s", 1),
    Column("write MB/s", 1),
    Column("KiB/read", 5),
    Column("KiB/write", 7),
    Column("RTT ms", 3),
    Column("queue ms", 4),
    Column("execute ms", 8),
    Column("retrans/s", 4),
    Column("errors/s", 9),
)


def _network(report: Report, order: ReportOrder) -> Use | None:
    """Return the share of the host's network that the mounts use. The busier direction counts."""
    limit = order.client_bandwidth or report.network_bytes_per_second
    if limit is None:
        return None
    every = together(report.traffic.values())
    return Use(CLIENT_NETWORK, "B/s", max(every.read_bytes, every.written_bytes), limit)


def _bounds(iops: Bounds | None) -> str:
    if iops is None:
        return units.NOT_KNOWN
    return "exact" if iops.lower == iops.upper else f"{units.number(iops.lower)} to {units.number(iops.upper)}"


def _row(name: str, traffic: Traffic, limits: Limits | Ceilings, style: str = "", latency: tuple[str, ...] = ()) -> Row:
    every = traffic.all_operations
    first = fullest(uses_of(traffic, limits))
    iops = traffic.iops
    cells = (
        name,
        units.number(every.operations),
        units.number(iops.point if iops else None),
        _bounds(iops),
        units.percent(first.ratio if first else None),
        first.resource if first else "",
        units.megabytes(traffic.read_bytes),
        units.megabytes(traffic.written_bytes),
        units.kibibytes(traffic.mean_read_bytes),
        units.kibibytes(traffic.mean_written_bytes),
        units.milliseconds(every.mean_rtt_seconds),
        units.milliseconds(every.mean_queue_seconds),
        units.milliseconds(every.mean_execute_seconds),
        units.number(every.retransmissions),
        units.number(every.errors),
        *latency,
    )
    return Row(cells, _colour(first.ratio if first else None) or style)


def _colour(ratio: float | None) -> str:
    if ratio is None or ratio < WARNING_RATIO:
        return ""
    return "red" if ratio >= CRITICAL_RATIO else "yellow"


def _limits(report: Report, ceilings: Judge, address: str) -> Limits | Ceilings:
    """Return the ceilings of the service behind an address."""
    return ceilings.of(next(key for key in report.traffic if key.address == address))


def _targets(report: Report, sort: str) -> list[tuple[str, Traffic]]:
    mounts: dict[str, list[Traffic]] = defaultdict(list)
    for key, traffic in report.traffic.items():
        mounts[key.address].append(traffic)
    targets = [(address, together(traffics)) for address, traffics in mounts.items()]
    return sorted(targets, key=lambda target: SORTS[sort](*target))


def _parts(report: Report, address: str, order: ReportOrder) -> list[_ReportLine]:
    mounts = {key: traffic for key, traffic in report.traffic.items() if key.address == address}
    if order.by in ("operation", "class"):
        parts = list(_operations(together(mounts.values()), order.by))
    else:
        parts = [_ReportLine(_mount_name(key, report.mount_points), key, traffic) for key, traffic in mounts.items()]
    parts.sort(key=lambda part: SORTS[order.sort](part.name, part.traffic))
    return parts[: order.limit]


def _operations(traffic: Traffic, by: str) -> Iterator[_ReportLine]:
    for name, rate in (traffic.operations if by == "operation" else traffic.by_class).items():
        if rate.operations:
            operation = {READ_CLASS: READ, WRITE_CLASS: WRITE}.get(name, name)
            read = traffic.read_bytes if operation == READ else 0.0
            written = traffic.written_bytes if operation == WRITE else 0.0
            yield _ReportLine(name, None, Traffic({operation: rate}, read, written))


def mount_points(superblocks: Iterable[Superblock]) -> MountPoints:
    """Return every mount point of each mount."""
    points: dict[SeriesKey, tuple[str, ...]] = {}
    for superblock in superblocks:
        points[superblock.key] = (*points.get(superblock.key, ()), *(mount.mount_point for mount in superblock.mounts))
    return points


def _mount_name(key: SeriesKey, mount_points: MountPoints) -> str:
    points = mount_points.get(key, ())
    more = f" (and {len(points) - 1} more)" if len(points) > 1 else ""
    server = "" if key.server == key.address else f"{key.server}:"
    return f"{server}{key.export}{f' on {points[0]}{more}' if points else ''}"


def document(report: Report, ceilings: Judge, order: ReportOrder) -> dict[str, Any]:
    """Return one report as a JSON document. Every key names the unit, and unknown values are null."""
    network = _network(report, order)
    return {
        "time": report.time and report.time.isoformat(timespec="milliseconds"),
        "source": report.source,
        "seconds": report.seconds,
        "shape": ceilings.shape,
        "notes": list(report.notes),
        "counted": report.counted,
        "client_network": network
        and {"bytes_per_second": network.demand, "limit": network.limit, "ratio": network.ratio},
        "mount_targets": [
            {
                "address": address,
                **(iostat_durations.figures(report.durations.get(address, {})) if report.durations else {}),
                **_figures(traffic, _limits(report, ceilings, address)),
                **({} if order.by == "mount-target" else {_LISTS[order.by]: _listed(report, address, ceilings, order)}),
            }
            for address, traffic in _targets(report, order.sort)
        ],
        "total": _figures(together(report.traffic.values()), None),
    }


def _listed(report: Report, address: str, ceilings: Judge, order: ReportOrder) -> list[dict[str, Any]]:
    return [
        {
            **(
                {order.by: part.name}
                if part.key is None
                else {
                    "server": part.key.server,
                    "export": part.key.export,
                    "mount_points": list(report.mount_points.get(part.key, ())),
                }
            ),
            **_figures(part.traffic, _limits(report, ceilings, address)),
        }
        for part in _parts(report, address, order)
    ]


def _figures(traffic: Traffic, limits: Limits | Ceilings | None) -> dict[str, Any]:
    every = traffic.all_operations
    return {
        "operations_per_second": every.operations,
        "estimated_iops": traffic.iops._asdict() if traffic.iops else None,
        "estimated_lock_iops": traffic.lock_iops,
        "read_bytes_per_second": traffic.read_bytes,
        "written_bytes_per_second": traffic.written_bytes,
        "mean_read_bytes": traffic.mean_read_bytes,
        "mean_written_bytes": traffic.mean_written_bytes,
        **_times(every),
        **({} if limits is None else {"share": {use.resource: use.ratio for use in uses_of(traffic, limits)}}),
    }


def _times(every: OperationTraffic) -> dict[str, Any]:
    return {
        "mean_rtt_seconds": every.mean_rtt_seconds,
        "mean_queue_seconds": every.mean_queue_seconds,
        "mean_execute_seconds": every.mean_execute_seconds,
        "retransmissions_per_second": every.retransmissions,
        "timeouts_per_second": every.timeouts,
        "errors_per_second": every.errors,
    }
