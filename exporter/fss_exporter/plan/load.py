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
    """A workload.

    Attributes:
        source: where the workload comes from, for people.
        traffic: operations and bytes per second; of the whole job where `is_job`.
        sizes: classes of READs and WRITEs by operation, where exact mode counted them.
        shape: shape of the recorded mount target; empty where the shape is not known.
        connections: connections of the recorded mount target; None where they were not counted.
        remark: quality of the IOPS figure; with a remark, the operations are not split.
        is_job: whether the traffic is a number of files or bytes and not a rate.
        follows_latency: whether latency and concurrency state the rate, so that the load changes with them.
    """

    source: str
    traffic: Traffic
    sizes: Mapping[str, tuple[SizeShare, ...]] = field(default_factory=dict)
    shape: str = ""
    connections: float | None = None
    remark: str = ""
    is_job: bool = False
    follows_latency: bool = False
