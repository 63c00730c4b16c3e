# SPDX-License-Identifier: Apache-2.0
"""What `top` shows at one moment: every mount target with its figures, and what is behind one of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.state import State, StateNow
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.web.status.overview import REFUSED, causes_of_polls
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage, fullest

# What Enter shows behind a mount target. The keys 1 to 4 stand for them.
KINDS: Final = ("mounts", "clients", "operations", "processes")

_SILENT_SECONDS: Final = 40.0


@dataclass(frozen=True, slots=True)
class LoadPart:
    """One mount, client, operation or process behind a mount target. Figures per second, None if unknown."""

    name: str
    iops: Bounds | None = None  # mount-target I/O operations
    operations: float | None = None  # NFS operations
    read_bytes: float | None = None
    written_bytes: float | None = None
    rtt_seconds: float | None = None  # mean time from transmission to reply
    detail: str = ""  # e.g. the mount points of a mount, or the pod or unit of a process
    failed: float | None = None  # NFS operations with an unexpected error
    state: State | None = None  # of a client, as its agent judges the address
    waiting_seconds: float | None = None  # how long requests of a client have had no reply. None if none waits


# Labels of a process in the metrics of an agent.
PROCESS_LABELS: Final = ("process", "pod_namespace", "pod_name", "unit")

ByLabels = Mapping[tuple[str, ...], float]  # by the values of labels


def process_parts(
    iops: ByLabels, operations: ByLabels, payload: ByLabels
) -> Iterator[tuple[tuple[str, ...], LoadPart]]:
    """Yield the load of each process, a second. A key ends with `PROCESS_LABELS`, a key of payload then has the direction."""
    for key in {**iops, **operations}:
        process, namespace, pod, unit = key[-len(PROCESS_LABELS) :]
        cost = iops.get(key)  # None where the service publishes no cost
        yield (
            key,
            LoadPart(
                process,
                None if cost is None else Bounds.exact(cost),
                operations.get(key),
                payload.get((*key, "read")),
                payload.get((*key, "write")),
                detail=f"{namespace}/{pod}".strip("/") or unit,
            ),
        )


@dataclass(frozen=True, slots=True)
class Parts:
    """All parts of one kind behind a mount target."""

    rows: tuple[LoadPart, ...] = ()
    remark: str = ""  # why there are no rows, or what the rows leave out


@dataclass(frozen=True, slots=True)
class Picture:
    """Every mount target at one moment."""

    targets: tuple[MountTargetRow, ...]
    seconds: float | None = None  # time that the figures of clients cover. None: the source has its own times
    of_clients: tuple[
        tuple[State, str], ...
    ] = ()  # clients that are worse off than their mount target, with the reason
    gaps: tuple[str, ...] = ()  # why figures are old or missing, the cause first
    remarks: tuple[str, ...] = ()
    is_starting: bool = False  # whether the source has not yet had the time to know its mount targets


def failed_polls(failed: Iterable[str], calls: Mapping[tuple[str, ...], float]) -> Iterator[str]:
    """Yield why the figures of some regions grow older: where OCI refuses the credentials, and then where the last poll failed.

    `calls` are failed calls by region, operation and reason.
    """
    causes = {region: cause for (region,), cause in causes_of_polls(calls).items()}
    regions: dict[str, list[str]] = defaultdict(list)
    for region in sorted({*failed, *(region for region, cause in causes.items() if cause == REFUSED)}):
        regions[causes.get(region, "")].append(region)
    for cause in sorted(regions, key=lambda cause: (cause != REFUSED, cause)):
        where = ", ".join(regions[cause])
        section = "fssocicredentialsrefused" if cause == REFUSED else "fssocidatalate"
        said = f"{cause} in {where}" if cause else f"the last poll of {where} failed"
        yield f"{said}: figures grow older (docs/runbook.md#{section})"


class PictureSource(Protocol):
    """A host, a page of metrics or a Prometheus."""

    title: str  # name of the source for the first line
    opens: str  # kind of the parts that Enter shows first
    period_seconds: float  # time between two readings
    interval: float  # seconds between two pictures

    def read(self) -> Picture | None:
        """Read the source once. None: there is nothing new yet. Raises FssError if the source does not answer."""

    def parts(self, target: MountTargetRow, kind: str) -> Parts:
        """Return the parts behind a mount target of the last picture. Raises FssError if the source does not answer."""

    def close(self) -> None:
        """Leave nothing behind."""


def key_of(target: MountTargetRow) -> str:
    """Return a text that names a mount target in every picture."""
    return target.ocid or f"{target.region}\n{target.address}"


def is_silent(seconds: float, interval: float) -> bool:
    """Whether a source with a picture each `interval` seconds says nothing about now, after `seconds` without a picture."""
    return seconds > max(_SILENT_SECONDS, 2 * interval)


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """A mount target at one moment, and what to believe of it."""

    row: MountTargetRow
    usages: Mapping[Quantity, Usage]  # to believe. A quantity of which nothing is known is missing
    fullest: Usage | None  # highest share of a ceiling. None without a known figure that has a ceiling

    @property
    def state(self) -> StateNow:
        """State of the mount target, as its source judges it."""
        return self.row.state

    @property
    def key(self) -> str:
        """Text that names the mount target in every picture."""
        return key_of(self.row)


def shown_target(row: MountTargetRow, seconds: float = 0.0) -> ShownTarget:
    """Return a mount target whose figures are older than in its row by `seconds`."""
    lasted = row.state.seconds
    state = row.state if lasted is None else replace(row.state, seconds=lasted + seconds)
    row = replace(row, usages=tuple(_aged(usage, seconds) for usage in row.usages), state=state)
    return ShownTarget(row, {usage.quantity: usage for usage in row.believed}, fullest(row.believed))


def _aged(usage: Usage, seconds: float) -> Usage:
    age = usage.figure.age_seconds
    return usage if age is None else replace(usage, figure=replace(usage.figure, age_seconds=age + seconds))


def part_of(name: str, traffic: Traffic, detail: str = "") -> LoadPart:
    """Return a part with the figures of traffic."""
    operations = traffic.all_operations
    return LoadPart(
        name,
        operations.iops,
        operations.operations,
        traffic.read_bytes,
        traffic.written_bytes,
        operations.mean_rtt_seconds,
        detail,
    )


def operations_of(traffic: Traffic) -> tuple[LoadPart, ...]:
    """Return a part for each operation that happens. Bytes belong to READ and WRITE."""
    return tuple(_operation(name, rate, traffic) for name, rate in traffic.operations.items() if rate.operations)


def _operation(name: str, rate: OperationTraffic, traffic: Traffic) -> LoadPart:
    read_bytes = traffic.read_bytes if name == "READ" else None
    written_bytes = traffic.written_bytes if name == "WRITE" else None
    return LoadPart(name, rate.iops, rate.operations, read_bytes, written_bytes, rate.mean_rtt_seconds)
