"""Which five minutes of a history are the busiest."""

from collections.abc import Mapping
from datetime import UTC, datetime

from fss_exporter.model.limits import Limits
from fss_exporter.model.purchase import uses_of
from fss_exporter.model.service import Ceilings
from fss_exporter.model.traffic import Traffic
from fss_exporter.model.utilisation import fullest


def busiest_moment(history: Mapping[float, Traffic], limits: Limits | Ceilings) -> float:
    """The moment, epoch seconds, nearest to a ceiling; cost and payload decide between equals and where no ceiling is known."""

    def fullness(moment: float) -> tuple[float, float, float]:
        traffic = history[moment]
        first = fullest(uses_of(traffic, limits))
        cost = traffic.iops.point if traffic.iops else 0.0
        return (first.ratio or 0.0) if first else 0.0, cost, traffic.read_bytes + traffic.written_bytes

    return max(history, key=fullness)


def ended(moment: float) -> str:
    """How a report calls these five minutes."""
    return f"busiest 5 minutes of the last week, until {datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"
