"""The client side of the page: this host's mounts, from differences between two looks at their counters."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import NamedTuple

from fss_exporter.model.histograms import in_classes, quantile_edge
from fss_exporter.model.limits import STANDARD
from fss_exporter.model.operations import FIXED_COSTS, READ, READ_CLASS, WRITE, WRITE_CLASS
from fss_exporter.web.status.rows import ESTIMATED_FROM_CLIENTS, AddressRow, MountRow, Quantity, Usage
from fss_exporter.web.status.samples import Samples

Mount = tuple[str, ...]  # Address, server, export

_MOUNT = ("address", "server", "export")
_MOST_MOUNTS = 50
_TRANSFERS = {READ_CLASS: READ, WRITE_CLASS: WRITE}


@dataclass(frozen=True, slots=True)
class Totals:
    """Counters of one mount over all operations: I/O operations, bytes, seconds."""

    io: float = 0.0
    io_lower: float = 0.0
    io_upper: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    operations: float = 0.0
    rtt_seconds: float = 0.0
    queue_seconds: float = 0.0

    def since(self, earlier: "Totals") -> "Totals":
        """Return the growth. Never negative, because a restarted counter starts at 0."""
        return Totals(*(max(0.0, now - then) for now, then in zip(astuple(self), astuple(earlier), strict=True)))


_COUNTERS = (
    "fss_client_estimated_io_operations_total",
    "fss_client_estimated_io_operations_lower_bound_total",
    "fss_client_estimated_io_operations_upper_bound_total",
    "fss_client_read_bytes_total",
    "fss_client_written_bytes_total",
    "fss_client_requests_total",
    "fss_client_rtt_seconds_total",
    "fss_client_queue_seconds_total",
)  # in the order of the fields of Totals


@dataclass(frozen=True, slots=True)
class Look:
    """The counters of all mounts at one time (seconds of a clock that never goes back)."""

    at: float
    totals: Mapping[Mount, Totals] = field(default_factory=dict)
    operations: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    io_by_class: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    durations: Mapping[tuple[str, ...], float] = field(default_factory=dict)  # requests by address and `le`


def look(samples: Samples, at: float) -> Look:
    """Return the present counters."""
    io_by_class = samples.by(_COUNTERS[0], *_MOUNT, "class")
    columns = [samples.by(name, *_MOUNT) for name in _COUNTERS]
    columns[1:3] = (_with_exact_classes(samples.by(name, *_MOUNT, "class"), io_by_class) for name in _COUNTERS[1:3])
    mounts = {mount for column in columns for mount in column}
    totals = {mount: Totals(*(column.get(mount, 0.0) for column in columns)) for mount in mounts}
    operations = samples.by("fss_client_operations_total", *_MOUNT, "operation")
    durations = samples.by("fss_client_request_duration_seconds_bucket", "address", "le")
    return Look(at, totals, operations, io_by_class, durations)


def _with_exact_classes(
    bounds: Mapping[tuple[str, ...], float], estimates: Mapping[tuple[str, ...], float]
) -> dict[Mount, float]:
    """Return a bound of each mount. Only classes of READ and WRITE have bounds, the cost of the rest is exact."""
    found: dict[Mount, float] = defaultdict(float)
    for (*mount, name), estimate in estimates.items():
        found[tuple(mount)] += bounds.get((*mount, name), estimate)
    return dict(found)


def iops_by_address(now: Look, earlier: Look) -> dict[str, Usage]:
    """Return the estimated IOPS of this host by address, without a ceiling."""
    seconds = now.at - earlier.at
    added: dict[str, list[Totals]] = defaultdict(list)
    for mount, totals in now.totals.items():
        added[mount[0]].append(totals.since(earlier.totals.get(mount, Totals())))
    return {address: _iops(rows, seconds) for address, rows in added.items()}


def _iops(rows: list[Totals], seconds: float) -> Usage:
    return Usage(
        Quantity.IOPS,
        sum(row.io for row in rows) / seconds,
        source=ESTIMATED_FROM_CLIENTS,
        bounds=(sum(row.io_lower for row in rows) / seconds, sum(row.io_upper for row in rows) / seconds),
    )


def mount_rows(samples: Samples, now: Look, earlier: Look) -> tuple[MountRow, ...]:
    """Return the mounts with the highest cost between two readings, in descending order."""
    added = {mount: totals.since(earlier.totals.get(mount, Totals())) for mount, totals in now.totals.items()}
    everything = sum(totals.io for totals in added.values())
    points: dict[Mount, list[str]] = defaultdict(list)
    for labels, _ in samples.all("fss_client_mount_info"):
        points[tuple(labels.get(name, "") for name in _MOUNT)].append(labels.get("mount_point", ""))
    most = sorted(added, key=lambda mount: (-added[mount].io, mount))[:_MOST_MOUNTS]
    top = _top_operations(now, earlier)
    seconds = now.at - earlier.at
    return tuple(
        _mount_row(
            mount,
            added[mount],
            seconds,
            share=added[mount].io / everything if everything else None,
            points=tuple(sorted(points[mount])),
            top_operation=top.get(mount, ""),
        )
        for mount in most
    )


def _top_operations(now: Look, earlier: Look) -> dict[Mount, str]:
    """Return the operation with the highest cost of each mount, or the class with --nfs.operations=none."""
    has_operations = any(operation for *_, operation in now.operations)
    costs = {
        key: io - earlier.io_by_class.get(key, 0.0)
        for key, io in now.io_by_class.items()
        if key[-1] in _TRANSFERS or not has_operations
    }
    for key, count in now.operations.items():
        if key[-1] in FIXED_COSTS:
            costs[key] = (count - earlier.operations.get(key, 0.0)) * FIXED_COSTS[key[-1]]
    best: dict[Mount, tuple[float, str]] = {}
    for (*mount, name), cost in costs.items():
        if cost > best.get(tuple(mount), (0.0, ""))[0]:
            best[tuple(mount)] = (cost, _TRANSFERS.get(name, name))
    return {mount: operation for mount, (_, operation) in best.items()}


def _mount_row(
    mount: Mount, added: Totals, seconds: float, *, share: float | None, points: tuple[str, ...], top_operation: str
) -> MountRow:
    address, server, export = mount
    done = added.operations
    return MountRow(
        server=server,
        export=export,
        address=address,
        mount_points=points,
        iops=_iops([added], seconds),
        share=share,
        top_operation=top_operation,
        read_bytes_per_second=added.read_bytes / seconds,
        write_bytes_per_second=added.written_bytes / seconds,
        rtt_seconds=added.rtt_seconds / done if done else None,
        queue_seconds=added.queue_seconds / done if done else None,
    )


class KnownAddress(NamedTuple):
    """The mount target or service of an address: display name, IOPS ceiling if known, and a note on the ceiling."""

    name: str
    iops_limit: float | None
    note: str = ""


_UNKNOWN = KnownAddress("", STANDARD.limits.iops, "if it is a standard mount target")


def _slowest_by_address(now: Look, earlier: Look) -> dict[str, tuple[float | None, float | None]]:
    """Return the upper edges of median and 99th percentile of durations, in seconds, in exact mode."""
    at_most: dict[str, dict[float, float]] = defaultdict(dict)
    for (address, edge), count in now.durations.items():
        at_most[address][float(edge)] = count - earlier.durations.get((address, edge), 0.0)
    return {
        address: (quantile_edge(in_classes(counts), 0.5), quantile_edge(in_classes(counts), 0.99))
        for address, counts in at_most.items()
    }


def address_rows(
    samples: Samples, known: Mapping[str, KnownAddress], now: Look, earlier: Look
) -> tuple[AddressRow, ...]:
    """Return the mounted addresses of this host, the busiest first.

    Args:
        samples: samples of this collection.
        known: facts about an address. Another address is compared with a standard mount target, and a note says so.
        now: the counters of this collection.
        earlier: the counters of an earlier one.
    """
    rows = []
    durations = _slowest_by_address(now, earlier)
    for (address,), peak in samples.by("fss_client_peak_estimated_iops", "address").items():
        name, limit, note = known.get(address, _UNKNOWN)
        usage = Usage(Quantity.IOPS, peak, limit, ESTIMATED_FROM_CLIENTS, note=note)
        rows.append(AddressRow(address, name, usage, *durations.get(address, (None, None))))
    return tuple(sorted(rows, key=lambda row: (-row.peak.value, row.address)))
