# SPDX-License-Identifier: Apache-2.0
"""Monitoring (20180401), metrics: ListMetrics and SummarizeMetricsData."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import translate
from math import ceil
from typing import Any, Final

from fss_exporter.errors import MqlError
from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.activity import Activity
from fss_toolbox.demo.region.api_operations import ApiAnswer, Call, Handler
from fss_toolbox.demo.region.evaluate import MetricStream, ResultStream, evaluate
from fss_toolbox.demo.region.inventory_api import epoch, rfc3339
from fss_toolbox.demo.region.point_store import PointStore
from fss_toolbox.demo.region.posted_metrics import PostedMetrics
from fss_toolbox.demo.region.wire import paged
from fss_toolbox.mql import UNIT_MINUTES, Expression, QueriedMetric, Selector, metrics, parse


@dataclass(frozen=True, slots=True)
class RegionLimits:
    """Documented limits of an answer."""

    streams: int = 2000  # in one answer of SummarizeMetricsData, documented: MetricData
    points: int = 100_000  # likewise
    page: int = 1000  # most items of a page, documented default of ListMetrics and ListAlarms


DEFAULT_RANGE_MINUTES = 180

# Days of history by least resolution in minutes. Documented: MetricData, counted back from now.
HISTORY_DAYS = ((60, 90), (5, 30), (1, 7))

_RESOLUTION = re.compile(r"([1-9]|[1-5][0-9]|60)m|([1-9]|1[0-9]|2[0-4])h|1d")


class MonitoringApi:
    """Metrics of a region.

    Args:
        activity: requests of the tenancy.
        store: points of the tenancy.
        now: returns epoch seconds.
        limits: most streams, points and items of an answer.
        posted: custom metrics.
    """

    def __init__(
        self,
        activity: Activity,
        store: PointStore,
        now: Callable[[], float],
        limits: RegionLimits,
        posted: PostedMetrics,
    ) -> None:
        self.activity = activity
        self.store = store
        self.now = now
        self.limits = limits
        self.posted = posted

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers by API operation."""
        return {
            "ListMetrics": self.list_metrics,
            "SummarizeMetricsData": self.summarize,
            "PostMetricData": self.posted.post,
        }

    def scope(self, compartment_id: str, *, subtree: bool) -> frozenset[str]:
        """Return compartments a call reaches. The whole tree only from the tenancy, documented: SummarizeMetricsData."""
        tenancy = self.activity.tenancy
        compartments = tenancy.compartment_ids
        if compartment_id not in compartments:
            raise refusal.not_authorized_or_not_found("compartment")
        if subtree and compartment_id != tenancy.id:
            raise refusal.invalid("query parameter compartmentIdInSubtree may be true only for the tenancy")
        return compartments if subtree else frozenset({compartment_id})

    # -- ListMetrics

    def list_metrics(self, call: Call) -> ApiAnswer:
        """ListMetrics. Deleted resources stay listed, documented."""
        query, wanted = call.query, call.body
        scope = self.scope(query.compartment_id, subtree=query.compartment_id_in_subtree)
        listed = [
            stream
            for stream in (
                *self.store.listed(scope, self.now(), first_only=bool(wanted.group_by)),
                *(stream for stream in self.posted.streams() if stream.compartment_id in scope),
            )
            if wanted.namespace in (None, stream.namespace)
            and wanted.name in (None, stream.name)
            and wanted.resource_group in (None, stream.resource_group)
        ]
        bodies = _grouped(listed, wanted.group_by) if wanted.group_by else [_metric(stream) for stream in listed]
        return paged(bodies, query, self.limits.page)

    # -- SummarizeMetricsData

    def summarize(self, call: Call) -> ApiAnswer:
        """SummarizeMetricsData: one array element for each stream that has a point. It has no pages."""
        query, details = call.query, call.body
        scope = self.scope(query.compartment_id, subtree=query.compartment_id_in_subtree)
        expression = self.parsed(details.query)
        minutes = self._window(details, expression)
        results = self.results(expression, details.namespace, details.resource_group, scope, minutes)
        points = sum(len(result.points) for result in results)
        if len(results) > self.limits.streams:
            raise refusal.invalid(
                f"The query yields {len(results)} metric streams, more than {self.limits.streams}: "
                "narrow it by dimensions or split it."
            )
        if points > self.limits.points:
            raise refusal.invalid(
                f"The query yields {points} data points, more than {self.limits.points}: shorten the time range."
            )
        return ApiAnswer([_metric_data(details, result) for result in results])

    def parsed(self, text: str) -> Expression:
        """Return a query in the tenancy's order of `&&` and `||`, or 400 with the place of the mistake."""
        try:
            return parse(text, self.activity.tenancy.join_order)
        except MqlError as wrong:
            raise refusal.invalid(f"field query: {wrong}") from None

    def results(
        self, expression: Expression, namespace: str, group: str | None, scope: frozenset[str], minutes: range
    ) -> list[ResultStream]:
        """Evaluate an expression over the streams of some compartments."""
        return evaluate(expression, lambda metric: self.selected_streams(metric, namespace, group, scope), minutes)

    def selected_streams(
        self, metric: QueriedMetric, namespace: str, group: str | None, scope: frozenset[str]
    ) -> Iterator[MetricStream]:
        """Yield streams that a metric of a query selects, by exact name.

        A null resource group matches only metrics without one. Documented: MetricData.
        """
        chosen = [_selects(selector) for selector in metric.selectors]
        group = metric.resource_group or group
        for stream in self.streams(namespace, group, metric.name):
            if stream.compartment_id in scope and all(fits(stream.dimensions) for fits in chosen):
                yield stream

    def streams(self, namespace: str, group: str | None, name: str) -> Iterator[MetricStream]:
        """Yield the streams of a metric. The region's own metrics have no resource group."""
        wanted = namespace, group, name
        for stream in self.posted.streams():
            if (stream.namespace, stream.resource_group, stream.name) == wanted:
                yield stream
        if group is None:
            yield from self.store.selected(namespace, name, self.now())

    def _window(self, details: Any, expression: Expression) -> range:
        """Return minutes of the points: start inclusive, end exclusive, on whole multiples of the resolution.

        The default resolution is the interval, documented: "Monitoring Query Language (MQL) Reference".
        """
        shortest = min((metric.interval_minutes for metric in metrics(expression)), default=1)
        given = details.resolution
        if given is not None and not _RESOLUTION.fullmatch(given):
            raise refusal.invalid(f"field resolution: {given!r} is not 1m to 60m, 1h to 24h or 1d")
        step = shortest if given is None else int(given[:-1]) * UNIT_MINUTES[given[-1]]
        if step > shortest:
            raise refusal.invalid(f"field resolution: {given} is longer than the interval of the query")
        now = self.now()
        end = now if details.end_time is None else epoch(details.end_time)
        start = now - DEFAULT_RANGE_MINUTES * 60 if details.start_time is None else epoch(details.start_time)
        if start >= end:
            raise refusal.invalid("field startTime must be before endTime")
        days = next(days for least, days in HISTORY_DAYS if step >= least)
        minute = int(now // 60)
        first = max(ceil(start / 60), minute - days * 1440)
        last = min(ceil(end / 60), minute + 1)
        return range(first + -first % step, last, step)


# The white paper writes the value `mounttarget`, and Oracle's script `mountTarget`. Whether OCI ignores case is not known.
_OF_TWO_SPELLINGS: Final = "resourceType"


def _wildcard(pattern: str) -> Callable[[str], bool]:
    """`*` stands for any run of characters, `|` for or. Nothing else is special."""
    literal = re.sub(r"[][?]", lambda match: f"[{match[0]}]", pattern)
    compiled = re.compile("|".join(translate(part.strip()) for part in literal.split("|")))
    return lambda text: compiled.match(text) is not None


def _selects(selector: Selector) -> Callable[[Mapping[str, str]], bool]:
    name = selector.dimension
    spelled: Callable[[str], str] = str.lower if name == _OF_TWO_SPELLINGS else str
    value = spelled(selector.value)
    fits = value.__eq__ if selector.operator == "=" else _wildcard(value)
    return lambda dimensions: name in dimensions and fits(spelled(dimensions[name]))


def _metric(stream: MetricStream) -> dict[str, Any]:
    return {
        "name": stream.name,
        "namespace": stream.namespace,
        "resourceGroup": stream.resource_group,
        "compartmentId": stream.compartment_id,
        "dimensions": dict(stream.dimensions),
    }


def _grouped(streams: Iterable[MetricStream], fields: Iterable[str]) -> list[dict[str, Any]]:
    """Return one entry for each combination of the fields. The other fields are null."""
    kept = set(fields)
    shown = {
        tuple((name, value) for name, value in _metric(stream).items() if name in kept): None for stream in streams
    }
    blank = dict.fromkeys(("name", "namespace", "resourceGroup", "compartmentId", "dimensions"))
    return [blank | dict(entry) for entry in shown]


def _metric_data(details: Any, result: ResultStream) -> dict[str, Any]:
    """MetricData. Recorded answers of the real service have `resolution: null` and times with `.000Z`."""
    return {
        "namespace": details.namespace,
        "resourceGroup": details.resource_group,
        "compartmentId": result.compartment_id,
        "name": result.name,
        "dimensions": dict(result.dimensions),
        "metadata": dict(result.metadata),
        "resolution": None,
        "aggregatedDatapoints": [
            {"timestamp": rfc3339(minute * 60), "value": value} for minute, value in result.points.items()
        ],
    }
