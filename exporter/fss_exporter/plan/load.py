"""A workload to plan for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fss_exporter.model.traffic import Traffic


class SizeShare(NamedTuple):
    """Operations of one size class: the largest size in bytes, and the share in all operations of the histogram.

    The last class of a histogram has no bound (infinity). No kernel makes a transfer that large.
    """

    up_to_bytes: float
    share: float


@dataclass(frozen=True, slots=True)
class Load:
    """A workload."""

    source: str  # where the workload comes from, for people
    traffic: Traffic  # operations and bytes per second; of the whole job where `is_job`
    # classes of READs and WRITEs by operation, where exact mode counted them
    sizes: Mapping[str, tuple[SizeShare, ...]] = field(default_factory=dict)
    shape: str = ""  # shape of the recorded mount target; empty where the shape is not known
    connections: float | None = None  # connections of the recorded mount target; None where they were not counted
    remark: str = ""  # quality of the IOPS figure; with a remark, the operations are not split
    is_job: bool = False  # whether the traffic is a number of files or bytes and not a rate
    follows_latency: bool = False  # whether latency and concurrency state the rate, so that the load changes with them
