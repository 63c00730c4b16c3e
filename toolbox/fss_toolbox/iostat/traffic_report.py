# SPDX-License-Identifier: Apache-2.0
"""A report of `iostat`: traffic by mount, and the lines for mount targets, mounts, operations and classes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from fss_exporter.model.client_load import ClientLoad, near_ceilings, with_near
from fss_exporter.model.histograms import CallsByEdge
from fss_exporter.model.knowledge import KnownFigure, coverage_of
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ, READ_CLASS, WRITE, WRITE_CLASS
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.state import NOT_KNOWN, State, StateNow
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.nfs.superblocks import Superblock
from fss_exporter.served_ceilings import ServedCeilings
from fss_toolbox.ceilings import Comparison, Judge, JudgedBy
from fss_toolbox.sizing.capacity import CLIENT_NETWORK
from fss_toolbox.sizing.uses import Use, fullest

MountPoints = Mapping[SeriesKey, tuple[str, ...]]
GROUPINGS = ("mount", "mount-target", "operation", "class")


@dataclass(frozen=True, slots=True)
class Report:
    """One interval."""

    source: str  # where the figures come from
    traffic: Mapping[SeriesKey, Traffic]  # by mount
    mount_points: MountPoints  # by mount
    notes: tuple[str, ...] = ()  # remarks for the reader
    time: datetime | None = None  # end of the interval, UTC. None if unknown
    seconds: float | None = None  # length of the interval. None if unknown, or if each mount has its own
    counted: bool = False  # READ and WRITE were counted by size, so their cost is exact
    unread: int = 0  # number of NFS mounts of this host whose counters cannot be read
    # requests by address and class; empty if unknown
    durations: Mapping[str, CallsByEdge] = field(default_factory=dict)
    network_bytes_per_second: float | None = None  # network of the host in each direction, from the agent
    # ceilings on the page of an exporter, by address
    ceilings: Mapping[str, ServedCeilings] = field(default_factory=dict)
    states: Mapping[str, StateNow] = field(default_factory=dict)  # how each address serves the client


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
class ReportLine:
    """One line of a report: a mount target, or a mount, an operation or a class below."""

    name: str
    traffic: Traffic
    compare: Comparison = lambda _: ()  # with the ceilings of the mount target
    mount: SeriesKey | None = None  # key of a mount. None for any other line
    calls: CallsByEdge | None = None  # requests of a mount target, for the quantiles
    is_part: bool = False  # whether the line is below a mount target
    judged_by: JudgedBy = JudgedBy.SHAPE  # where the ceilings of a mount target come from
    state: StateNow = NOT_KNOWN  # of a mount target, as this client sees it
    warning_ratio: float = WARNING_RATIO  # share of a ceiling that is near
    served: ServedCeilings | None = None  # what the exporter that was asked says of a mount target

    @property
    def title(self) -> str:
        """Name of the line. A mount target has the name that the exporter serves."""
        return f"{self.name} {self.served.name}".rstrip() if self.served else self.name

    @property
    def whole(self) -> KnownFigure | None:
        """IOPS of all clients of a mount target. None if they are not known."""
        return self.served.whole if self.served else None

    @property
    def coverage(self) -> float | None:
        """Share of the IOPS of all clients. None if it is not known."""
        return coverage_of(self.traffic.iops.point, self.whole) if self.traffic.iops else None

    @property
    def every(self) -> OperationTraffic:
        """All operations together."""
        return self.traffic.all_operations

    @property
    def first(self) -> Use | None:
        """The fullest ceiling. None without a known ceiling."""
        return fullest(self.compare(self.traffic))

    @property
    def share(self) -> float | None:
        """Use of the fullest ceiling."""
        return self.first.ratio if self.first else None


def lines_of(report: Report, ceilings: Judge, order: ReportOrder) -> Iterator[ReportLine]:
    """Yield each mount target with its parts, and the total of several mount targets."""
    targets = targets_of(report, ceilings, order.sort)
    for target in targets:
        yield target
        for part in parts_of(report, target, order):
            yield replace(part, is_part=True, warning_ratio=target.warning_ratio)
    if len(targets) > 1:
        every: CallsByEdge = sum((Counter(calls) for calls in report.durations.values()), Counter())
        yield ReportLine("total", together(report.traffic.values()), calls=every)


def targets_of(report: Report, ceilings: Judge, sort: str) -> list[ReportLine]:
    """Return a line for each mount target: those that hang, fail or are slow first, then in the order of `SORTS`.

    A mount target whose stated ceiling this traffic brings near is near.
    """
    mounts: dict[str, dict[SeriesKey, Traffic]] = defaultdict(dict)
    for key, traffic in report.traffic.items():
        mounts[key.address][key] = traffic
    targets = [
        ReportLine(
            address,
            together(own.values()),
            ceilings.of(next(iter(own))),
            calls=report.durations.get(address, {}) if report.durations else None,
            judged_by=ceilings.source(next(iter(own))),
            served=ceilings.served.get(address),
            warning_ratio=ceilings.near_at(next(iter(own))),
            state=_state(
                report, address, together(own.values()), ceilings.stated(next(iter(own))), ceilings.warning_ratio
            ),
        )
        for address, own in mounts.items()
    ]
    return sorted(
        targets, key=lambda target: (-max(target.state.state, State.NEAR), SORTS[sort](target.name, target.traffic))
    )


def _state(report: Report, address: str, traffic: Traffic, stated: Limits, ratio: float) -> StateNow:
    """Return the state of an address, or near where the traffic of an interval brings a stated ceiling near."""
    now = report.states.get(address, NOT_KNOWN)
    is_of_now = report.seconds is not None  # and no mean since the mount
    return with_near(now, near_ceilings(ClientLoad.of(traffic), stated, ratio)) if is_of_now else now


def parts_of(report: Report, target: ReportLine, order: ReportOrder) -> list[ReportLine]:
    """Return the lines below a mount target. Empty for a report by mount target."""
    if order.by == "mount-target":
        return []
    if order.by == "mount":
        mounts = {key: traffic for key, traffic in report.traffic.items() if key.address == target.name}
        parts = [
            ReportLine(_mount_name(key, report.mount_points), traffic, target.compare, key)
            for key, traffic in mounts.items()
        ]
    else:
        parts = list(_operations(target, order.by))
    parts.sort(key=lambda part: SORTS[order.sort](part.name, part.traffic))
    return parts[: order.limit]


def _operations(target: ReportLine, by: str) -> Iterator[ReportLine]:
    traffic = target.traffic
    for name, rate in (traffic.operations if by == "operation" else traffic.by_class).items():
        if rate.operations:
            operation = {READ_CLASS: READ, WRITE_CLASS: WRITE}.get(name, name)
            read = traffic.read_bytes if operation == READ else 0.0
            written = traffic.written_bytes if operation == WRITE else 0.0
            yield ReportLine(name, Traffic({operation: rate}, read, written), target.compare)


def network_use(report: Report, order: ReportOrder) -> Use | None:
    """Return the share of the host's network that the mounts use. The busier direction counts."""
    limit = order.client_bandwidth or report.network_bytes_per_second
    if limit is None:
        return None
    every = together(report.traffic.values())
    return Use(CLIENT_NETWORK, "B/s", max(every.read_bytes, every.written_bytes), limit)


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
