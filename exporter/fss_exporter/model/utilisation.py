"""How much of a mount target's ceilings a load uses up, and which ceiling it meets first."""

from collections.abc import Iterable
from dataclasses import dataclass

from fss_exporter.model.limits import Limits
from fss_exporter.model.traffic import Traffic

IOPS = "IOPS"
READ_BANDWIDTH = "read bandwidth"
WRITE_BANDWIDTH = "write bandwidth"
CONNECTIONS = "connections"


@dataclass(frozen=True, slots=True)
class Use:
    """One resource.

    Attributes:
        resource: what is used up, e.g. `IOPS`.
        unit: of `demand` and `limit`.
        demand: how much the load wants; None where that is not known.
        limit: how much there is; None without a published figure.
    """

    resource: str
    unit: str
    demand: float | None
    limit: float | None

    @property
    def ratio(self) -> float | None:
        """Demand over limit, 1 is all of it; None where one of them is unknown."""
        return self.demand / self.limit if self.demand is not None and self.limit else None


def uses(traffic: Traffic, limits: Limits, connections: float | None = None) -> tuple[Use, ...]:
    """Every ceiling of one mount target and what `traffic` takes of it."""
    iops = traffic.iops
    return (
        Use(IOPS, "IOPS", None if iops is None else iops.point, limits.iops),
        Use(READ_BANDWIDTH, "B/s", traffic.read_bytes, limits.read_bytes_per_second),
        Use(WRITE_BANDWIDTH, "B/s", traffic.written_bytes, limits.write_bytes_per_second),
        Use(CONNECTIONS, "connections", connections, limits.connections),
    )


def fullest(candidates: Iterable[Use]) -> Use | None:
    """The use with the highest known ratio; None where none is known or all are idle."""
    known = [use for use in candidates if use.ratio]
    return max(known, key=lambda use: use.ratio or 0.0, default=None)
