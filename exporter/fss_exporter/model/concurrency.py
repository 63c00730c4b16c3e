"""Requests in flight, latency and throughput belong together: Little's law. And what one server can pass on."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flow:
    """Requests of one size that are kept in flight.

    Attributes:
        in_flight: requests at a time.
        latency_seconds: from the start of a request to its end.
        size_bytes: payload of one.

    Raises:
        ValueError: a figure that is not positive.
    """

    in_flight: float
    latency_seconds: float
    size_bytes: float

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


def in_flight_for(bytes_per_second: float, latency_seconds: float, size_bytes: float) -> float:
    """Requests that have to be in flight for a throughput."""
    return bytes_per_second / size_bytes * latency_seconds


def network_bytes_per_second(gbps: float) -> float:
    """Bandwidth of a network card from its Gbit/s: 1 Gbit/s is 125 MB/s."""
    return gbps * 1e9 / 8


def server_bytes_per_second(volumes: Iterable[float], gbps: float) -> float:
    """What a self-managed storage server can pass on: the sum of its volumes, or its card towards the clients.

    Args:
        volumes: ceiling of each volume, bytes per second.
        gbps: the card that carries the clients' traffic; the one towards the volumes is another.
    """
    return min(sum(volumes), network_bytes_per_second(gbps))
