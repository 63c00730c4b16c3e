# SPDX-License-Identifier: Apache-2.0
"""Convert a benchmark report into the traffic on the storage, and find the limit that set the pace.

A benchmark knows the sizes of its requests. The cost is exact if every request has an equal size, and lies within bounds
if sizes are mixed. By Little's law, requests in flight are requests completed per second times the seconds of each request.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import estimate_transfers
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES, READ, WRITE
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_toolbox.sizing.capacity import CLIENT_NETWORK
from fss_toolbox.sizing.purchase import clients_share
from fss_toolbox.sizing.service_choice import ServiceChoice
from fss_toolbox.sizing.uses import Use, fullest, known_uses
from fss_toolbox.sizing.workload import Transfers, plain, priced, scaled, workload


@dataclass(frozen=True, slots=True)
class Direction:
    """The reads, the writes or the syncs of one job. Syncs have no bytes."""

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
    run: int = 0  # number of the run in its report, from 0. Runs follow each other
    syncs: Direction = Direction()  # calls of fsync and fdatasync

    @property
    def in_flight(self) -> float | None:
        """Requests and syncs in flight on average (Little's law); None if a latency is unknown."""
        parts = [part.in_flight for part in (self.reads, self.writes, self.syncs)]
        requests = [part for part in parts if part is not None]
        return sum(requests) if len(requests) == len(parts) else None


def job_traffic(job: Job, cap_bytes: int) -> Traffic:
    """Return the traffic of a job if every request reached the mount target. `cap_bytes` is rsize and wsize."""
    return together((_direction(READ, job.reads, cap_bytes), _direction(WRITE, job.writes, cap_bytes)))


def plain_traffic(job: Job) -> Traffic:
    """Return the traffic of a job on a service that counts a read or write of any size as one operation."""
    by_name = {READ: job.reads, WRITE: job.writes}
    rates = {name: OperationTraffic(operation.operations) for name, operation in by_name.items() if operation.count}
    return plain(Traffic(rates, job.reads.bytes_per_second, job.writes.bytes_per_second))


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
    per_second = direction.operations / direction.count
    cost = estimate_transfers(name, calls, direction.total_bytes, cap_bytes).times(per_second)
    rate = OperationTraffic(operations=calls * per_second, iops=cost)
    payload = direction.bytes_per_second
    return Traffic({name: rate}, payload if name == READ else 0.0, payload if name == WRITE else 0.0)


# A benchmark has reached a ceiling from this share on. Ramp-up and jitter of the benchmark take the rest.
MET_RATIO = 0.90

ABOVE_RATIO = 1.05  # Larger shares of a ceiling mean another shape, a cache in between, or another storage

FILLED_RATIO = 0.90  # Latency sets the pace, and not the client, from this share of the configured depth on

CLIENT_REACH = "reach of one client"
SERVICE_QUEUE = "requests the service takes at a time"


class Bottleneck(Enum):
    """The limit that set the pace of a benchmark."""

    CEILING = "ceiling"
    ABOVE = "above the ceiling"
    SERVICE_QUEUE = "requests in flight at the service"
    CLIENT_NETWORK = "client network"
    CLIENT_REACH = "reach of one client"
    LATENCY = "latency x concurrency"
    SYNCS = "latency of syncs"
    CLIENT = "client"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage under a benchmark, and the clients that ran the benchmark."""

    # ceilings of one mount target, or of another service. None for storage without a known ceiling
    limits: Limits | None
    mount_targets: int = 1  # number of mount targets that share the load evenly
    transfer_size: int = LARGEST_TRANSFER_BYTES  # rsize and wsize of the mounts, bytes
    choice: ServiceChoice | None = None  # another service. None for OCI File Storage
    clients: int = 1  # hosts that ran the benchmark
    client_bandwidth: float | None = None  # bytes per second of the network of one host. None if unknown
    overrides: CostOverrides = NO_OVERRIDES  # measured costs in place of the white paper's table

    def traffic(self, job: Job) -> Traffic:
        """Return the traffic of a job, with the costs of OCI File Storage or with cost 1 for each read and write."""
        if self.limits is None or self.choice is not None:
            return plain_traffic(job)
        return priced(job_traffic(job, self.transfer_size), self.overrides)


@dataclass(frozen=True, slots=True)
class BenchmarkVerdict:
    """The result of jobs that ran together."""

    name: str  # name of the group, or of the directory if directories are mount targets
    jobs: tuple[Job, ...]  # the jobs
    traffic: Traffic  # load on the storage
    uses: tuple[Use, ...]  # every known ceiling, and the share of one mount target in the load
    clients: tuple[Use, ...]  # bounds of the clients, and of the requests that the service takes
    in_flight: float | None  # requests in flight on average; None if the latency of a job is unknown
    depth: int | None  # configured requests in flight. None if a job does not say

    @property
    def syncs_in_flight(self) -> float:
        """Syncs among the requests in flight."""
        return sum(job.syncs.in_flight or 0.0 for job in self.jobs)

    @property
    def first(self) -> Use | None:
        """The fullest ceiling. None if no ceiling is known."""
        return fullest(self.uses)

    @property
    def has_met_a_ceiling(self) -> bool:
        """Whether a ceiling set the pace."""
        return self.bottleneck in {Bottleneck.CEILING, Bottleneck.ABOVE}

    @property
    def bottleneck(self) -> Bottleneck:
        """The limit that set the pace."""
        ratio = (self.first.ratio or 0.0) if self.first else 0.0
        if ratio > ABOVE_RATIO:
            return Bottleneck.ABOVE
        if ratio >= MET_RATIO:
            return Bottleneck.CEILING
        for use in self.clients:
            if (use.ratio or 0.0) >= MET_RATIO:
                return _OF_CLIENTS[use.resource]
        if not self.depth or not self.in_flight:
            return Bottleneck.UNKNOWN
        if self.in_flight < FILLED_RATIO * self.depth:
            return Bottleneck.CLIENT
        return Bottleneck.SYNCS if self.syncs_in_flight > self.in_flight / 2 else Bottleneck.LATENCY

    @property
    def allowed(self) -> float | None:
        """Operations per second that the model allows at this mix. None if no bound is known."""
        bound = fullest((*self.uses, *(use for use in self.clients if use.resource != SERVICE_QUEUE)))
        measured = sum(job.reads.operations + job.writes.operations for job in self.jobs)
        return measured / bound.ratio if bound and bound.ratio else None

    @property
    def error(self) -> float | None:
        """Relative error of the model if a ceiling was reached, (allowed - measured) / measured, else None."""
        return 1 / self.first.ratio - 1 if self.has_met_a_ceiling and self.first and self.first.ratio else None


_OF_CLIENTS = {
    CLIENT_NETWORK: Bottleneck.CLIENT_NETWORK,
    SERVICE_QUEUE: Bottleneck.SERVICE_QUEUE,
    CLIENT_REACH: Bottleneck.CLIENT_REACH,
}


def judge(jobs: Iterable[Job], storage: Storage, name: str = "") -> BenchmarkVerdict:
    """Compare jobs that ran together with the storage."""
    jobs = tuple(jobs)
    traffic = together(storage.traffic(job) for job in jobs)
    waiting = [job.in_flight for job in jobs if job.in_flight is not None]
    in_flight = sum(waiting) if len(waiting) == len(jobs) else None
    depths = [job.depth for job in jobs if job.depth is not None]
    depth = sum(depths) if depths and len(depths) == len(jobs) else None
    each = scaled(traffic, 1 / storage.mount_targets)
    used = () if storage.limits is None else known_uses(each, storage.limits)
    return BenchmarkVerdict(
        name, jobs, traffic, used, tuple(_client_uses(traffic, in_flight, storage)), in_flight, depth
    )


def _client_uses(traffic: Traffic, in_flight: float | None, storage: Storage) -> Iterator[Use]:
    if storage.client_bandwidth is not None:
        payload = max(traffic.read_bytes, traffic.written_bytes)
        yield Use(CLIENT_NETWORK, "B/s", payload, storage.clients * storage.client_bandwidth)
    kind = storage.choice.kind if storage.choice else None
    if kind is not None and kind.in_flight is not None and in_flight:
        yield Use(SERVICE_QUEUE, "requests", in_flight, kind.in_flight)
    share = clients_share(traffic, kind) if kind is not None else None
    if share is not None:
        yield Use(CLIENT_REACH, "clients", share, storage.clients)
