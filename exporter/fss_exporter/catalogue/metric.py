"""What a row of the catalogue is, and how a metric family is made from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from prometheus_client.metrics_core import Metric as PrometheusFamily
from prometheus_client.samples import Sample

Kind = Literal["counter", "gauge", "info", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One exported metric.

    Attributes:
        name: as it stands on `/metrics`, `_total` and `_info` included.
        kind: Prometheus type; `info` is exposed as a gauge with value 1.
        labels: all label names, in the order they are exposed.
        unit: base unit (`bytes`, `seconds`, `ratio`, `operations`, `operations_per_second`, `info`, ...).
        help: meaning and unit in sentences, without the origin.
        origin: the original column, OCI metric or calculation the number comes from.
        diagnostic: True where no rule or dashboard uses it and a person reads it.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    unit: str
    help: str
    origin: str
    diagnostic: bool = False

    @property
    def help_text(self) -> str:
        """HELP as exposed: meaning, then origin."""
        return f"{self.help} Source: {self.origin}."


class Series:
    """One time series with its text prepared: label text does not change, only the value behind it does.

    Args:
        metric: the row.
        labels: label values in the row's order.
    """

    __slots__ = ("labels", "text")

    def __init__(self, metric: Metric, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        pairs = sorted(zip(metric.labels, self.labels, strict=True))
        inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
        self.text = f"\n{metric.name}{{{inside}}} " if inside else f"\n{metric.name} "


def _escaped(value: str) -> str:
    """A label value as both text formats write it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


class Family(PrometheusFamily):
    """A metric family whose samples all have the labels of its row of the catalogue.

    `series` and `values` run side by side; `samples` is made from them for whoever wants samples.

    Args:
        metric: the row.
        series: what to begin with; the family takes over the lists.
        values: as many.
    """

    def __init__(self, metric: Metric, series: list[Series] | None = None, values: list[float] | None = None) -> None:
        # Exposition appends `_total` and `_info` by type, so a family is named without them.
        base = metric.name.removesuffix("_info" if metric.kind == "info" else "_total")
        self.metric = metric
        self.series = [] if series is None else series
        self.values = [] if values is None else values
        super().__init__(base, metric.help_text, metric.kind)

    def add_metric(self, labels: Sequence[str], value: float = 1.0) -> None:
        """Add a sample: label values in the row's order; an info has the value 1."""
        self.series.append(Series(self.metric, labels))
        self.values.append(value)

    def extend(self, rows: Iterable[tuple[Series, float]]) -> None:
        """Add values with the series they belong to."""
        for series, value in rows:
            self.series.append(series)
            self.values.append(value)

    @property
    def samples(self) -> list[Sample]:
        """The values as `prometheus_client` has samples."""
        name, names = self.metric.name, self.metric.labels
        return [
            Sample(name, dict(zip(names, series.labels, strict=True)), value)
            for series, value in zip(self.series, self.values, strict=True)
        ]

    @samples.setter
    def samples(self, none: list[Sample]) -> None:
        # The base class begins with an empty list; a family has none beside its values.
        if none:
            raise ValueError("samples are added with add_metric")


def family(metric: Metric) -> Family:
    """An empty metric family for a row."""
    return Family(metric)
