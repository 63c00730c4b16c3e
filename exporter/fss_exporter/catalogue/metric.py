# SPDX-License-Identifier: Apache-2.0
"""A row of the catalogue, and the metric family of a row."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

Kind = Literal["counter", "gauge", "info", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One exported metric."""

    name: str  # name on `/metrics`, with `_total` and `_info`
    kind: Kind  # Prometheus type. `info` is exposed as a gauge with value 1
    labels: tuple[str, ...]  # all label names, in the order of the text
    unit: str  # base unit (`bytes`, `seconds`, `ratio`, `operations`, `operations_per_second`, `info`, ...)
    help: str  # meaning and unit in sentences, without the origin. Every scrape contains the text
    origin: str  # original column, OCI metric or calculation of the number
    diagnostic: bool = False  # True if no rule or dashboard uses the metric and people read the metric
    detail: str = ""  # further text for the page of metrics

    @property
    def help_text(self) -> str:
        """HELP as exposed: meaning, then origin."""
        return f"{self.help} Source: {self.origin}."


class Sample(NamedTuple):
    """One value of a series, as people and tests look at it."""

    name: str  # name on `/metrics`, with suffix
    labels: dict[str, str]
    value: float


class Series:
    """One time series with prepared text, because labels never change. Labels are values in the row's order."""

    __slots__ = ("labels", "text")

    def __init__(self, metric: Metric, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self.text = _line(metric.name, metric.labels).text(self.labels)

    def sample(self, metric: Metric, value: float) -> Sample:
        """Return the sample."""
        return Sample(metric.name, dict(zip(metric.labels, self.labels, strict=True)), value)


class HistogramSeries(Series):
    """One series of a histogram, with the suffix `_bucket`, `_sum` or `_count`. Only a bucket has a bound (`le`)."""

    __slots__ = ("bound", "suffix")

    def __init__(self, metric: Metric, labels: Sequence[str], suffix: str, bound: str = "") -> None:
        self.labels = tuple(labels)
        self.suffix = suffix
        self.bound = bound
        pairs = self._pairs(metric)
        self.text = _line(f"{metric.name}{suffix}", tuple(pairs)).text(tuple(pairs.values()))

    def _pairs(self, metric: Metric) -> dict[str, str]:
        pairs = dict(zip(metric.labels, self.labels, strict=True))
        return {**pairs, "le": self.bound} if self.bound else pairs

    def sample(self, metric: Metric, value: float) -> Sample:
        """Return the sample."""
        return Sample(f"{metric.name}{self.suffix}", self._pairs(metric), value)


def number(value: float) -> str:
    """Return a value as Go writes it: 1.0, 2.5e+06, +Inf, NaN."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    shortest = repr(float(value))
    point = shortest.find(".")
    if value > 0 and point > _DIGITS_WITHOUT_EXPONENT:
        mantissa = f"{shortest[0]}.{shortest[1:point]}{shortest[point + 1 :]}".rstrip("0.")
        return f"{mantissa}e+{point - 1:02d}"
    return shortest


_DIGITS_WITHOUT_EXPONENT = 6
_NEEDS_ESCAPE = re.compile(r'["\\\n]')


class _LineTemplate:
    """The line of a series without the value, with places for label values. A host with 1,000 mounts has 61,000 series."""

    def __init__(self, name: str, labels: tuple[str, ...]) -> None:
        self._order = sorted(range(len(labels)), key=lambda at: labels[at])
        inside = ",".join(f'{labels[at]}="%s"' for at in self._order)
        self._form = f"\n{name}{{{inside}}} " if inside else f"\n{name} "

    def text(self, values: Sequence[str]) -> str:
        """Return the line with label values in the order of the labels, or raise ValueError for another number of values."""
        if len(values) != len(self._order):
            raise ValueError(f"{len(values)} label values for {len(self._order)} labels")
        if _NEEDS_ESCAPE.search("".join(values)):
            values = [*map(_escaped, values)]
        return self._form % tuple([values[at] for at in self._order])


@cache
def _line(name: str, labels: tuple[str, ...]) -> _LineTemplate:
    return _LineTemplate(name, labels)


def _escaped(value: str) -> str:
    """Return a label value in the escaped form of both text formats."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


class Family:
    """A metric family whose samples all have the labels of the catalogue's row.

    `series` and `values` have equal order and length, and belong to the family. `samples` computes the samples on request.
    """

    __slots__ = ("metric", "series", "values")

    def __init__(self, metric: Metric, series: list[Series] | None = None, values: list[float] | None = None) -> None:
        self.metric = metric
        self.series = [] if series is None else series
        self.values = [] if values is None else values

    @property
    def name(self) -> str:
        """Name without the suffix of the type, as OpenMetrics names a family."""
        return self.metric.name.removesuffix("_info" if self.metric.kind == "info" else "_total")

    def add_metric(self, labels: Sequence[str], value: float = 1.0) -> None:
        """Add a sample with label values in the row's order. An info has the value 1.

        Raises:
            ValueError: the row is a histogram, or the number of labels differs from the row's.
        """
        if self.metric.kind == "histogram":
            raise ValueError(f"{self.metric.name} is a histogram: add_histogram")
        self.series.append(Series(self.metric, labels))
        self.values.append(value)

    def extend(self, other: "Family") -> None:
        """Add all samples of another family of the metric."""
        self.series.extend(other.series)
        self.values.extend(other.values)

    def add_histogram(self, labels: Sequence[str], buckets: Sequence[tuple[float, float]], total: float) -> None:
        """Add a histogram: cumulative counts by ascending upper bound (the last is infinity), and the sum of all values."""
        for bound, count in buckets:
            self.series.append(HistogramSeries(self.metric, labels, "_bucket", number(bound)))
            self.values.append(count)
        for suffix, value in (("_sum", total), ("_count", buckets[-1][1])):
            self.series.append(HistogramSeries(self.metric, labels, suffix))
            self.values.append(value)

    @property
    def samples(self) -> list[Sample]:
        """The values with names and labels."""
        return [series.sample(self.metric, value) for series, value in zip(self.series, self.values, strict=True)]

    def only(self, names: Collection[str]) -> "Family":
        """Return the family with the series of some names on `/metrics` only."""
        samples = [
            series.sample(self.metric, value).name for series, value in zip(self.series, self.values, strict=True)
        ]
        kept = [at for at, name in enumerate(samples) if name in names]
        return Family(self.metric, [self.series[at] for at in kept], [self.values[at] for at in kept])
