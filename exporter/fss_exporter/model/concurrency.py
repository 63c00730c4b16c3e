"""Requests in flight, latency and throughput by Little's law, and the throughput of one storage server."""

from collections.abc import Iterable
from dataclasses import dataclass


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


def in_flight_for(bytes_per_second: float, latency_seconds: float, size_bytes: float) -> float:
    """Return the requests in flight that a throughput needs."""
    return bytes_per_second / size_bytes * latency_seconds


def network_bytes_per_second(gbps: float) -> float:
    """Bandwidth of a network card from its Gbit/s: 1 Gbit/s is 125 MB/s."""
    return gbps * 1e9 / 8


def server_bytes_per_second(volumes: Iterable[float], gbps: float) -> float:
    """Return the throughput of a self-managed storage server: the sum of the volumes, or the card towards the clients.

    Args:
        volumes: ceiling of each volume, bytes per second.
        gbps: card that carries the traffic of the clients. Another card carries the traffic of the volumes.
    """
    return min(sum(volumes), network_bytes_per_second(gbps))
