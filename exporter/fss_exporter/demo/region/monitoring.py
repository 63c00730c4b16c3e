"""Monitoring (20180401), metrics: ListMetrics, SummarizeMetricsData, PostMetricData."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import translate
from typing import Any

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.evaluate import Line, RawStream, evaluate
from fss_exporter.demo.region.feed import RETENTION_MINUTES, Definition, Feed
from fss_exporter.demo.region.metric_details import (
    Limits,
    ListMetricsDetails,
    Metrics,
    Subtree,
    SummarizeMetricsDataDetails,
)
from fss_exporter.demo.region.wire import Answer, Call, Operation, paged
from fss_exporter.errors import MqlError
from fss_exporter.oci.mql import Expression, Metric, Selector, metrics, parse

BASE = "/20180401"
DEFAULT_RANGE_MINUTES = 180
_RESOLUTION = re.compile(r"([1-9]|[1-5][0-9]|60)m|([1-9]|1[0-9]|2[0-4])h|1d")
_MINUTES = {"m": 1, "h": 60, "d": 1440}


@dataclass(frozen=True)
class Monitoring:
    """Metrics of a region.

    Args:
        activity: the tenancy.
        feed: its streams.
        now: epoch seconds.
        limits: how much it answers.
    """

    activity: Activity
    feed: Feed
    now: Callable[[], float]
    limits: Limits

    def operations(self) -> tuple[Operation, ...]:
        """What it serves."""
        actions = f"{BASE}/metrics/actions"
        return (
            Operation(
                "ListMetrics",
                "POST",
                f"{actions}/listMetrics",
                self.list_metrics,
                Metrics,
                ListMetricsDetails,
                "ListMetrics",
            ),
            Operation(
                "SummarizeMetricsData",
                "POST",
                f"{actions}/summarizeMetricsData",
                self.summarize,
                Subtree,
                SummarizeMetricsDataDetails,
                "SummarizeMetricsData",
            ),
        )

    def scope(self, compartment_id: str, *, subtree: bool) -> frozenset[str]:
        """Compartments a call reaches. The whole tree only from the tenancy, documented: SummarizeMetricsData."""
        tenancy = self.activity.tenancy
        known = tenancy.compartment_ids
        if compartment_id not in known:
            raise refusal.not_authorized_or_not_found("compartment")
        if subtree and compartment_id != tenancy.id:
            raise refusal.invalid("query parameter compartmentIdInSubtree may be true only for the tenancy")
        return known if subtree else frozenset({compartment_id})

    @property
    def minute(self) -> int:
        """The current epoch minute."""
        return int(self.now() // 60)

    # -- ListMetrics

    def list_metrics(self, call: Call) -> Answer:
        """ListMetrics. Deleted resources stay listed; `groupBy` makes `dimensionFilters` void, both documented."""
        query: Metrics = call.query
        wanted: ListMetricsDetails = call.body
        scope = self.scope(query.compartment_id, subtree=query.compartment_id_in_subtree)
        found = [
            entry
            for entry in self.feed.definitions(self.minute)
            if entry.compartment_id in scope and _fits(entry, wanted)
        ]
        bodies = _grouped(found, wanted.group_by) if wanted.group_by else [_metric(entry) for entry in found]
        field = {"NAMESPACE": "namespace", "NAME": "name", "RESOURCEGROUP": "resourceGroup"}.get(wanted.sort_by or "")
        if field:
            bodies.sort(key=lambda body: str(body.get(field) or ""), reverse=wanted.sort_order == "DESC")
        return paged(bodies, query, self.limits.page)

    # -- SummarizeMetricsData

    def summarize(self, call: Call) -> Answer:
        """SummarizeMetricsData: one array element for each stream that has a point. It has no pages."""
        query: Subtree = call.query
        details: SummarizeMetricsDataDetails = call.body
        scope = self.scope(query.compartment_id, subtree=query.compartment_id_in_subtree)
        expression = parsed_query(details.query)
        minutes = self._window(details, expression)
        lines = self.lines(expression, details.namespace, details.resource_group, scope, minutes)
        if len(lines) > self.limits.streams:
            raise refusal.invalid(
                f"The query yields {len(lines)} metric streams, more than {self.limits.streams}: narrow it by dimensions or split it."
            )
        points = sum(len(line.points) for line in lines)
        if points > self.limits.points:
            raise refusal.invalid(
                f"The query yields {points} data points, more than {self.limits.points}: shorten the time range."
            )
        resolution = details.resolution or "1m"
        return Answer([_metric_data(details, line, resolution) for line in lines])

    def lines(
        self, expression: Expression, namespace: str, group: str | None, scope: frozenset[str], minutes: range
    ) -> list[Line]:
        """Evaluate an expression over the streams of some compartments."""

        def source(metric: Metric) -> Iterable[RawStream]:
            chosen = [_selects(selector) for selector in metric.selectors]
            for stream in self._raw(namespace, metric.resource_group or group, metric.name):
                if stream.compartment_id in scope and all(fits(stream.dimensions) for fits in chosen):
                    yield stream

        return evaluate(expression, source, minutes)

    def _raw(self, namespace: str, group: str | None, name: str) -> Iterator[RawStream]:
        """Streams by exact name. A null resource group matches only metrics without one, documented: MetricData."""
        row = self.feed.documented(namespace, name, self.minute) if group is None else None
        if row is not None:
            now = self.now()
            for number, stream in self.feed.streams(namespace, row):
                raw = self.feed.readings(number, stream, now)
                yield RawStream(name, stream.compartment_id, stream.dimensions, row.metadata, raw)
        for posted in self.feed.custom(namespace, group, name):
            definition = posted.definition
            yield RawStream(name, definition.compartment_id, definition.dimensions, definition.metadata, posted)

    def _window(self, details: SummarizeMetricsDataDetails, expression: Expression) -> range:
        """Minutes of the points: start inclusive, end exclusive, on whole multiples of the resolution, at most 7 days back."""
        resolution = details.resolution or "1m"
        if not _RESOLUTION.fullmatch(resolution):
            raise refusal.invalid(f"field resolution: {resolution!r} is not 1m to 60m, 1h to 24h or 1d")
        step = int(resolution[:-1]) * _MINUTES[resolution[-1]]
        if any(step > metric.interval.minutes for metric in metrics(expression)):
            raise refusal.invalid(f"field resolution: {resolution} is longer than the interval of the query")
        now = self.now()
        end = now if details.end_time is None else epoch(details.end_time)
        start = now - DEFAULT_RANGE_MINUTES * 60 if details.start_time is None else epoch(details.start_time)
        if start >= end:
            raise refusal.invalid("field startTime must be before endTime")
        first = max(-int(-start // 60), self.minute - RETENTION_MINUTES)
        last = min(-int(-end // 60), self.minute + 1)
        return range(first + -first % step, last, step)


def parsed_query(text: str) -> Expression:
    """A query, or 400 with the place where it is wrong."""
    try:
        return parse(text)
    except MqlError as wrong:
        raise refusal.invalid(f"field query: {wrong}") from None


def epoch(moment: datetime) -> float:
    """Epoch seconds; a time without zone is UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _fits(entry: Definition, wanted: ListMetricsDetails) -> bool:
    if wanted.namespace not in (None, entry.namespace) or wanted.resource_group != entry.resource_group:
        return False
    if wanted.name is not None and not _wildcard(wanted.name)(entry.name):
        return False
    filters = {} if wanted.group_by else wanted.dimension_filters or {}
    return all(entry.dimensions.get(name) == value for name, value in filters.items())


