"""Ceilings of a mount target.

Sources:
    white paper "OCI File Storage Performance Characteristics", version 2.0, August 2023, Table 1 ("provisioned, not an
    SLA"): IOPS and both bandwidths of the standard shape;
    service documentation "Managing Mount Targets", read 2026-09-05: read bandwidth of the high performance shapes,
    100,000 client connections;
    service documentation "Using In-transit TLS Encryption", read 2026-09-05: 4,096 encrypted client connections. The white
    paper of 2023 states 64 encrypted clients.

A ceiling without a published figure is None and yields no series. The service documentation also prints 1 Gbit/s of reads
for the standard shape; the white paper's own measurements contradict it, so the white paper's figure stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of one mount target; None where unpublished.

    Attributes:
        iops: mount-target I/O operations per second.
        read_bytes_per_second: payload bytes read per second.
        write_bytes_per_second: payload bytes written per second.
        connections: client connections at the same time.
        encrypted_connections: client connections with in-transit TLS encryption at the same time.
    """

    iops: float | None = None
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    connections: float | None = None
    encrypted_connections: float | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A performance type of mount targets.

    Attributes:
        name: `standard` or `hpmt-<Gbit/s>`.
        observed_throughput_gbps: what the API reports as `observedThroughput`; 0 stands for absent.
        limits: its ceilings.
    """

    name: str
    observed_throughput_gbps: int
    limits: Limits


CONNECTIONS = 100_000
ENCRYPTED_CONNECTIONS = 4_096

STANDARD = Shape("standard", 1, Limits(50_000, 1e9, 1e9, CONNECTIONS, ENCRYPTED_CONNECTIONS))

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        shape.name: shape
        for shape in (
            STANDARD,
            *(
                Shape(f"hpmt-{gbps}", gbps, Limits(None, gbps * 1e9 / 8, None, CONNECTIONS, ENCRYPTED_CONNECTIONS))
                for gbps in (20, 40, 80)
            ),
        )
    }
)
"""Every known shape by name."""

_BY_THROUGHPUT = {shape.observed_throughput_gbps: shape for shape in SHAPES.values()}


def shape_of(observed_throughput_gbps: int | None) -> Shape:
    """The shape of an `observedThroughput` (Gbit/s); absent, 0 and 1 are standard.

    A throughput without a document makes a shape of its own, `hpmt-<Gbit/s>`, with the one ceiling it states.
    """
    if not observed_throughput_gbps:
        return STANDARD
    known = _BY_THROUGHPUT.get(observed_throughput_gbps)
    if known is not None:
        return known
    gbps = observed_throughput_gbps
    return Shape(f"hpmt-{gbps}", gbps, Limits(read_bytes_per_second=gbps * 1e9 / 8))
