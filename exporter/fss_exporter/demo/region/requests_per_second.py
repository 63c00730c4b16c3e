"""The requests of NFS clients as data: operation, size, rate, and the mount-target I/O operations of one request.

The cost of each request is written down in `tenancy.yml`. Nothing here uses the cost model of the exporter, so the
agreement of the region's MountTargetIOPS with the exporter's estimate is evidence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

SIZE_BUCKETS: Mapping[str, int] = {"0B_to_8KiB": 8192, "8KiB_to_64KiB": 65536, "64KiB_to_1MiB": 1 << 20}
"""Largest size in bytes of each value of dimension `size`. Documented: "File System Metrics"."""


class RequestRate(NamedTuple):
    """Requests of one operation and size."""

    operation: str  # NFSv3 procedure
    size: int  # payload bytes of one request; 0 for all but READ and WRITE
    per_second: float  # requests a second
    io_operations: float  # mount-target I/O operations of one request


@dataclass(frozen=True)
class RequestMix:
    """The requests that clients send to one export in a second."""

    rates: tuple[RequestRate, ...] = ()

    def requests(self, operation: str, bucket: str = "") -> float:
        """Return requests a second of an operation, of all sizes or of one size bucket."""
        return sum(
            one.per_second
            for one in self.rates
            if one.operation == operation and (not bucket or bucket_of(one.size) == bucket)
        )

    @cached_property
    def read_bytes(self) -> float:
        """Payload bytes of READ a second."""
        return sum(one.size * one.per_second for one in self.rates if one.operation == "READ")

    @cached_property
    def written_bytes(self) -> float:
        """Payload bytes of WRITE a second."""
        return sum(one.size * one.per_second for one in self.rates if one.operation == "WRITE")

    @cached_property
    def io_operations(self) -> float:
        """Mount-target I/O operations a second."""
        return sum(one.io_operations * one.per_second for one in self.rates)


IDLE = RequestMix()  # No request at all


def bucket_of(size: int) -> str:
    """Return the size bucket of a request. Larger requests than the last bucket count there."""
    return next((name for name, largest in SIZE_BUCKETS.items() if size <= largest), "64KiB_to_1MiB")
