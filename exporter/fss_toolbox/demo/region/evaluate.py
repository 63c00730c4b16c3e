"""The result of an MQL query over streams: one metric, an optional grouping, one statistic. Pure.

A point at minute t stands for the window of the interval that ends at t, (t - interval, t]. A stream without data in a
window has no point there, and one without any point does not appear: there is no zero fill. Documented: "Monitoring Query
Language (MQL) Reference". The demo refuses the rest of the language, because the exporter sends nothing else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fss_toolbox.demo.region import refusal
from fss_toolbox.mql import Expression, QueriedMetric, Query

Observation = tuple[float, int]
Raw = Callable[[int], Sequence[Observation]]  # Observations (value, count) of a minute


@dataclass(frozen=True, slots=True)
class _StreamNames:
    """The names of a stream."""

    name: str
    compartment_id: str
    dimensions: Mapping[str, str]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RawStream(_StreamNames):
    """A stream with every published point, before a statistic."""

    raw: Raw


@dataclass(frozen=True, slots=True)
class ResultStream(_StreamNames):
    """A stream of results: value by minute."""

    points: dict[int, float]


T = TypeVar("T", RawStream, ResultStream)

Source = Callable[[QueriedMetric], Iterable[RawStream]]  # The streams a metric with its selectors stands for


def _mean(observed: Sequence[Observation]) -> float:
    return STATISTICS["sum"](observed) / STATISTICS["count"](observed)


STATISTICS: Mapping[str, Callable[[Sequence[Observation]], float]] = {
    "mean": _mean,
    "avg": _mean,
    "sum": lambda observed: sum(value * count for value, count in observed),
    "count": lambda observed: sum(count for _, count in observed),
    "min": lambda observed: min(value for value, _ in observed),
    "max": lambda observed: max(value for value, _ in observed),
    "first": lambda observed: observed[0][0],
    "last": lambda observed: observed[-1][0],
}


def evaluate(expression: Expression, source: Source, minutes: Sequence[int]) -> list[ResultStream]:
    """Return the result streams with points in some minutes. A `Refusal` (400) for more than one statistic of one metric."""
    match expression:
        case Query(source=QueriedMetric() as metric, stages=(stage,)) if stage.statistic.name in STATISTICS:
            take, width = STATISTICS[stage.statistic.name], metric.interval.minutes
            merged = merged_streams(list(source(metric)), stage.group_by)
        case _:
            raise refusal.invalid("field query: the demo answers one statistic of one metric, as in A[1m].mean()")
    lines = []
    for dimensions, members in merged:
        points = {}
        for minute in minutes:
            window = range(minute - width + 1, minute + 1)
            observed = [observation for at in window for member in members for observation in member.raw(at)]
            if observed:
                points[minute] = float(take(observed))
        if points:
            lines.append(ResultStream(metric.name, members[0].compartment_id, dimensions, members[0].metadata, points))
    return lines


def merged_streams(items: list[T], group_by: tuple[str, ...] | None) -> list[tuple[dict[str, str], list[T]]]:
    """Return streams merged by some dimensions. A stream that lacks one of them is merged with its like."""
    if group_by is None:
        return [(dict(item.dimensions), [item]) for item in items]
    merged: dict[tuple[tuple[str, str], ...], list[T]] = {}
    for item in items:
        kept = tuple((name, item.dimensions[name]) for name in group_by if name in item.dimensions)
        merged.setdefault(kept, []).append(item)
    return [(dict(kept), members) for kept, members in merged.items()]
