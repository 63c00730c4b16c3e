"""From N transfers and B payload bytes to mount-target I/O operations, when the sizes are unknown.

The rule is argued and measured in docs/cost-model.md.
"""

import math
from typing import NamedTuple

from fss_exporter.model.transfers import BLOCK_BYTES, WRITE_FACTOR, blocks

_PAGE_BYTES = 4096


class Bounds(NamedTuple):
    """Mount-target I/O operations: least, best guess, most. `lower <= point <= upper`."""

    lower: float
    point: float
    upper: float


def estimate_reads(count: int, payload_bytes: int, size_cap_bytes: int) -> Bounds:
    """I/O operations of `count` READs that carried `payload_bytes`, none larger than `size_cap_bytes` (rsize)."""
    if count <= 0:
        return Bounds(0.0, 0.0, 0.0)
    payload = min(max(0, payload_bytes), count * size_cap_bytes)
    whole = payload / BLOCK_BYTES
    lower = count + max(count, whole)
    upper = count + min(count + whole, count * blocks(size_cap_bytes))
    mean = payload / count
    if mean % _PAGE_BYTES == 0:
        point = float(count + count * blocks(int(mean)))
    elif whole:
        point = count * (1 + 1 / -math.expm1(-count / whole))
    else:
        point = 2.0 * count
    return Bounds(lower, min(max(point, lower), upper), upper)


def estimate_writes(count: int, payload_bytes: int, size_cap_bytes: int) -> Bounds:
    """I/O operations of `count` WRITEs that carried `payload_bytes`, none larger than `size_cap_bytes` (wsize)."""
    return Bounds(*(WRITE_FACTOR * value for value in estimate_reads(count, payload_bytes, size_cap_bytes)))
