# SPDX-License-Identifier: Apache-2.0
"""Ceilings of a mount target.

Sources:
    White paper "OCI File Storage Performance Characteristics", version 2.0, August 2023, Table 1 ("provisioned, not a
    guaranteed SLA"): IOPS and the bandwidth of the standard shape. The paper prints one bandwidth. The project takes the figure for
    reads and again for writes.
    Service documentation "Managing Mount Targets", read 2026-09-05: read bandwidth of the high performance shapes,
    100,000 client connections, and the capacity entitlement of 1,000 GB for each Gbit/s.
    Service documentation "Updating Mount Target Performance", read in November 2026: default service limits of each shape,
    and 30 days as the least time of a high performance shape.
    Service documentation "Using In-transit TLS Encryption", read 2026-09-05: 4,096 encrypted client connections, and 64 for
    Windows with stunnel. The white paper of 2023 states 64 encrypted clients.

A ceiling without a published figure is None and yields no series. The service documentation also prints 1 Gbit/s of reads
for the standard shape. The measurements of the white paper contradict 1 Gbit/s, so the white paper's figure stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

NFS_PORT = 2049  # port of every mount target

# Largest share that counts as rounding. 100 requests of 0.07 s are 7 in flight, and computed a little more.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of one mount target, or of a file system or volume of another service. None if unpublished or unknown."""

    iops: float | None = None  # I/O operations per second, as the service counts
    read_bytes_per_second: float | None = None  # payload bytes read per second
    write_bytes_per_second: float | None = None  # payload bytes written per second
    connections: float | None = None  # client connections at a time
    encrypted_connections: float | None = None  # client connections with in-transit TLS encryption at a time
    bytes_per_second: float | None = None  # payload bytes of both directions, in place of a ceiling for each


@dataclass(frozen=True, slots=True)
class Shape:
    """A performance type of mount targets."""

    name: str  # `standard` or `hpmt-<Gbit/s>`
    observed_throughput_gbps: int  # the API's `observedThroughput`. 0 stands for absent
    limits: Limits  # ceilings of the shape
    default_service_limit: int | None = None  # mount targets in one availability domain, unless raised. None if unknown
    entitlement_bytes: float = 0.0  # stored data that its price pays for


STUNNEL_CONNECTIONS = 64  # of Windows clients at a time, whatever the shape
_CONNECTIONS = 100_000
_ENCRYPTED_CONNECTIONS = 4_096

STANDARD = Shape("standard", 1, Limits(50_000, 1e9, 1e9, _CONNECTIONS, _ENCRYPTED_CONNECTIONS), 2)

_HIGH_PERFORMANCE = tuple(
    Shape(
        f"hpmt-{gbps}",
        gbps,
        Limits(None, gbps * 1e9 / 8, None, _CONNECTIONS, _ENCRYPTED_CONNECTIONS),
        allowed,
        gbps * 1e12,
    )
    for gbps, allowed in ((20, 2), (40, 1), (80, 0))
)

# Every known shape by name.
SHAPES: Mapping[str, Shape] = MappingProxyType({shape.name: shape for shape in (STANDARD, *_HIGH_PERFORMANCE)})

# Days for which a high performance mount target is paid at least ("Updating Mount Target Performance").
HIGH_PERFORMANCE_DAYS = 30

_BY_THROUGHPUT = {shape.observed_throughput_gbps: shape for shape in SHAPES.values()}


def shape_of(observed_throughput_gbps: int | None) -> Shape:
    """Return the shape of an `observedThroughput` (Gbit/s). Absent, 0 and 1 are standard.

    An unknown throughput makes a new shape, `hpmt-<Gbit/s>`, with the bandwidth as the only ceiling.
    """
    gbps = observed_throughput_gbps or STANDARD.observed_throughput_gbps
    published = _BY_THROUGHPUT.get(gbps)
    return published or Shape(f"hpmt-{gbps}", gbps, Limits(read_bytes_per_second=gbps * 1e9 / 8))
