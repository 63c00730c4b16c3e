# SPDX-License-Identifier: Apache-2.0
"""What a parsed MQL expression yields over streams. Pure. Documented: "Monitoring Query Language (MQL) Reference".

A point at minute t stands for the window of the interval that ends at t, (t - interval, t]. A stream without data in a
window has no point there, and one without any point does not appear: there is no zero fill. Predicates give 1 and 0.
How the dimensions of two joined queries are matched is not documented. Here they must be equal.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import isfinite
from typing import TypeVar

from fss_toolbox.mql import (
    Arithmetic,
    Comparison,
    Constant,
    Expression,
    Join,
    QueriedMetric,
    Query,
    Stage,
    Statistic,
    metrics,
)

Observation = tuple[float, int]
Raw = Callable[[int], Sequence[Observation]]  # Observations (value, count) of a minute


@dataclass(frozen=True, slots=True)
class MetricStream:
    """A stream as ListMetrics shows it, with every point before a statistic."""

    namespace: str
    resource_group: str | None
    compartment_id: str
    name: str
    dimensions: Mapping[str, str]
    metadata: Mapping[str, str]
    raw: Raw


@dataclass(frozen=True, slots=True)
class ResultStream:
    """A stream of results: value by minute."""

    compartment_id: str
    name: str
    dimensions: Mapping[str, str]
    metadata: Mapping[str, str]
    points: dict[int, float]


T = TypeVar("T", MetricStream, ResultStream)

Source = Callable[[QueriedMetric], Iterable[MetricStream]]  # The streams a metric with its selectors stands for


def _mean(observed: Sequence[Observation]) -> float:
    return _STATISTICS["sum"](observed) / _STATISTICS["count"](observed)


_STATISTICS: Mapping[str, Callable[[Sequence[Observation]], float]] = {
    "mean": _mean,
    "avg": _mean,
    "sum": lambda observed: sum(value * count for value, count in observed),
    "count": lambda observed: sum(count for _, count in observed),
    "min": lambda observed: min(value for value, _ in observed),
    "max": lambda observed: max(value for value, _ in observed),
    "first": lambda observed: observed[0][0],
    "last": lambda observed: observed[-1][0],
}

_DEFAULT_ABSENCE_MINUTES = 120.0  # detection period of `absent()`, documented


_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}

_COMPUTE: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


def evaluate(expression: Expression, source: Source, minutes: Sequence[int]) -> list[ResultStream]:
    """Return the result streams of an expression at the given minutes.

    Values that JSON cannot hold, such as an overflow, and streams without a point are left out.
    """
    lines = _evaluate(expression, source, minutes)
    finite = [{minute: value for minute, value in line.points.items() if isfinite(value)} for line in lines]
    return [replace(line, points=points) for line, points in zip(lines, finite, strict=True) if points]


def _evaluate(expression: Expression, source: Source, minutes: Sequence[int]) -> list[ResultStream]:
    match expression:
        case Constant(value=value):
            return [ResultStream("", "", {}, {}, dict.fromkeys(minutes, value))]
        case Query():
            return _query(expression, source, minutes)
        case Comparison(left=left, operator=sign, bounds=bounds):
            holds = _predicate(sign, bounds)
            return [_mapped(line, lambda value: float(holds(value))) for line in _evaluate(left, source, minutes)]
        case Arithmetic():
            return _arithmetic(expression, source, minutes)
        case Join(left=left, operator=sign, right=right):
            return _join(sign, _evaluate(left, source, minutes), _evaluate(right, source, minutes))


def _mapped(line: ResultStream, change: Callable[[float], float]) -> ResultStream:
    return replace(line, points={minute: change(value) for minute, value in line.points.items()})


def _predicate(sign: str, bounds: tuple[float, ...]) -> Callable[[float], bool]:
    if sign in _COMPARE:
        return lambda value: _COMPARE[sign](value, bounds[0])
    low, high = bounds
    return lambda value: (low <= value <= high) is (sign == "in")


def _arithmetic(node: Arithmetic, source: Source, minutes: Sequence[int]) -> list[ResultStream]:
    compute = _COMPUTE[node.operator]
    left, right = _evaluate(node.left, source, minutes), _evaluate(node.right, source, minutes)
    if _is_constant(node.right):
        pairs = [(line, line, right[0]) for line in left]
    elif _is_constant(node.left):
        pairs = [(line, left[0], line) for line in right]
    else:
        others = {_key(line.dimensions): line for line in right}
        pairs = [(line, line, others[_key(line.dimensions)]) for line in left if _key(line.dimensions) in others]
    results = []
    for shown, stream, other in pairs:
        points = {
            minute: compute(stream.points[minute], other.points[minute])
            for minute in shown.points
            if minute in stream.points
            and minute in other.points
            and (other.points[minute] or node.operator not in "/%")
        }
        results.append(replace(shown, points=points))
    return results


def _is_constant(node: Expression) -> bool:
    return next(metrics(node), None) is None


def _key(dimensions: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(dimensions.items()))


def _join(sign: str, left: list[ResultStream], right: list[ResultStream]) -> list[ResultStream]:
    """Combine two conditions. A side without a value does not hold."""
    lefts, rights = ({_key(line.dimensions): line for line in lines} for lines in (left, right))
    joined = []
    for key in dict.fromkeys((*lefts, *rights)):
        present = [side[key] for side in (lefts, rights) if key in side]
        points = {}
        for minute in sorted({minute for line in present for minute in line.points}):
            held = sum(bool(line.points.get(minute)) for line in present)
            points[minute] = float(held >= 1 if sign == "||" else held == 2)
        joined.append(replace(present[0], points=points))
    return joined


def _query(query: Query, source: Source, minutes: Sequence[int]) -> list[ResultStream]:
    first, *further = query.stages
    if isinstance(query.source, QueriedMetric):
        lines = _first_stage(query.source, first, list(source(query.source)), minutes)
    else:
        lines = _across(_evaluate(query.source, source, minutes), first)
    for stage in further:
        lines = _across(lines, stage)
    return lines


def _first_stage(
    metric: QueriedMetric, stage: Stage, streams: list[MetricStream], minutes: Sequence[int]
) -> list[ResultStream]:
    lines = []
    for dimensions, members in _merged(streams, stage.group_by):
        window = _Window([member.raw for member in members], metric.interval_minutes)
        values = ((minute, window.statistic(stage.statistic, minute)) for minute in minutes)
        points = {minute: value for minute, value in values if value is not None}
        lines.append(ResultStream(members[0].compartment_id, metric.name, dimensions, members[0].metadata, points))
    return lines


def _across(lines: list[ResultStream], stage: Stage) -> list[ResultStream]:
    """Return a further statistic: over the values of merged streams at the same minute."""
    results = []
    for dimensions, members in _merged(lines, stage.group_by):
        points = {}
        for minute in sorted({minute for member in members for minute in member.points}):
            observed = [(member.points[minute], 1) for member in members if minute in member.points]
            value = _take(stage.statistic, observed)
            if value is not None:
                points[minute] = value
        results.append(replace(members[0], dimensions=dimensions, points=points))
    return results


def _take(statistic: Statistic, observed: Sequence[Observation]) -> float | None:
    if not observed:
        return None
    if statistic.name in _STATISTICS:
        return float(_STATISTICS[statistic.name](observed))
    if statistic.name == "percentile" and statistic.argument is not None:
        return _percentile(observed, statistic.argument)
    return None  # rate, increment and absent need more than one moment


def _percentile(observed: Sequence[Observation], share: float) -> float:
    """Return the smallest value that at least `share` of the observations do not exceed."""
    ordered = sorted(observed)
    reached = accumulate(count for _, count in ordered)
    needed = share * _STATISTICS["count"](observed)
    return next(value for (value, _), so_far in zip(ordered, reached, strict=True) if so_far >= needed)


class _Window:
    """Raw data of merged streams, read once, and statistics over the window that ends at a minute."""

    def __init__(self, raws: list[Raw], width: int) -> None:
        self._raws = raws
        self._width = width
        self._read: dict[int, list[Observation]] = {}

    def _minute(self, minute: int) -> list[Observation]:
        if minute not in self._read:
            self._read[minute] = [observation for raw in self._raws for observation in raw(minute)]
        return self._read[minute]

    def _window(self, end: int) -> list[Observation]:
        if self._width == 1:
            return self._minute(end)
        return [observation for minute in range(end - self._width + 1, end + 1) for observation in self._minute(minute)]

    def statistic(self, statistic: Statistic, minute: int) -> float | None:
        match statistic.name:
            case "absent":
                return self._absent(statistic.argument, minute)
            case "increment" | "rate":
                now, before = self._window(minute), self._window(minute - self._width)
                if not now or not before:
                    return None
                return (now[-1][0] - before[-1][0]) / (60 * self._width if statistic.name == "rate" else 1)
            case _:
                return _take(statistic, self._window(minute))

    def _absent(self, period_minutes: float | None, minute: int) -> float | None:
        """1 without data in the window, 0 with. Nothing for a stream that was silent for the whole detection period."""
        if self._window(minute):
            return 0.0
        reach = int(period_minutes or _DEFAULT_ABSENCE_MINUTES)
        return 1.0 if any(self._minute(minute - back) for back in range(reach + 1)) else None


def _merged(items: list[T], group_by: tuple[str, ...] | None) -> list[tuple[dict[str, str], list[T]]]:
    """Return streams merged by some dimensions. A stream that lacks one of them is merged with its like."""
    if group_by is None:
        return [(dict(item.dimensions), [item]) for item in items]
    merged: dict[tuple[tuple[str, str], ...], list[T]] = {}
    for item in items:
        kept = tuple((name, item.dimensions[name]) for name in group_by if name in item.dimensions)
        merged.setdefault(kept, []).append(item)
    return [(dict(kept), members) for kept, members in merged.items()]
