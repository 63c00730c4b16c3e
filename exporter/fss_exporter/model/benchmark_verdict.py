"""Compare a benchmark with the ceilings of the storage, and find the limit that set the pace.

By Little's law, requests in flight are requests completed per second times the seconds of each request.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from fss_exporter.model.benchmark import Job, job_traffic, plain_traffic
from fss_exporter.model.capacity import CLIENT_NETWORK
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.limits import Limits
from fss_exporter.model.purchase import clients_share, service_load, uses_of
from fss_exporter.model.storage_service import Ceilings, ServiceType
from fss_exporter.model.traffic import Traffic, scaled, together
from fss_exporter.model.utilisation import Use, fullest
from fss_exporter.model.workload import LARGEST_TRANSFER_BYTES

MET_RATIO = 0.90
"""A benchmark has reached a ceiling from this share on. Ramp-up and jitter of the benchmark take the rest."""

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
    CLIENT = "client"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage under a benchmark, and the clients that ran the benchmark."""

    # ceilings of one mount target, or of another service. None for storage without a known ceiling
    limits: Limits | Ceilings | None
    mount_targets: int = 1  # number of mount targets that share the load evenly
    transfer_size: int = LARGEST_TRANSFER_BYTES  # rsize and wsize of the mounts, bytes
    # type of another service, for the figures about one client. None for OCI File Storage
    kind: ServiceType | None = None
    clients: int = 1  # hosts that ran the benchmark
    client_bandwidth: float | None = None  # bytes per second of the network of one host. None if unknown
    overrides: CostOverrides = NO_OVERRIDES  # measured costs in place of the white paper's table

    def traffic(self, job: Job) -> Traffic:
        """Return the traffic of a job, with the costs of OCI File Storage or with cost 1 for each read and write."""
        if isinstance(self.limits, Limits):
            return self.overrides.priced(job_traffic(job, self.transfer_size))
        return plain_traffic(job)


@dataclass(frozen=True, slots=True)
class BenchmarkVerdict:
    """The result of jobs that ran together."""

    traffic: Traffic  # load on the storage
    uses: tuple[Use, ...]  # every ceiling, and the share of one mount target in the load
    first: Use | None  # the fullest ceiling. None if no ceiling is known
    clients: tuple[Use, ...]  # bounds of the clients, and of the requests that the service takes
    in_flight: float | None  # requests in flight on average; None if a job does not tell its latency
    depth: int | None  # configured requests in flight. None if a job does not say
    bottleneck: Bottleneck  # the limit that set the pace
    allowed: float | None  # operations per second that the model allows at this mix. None if no bound is known
    # relative error of the model if a ceiling was reached, (allowed - measured) / measured, else None
    error: float | None


def judge(jobs: Iterable[Job], storage: Storage) -> BenchmarkVerdict:
    """Compare jobs that ran together with the storage."""
    jobs = tuple(jobs)
    traffic = together(storage.traffic(job) for job in jobs)
    found = () if storage.limits is None else uses_of(scaled(traffic, 1 / storage.mount_targets), storage.limits)
    first = fullest(found)
    waiting = [job.in_flight for job in jobs if job.in_flight is not None]
    in_flight = sum(waiting) if len(waiting) == len(jobs) else None
    depths = [job.depth for job in jobs if job.depth is not None]
    depth = sum(depths) if depths and len(depths) == len(jobs) else None
    clients = tuple(_client_uses(traffic, in_flight, storage))
    bottleneck = _bottleneck(first, clients, in_flight, depth)
    measured = sum(job.reads.operations + job.writes.operations for job in jobs)
    bound = fullest((*found, *(use for use in clients if use.resource != SERVICE_QUEUE)))
    met = first is not None and bottleneck in {Bottleneck.CEILING, Bottleneck.ABOVE}
    return BenchmarkVerdict(
        traffic=traffic,
        uses=found,
        first=first,
        clients=clients,
        in_flight=in_flight,
        depth=depth,
        bottleneck=bottleneck,
        allowed=measured / bound.ratio if bound and bound.ratio else None,
        error=1 / first.ratio - 1 if met and first and first.ratio else None,
    )


def _client_uses(traffic: Traffic, in_flight: float | None, storage: Storage) -> Iterator[Use]:
    """Return the known bounds of the clients."""
    if storage.client_bandwidth is not None:
        payload = max(traffic.read_bytes, traffic.written_bytes)
        yield Use(CLIENT_NETWORK, "B/s", payload, storage.clients * storage.client_bandwidth)
    kind = storage.kind
    if kind is not None and kind.in_flight is not None and in_flight:
        yield Use(SERVICE_QUEUE, "requests", in_flight, kind.in_flight)
    share = clients_share(service_load(traffic), kind) if kind is not None else None
    if share is not None:
        yield Use(CLIENT_REACH, "clients", share, storage.clients)


_OF_CLIENTS = {
    CLIENT_NETWORK: Bottleneck.CLIENT_NETWORK,
    SERVICE_QUEUE: Bottleneck.SERVICE_QUEUE,
    CLIENT_REACH: Bottleneck.CLIENT_REACH,
}


def _bottleneck(first: Use | None, clients: tuple[Use, ...], in_flight: float | None, depth: int | None) -> Bottleneck:
    ratio = first.ratio if first else None
    if ratio is not None and ratio > ABOVE_RATIO:
        return Bottleneck.ABOVE
    if ratio is not None and ratio >= MET_RATIO:
        return Bottleneck.CEILING
    for use in clients:
        if use.ratio is not None and use.ratio >= MET_RATIO:
            return _OF_CLIENTS[use.resource]
    if not depth or not in_flight:
        return Bottleneck.UNKNOWN
    return Bottleneck.LATENCY if in_flight >= FILLED_RATIO * depth else Bottleneck.CLIENT
