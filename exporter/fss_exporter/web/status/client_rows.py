"""The client side of the page: this host's mounts, from differences between two looks at their counters."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fss_exporter.model.histograms import in_classes, quantile_edge
from fss_exporter.model.limits import STANDARD
from fss_exporter.model.operations import FIXED_COSTS, READ, READ_CLASS, WRITE, WRITE_CLASS
from fss_exporter.samples import Samples
from fss_exporter.web.status.rows import ESTIMATED_FROM_CLIENTS, AddressRow, MountRow, Quantity, Usage

_Key = tuple[str, ...]

_MOUNT = ("address", "server", "export")
_MOST_MOUNTS = 50
_TRANSFERS = {READ_CLASS: READ, WRITE_CLASS: WRITE}
_IO = "fss_client_estimated_io_operations_total"
_OF_MOUNTS = {
    "io": _IO,
    "io_lower": "fss_client_estimated_io_operations_lower_bound_total",
    "io_upper": "fss_client_estimated_io_operations_upper_bound_total",
    "read_bytes": "fss_client_read_bytes_total",
    "written_bytes": "fss_client_written_bytes_total",
    "requests": "fss_client_requests_total",
    "rtt": "fss_client_rtt_seconds_total",
    "queue": "fss_client_queue_seconds_total",
}


@dataclass(frozen=True, slots=True)
class Look:
    """The counters of all mounts at one time (seconds of a clock that never goes back), by name and labels."""

    at: float
    counters: Mapping[str, Mapping[_Key, float]] = field(default_factory=dict)


def look(samples: Samples, at: float) -> Look:
    """Return the present counters."""
    counters = {name: samples.by(metric, *_MOUNT) for name, metric in _OF_MOUNTS.items()}
    counters["operations"] = samples.by("fss_client_operations_total", *_MOUNT, "operation")
    counters["io_by_class"] = samples.by(_IO, *_MOUNT, "class")
    for bound in ("io_lower", "io_upper"):
        of_classes = samples.by(_OF_MOUNTS[bound], *_MOUNT, "class")
        counters[bound] = _with_exact_classes(of_classes, counters["io_by_class"])
    counters["durations"] = samples.by("fss_client_request_duration_seconds_bucket", "address", "le")
    return Look(at, counters)


def _with_exact_classes(bounds: Mapping[_Key, float], estimates: Mapping[_Key, float]) -> dict[_Key, float]:
    """Return a bound of each mount. Only classes of READ and WRITE have bounds, the cost of the rest is exact."""
    found: dict[_Key, float] = defaultdict(float)
    for (*mount, name), estimate in estimates.items():
        found[tuple(mount)] += bounds.get((*mount, name), estimate)
    return dict(found)


class Growth:
    """The growth of all counters between two looks. Never negative, because a restarted counter starts at 0."""

    def __init__(self, now: Look, earlier: Look) -> None:
        self.seconds = now.at - earlier.at
        self.counters: Mapping[str, Mapping[_Key, float]] = {
            name: {key: max(0.0, value - earlier.counters.get(name, {}).get(key, 0.0)) for key, value in values.items()}
            for name, values in now.counters.items()
        }
        self.mounts = {mount for name in _OF_MOUNTS for mount in self.counters[name]}

    def rate(self, name: str, *mounts: _Key) -> float:
        """Return the growth per second of some mounts together."""
        return sum(self.counters[name].get(mount, 0.0) for mount in mounts) / self.seconds

    def mean(self, name: str, mount: _Key) -> float | None:
        """Return the seconds of one request. None without requests."""
        requests = self.counters["requests"].get(mount, 0.0)
        return self.counters[name].get(mount, 0.0) / requests if requests else None

    def iops(self, mounts: Collection[_Key]) -> Usage:
        """Return the estimated IOPS of some mounts, without a ceiling."""
        bounds = self.rate("io_lower", *mounts), self.rate("io_upper", *mounts)
        return Usage(Quantity.IOPS, self.rate("io", *mounts), source=ESTIMATED_FROM_CLIENTS, bounds=bounds)


def iops_by_address(grown: Growth) -> dict[str, Usage]:
    """Return the estimated IOPS of this host by address, without a ceiling."""
    mounts: dict[str, list[_Key]] = defaultdict(list)
    for mount in grown.mounts:
        mounts[mount[0]].append(mount)
    return {address: grown.iops(own) for address, own in mounts.items()}


def mount_rows(samples: Samples, grown: Growth) -> tuple[MountRow, ...]:
    """Return the mounts with the highest cost between two looks, in descending order."""
    io = grown.counters["io"]
    whole = sum(io.values())
    points: dict[_Key, list[str]] = defaultdict(list)
    for labels, _ in samples.all("fss_client_mount_info"):
        points[tuple(labels.get(name, "") for name in _MOUNT)].append(labels.get("mount_point", ""))
    most = sorted(grown.mounts, key=lambda mount: (-io.get(mount, 0.0), mount))[:_MOST_MOUNTS]
    top = _top_operations(grown)
    return tuple(
        MountRow(
            server=mount[1],
            export=mount[2],
            address=mount[0],
            mount_points=tuple(sorted(points[mount])),
            iops=grown.iops([mount]),
            share=io.get(mount, 0.0) / whole if whole else None,
            top_operation=top.get(mount, ""),
            read_bytes_per_second=grown.rate("read_bytes", mount),
            write_bytes_per_second=grown.rate("written_bytes", mount),
            rtt_seconds=grown.mean("rtt", mount),
            queue_seconds=grown.mean("queue", mount),
        )
        for mount in most
    )


def _top_operations(grown: Growth) -> dict[_Key, str]:
    """Return the operation with the highest cost of each mount, or the class with --nfs.operations=none."""
    has_operations = any(operation for *_, operation in grown.counters["operations"])
    costs = {
        key: io for key, io in grown.counters["io_by_class"].items() if key[-1] in _TRANSFERS or not has_operations
    }
    for key, count in grown.counters["operations"].items():
        if key[-1] in FIXED_COSTS:
            costs[key] = count * FIXED_COSTS[key[-1]]
    best: dict[_Key, tuple[float, str]] = {}
    for (*mount, name), cost in costs.items():
        if cost > best.get(tuple(mount), (0.0, ""))[0]:
            best[tuple(mount)] = (cost, _TRANSFERS.get(name, name))
    return {mount: operation for mount, (_, operation) in best.items()}


class KnownAddress(NamedTuple):
    """The mount target or service of an address: display name, IOPS ceiling if known, and a note on the ceiling."""

    name: str
    iops_limit: float | None
    note: str = ""


_UNKNOWN = KnownAddress("", STANDARD.limits.iops, "if it is a standard mount target")


def address_rows(samples: Samples, known: Mapping[str, KnownAddress], grown: Growth) -> tuple[AddressRow, ...]:
    """Return the mounted addresses of this host, the busiest first.

    A note says so if an unknown address is compared with a standard mount target. In exact mode a row has the upper edges
    of median and 99th percentile of durations, in seconds.
    """
    durations: dict[str, dict[float, float]] = defaultdict(dict)
    for (address, edge), count in grown.counters["durations"].items():
        durations[address][float(edge)] = count
    rows = []
    for (address,), peak in samples.by("fss_client_peak_estimated_iops", "address").items():
        name, limit, note = known.get(address, _UNKNOWN)
        usage = Usage(Quantity.IOPS, peak, limit, ESTIMATED_FROM_CLIENTS, note=note)
        counts = in_classes(durations[address])
        rows.append(AddressRow(address, name, usage, quantile_edge(counts, 0.5), quantile_edge(counts, 0.99)))
    return tuple(sorted(rows, key=lambda row: (-row.peak.value, row.address)))
