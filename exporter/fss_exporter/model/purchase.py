"""Compare a load with another storage service, and compute the capacity to buy.

Such a service counts each READ or WRITE once. Requests in flight follow from throughput and latency by Little's law.
"""

from dataclasses import dataclass

from fss_exporter.model.capacity import BOTH_DIRECTIONS, pieces_for
from fss_exporter.model.limits import IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH, Limits, Use, uses
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import Ceilings, Service, ServiceType
from fss_exporter.model.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Flow:
    """A constant number of requests in flight, each of equal size.

    Raises:
        ValueError: a figure is not positive.
    """

    in_flight: float  # requests at a time
    latency_seconds: float  # time from the start to the end of a request
    size_bytes: float  # payload of a request

    def __post_init__(self) -> None:
        if min(self.in_flight, self.latency_seconds, self.size_bytes) <= 0:
            raise ValueError(f"{self.in_flight} requests of {self.size_bytes} bytes in {self.latency_seconds} s")

    @property
    def iops(self) -> float:
        """Requests completed per second."""
        return self.in_flight / self.latency_seconds

    @property
    def bytes_per_second(self) -> float:
        """Payload per second."""
        return self.iops * self.size_bytes


@dataclass(frozen=True, slots=True)
class ServiceLoad:
    """The load on a service, per second."""

    reads: float = 0.0
    writes: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0

    @property
    def operations(self) -> float:
        """Reads and writes."""
        return self.reads + self.writes

    @property
    def payload(self) -> float:
        """Bytes of both directions."""
        return self.read_bytes + self.written_bytes

    def times(self, factor: float) -> "ServiceLoad":
        """The load multiplied by a factor."""
        every = (self.reads, self.writes, self.read_bytes, self.written_bytes)
        return ServiceLoad(*(one * factor for one in every))


def service_uses(load: ServiceLoad, ceilings: Ceilings) -> tuple[Use, ...]:
    """Compare every known ceiling with the load."""
    found = (
        Use(IOPS, "IOPS", load.operations, ceilings.iops),
        Use(READ_BANDWIDTH, "B/s", load.read_bytes, ceilings.read_bytes_per_second),
        Use(WRITE_BANDWIDTH, "B/s", load.written_bytes, ceilings.write_bytes_per_second),
        Use(BOTH_DIRECTIONS, "B/s", load.payload, ceilings.bytes_per_second),
    )
    return tuple(use for use in found if use.limit is not None)


def service_load(traffic: Traffic) -> ServiceLoad:
    """Return the load of traffic on a service that counts READs and WRITEs."""
    reads, writes = (traffic.operations.get(name) for name in (READ, WRITE))
    return ServiceLoad(
        reads.operations if reads else 0.0,
        writes.operations if writes else 0.0,
        traffic.read_bytes,
        traffic.written_bytes,
    )


def uses_of(traffic: Traffic, limits: Limits | Ceilings) -> tuple[Use, ...]:
    """Compare traffic with the ceilings of a mount target, or of another service."""
    return service_uses(service_load(traffic), limits) if isinstance(limits, Ceilings) else uses(traffic, limits)


@dataclass(frozen=True, slots=True)
class Offer:
    """One type of a service for a load."""

    kind: ServiceType  # type to buy
    capacity_bytes: float | None  # least capacity. None if no capacity is enough, 0 if capacity does not matter


def offers(load: ServiceLoad, service: Service, target: float) -> list[Offer]:
    """Return the least capacity of each type with ceilings that carries the load at a share of the ceilings."""
    found = []
    for kind in service.kinds.values():
        wanted = [
            (kind.iops, load.operations),
            (kind.read, load.read_bytes),
            (kind.write, load.written_bytes),
            (kind.both, load.payload),
        ]
        asked = [line.capacity_for(amount / target) for line, amount in wanted if line is not None and amount > 0]
        if asked:
            enough = [size for size in asked if size is not None]
            least = max(kind.least_bytes, *enough) if len(enough) == len(asked) else None
            found.append(Offer(kind, least))
    return found


@dataclass(frozen=True, slots=True)
class InFlight:
    """Requests in flight of a load (Little's law)."""

    latency_seconds: float  # time of a request
    size_bytes: float  # mean payload of a request
    needed: float  # requests in flight that the load needs
    most: int | None  # requests that the service takes at a time. None if unpublished

    @property
    def reachable(self) -> Flow | None:
        """The highest load with as many requests in flight as the service takes. None if unpublished."""
        return None if self.most is None else Flow(self.most, self.latency_seconds, self.size_bytes)

    @property
    def exceeded(self) -> bool:
        """Whether the load needs more requests in flight than the service takes."""
        return self.most is not None and self.needed > self.most * (1 + 1e-9)


def in_flight(load: ServiceLoad, kind: ServiceType | None, latency_seconds: float | None) -> InFlight | None:
    """Return the requests that a load keeps in flight. None if neither the caller nor the service states a latency."""
    if not load.operations or not load.payload:
        return None
    size = load.payload / load.operations
    latency = latency_of(load, kind, latency_seconds)
    if latency is None:
        return None
    return InFlight(latency, size, load.operations * latency, kind.in_flight if kind else None)


def latency_of(load: ServiceLoad, kind: ServiceType | None, latency_seconds: float | None) -> float | None:
    """Return the caller's latency of a request, else the service's stated latency for WRITEs of the mean size."""
    if latency_seconds is None and kind is not None and load.writes and load.payload:
        return kind.stated_latency(load.payload / load.operations)
    return latency_seconds


def clients_needed(load: ServiceLoad, kind: ServiceType) -> int | None:
    """Return the clients that a load needs, by the documented throughput of one client. None without a document."""
    share = clients_share(load, kind)
    return None if share is None else pieces_for(share)


def clients_share(load: ServiceLoad, kind: ServiceType) -> float | None:
    """Return the load in multiples of the documented throughput of one client. None without a document."""
    one = kind.one_client
    if one is None:
        return None
    return max(
        load.reads / one.read_iops + load.writes / one.write_iops,
        load.read_bytes / one.read_bytes_per_second + load.written_bytes / one.write_bytes_per_second,
    )
