"""The busiest five minutes of the last week in a Prometheus: of clients, or of mount targets where no client is scraped."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from fss_exporter.model.limits import Limits, fullest
from fss_exporter.model.purchase import uses_of
from fss_exporter.model.service_table import Ceilings
from fss_exporter.model.traffic import Traffic


def busiest_moment(history: Mapping[float, Traffic], limits: Limits | Ceilings) -> float:
    """Return the moment, epoch seconds, with the highest use of a ceiling. Without a ceiling, cost and payload decide."""

    def fullness(moment: float) -> tuple[float, float, float]:
        traffic = history[moment]
        first = fullest(uses_of(traffic, limits))
        cost = traffic.iops.point if traffic.iops else 0.0
        return (first.ratio or 0.0) if first else 0.0, cost, traffic.read_bytes + traffic.written_bytes

    return max(history, key=fullness)


def ended(moment: float) -> str:
    """Return the name of the five minutes that end at a moment, for a report."""
    return f"busiest 5 minutes of the last week, until {datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"


LimitsOf = Callable[[str, str], Limits]
"""Ceilings of the mount target at an address, with a shape. An empty shape is not known."""
