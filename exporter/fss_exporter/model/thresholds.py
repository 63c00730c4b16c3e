"""Thresholds of alerts.

Source of the 80 %: white paper "OCI File Storage Performance Characteristics", version 2.0, August 2023, which wants a
notification when a mount target passes 80 % of its IOPS. The rest is this project's decision of November 2026.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

WARNING_RATIO = 0.80
"""Share of a ceiling (IOPS, bandwidth, connections) that warns."""

CRITICAL_RATIO = 0.95
"""Share of a ceiling that is critical."""

LATENCY_WARNING_RATIO = 0.80
"""Share of a latency objective that warns."""

LATENCY_CRITICAL_RATIO = 1.00
"""Share of a latency objective that is critical: the objective itself."""

SUCCESS_WARNING_RATIO = 0.99
"""Share of a mount target's NFS requests that succeed, below which it warns."""

SUCCESS_CRITICAL_RATIO = 0.95
"""Share of a mount target's NFS requests that succeed, below which it is critical."""

REPLICATION_WARNING_INTERVALS = 2
"""Age of a recovery point, in intervals of its replication, that warns: one cycle was missed."""

REPLICATION_CRITICAL_INTERVALS = 3
"""Age of a recovery point, in intervals of its replication, that is critical: two cycles were missed."""

REPLICATION_DEFAULT_INTERVAL_SECONDS = 3600
"""Interval of a replication that was made without naming one. Source: CreateReplicationDetails, File Storage API."""


@dataclass(frozen=True, slots=True)
class LatencyObjective:
    """The latency an operator is content with.

    Attributes:
        kind: `read`, `write` or `metadata`.
        size: the size bucket as OCI Monitoring names it; empty for metadata.
        seconds: the objective.
    """

    kind: str
    size: str
    seconds: float


_ASSUMED_SECONDS = {
    ("read", "0B_to_8KiB"): 0.010,
    ("read", "8KiB_to_64KiB"): 0.015,
    ("read", "64KiB_to_1MiB"): 0.050,
    ("write", "0B_to_8KiB"): 0.010,
    ("write", "8KiB_to_64KiB"): 0.020,
    ("write", "64KiB_to_1MiB"): 0.080,
    ("metadata", ""): 0.010,
}
# Oracle publishes no latency objective. These are assumptions for one availability domain (November 2026), there to be
# replaced by `latency_objectives` in the configuration.

LATENCY_OBJECTIVES: Mapping[tuple[str, str], LatencyObjective] = MappingProxyType(
    {(kind, size): LatencyObjective(kind, size, seconds) for (kind, size), seconds in _ASSUMED_SECONDS.items()}
)
"""Default latency objectives by kind and size."""

DEFAULT_LATENCY_SECONDS: Mapping[tuple[str, str], float] = MappingProxyType(_ASSUMED_SECONDS)
"""Seconds of the default latency objectives by kind and size."""

SLO_OBJECTIVES: Mapping[str, float] = MappingProxyType({"availability": 0.995, "latency": 0.99})
"""Default share of good minutes of a mount target by SLO; `slo_objectives` in the configuration replaces it."""
