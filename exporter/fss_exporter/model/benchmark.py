"""Convert a benchmark report into the traffic that the benchmark puts on the storage.

A benchmark knows the sizes of its requests. The cost is exact if every request has an equal size, and lies within bounds
if sizes are mixed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from fss_exporter.model.estimate import Bounds, estimate_reads, estimate_writes
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.model.workload import Transfers, workload


@dataclass(frozen=True, slots=True)
class Direction:
    """The reads or the writes of one job."""

    operations: float = 0.0  # per second, as the program issued them
    bytes_per_second: float = 0.0  # payload
    count: int = 0  # operations in all
    total_bytes: int = 0  # payload in all
    one_size: bool = True  # whether the job asked for one size only
    mean_seconds: float | None = None  # mean latency from submission to completion; None without operations
    percentiles: Mapping[float, float] = field(default_factory=dict)  # completion latency in seconds by per cent

    @property
    def in_flight(self) -> float | None:
        """Requests in flight on average (Little's law); None if the latency is unknown."""
        if not self.operations:
            return 0.0
        return None if self.mean_seconds is None else self.operations * self.mean_seconds

    @property
    def mean_bytes(self) -> float | None:
        """Mean size in bytes. None without operations."""
        return self.total_bytes / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a report."""

    name: str  # name in the report
    group: int  # jobs of a group ran at the same time
    reads: Direction  # reads of the job
    writes: Direction  # writes of the job
    depth: int | None  # configured requests in flight of all threads together. None if the report does not say
    remarks: tuple[str, ...] = ()  # notes for the reader
    directory: str = ""  # folder of the job's files. Empty if the report does not say
    host: str = ""  # client that ran the job in client/server mode, else empty

    @property
    def in_flight(self) -> float | None:
        """Requests in flight on average (Little's law); None if a latency is unknown."""
        reads, writes = self.reads.in_flight, self.writes.in_flight
        return None if reads is None or writes is None else reads + writes


def job_traffic(job: Job, cap_bytes: int) -> Traffic:
    """Return the traffic of a job on a mount target, if every request reached the mount target. `cap_bytes` is rsize
    and wsize.
    """
    return together((_direction(READ, job.reads, cap_bytes), _direction(WRITE, job.writes, cap_bytes)))


def plain_traffic(job: Job) -> Traffic:
    """Return the traffic of a job on a service that counts a read or write of any size as one operation."""
    rates = {name: one.operations for name, one in ((READ, job.reads), (WRITE, job.writes)) if one.count}
    return Traffic(
        {name: OperationTraffic(rate, Bounds(rate, rate, rate)) for name, rate in rates.items()},
        job.reads.bytes_per_second if READ in rates else 0.0,
        job.writes.bytes_per_second if WRITE in rates else 0.0,
    )


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
