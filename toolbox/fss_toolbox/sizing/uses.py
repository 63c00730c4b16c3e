# SPDX-License-Identifier: Apache-2.0
"""The use of each resource of a mount target, or of another service, by a load."""

from collections.abc import Iterable
from dataclasses import dataclass

from fss_exporter.model.limits import Limits
from fss_exporter.model.traffic import Traffic

NO_SHAPE = "none"  # stands for storage without a known ceiling and without a known cost of operations

IOPS = "IOPS"
READ_BANDWIDTH = "read bandwidth"
WRITE_BANDWIDTH = "write bandwidth"
BOTH_DIRECTIONS = "bandwidth, reads and writes together"
CONNECTIONS = "connections"


@dataclass(frozen=True, slots=True)
class Use:
    """The use of one resource."""

    resource: str  # name, for example `IOPS`
    unit: str  # unit of `demand` and `limit`
    demand: float | None  # amount that the load wants. None if unknown
    limit: float | None  # amount available. None without a published figure

    @property
    def ratio(self) -> float | None:
        """Demand divided by limit. None if demand or limit is unknown."""
        return self.demand / self.limit if self.demand is not None and self.limit else None


def uses(traffic: Traffic, limits: Limits, connections: float | None = None) -> tuple[Use, ...]:
    """Compare every ceiling of one mount target with `traffic`, whether the ceiling is known or not."""
    iops = traffic.iops
    return (
        Use(IOPS, "IOPS", None if iops is None else iops.point, limits.iops),
        Use(READ_BANDWIDTH, "B/s", traffic.read_bytes, limits.read_bytes_per_second),
        Use(WRITE_BANDWIDTH, "B/s", traffic.written_bytes, limits.write_bytes_per_second),
        Use(CONNECTIONS, "connections", connections, limits.connections),
    )


def known_uses(traffic: Traffic, limits: Limits) -> tuple[Use, ...]:
    """Compare every known ceiling of a mount target or of another service with `traffic`."""
    both = Use(BOTH_DIRECTIONS, "B/s", traffic.payload, limits.bytes_per_second)
    return tuple(use for use in (*uses(traffic, limits), both) if use.limit is not None)


def even_move(load: float, ceiling: float, other_load: float, other_ceiling: float) -> float:
    """Return what has to move from one resource to another one, so that both have equal shares of their ceilings."""
    return (load * other_ceiling - other_load * ceiling) / (ceiling + other_ceiling)


def fullest(candidates: Iterable[Use]) -> Use | None:
    """Return the use with the highest known ratio. None if no ratio is known or all resources are idle."""
    busy = [use for use in candidates if use.ratio]
    return max(busy, key=lambda use: use.ratio or 0.0, default=None)
