# SPDX-License-Identifier: Apache-2.0
"""Estimate the cost of the READs or WRITEs of one tick. The kernel's counters do not show the sizes.

The input is the difference between two readings: completed operations and payload bytes. The kernel updates the payload
counter a moment before or after the operation counter. So the payload of some calls can appear one tick later. The bytes
on the wire are never late, but contain headers. The wire gives the interval of the payload, and the payload counter
gives the best value within the interval. Nothing is kept between ticks.

The rule, the reasons and the measured error: docs/cost-model.md.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from fss_exporter.model.operations import BLOCK_BYTES, LARGEST_TRANSFER_BYTES, READ, WRITE, WRITE_FACTOR

_SIZE: Final = re.compile(r"[0-9]{1,9}")
_PAGE_BYTES = 4096
# Transfers of page cache and O_DIRECT are multiples of a page, except for the end of a file.

_HEADER_BYTES = {READ: (128, 128), WRITE: (104, 280)}
# Shortest and longest bytes around the payload of a READ reply and a WRITE call, NFSv3 with AUTH_SYS, from the XDR
# definitions (RFC 1813, RFC 5531): a WRITE call carries the host name, up to 16 groups and the file handle.

_XDR_UNIT_BYTES = 4
_LARGEST_PADDING_BYTES = _XDR_UNIT_BYTES - 1
# XDR fills the payload up to a multiple of four bytes.

_PLAUSIBLE_HEADER_BYTES = 1024
# No flavour has a longer header: a larger gap between wire and payload means that the payload counter is late.

_ALIGNED_PADDING_BYTES = 0.225
# Mean padding below which at most 15 % of the operations are odd-sized tails; an odd size averages 1.5.

_NEVER_SPLIT = 20.0
# Requests that end this often within one cap are split once in e^20.

_HALVINGS = 24
# Of the interval of the rate: the result is right to a millionth.


class Bounds(NamedTuple):
    """Mount-target I/O operations with `lower <= point <= upper`. The true cost lies within, most likely near `point`."""

    lower: float
    point: float
    upper: float

    @classmethod
    def exact(cls, value: float) -> "Bounds":
        """Return bounds that coincide."""
        return cls(value, value, value)

    @classmethod
    def total(cls, parts: "Iterable[Bounds]") -> "Bounds":
        """Return the sum of independent costs, 0 for none."""
        return cls(*map(sum, zip(NO_COST, *parts, strict=True)))

    def plus(self, other: "Bounds") -> "Bounds":
        """Return the sum of two costs."""
        return Bounds(self.lower + other.lower, self.point + other.point, self.upper + other.upper)

    def times(self, factor: float) -> "Bounds":
        """Return the bounds multiplied by a factor."""
        return Bounds(self.lower * factor, self.point * factor, self.upper * factor)


@dataclass(frozen=True, slots=True)
class Wire:
    """Bytes on the wire of READs or WRITEs, headers included."""

    total_bytes: int  # bytes of all operations
    # shortest_header_bytes, longest_header_bytes: header around the payload of one operation
    shortest_header_bytes: int
    longest_header_bytes: int
    errors: int = 0  # operations that ended with an error. Their replies are shorter


NO_COST = Bounds(0.0, 0.0, 0.0)


class TransferChange(NamedTuple):
    """READs or WRITEs of one superblock between two readings of mountstats."""

    superblock: str  # `major:minor`
    operation: str  # READ or WRITE
    operations: int  # completed
    retransmissions: int  # transmissions beyond the first of each operation
    payload_bytes: int
    wire_bytes: int  # size of the replies to READs or of the calls of WRITEs, headers included
    errors: int  # operations with an error status
    # mount options. rsize and wsize limit a transfer, and sec and proto show whether header sizes are known
    options: Mapping[str, str]


def estimated_cost(change: TransferChange) -> Bounds:
    """Return the mount-target I/O operations of a change in mountstats."""
    operation, options = change.operation, change.options
    has_known_headers = options.get("sec") == "sys" and not options.get("proto", "").startswith("rdma")
    # A retransmission counts the bytes of a WRITE again. Only accepted replies to READs count.
    if operation == WRITE and change.retransmissions:
        has_known_headers = False
    wire = wire_of(operation, change.wire_bytes, change.errors) if has_known_headers else None
    cap_bytes = _size_cap(options, "rsize" if operation == READ else "wsize")
    return estimate_transfers(operation, change.operations, change.payload_bytes, cap_bytes, wire)


def _size_cap(options: Mapping[str, str], name: str) -> int:
    stated = options.get(name, "")
    return (int(stated) if _SIZE.fullmatch(stated) else 0) or LARGEST_TRANSFER_BYTES


def wire_of(operation: str, total_bytes: int, errors: int = 0) -> Wire:
    """Return the wire bytes of READ replies, or of WRITE calls that were sent once each, with AUTH_SYS."""
    return Wire(total_bytes, *_HEADER_BYTES[operation], errors)


def estimate_transfers(
    operation: str, count: int, payload_bytes: int, size_cap_bytes: int, wire: Wire | None = None
) -> Bounds:
    """Estimate the mount-target I/O operations of `count` READs or WRITEs with `payload_bytes` in total.

    No operations cost nothing, with any bytes. The payload is clamped to the most that `count` operations of
    `size_cap_bytes` (rsize or wsize) can carry. `wire` is None if the header is not known (Kerberos, RDMA, retransmissions).

    Raises:
        ValueError: `count` is negative, or the cap is not positive.
    """
    if count < 0 or size_cap_bytes <= 0:
        raise ValueError(f"{count} operations of at most {size_cap_bytes} bytes")
    if count == 0:
        return NO_COST
    seen = min(max(payload_bytes, 0), count * size_cap_bytes)
    least, likely, most = _payload(count, seen, size_cap_bytes, wire)
    blocks = _likely_blocks(count, likely, seen, size_cap_bytes, wire)
    blocks = min(max(blocks, _fewest_blocks(count, likely)), _most_blocks(count, likely, size_cap_bytes))
    cost = Bounds(
        float(count + _fewest_blocks(count, least)),
        float(count + blocks),
        float(count + _most_blocks(count, most, size_cap_bytes)),
    )
    return cost.times(WRITE_FACTOR) if operation == WRITE else cost


def _fewest_blocks(count: int, payload: int) -> int:
    """Return the least started blocks: every size is a whole number of blocks, or all operations fit in one block each."""
    return max(count, -(-payload // BLOCK_BYTES))


def _most_blocks(count: int, payload: int, cap: int) -> int:
    """Return the most started blocks: sizes are one byte above a whole number of blocks, as large as the cap allows."""
    extra = (cap - 1) // BLOCK_BYTES
    if extra == 0:
        return count
    full, rest = divmod(payload, extra * BLOCK_BYTES + 1)
    return count + min(count * extra, full * extra + max(0, rest - 1) // BLOCK_BYTES)


def _payload(count: int, seen: int, cap: int, wire: Wire | None) -> tuple[int, int, int]:
    """Return the least, likely and greatest payload bytes of exactly these operations."""
    least = likely = most = seen
    if wire is not None:
        least = wire.total_bytes - (wire.longest_header_bytes + _LARGEST_PADDING_BYTES) * count
        most = wire.total_bytes - wire.shortest_header_bytes * max(0, count - wire.errors)
        if _agree(count, seen, wire):
            least, most = min(least, seen), max(most, seen)
        else:
            likely = min(max(seen, least), most)
    top = count * cap
    return min(max(least, 0), top), min(max(likely, 0), top), min(max(most, 0), top)


def _agree(count: int, seen: int, wire: Wire) -> bool:
    """Whether wire and payload differ by headers only."""
    return 0 <= wire.total_bytes - seen <= _PLAUSIBLE_HEADER_BYTES * count


def _likely_blocks(count: int, payload: int, seen: int, cap: int, wire: Wire | None) -> float:
    size = _one_size(count, seen, wire)
    if 0 < size <= cap:
        return count * -(-size // BLOCK_BYTES)
    if payload == 0:
        return count
    unit_bytes = _PAGE_BYTES if _aligned(count, seen, wire) else 1  # sizes are whole pages, or of any kind
    return count * _blocks_of_split_requests(payload / count, cap, unit_bytes)


def _blocks_of_split_requests(mean_bytes: float, cap: int, unit_bytes: int) -> float:
    """Return the mean started blocks of operations with a mean size, if programs ask for sizes spread geometrically in units.

    The client splits a request at the cap. The rest of a long request is spread as a whole request is, because a geometric
    spread has no memory. So an operation has the size of a request, and at most the cap.
    """
    if mean_bytes <= unit_bytes:
        return 1.0
    if mean_bytes >= cap:
        return float(-(-cap // BLOCK_BYTES))
    end_rate = _end_rate(mean_bytes / unit_bytes, cap / unit_bytes)
    block = BLOCK_BYTES / unit_bytes  # block N is started if the request goes on after N of them
    return math.expm1(-end_rate * block * -(-cap // BLOCK_BYTES)) / math.expm1(-end_rate * block)


def _end_rate(mean: float, cap: float) -> float:
    """Return how fast requests end for each unit, so that operations of at most `cap` units have this mean."""
    low, high = 0.0, -math.log1p(-1 / mean)  # the second is that of requests which no cap splits
    if high * cap > _NEVER_SPLIT:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if math.expm1(-middle * cap) / math.expm1(-middle) > mean:
            low = middle
        else:
            high = middle
    return high


def _one_size(count: int, seen: int, wire: Wire | None) -> int:
    """Return the size that all operations share. 0 if sizes differ, or if the counters do not show the size.

    The mean payload is the size if the rest of the wire is the padding of this size and one possible header for each operation.
    A late payload counter hides the mean. Then the page multiple below the mean on the wire is the candidate: headers are
    shorter than a page.
    """
    mean, uneven = divmod(seen, count)
    if not uneven and _one_header(count, mean, wire):
        return mean
    total = seen if wire is None else wire.total_bytes
    size = total // count // _PAGE_BYTES * _PAGE_BYTES
    return size if seen == count * size or _one_header(count, size, wire) else 0


def _one_header(count: int, size: int, wire: Wire | None) -> bool:
    """Whether the wire is `count` times this size, its padding and one possible header."""
    if wire is None:
        return False
    padding_bytes = -size % _XDR_UNIT_BYTES
    header, uneven = divmod(wire.total_bytes - count * (size + padding_bytes), count)
    possible = wire.shortest_header_bytes <= header <= wire.longest_header_bytes
    return possible and not uneven and header % _XDR_UNIT_BYTES == 0


def _aligned(count: int, seen: int, wire: Wire | None) -> bool:
    """Whether nearly all sizes are page multiples: then wire and payload differ by headers and hardly any padding."""
    if wire is None:
        return False
    gap = wire.total_bytes - seen
    one_header = wire.shortest_header_bytes == wire.longest_header_bytes
    within = gap <= (wire.longest_header_bytes + _LARGEST_PADDING_BYTES) * count
    if _agree(count, seen, wire) and (not one_header or within):
        return gap % (_XDR_UNIT_BYTES * count) <= _ALIGNED_PADDING_BYTES * count
    # A late counter lacks whole pages; only a header known exactly shows what is left.
    return one_header and (gap - wire.shortest_header_bytes * count) % _PAGE_BYTES <= _ALIGNED_PADDING_BYTES * count