def _wildcard(pattern: str) -> Callable[[str], bool]:
    """`*` stands for any run of characters, `|` for or; nothing else is special."""
    literal = re.sub(r"[][?]", lambda found: f"[{found[0]}]", pattern)
    compiled = re.compile("|".join(translate(part.strip()) for part in literal.split("|")))
    return lambda text: compiled.match(text) is not None


def _selects(selector: Selector) -> Callable[[Mapping[str, str]], bool]:
    name, value = selector.dimension, selector.value
    if selector.operator == "=":
        return lambda dimensions: dimensions.get(name) == value
    fits = _wildcard(value)
    return lambda dimensions: name in dimensions and fits(dimensions[name])


def _metric(entry: Definition) -> dict[str, Any]:
    return {
        "name": entry.name,
        "namespace": entry.namespace,
        "resourceGroup": entry.resource_group,
        "compartmentId": entry.compartment_id,
        "dimensions": dict(entry.dimensions),
    }


def _grouped(found: Iterable[Definition], fields: Iterable[str]) -> list[dict[str, Any]]:
    """One entry for each combination of the fields; what is not grouped by is null."""
    kept = set(fields)
    shown = {tuple((name, value) for name, value in _metric(entry).items() if name in kept): None for entry in found}
    return [
        dict.fromkeys(("name", "namespace", "resourceGroup", "compartmentId", "dimensions")) | dict(entry)
        for entry in shown
    ]


def _metric_data(details: SummarizeMetricsDataDetails, line: Line, resolution: str) -> dict[str, Any]:
    return {
        "namespace": details.namespace,
        "resourceGroup": details.resource_group,
        "compartmentId": line.compartment_id,
        "name": line.name,
        "dimensions": dict(line.dimensions),
        "metadata": dict(line.metadata),
        "resolution": resolution,
        "aggregatedDatapoints": [
            {"timestamp": datetime.fromtimestamp(minute * 60, UTC).isoformat().replace("+00:00", "Z"), "value": value}
            for minute, value in line.points.items()
        ],
    }
