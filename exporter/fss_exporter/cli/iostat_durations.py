"""Quantiles of the durations of requests in `iostat`."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fss_exporter import units
from fss_exporter.model.histograms import CallsByEdge, quantile_edge
from fss_exporter.nfs.exact.latency_reader import LatencyReader
from fss_exporter.nfs.exact.request_totals import NO_REQUESTS, RequestTotals, edge_seconds
from fss_exporter.tables import Column

if TYPE_CHECKING:
    from fss_exporter.cli.iostat_report import Report

QUANTILES = {"p50": 0.5, "p99": 0.99}
COLUMNS = (Column("p50 ms", 3), Column("p99 ms", 2))

_LARGEST_EDGE_SECONDS = edge_seconds(24)


def requests_between(before: RequestTotals, after: RequestTotals) -> dict[str, CallsByEdge]:
    """Return the requests between two looks by address and class. Addresses with an invalid interval are left out."""
    found: dict[str, Counter[float]] = {}
    for place, requests in after.requests.items():
        if after.active and place[0] not in after.paused:
            old = before.requests.get(place, NO_REQUESTS).finished.by_exponent
            calls = found.setdefault(place[0], Counter())
            for exponent, count in requests.finished.by_exponent.items():
                calls[edge_seconds(exponent)] += count - old.get(exponent, 0)
    return dict(found)


def with_durations(reports: "Iterator[Report]", reader: LatencyReader) -> "Iterator[Report]":
    """Return the reports with the durations of requests that the kernel counted in each interval."""
    while True:
        reader.loop.run_once()
        before = reader.totals
        try:
            report = next(reports)
        except StopIteration:
            return
        reader.loop.run_once()
        yield replace(report, durations=requests_between(before, reader.totals))


def all_requests(durations: Mapping[str, CallsByEdge]) -> CallsByEdge:
    """Return the requests to all addresses together."""
    return sum((Counter(calls) for calls in durations.values()), Counter())


def cells(calls: CallsByEdge) -> tuple[str, ...]:
    """Return the texts of `COLUMNS`. The kernel counts in classes, so a text names the upper edge of the quantile's class."""
    return tuple(_at_most(quantile_edge(calls, quantile)) for quantile in QUANTILES.values())


def figures(calls: CallsByEdge) -> dict[str, float | None]:
    """Return the quantiles for programs: the upper edges in seconds. Null above the largest edge and without requests."""
    edges = {name: quantile_edge(calls, quantile) for name, quantile in QUANTILES.items()}
    return {f"{name}_at_most_seconds": None if edge == math.inf else edge for name, edge in edges.items()}


def _at_most(edge: float | None) -> str:
    if edge is None:
        return units.NOT_KNOWN
    sign, seconds = (">", _LARGEST_EDGE_SECONDS) if edge == math.inf else ("<=", edge)
    return f"{sign} {seconds * 1000:,.1f}" if seconds >= 0.001 else f"{sign} {seconds * 1000:.3f}"
