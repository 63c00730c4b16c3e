"""The client side of the page: this host's mounts, from their traffic since an earlier look at the counters."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from fss_exporter.client_scrape import Rates, Scraped, traffic_of
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.histograms import CallsByEdge, quantile_edge
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.limits import STANDARD
from fss_exporter.model.operations import READ, READ_CLASS, WRITE, WRITE_CLASS
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.traffic import Traffic
from fss_exporter.samples import Samples
from fss_exporter.web.status.rows import AddressRow, MountRow, Quantity, Usage

_MOST_MOUNTS = 50
_TRANSFERS = {READ: READ_CLASS, WRITE: WRITE_CLASS}


def iops_by_address(costs: Mapping[SeriesKey, Bounds]) -> dict[str, Usage]:
    """Return the estimated IOPS of this host by address, without a ceiling."""
    of_address: dict[str, Bounds] = defaultdict(lambda: Bounds.exact(0.0))
    for key, cost in costs.items():
        of_address[key.address] = of_address[key.address].plus(cost)
    return {address: _usage(cost) for address, cost in of_address.items()}


def _usage(cost: Bounds) -> Usage:
    return Usage(Quantity.IOPS, KnownFigure(cost.point, FigureSource.HOST), bounds=(cost.lower, cost.upper))


def mount_rows(
    scrape: Scraped, rates: Mapping[SeriesKey, Rates], costs: Mapping[SeriesKey, Bounds]
) -> tuple[MountRow, ...]:
    """Return the mounts with the highest cost, in descending order."""
    whole = sum(cost.point for cost in costs.values())
    most = sorted(costs, key=lambda key: (-costs[key].point, key))[:_MOST_MOUNTS]
    return tuple(
        _mount_row(scrape, key, traffic_of(key.service, rates[key], scrape.overrides), costs[key], whole)
        for key in most
    )


def _mount_row(scrape: Scraped, key: SeriesKey, traffic: Traffic, cost: Bounds, whole: float) -> MountRow:
    operations = traffic.all_operations
    return MountRow(
        server=key.server,
        export=key.export,
        address=key.address,
        mount_points=tuple(sorted(scrape.mount_points.get(key, ()))),
        iops=_usage(cost),
        share=cost.point / whole if whole else None,
        top_operation=_top_operation(traffic),
        read_bytes_per_second=traffic.read_bytes,
        write_bytes_per_second=traffic.written_bytes,
        rtt_seconds=operations.mean_rtt_seconds,
        queue_seconds=operations.mean_queue_seconds,
    )


def _top_operation(traffic: Traffic) -> str:
    """Return the operation with the highest cost, or the class with --nfs.operations=none. Empty without any cost."""
    # READ_PLUS shares its class with READ.
    transfers = {name: traffic.classes[kind] for name, kind in _TRANSFERS.items() if kind in traffic.classes}
    operations = {**traffic.operations, **transfers}
    costs = {name: rate.iops.point for name, rate in operations.items() if rate.iops and rate.iops.point}
    return max(costs, key=costs.__getitem__, default="")


class KnownAddress(NamedTuple):
    """The mount target or service of an address: display name, IOPS ceiling if known, and a note on the ceiling."""

    name: str
    iops_limit: float | None
    note: str = ""


_UNKNOWN = KnownAddress("", STANDARD.limits.iops, "if it is a standard mount target")


def address_rows(
    samples: Samples, known: Mapping[str, KnownAddress], durations: Mapping[str, CallsByEdge]
) -> tuple[AddressRow, ...]:
    """Return the mounted addresses of this host, the busiest first.

    A note says so if an unknown address is compared with a standard mount target. In exact mode a row has the upper edges
    of median and 99th percentile of durations, in seconds.
    """
    rows = []
    for (address,), peak in samples.by("fss_client_peak_estimated_iops", "address").items():
        name, limit, note = known.get(address, _UNKNOWN)
        usage = Usage(Quantity.IOPS, KnownFigure(peak, FigureSource.HOST), limit, note=note)
        counts = durations.get(address, {})
        rows.append(AddressRow(address, name, usage, quantile_edge(counts, 0.5), quantile_edge(counts, 0.99)))
    return tuple(sorted(rows, key=lambda row: (-row.peak.value, row.address)))
