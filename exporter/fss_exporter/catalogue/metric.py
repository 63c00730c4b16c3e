"""What a row of the catalogue is, and how a metric family is made from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric as Family,
)

Kind = Literal["counter", "gauge", "info", "histogram"]

_FAMILIES: Mapping[str, Callable[..., Family]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "info": InfoMetricFamily,
    "histogram": HistogramMetricFamily,
}


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


def family(metric: Metric) -> Family:
    """An empty metric family for a row; the caller adds samples with label values in the row's order."""
    return _FAMILIES[metric.kind](metric.name.removesuffix("_info"), metric.help_text, labels=metric.labels)
