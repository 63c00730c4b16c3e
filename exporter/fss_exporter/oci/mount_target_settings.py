"""Limits, latency objectives and SLO objectives of each mount target: published or assumed figures, replaced by the configuration.

The last figure found wins, in this order: shape or default, display name of the mount target, OCID of the mount target.
Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fss_exporter.model.limits import Limits, shape_of
from fss_exporter.model.thresholds import DEFAULT_LATENCY_SECONDS, SLO_OBJECTIVES
from fss_exporter.oci.oci_inventory import MountTarget

LimitOverrides = Mapping[str, float | None]
"""Limits by the name of a field of `Limits`. None removes a published limit."""

LatencySeconds = Mapping[tuple[str, str], float]
"""Latency objectives in seconds by kind (`read`, `write`, `metadata`) and size bucket. The bucket is empty for
metadata.
"""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class MountTargetSettings:
    """Limits and objectives of mount targets in the configuration."""

    shape_limits: Mapping[str, LimitOverrides] = field(default_factory=dict)  # limits by name of the shape
    # limits by OCID or display name of a mount target
    target_limits: Mapping[str, LimitOverrides] = field(default_factory=dict)
    # latency objectives of every mount target
    latency_seconds: LatencySeconds = field(default_factory=lambda: DEFAULT_LATENCY_SECONDS)
    # latency objectives by OCID or display name
    target_latency_seconds: Mapping[str, LatencySeconds] = field(default_factory=dict)
    # share of good minutes by SLO (`availability`, `latency`), of every mount target
    slo: Mapping[str, float] = field(default_factory=lambda: SLO_OBJECTIVES)
    target_slo: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # the same by OCID or display name

    def limits(self, target: MountTarget) -> Limits:
        """Return the limits of one mount target. A field is None without a known limit."""
        shape = shape_of(target.observed_throughput_gbps)
        overrides = {**self.shape_limits.get(shape.name, {}), **_of_target(self.target_limits, target)}
        return replace(shape.limits, **overrides)

    def latency_objectives(self, target: MountTarget) -> LatencySeconds:
        """Return latency objectives of one mount target."""
        return {**self.latency_seconds, **_of_target(self.target_latency_seconds, target)}

    def slo_objectives(self, target: MountTarget) -> Mapping[str, float]:
        """Return SLO objectives of one mount target, as the share of good minutes (0 to 1)."""
        return {**self.slo, **_of_target(self.target_slo, target)}

    @property
    def named_targets(self) -> frozenset[str]:
        """OCIDs and display names with a limit or objective in the configuration."""
        return frozenset((*self.target_limits, *self.target_latency_seconds, *self.target_slo))


def _of_target(by_target: Mapping[str, Mapping[_Key, _Value]], target: MountTarget) -> dict[_Key, _Value]:
    return {**by_target.get(target.name, {}), **by_target.get(target.id, {})}
