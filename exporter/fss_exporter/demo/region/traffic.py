"""What clients ask of one file system through one mount target, and what follows from it for each metric."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import pi, sin
from types import MappingProxyType

from fss_exporter.model.operations import NFS3_OPERATIONS
from fss_exporter.model.transfers import read_io_operations, write_io_operations

KIB = 1024
MIB = 1024 * KIB

SIZE_BUCKETS: Mapping[str, int] = MappingProxyType(
    {"0B_to_8KiB": 8 * KIB, "8KiB_to_64KiB": 64 * KIB, "64KiB_to_1MiB": MIB}
)
"""Largest size of each bucket. Values of dimension `size`, documented: "File System Metrics"."""

PUBLISHED_OPERATIONS = ("CREATE", "GETATTR", "SETATTR", "REMOVE")
"""The four procedures OCI publishes rates and latencies of, documented: "File System Metrics", MetadataIOPS."""


@dataclass(frozen=True)
class Traffic:
    """Requests a second on average.

    Attributes:
        reads: rate of READs by size in bytes.
        writes: rate of WRITEs by size in bytes.
        operations: rate of every other NFSv3 procedure by name.
    """

    reads: Mapping[int, float] = field(default_factory=dict)
    writes: Mapping[int, float] = field(default_factory=dict)
    operations: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def read_bytes(self) -> float:
        """Bytes read a second."""
        return sum(size * rate for size, rate in self.reads.items())

    @cached_property
    def written_bytes(self) -> float:
        """Bytes written a second."""
        return sum(size * rate for size, rate in self.writes.items())

    @cached_property
    def io_operations(self) -> float:
        """Mount-target I/O operations a second, by the white paper's cost table."""
        return (
            sum(read_io_operations(size) * rate for size, rate in self.reads.items())
            + sum(write_io_operations(size) * rate for size, rate in self.writes.items())
            + sum((NFS3_OPERATIONS[name].io_operations or 0) * rate for name, rate in self.operations.items())
        )

    @cached_property
    def reads_by_bucket(self) -> Mapping[str, float]:
        """READs a second in each size bucket."""
        return _by_bucket(self.reads)

    @cached_property
    def writes_by_bucket(self) -> Mapping[str, float]:
        """WRITEs a second in each size bucket."""
        return _by_bucket(self.writes)


IDLE = Traffic()
"""No request at all."""


def _by_bucket(rates: Mapping[int, float]) -> Mapping[str, float]:
    found = dict.fromkeys(SIZE_BUCKETS, 0.0)
    for size, rate in rates.items():
        found[bucket_of(size)] += rate
    return found


def bucket_of(size: int) -> str:
    """The size bucket a request of `size` bytes is counted in; what is larger than the last counts there."""
    return next((name for name, largest in SIZE_BUCKETS.items() if size <= largest), "64KiB_to_1MiB")


def chance(*parts: int) -> float:
    """A number in [0, 1) that depends on nothing but the parts."""
    mixed = 0
    for part in parts:
        mixed = ((mixed ^ part) * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFF_FFFF_FFFF_FFFF
        mixed ^= mixed >> 29
    return ((mixed * 0xBF58476D1CE4E5B9 & 0xFFFF_FFFF_FFFF_FFFF) >> 11) / (1 << 53)


def wave(seed: int, minute: int) -> float:
    """Share of the average that is asked in `minute`: a half-hour swing of 4 % with 1.5 % noise on it."""
    swing = sin(2 * pi * (minute / 30 + chance(seed)))
    return 1 + 0.04 * swing + 0.03 * (chance(seed, minute) - 0.5)
