# SPDX-License-Identifier: Apache-2.0
"""The client side of the page: this host's mounts, from their traffic since an earlier look at the counters."""

from collections import defaultdict
from collections.abc import Mapping

from fss_exporter.client_scrape import Rates, Scraped, traffic_of
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.histograms import CallsByEdge, quantile_edge
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.limits import STANDARD
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.state import NOT_KNOWN, StateNow
from fss_exporter.model.thresholds import CRITICAL_RATIO
from fss_exporter.samples import Samples
from fss_exporter.served_ceilings import ServedCeilings
from fss_exporter.web.status.rows import AddressRow, MountRow, Quantity, Usage

_MOST_MOUNTS = 50


def iops_by_address(costs: Mapping[SeriesKey, Bounds]) -> dict[str, Usage]:
    """Return the estimated IOPS of this host by address, without a ceiling."""
    sums: dict[str, Bounds] = defaultdict(lambda: Bounds.exact(0.0))
    for mount, cost in costs.items():
        sums[mount.address] = sums[mount.address].plus(cost)
    return {address: Usage(Quantity.IOPS, KnownFigure.of(cost, FigureSource.HOST)) for address, cost in sums.items()}


def mount_rows(
    scrape: Scraped, rates: Mapping[SeriesKey, Rates], costs: Mapping[SeriesKey, Bounds]
) -> tuple[MountRow, ...]:
    """Return the mounts with the highest cost, in descending order."""
    whole = sum(cost.point for cost in costs.values())
    costliest = sorted(costs, key=lambda mount: (-costs[mount].point, mount))[:_MOST_MOUNTS]
    return tuple(
        MountRow(
            mount=mount,
            mount_points=tuple(sorted(scrape.mount_points.get(mount, ()))),
            iops=costs[mount],
            share=costs[mount].point / whole if whole else None,
            traffic=traffic_of(mount.service, rates[mount], scrape.overrides),
        )
        for mount in costliest
    )


def address_rows(
    samples: Samples,
    ceilings: Mapping[str, ServedCeilings],
    durations: Mapping[str, CallsByEdge],
    states: Mapping[str, StateNow],
) -> tuple[AddressRow, ...]:
    """Return the mounted addresses of this host, the worst state first, then the busiest.

    A note says so if an unknown address is compared with a standard mount target. In exact mode a row has the upper edges
    of median and 99th percentile of durations, in seconds.
    """
    rows = []
    mounted = samples.by("fss_client_mount_info", "address").keys() | {(address,) for address in states}
    for (address,), peak in samples.by("fss_client_peak_estimated_iops", "address").items():
        if (address,) not in mounted:
            continue  # the peak outlives the last mount
        served = ceilings.get(address)
        usage = Usage(
            Quantity.IOPS,
            KnownFigure(peak, FigureSource.HOST),
            served.limits.iops if served else STANDARD.limits.iops,
            note="" if served else "if it is a standard mount target",
            warning_ratio=CRITICAL_RATIO,  # of a single second
            is_assumed=served is None,
        )
        counts = durations.get(address, {})
        rows.append(
            AddressRow(
                address,
                served.name if served else "",
                usage,
                states.get(address, NOT_KNOWN),
                quantile_edge(counts, 0.5),
                quantile_edge(counts, 0.99),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.state.state, -row.peak.value, row.address)))
