"""Triggers that count READs and WRITEs by size, and the conversion of rows to transfers.

There are two forms. *Buckets* uses two tables: whole multiples of 32 KiB, and all other sizes, each by 32 KiB class. So
every request is in exactly one row with a known number of blocks. *Ladder* is for kernels without `.buckets` (before 5.15):
a table for each bit of the size above 32 KiB, whose counts add up to the blocks. The distribution stays unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fss_exporter.errors import RecordError
from fss_exporter.model.operations import BLOCK_BYTES, READ, WRITE
from fss_exporter.nfs.exact.counts import CountedTransfers
from fss_exporter.nfs.exact.hist_tables import HistRow, Key

_BELOW_BLOCK = BLOCK_BYTES - 1
_LADDER_BITS = range(6)
# Blocks of 32 KiB up to 1 MiB, the kernel's largest transfer.


@dataclass(frozen=True, slots=True)
class SizeEvents:
    """The trace events with sizes."""

    events: Mapping[str, str]  # by operation, as `system/event`
    size: str  # field with the bytes asked for
    payload: str  # field with the bytes carried; equal to `size` where only requests are traced
    answered: bool  # whether the event stands for an answer, so that its counts can be held against mountstats


SIZE_EVENTS = (
    SizeEvents(
        {READ: "nfs/nfs_readpage_done", WRITE: "nfs/nfs_writeback_done"}, "arg_count", "res_count", answered=True
    ),
    SizeEvents({READ: "nfs/nfs_initiate_read", WRITE: "nfs/nfs_initiate_write"}, "count", "count", answered=False),
)
"""From best to worst: answers since kernel 5.6, requests before."""

Grown = Iterable[tuple[Key, HistRow]]


def blocks_started(lower: int, *, whole: bool) -> int:
    """Return the blocks of 32 KiB that a transfer starts.

    Args:
        lower: lower edge of the size class, in bytes.
        whole: whether the size is a whole multiple of 32 KiB.
    """
    return max(1, lower // BLOCK_BYTES) if whole else lower // BLOCK_BYTES + 1


class Buckets:
    """Two tables by 32 KiB class."""

    tells_sizes = True

    def __init__(self, source: SizeEvents) -> None:
        size = source.size
        self._odd, self._even = f"{size} & {_BELOW_BLOCK}", f"!({size} & {_BELOW_BLOCK})"
        self.conditions = (self._odd, self._even)
        self._keys = f"dev,{size}.buckets={BLOCK_BYTES}"
        # A field that is a key with a modifier cannot be a value too.
        self._values = "" if source.payload == size else f":vals={source.payload}"

    def triggers(self, rows: int) -> tuple[str, ...]:
        """Return the triggers for tables with this number of rows."""
        return tuple(f"hist:keys={self._keys}{self._values}:size={rows} if {one}" for one in self.conditions)

    def transfers(self, tables: Mapping[str, Grown]) -> dict[int, CountedTransfers]:
        """Return transfers by device number, from the growth of each table (by condition).

        Raises:
            RecordError: a key has another layout.
        """
        blocks: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        payload: dict[int, int] = defaultdict(int)
        for condition, rows in tables.items():
            for key, row in rows:
                device, lower = _bucket(key)
                blocks[device][blocks_started(lower, whole=condition != self._odd)] += row.hits
                payload[device] += row.value
        return {
            device: CountedTransfers(
                sum(sizes.values()),
                sum(started * count for started, count in sizes.items()),
                payload[device],
                dict(sizes),
            )
            for device, sizes in blocks.items()
        }


class Ladder:
    """A table for each bit of the size."""

    tells_sizes = False

    def __init__(self, source: SizeEvents) -> None:
        size = source.size
        self._payload = source.payload
        self._weights = {f"{size} & {_BELOW_BLOCK}": 1, f"{size} == 0": 1} | {
            f"{size} & {BLOCK_BYTES << bit}": 1 << bit for bit in _LADDER_BITS
        }
        self.conditions = ("", *self._weights)

    def triggers(self, rows: int) -> tuple[str, ...]:
        """Return the triggers for tables with this number of rows."""
        by_condition = (f"hist:keys=dev:size={rows} if {one}" for one in self._weights)
        return (f"hist:keys=dev:vals={self._payload}:size={rows}", *by_condition)

    def transfers(self, tables: Mapping[str, Grown]) -> dict[int, CountedTransfers]:
        """Return transfers by device number, from the growth of each table (by condition)."""
        sums: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for condition, rows in tables.items():
            for key, row in rows:
                one = sums[_device(key)]
                if condition:
                    one[1] += self._weights[condition] * row.hits
                else:
                    one[0] += row.hits
                    one[2] += row.value
        return {device: CountedTransfers(count, blocks, payload) for device, (count, blocks, payload) in sums.items()}


Form = Buckets | Ladder


def _bucket(key: Key) -> tuple[int, int]:
    lower, dash, _ = key[-1].removeprefix("~ ").partition("-")
    if len(key) != 2 or not dash or not lower.isdecimal():
        raise RecordError("malformed_row", str(key))
    return _device(key), int(lower)


def _device(key: Key) -> int:
    if not key[0].isdecimal():
        raise RecordError("malformed_row", str(key))
    return int(key[0])
