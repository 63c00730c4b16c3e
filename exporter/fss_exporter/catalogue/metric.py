"""What a row of the catalogue is, and how a metric family is made from it."""

from collections.abc import Sequence
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


class Family(PrometheusFamily):
    """A metric family whose samples all have the labels of its row of the catalogue.

    Args:
        metric: the row.
    """

    def __init__(self, metric: Metric) -> None:
        # Exposition appends `_total` and `_info` by type, so a family is named without them.
        base = metric.name.removesuffix("_info" if metric.kind == "info" else "_total")
        super().__init__(base, metric.help_text, metric.kind)
        self._sample_name = metric.name
        self._label_names = metric.labels

    def add_metric(self, labels: Sequence[str], value: float = 1.0) -> None:
        """Add a sample: label values in the row's order; an info has the value 1."""
        self.samples.append(Sample(self._sample_name, dict(zip(self._label_names, labels, strict=True)), value))


def family(metric: Metric) -> Family:
    """An empty metric family for a row."""
    return Family(metric)
