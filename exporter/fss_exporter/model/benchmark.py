"""What a benchmark measured against what a mount target bears.

A benchmark knows its sizes, so its cost is exact where every request has one size, and lies within bounds where sizes are
mixed. In flight are, by Little's law, as many requests as complete per second times the seconds each takes.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from fss_exporter.model.estimate import Bounds, estimate_reads, estimate_writes
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.purchase import uses_of
from fss_exporter.model.service import Ceilings
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.model.utilisation import Use, fullest
from fss_exporter.model.workload import Transfers, workload

MET_RATIO = 0.90
"""Share of a ceiling from which on a benchmark has met it: its own ramp and jitter take the rest."""

ABOVE_RATIO = 1.05
"""Share of a ceiling that cannot be: another shape, a cache in between, or another storage."""

FILLED_RATIO = 0.90
"""Share of the configured depth from which on latency, not the client, sets the pace."""


@dataclass(frozen=True, slots=True)
class Direction:
    """The reads or the writes of one job.

    Attributes:
        operations: per second, as the program issued them.
        bytes_per_second: payload.
        count: operations in all.
        total_bytes: payload in all.
        one_size: whether the job asked for one size only.
        mean_seconds: mean latency from submission to completion; None without operations.
        percentiles: completion latency in seconds by per cent.
    """

    operations: float = 0.0
    bytes_per_second: float = 0.0
    count: int = 0
    total_bytes: int = 0
    one_size: bool = True
    mean_seconds: float | None = None
    percentiles: Mapping[float, float] = field(default_factory=dict)

    @property
    def in_flight(self) -> float:
        """Requests in flight on average (Little's law)."""
        return self.operations * (self.mean_seconds or 0.0)

    @property
    def mean_bytes(self) -> float | None:
        """Mean size; None without operations."""
        return self.total_bytes / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a report.

    Attributes:
        name: as the report has it.
        group: jobs of one group ran at the same time.
        reads: what it read.
        writes: what it wrote.
        depth: requests it was told to keep in flight, all its threads together; None where the report does not say.
        remarks: what the reader should know.
    """

    name: str
    group: int
    reads: Direction
    writes: Direction
    depth: int | None
    remarks: tuple[str, ...] = ()

    @property
    def in_flight(self) -> float:
        """Requests in flight on average (Little's law)."""
        return self.reads.in_flight + self.writes.in_flight


class Pace(Enum):
    """What set the pace."""

    CEILING = "ceiling"
    ABOVE = "above the ceiling"
    LATENCY = "latency x concurrency"
    CLIENT = "client"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What jobs that ran together measured.

    Attributes:
        traffic: what they put on a mount target.
        uses: every ceiling and what they took of it.
        first: the fullest of these; None where no ceiling is known.
        in_flight: requests in flight on average.
        depth: what they were told to keep in flight; None where not every job says.
        pace: what set the pace.
        allowed: operations per second the model allows at this mix; None where no ceiling is known.
        error: how far the model is off where a ceiling was met, (allowed - measured) / measured; else None.
    """

    traffic: Traffic
    uses: tuple[Use, ...]
    first: Use | None
    in_flight: float
    depth: int | None
    pace: Pace
    allowed: float | None
    error: float | None


def job_traffic(job: Job, cap_bytes: int) -> Traffic:
    """What a job put on a mount target, if every request of it went there; `cap_bytes` is rsize and wsize."""
    return together((_direction(READ, job.reads, cap_bytes), _direction(WRITE, job.writes, cap_bytes)))


def plain_traffic(job: Job) -> Traffic:
    """What a job put on a service that counts a read or write of any size as one."""
    rates = {name: one.operations for name, one in ((READ, job.reads), (WRITE, job.writes)) if one.count}
    return Traffic(
        {name: OperationTraffic(rate, Bounds(rate, rate, rate)) for name, rate in rates.items()},
        job.reads.bytes_per_second if READ in rates else 0.0,
        job.writes.bytes_per_second if WRITE in rates else 0.0,
    )


def judge(jobs: Iterable[Job], limits: Limits | Ceilings, cap_bytes: int) -> Verdict:
    """What jobs that ran together measured, against the ceilings of one mount target, or of another service."""
    jobs = tuple(jobs)
    plain = isinstance(limits, Ceilings)
    traffic = together(plain_traffic(job) if plain else job_traffic(job, cap_bytes) for job in jobs)
    found = uses_of(traffic, limits)
    first = fullest(found)
    in_flight = sum(job.in_flight for job in jobs)
    depths = [job.depth for job in jobs if job.depth is not None]
    depth = sum(depths) if depths and len(depths) == len(jobs) else None
    ratio = first.ratio if first else None
    measured = sum(job.reads.operations + job.writes.operations for job in jobs)
    pace = _pace(ratio, in_flight, depth)
    return Verdict(
        traffic=traffic,
        uses=found,
        first=first,
        in_flight=in_flight,
        depth=depth,
        pace=pace,
        allowed=measured / ratio if ratio else None,
        error=1 / ratio - 1 if ratio and pace in {Pace.CEILING, Pace.ABOVE} else None,
    )


def _pace(ratio: float | None, in_flight: float, depth: int | None) -> Pace:
    if ratio is not None and ratio > ABOVE_RATIO:
        return Pace.ABOVE
    if ratio is not None and ratio >= MET_RATIO:
        return Pace.CEILING
    if not depth or not in_flight:
        return Pace.UNKNOWN
    return Pace.LATENCY if in_flight >= FILLED_RATIO * depth else Pace.CLIENT


def _direction(name: str, direction: Direction, cap_bytes: int) -> Traffic:
    if not direction.count:
        return Traffic()
    size, rest = divmod(direction.total_bytes, direction.count)
    if direction.one_size and not rest:
        transfers = Transfers(direction.operations, size)
        reads, writes = (transfers, None) if name == READ else (None, transfers)
        return workload(reads, writes, {}, cap_bytes)
    # A request above the cap is split by the client, so there are at least as many calls as whole caps.
    calls = max(direction.count, math.ceil(direction.total_bytes / cap_bytes))
    estimate = estimate_reads if name == READ else estimate_writes
    per_second = direction.operations / direction.count
    cost = Bounds(*(value * per_second for value in estimate(calls, direction.total_bytes, cap_bytes)))
    rate = OperationTraffic(operations=calls * per_second, iops=cost)
    payload = direction.bytes_per_second
    return Traffic({name: rate}, payload if name == READ else 0.0, payload if name == WRITE else 0.0)
