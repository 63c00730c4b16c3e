"""A workload to plan for, and the busiest moment of a history of workloads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from fss_exporter.model.histograms import in_classes
from fss_exporter.model.limits import Limits, fullest, known_uses
from fss_exporter.model.traffic import Traffic, together


class SizeShare(NamedTuple):
    """Operations of one size class: the largest size in bytes, and the share in all operations of the histogram.

    The last class of a histogram has no bound (infinity). No kernel makes a transfer that large.
    """

    up_to_bytes: float
    share: float


def size_shares(at_most: Mapping[float, float]) -> tuple[SizeShare, ...]:
    """Return the used classes of a cumulative histogram: operations up to a size in bytes, by the size."""
    classes = in_classes(at_most)
    return tuple(SizeShare(bound, count / sum(classes.values())) for bound, count in classes.items() if count)


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


def loads_by_address(source: str, traffics: Iterable[tuple[str, Traffic]]) -> dict[str, Load]:
    """Return the load of each address, from traffic of mounts by address."""
    mounts: dict[str, list[Traffic]] = {}
    for address, traffic in traffics:
        mounts.setdefault(address, []).append(traffic)
    return {address: Load(source, together(found)) for address, found in mounts.items()}


def busiest_moment(history: Mapping[float, Traffic], limits: Limits) -> float:
    """Return the moment, epoch seconds, with the highest use of a ceiling. Without a ceiling, cost and payload decide."""

    def fullness(moment: float) -> tuple[float, float, float]:
        traffic = history[moment]
        first = fullest(known_uses(traffic, limits))
        cost = traffic.iops.point if traffic.iops else 0.0
        return (first.ratio or 0.0) if first else 0.0, cost, traffic.payload

    return max(history, key=fullness)


def ended(moment: float) -> str:
    """Return the name of the five minutes that end at a moment, for a report."""
    return f"busiest 5 minutes of the last week, until {datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"
