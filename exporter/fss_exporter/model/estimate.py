"""What the READs or WRITEs of one tick cost, from counters that do not tell sizes.

Given are differences between two readings: how many operations completed and how many payload bytes they carried. The
payload counter is read a moment before the operation counter, so it may lack some calls and have them one tick later.
The bytes on the wire stand beside the operations and are never late, but contain headers: they give the interval the
payload lies in, and the payload counter the best value inside it. Nothing is kept between ticks.

The rule, its reasons and its measured error: docs/cost-model.md.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from fss_exporter.model.transfers import BLOCK_BYTES, WRITE_FACTOR

_PAGE_BYTES = 4096
# Page cache and O_DIRECT traffic comes in multiples of it, but for the tail of a file.

_READ_HEADER_BYTES = (128, 128)
_WRITE_HEADER_BYTES = (104, 280)
# Shortest and longest bytes around the payload of a READ reply and a WRITE call, NFSv3 with AUTH_SYS, from the XDR
# definitions (RFC 1813, RFC 5531): a WRITE call carries the host name, up to 16 groups and the file handle.

_LARGEST_PADDING_BYTES = 3
# XDR fills the payload up to a multiple of four bytes.

_PLAUSIBLE_HEADER_BYTES = 1024
# No flavour has a longer header: a larger gap between wire and payload means that the payload counter is late.

_ALIGNED_PADDING_BYTES = 0.225
# Mean padding below which at most 15 % of the operations are odd-sized tails; an odd size averages 1.5.


class Bounds(NamedTuple):
    """Mount-target I/O operations: `lower <= point <= upper`; the truth lies between, most likely near the point."""

    lower: float
    point: float
    upper: float

    def plus(self, other: "Bounds") -> "Bounds":
        """The cost of both."""
        return Bounds(self.lower + other.lower, self.point + other.point, self.upper + other.upper)


@dataclass(frozen=True, slots=True)
class Wire:
    """Bytes on the wire of the same operations, headers included.

    Attributes:
        total_bytes: all of them.
        shortest_header_bytes, longest_header_bytes: around the payload of one operation.
        errors: operations that ended with an error; their answers are shorter.
    """

    total_bytes: int
    shortest_header_bytes: int
    longest_header_bytes: int
    errors: int = 0


NO_COST = Bounds(0.0, 0.0, 0.0)


def read_wire(received_bytes: int, errors: int = 0) -> Wire:
    """READ replies with AUTH_SYS. Only the accepted reply counts, so retransmissions do not matter."""
    return Wire(received_bytes, *_READ_HEADER_BYTES, errors)


def write_wire(sent_bytes: int, errors: int = 0) -> Wire:
    """WRITE calls with AUTH_SYS, each sent once: a retransmission would count its bytes again."""
    return Wire(sent_bytes, *_WRITE_HEADER_BYTES, errors)


def estimate_reads(count: int, payload_bytes: int, size_cap_bytes: int, wire: Wire | None = None) -> Bounds:
    """Mount-target I/O operations of `count` READs that carried `payload_bytes` together.

    Args:
        count: operations completed; none cost nothing, with any bytes.
        payload_bytes: as counted; clamped to what `count` operations can carry.
        size_cap_bytes: the most one operation can carry (rsize).
        wire: their bytes on the wire; None where the header is not known (Kerberos, RDMA, retransmissions).

    Raises:
        ValueError: a negative count, or a cap that is not positive.
    """
    if count < 0 or size_cap_bytes <= 0:
        raise ValueError(f"{count} operations of at most {size_cap_bytes} bytes")
    if count == 0:
        return NO_COST
    seen = min(max(payload_bytes, 0), count * size_cap_bytes)
    least, likely, most = _payload(count, seen, size_cap_bytes, wire)
    blocks = _likely_blocks(count, likely, seen, size_cap_bytes, wire)
    blocks = min(max(blocks, _fewest_blocks(count, likely)), _most_blocks(count, likely, size_cap_bytes))
    return Bounds(
        float(count + _fewest_blocks(count, least)),
        float(count + blocks),
        float(count + _most_blocks(count, most, size_cap_bytes)),
    )


def estimate_writes(count: int, payload_bytes: int, size_cap_bytes: int, wire: Wire | None = None) -> Bounds:
    """Mount-target I/O operations of `count` WRITEs; as `estimate_reads`, with wsize for the cap."""
    reads = estimate_reads(count, payload_bytes, size_cap_bytes, wire)
    return Bounds(*(WRITE_FACTOR * value for value in reads))


def _fewest_blocks(count: int, payload: int) -> int:
    """Least started blocks: every size a whole number of blocks, or all within one."""
    return max(count, -(-payload // BLOCK_BYTES))


def _most_blocks(count: int, payload: int, cap: int) -> int:
    """Most started blocks: sizes one byte above a whole number of blocks, as large as the cap allows."""
    extra = (cap - 1) // BLOCK_BYTES
    if extra == 0:
        return count
    full, rest = divmod(payload, extra * BLOCK_BYTES + 1)
    return count + min(count * extra, full * extra + max(0, rest - 1) // BLOCK_BYTES)


def _payload(count: int, seen: int, cap: int, wire: Wire | None) -> tuple[int, int, int]:
    """Least, likely and greatest payload bytes of exactly these operations."""
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
    if _aligned(count, seen, wire):
        # Page multiples of unlike size: geometric in pages.
        pages = payload / (count * _PAGE_BYTES)
        return count / (1 - (1 - 1 / pages) ** (BLOCK_BYTES // _PAGE_BYTES)) if pages > 1 else count
    # Sizes of any kind: exponential.
    return count / -math.expm1(-count * BLOCK_BYTES / payload)


def _one_size(count: int, seen: int, wire: Wire | None) -> int:
    """The size all operations share, a whole number of pages; 0 if they do not.

    Headers are shorter than a page, so the page multiple below the mean on the wire is that size. It is believed if
    the payload agrees to the byte, or if what remains is one possible header for each operation.
    """
    total = seen if wire is None else wire.total_bytes
    size = total // count // _PAGE_BYTES * _PAGE_BYTES
    if seen == count * size:
        return size
    if wire is None:
        return 0
    header, uneven = divmod(total - count * size, count)
    possible = wire.shortest_header_bytes <= header <= wire.longest_header_bytes
    return size if possible and not uneven and header % 4 == 0 else 0


def _aligned(count: int, seen: int, wire: Wire | None) -> bool:
    """Whether nearly all sizes are page multiples: then wire and payload differ by headers and hardly any padding."""
    if wire is None:
        return False
    gap = wire.total_bytes - seen
    one_header = wire.shortest_header_bytes == wire.longest_header_bytes
    within = gap <= (wire.longest_header_bytes + _LARGEST_PADDING_BYTES) * count
    if _agree(count, seen, wire) and (not one_header or within):
        return gap % (4 * count) <= _ALIGNED_PADDING_BYTES * count
    # A late counter lacks whole pages; only a header known exactly shows what is left.
    return one_header and (gap - wire.shortest_header_bytes * count) % _PAGE_BYTES <= _ALIGNED_PADDING_BYTES * count
