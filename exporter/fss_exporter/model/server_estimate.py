# SPDX-License-Identifier: Apache-2.0
"""Estimate mount-target I/O operations from the metrics of a file system: rates by size bucket, throughput and metadata.

A bucket is all that is known of the size of a request. The throughput limits the sum of all sizes. The bounds are the
least and the most over all sizes that fit both. Each bound assigns bytes to requests in the order of the cost of a byte.
Procedures that OCI does not publish are missing in every figure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple

from fss_exporter.model.estimate import NO_COST, Bounds
from fss_exporter.model.operations import BLOCK_BYTES, FIXED_COSTS, WRITE_FACTOR, blocks

_PAGE_BYTES = 4096
_ONE_SIZE_TOLERANCE_BYTES = 64  # a published minute mean is rounded; a page is far wider than this
_DOMINANT = 0.99  # share of the requests from which a minute is taken as one bucket


@dataclass(frozen=True, slots=True)
class Bucket:
    """Requests of more than `above_bytes` and at most `up_to_bytes`, as OCI Monitoring groups them."""

    name: str
    above_bytes: int
    up_to_bytes: int
    text: str  # the sizes for people


# Source: "File System Metrics" of the OCI documentation, read 2026-09-05; there is no larger bucket.
BUCKETS = (
    Bucket("0B_to_8KiB", 0, 8 * 1024, "up to 8 KiB"),
    Bucket("8KiB_to_64KiB", 8 * 1024, 64 * 1024, "8 to 64 KiB"),
    Bucket("64KiB_to_1MiB", 64 * 1024, 1024 * 1024, "64 KiB to 1 MiB"),
)

SIZE_BUCKETS = tuple(bucket.name for bucket in BUCKETS)  # Values of the dimension `size`, smallest first


def estimate_reads_by_size(rates: Sequence[float], bytes_per_second: float | None) -> Bounds:
    """Estimate the I/O operations per second of READs, from a rate for each of `BUCKETS` and the payload if known."""
    total = sum(rates)
    if total <= 0:
        return NO_COST
    lower = total + _least_blocks(rates, bytes_per_second)
    upper = max(lower, total + _most_blocks(rates, bytes_per_second))
    point = total + _one_size(rates, bytes_per_second) if _is_one_size(rates, bytes_per_second) else (lower + upper) / 2
    return Bounds(lower, min(max(point, lower), upper), upper)


def estimate_writes_by_size(rates: Sequence[float], bytes_per_second: float | None) -> Bounds:
    """Estimate the I/O operations per second of WRITEs. The arguments are like `estimate_reads_by_size`."""
    return estimate_reads_by_size(rates, bytes_per_second).times(WRITE_FACTOR)


def estimate_metadata(rates: Mapping[str, float], weights: Mapping[str, float] | None = None) -> Bounds:
    """Estimate the I/O operations per second of metadata requests by operation name of OCI.

    An unknown name costs at least 1 and at most 8, and the point is the least.
    `weights` are costs by procedure in place of the white paper's.
    """
    table = weights or FIXED_COSTS
    costs = [cost for cost in table.values() if cost]
    lower = upper = 0.0
    for name, rate in rates.items():
        cost = table.get(name.upper())
        lower += rate * (min(costs) if cost is None else cost)
        upper += rate * (max(costs) if cost is None else cost)
    return Bounds(lower, lower, upper)


_LEAST_BLOCKS = tuple(blocks(bucket.above_bytes + 1) for bucket in BUCKETS)
_MOST_BLOCKS = tuple(blocks(bucket.up_to_bytes) for bucket in BUCKETS)
_LEAST_BYTES = tuple(bucket.above_bytes for bucket in BUCKETS)
_FREE_BYTES = tuple(
    min(least * BLOCK_BYTES, bucket.up_to_bytes) for least, bucket in zip(_LEAST_BLOCKS, BUCKETS, strict=True)
)


class _FurtherBlocks(NamedTuple):
    """Blocks that requests of one bucket can have beyond the least number."""

    bytes_each: int  # further bytes of a request for each further block
    bucket: int  # place in `BUCKETS`
    per_request: int  # most of these blocks in a request


def _further_blocks() -> Iterator[_FurtherBlocks]:
    """Yield the further blocks of each bucket. The first one costs less bytes, because the smallest request fills its block."""
    for at, bucket in enumerate(BUCKETS):
        further = _MOST_BLOCKS[at] - _LEAST_BLOCKS[at]
        if further:
            yield _FurtherBlocks(_LEAST_BLOCKS[at] * BLOCK_BYTES - bucket.above_bytes, at, 1)
            yield _FurtherBlocks(BLOCK_BYTES, at, further - 1)


_CHEAPEST_FIRST = tuple(sorted(_further_blocks()))


def _least_blocks(rates: Sequence[float], bytes_per_second: float | None) -> float:
    """Return the least blocks: requests end at a block's end. Bytes up to the end are free, a further byte costs 1/32 KiB."""
    least, most = _weighted(rates, _LEAST_BLOCKS), _weighted(rates, _MOST_BLOCKS)
    beyond = max(0.0, (bytes_per_second or 0.0) - _weighted(rates, _FREE_BYTES))
    return min(most, least + beyond / BLOCK_BYTES)


def _most_blocks(rates: Sequence[float], bytes_per_second: float | None) -> float:
    """Return the most blocks: every request ends just behind a block's end. The first further block is the cheapest."""
    if bytes_per_second is None:
        return _weighted(rates, _MOST_BLOCKS)
    reached = _weighted(rates, _LEAST_BLOCKS)
    left = max(0.0, bytes_per_second - _weighted(rates, _LEAST_BYTES))
    for further in _CHEAPEST_FIRST:
        blocks_of_all = min(rates[further.bucket] * further.per_request, left / further.bytes_each)
        reached += blocks_of_all
        left -= blocks_of_all * further.bytes_each
    return reached


def _weighted(rates: Sequence[float], weights: Sequence[int]) -> float:
    return float(sum(map(mul, rates, weights)))


def _is_one_size(rates: Sequence[float], bytes_per_second: float | None) -> bool:
    if bytes_per_second is None or max(rates) < _DOMINANT * sum(rates):
        return False
    beside = bytes_per_second / sum(rates) % _PAGE_BYTES
    return min(beside, _PAGE_BYTES - beside) <= _ONE_SIZE_TOLERANCE_BYTES


def _one_size(rates: Sequence[float], bytes_per_second: float | None) -> float:
    mean = (bytes_per_second or 0.0) / sum(rates)
    return sum(rates) * blocks(round(mean / _PAGE_BYTES) * _PAGE_BYTES)
