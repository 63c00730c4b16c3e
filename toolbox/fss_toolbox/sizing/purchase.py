# SPDX-License-Identifier: Apache-2.0
"""Compute the capacity of another storage service to buy for a load, and the requests and clients that the load needs.

Such a service counts each READ or WRITE once (`plain`). Requests in flight follow from rate and latency by Little's law.
"""

from dataclasses import dataclass

from fss_exporter.model.limits import ROUNDING
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import Service, ServiceType
from fss_exporter.model.traffic import OperationTraffic, Traffic


@dataclass(frozen=True, slots=True)
class Offer:
    """One type of a service for a load."""

    kind: ServiceType  # type to buy
    capacity_bytes: float | None  # least capacity on sale. None if no capacity is enough, 0 if capacity does not matter
    share_of_most: float | None = (
        None  # the load by the highest ceilings on sale. None where ceilings grow without an end
    )


def offers(traffic: Traffic, service: Service, target: float) -> list[Offer]:
    """Return the least capacity of each type with ceilings that carries plain traffic at a share of the ceilings."""
    offered = []
    operations = traffic.all_operations.operations
    for kind in service.kinds.values():
        wanted = [
            (kind.iops, operations),
            (kind.read, traffic.read_bytes),
            (kind.write, traffic.written_bytes),
            (kind.both, traffic.payload),
        ]
        asked = [(line, amount) for line, amount in wanted if line is not None and amount > 0]
        if asked:
            sizes = [line.capacity_for(amount / target) for line, amount in asked]
            enough = [size for size in sizes if size is not None]
            least = kind.on_sale(max(enough)) if len(enough) == len(sizes) else None
            share = max((amount / line.most for line, amount in asked if line.most), default=None)
            offered.append(Offer(kind, least, share))
    return offered


@dataclass(frozen=True, slots=True)
class InFlight:
    """Requests in flight of a load (Little's law)."""

    latency_seconds: float  # time of a request
    size_bytes: float  # mean payload of a request
    needed: float  # requests in flight that the load needs
    most: int | None  # requests that the service takes at a time. None if unpublished

    @property
    def exceeded(self) -> bool:
        """Whether the load needs more requests in flight than the service takes."""
        return self.most is not None and self.needed > self.most * (1 + ROUNDING)

    def completed(self, requests: float) -> float:
        """Requests per second that so many requests in flight complete."""
        return requests / self.latency_seconds


def in_flight(traffic: Traffic, kind: ServiceType | None, latency_seconds: float | None) -> InFlight | None:
    """Return the requests that plain traffic keeps in flight. None if neither the caller nor the service states a latency."""
    operations = traffic.all_operations.operations
    latency = latency_of(traffic, kind, latency_seconds)
    if not operations or not traffic.payload or latency is None:
        return None
    most = kind.in_flight if kind else None
    return InFlight(latency, traffic.payload / operations, operations * latency, most)


def latency_of(traffic: Traffic, kind: ServiceType | None, latency_seconds: float | None) -> float | None:
    """Return the caller's latency of a request, else the service's stated latency for WRITEs of the mean size."""
    if latency_seconds is None and kind is not None and traffic.payload and _rate(traffic, WRITE):
        return kind.stated_latency(traffic.payload / traffic.all_operations.operations)
    return latency_seconds


def clients_share(traffic: Traffic, kind: ServiceType) -> float | None:
    """Return plain traffic in multiples of the documented throughput of one client. None without a document."""
    client = kind.one_client
    if client is None:
        return None
    return max(
        _rate(traffic, READ) / client.read_iops + _rate(traffic, WRITE) / client.write_iops,
        traffic.read_bytes / client.read_bytes_per_second + traffic.written_bytes / client.write_bytes_per_second,
    )


def _rate(traffic: Traffic, operation: str) -> float:
    return traffic.operations.get(operation, OperationTraffic(0.0)).operations
