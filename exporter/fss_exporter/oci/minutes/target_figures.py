# SPDX-License-Identifier: Apache-2.0
"""What the minutes of one mount target amount to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.minute_verdict import RequestKind
from fss_exporter.model.observed_ceiling import ObservedCeiling, Reason
from fss_exporter.oci.minutes.observed_ceilings import observed_limits
from fss_exporter.oci.minutes.resource_loads import Resource, ResourceLoad


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated IOPS of one mount target in one minute. `minute` is the end, epoch seconds."""

    minute: int
    iops: Bounds


@dataclass(frozen=True, slots=True)
class Judged:
    """The newest judged minute with requests. `minute` is the end, epoch seconds."""

    minute: int
    latency_ratio: float | None  # of the worst kind of requests, as a multiple of its objective. None while idle
    # mean of five minutes of the worst READs, WRITEs and metadata operations. Empty while idle
    latency_ratios: Mapping[RequestKind, float]
    success: float | None  # share of successful requests. 1 if too few asked. None if unknown
    is_known: bool = True  # whether the requests of the minute are known
    is_idle: bool = False  # whether there was hardly a request


@dataclass(frozen=True, slots=True)
class TargetFigures:
    """The verdicts, loads, estimates and observed ceilings."""

    minutes: Mapping[tuple[str, ...], float]  # counted minutes by objective and verdict
    judged: Judged | None = None
    loads: tuple[ResourceLoad, ...] = ()
    estimate: Estimate | None = None  # estimate of the newest minute
    estimated_operations: float | None = None  # estimated I/O operations of all counted minutes
    # counted minutes at or above a level of a ceiling, by resource and level
    near_ceiling_minutes: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # the observed ceiling of each resource, or why there is none
    observed: Mapping[Resource, ObservedCeiling | Reason] = field(default_factory=dict)

    @property
    def observed_limits(self) -> Mapping[str, float]:
        """The observed ceilings by field of `Limits`."""
        return observed_limits(self.observed)
