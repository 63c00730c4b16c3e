# SPDX-License-Identifier: Apache-2.0
"""Counts of the kernel's tables between two looks, and the checks against mountstats.

Both count the same calls. Mountstats is read first and the tables a moment later. So the tables are ahead by the calls in
between, at most by the calls of this interval. The lead of the first look is unknown. The calls of the next interval bound
this lead, and an interval without calls shows the lead exactly.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE, WRITE_FACTOR
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.superblocks import Reading, Superblock

OPERATIONS, PAYLOAD, REUSED = "operations", "payload", "device_reused"  # Names of checks

_NO_SIZES: Mapping[int, int] = {}

ByAddressAndProcedure = Mapping[tuple[str, str], int]


class CountedTransfers(NamedTuple):
    """READs or WRITEs with known sizes, added up."""

    operations: int = 0
    blocks: int = 0  # 32 KiB blocks they start, at least one each
    payload_bytes: int = 0
    by_blocks: Mapping[int, int] = _NO_SIZES  # operations by the blocks each starts. Empty if only the sum is known

    @classmethod
    def of_sizes(cls, by_blocks: Mapping[int, int], payload_bytes: int) -> "CountedTransfers":
        """Return transfers from the operations by the blocks each starts."""
        blocks = sum(started * count for started, count in by_blocks.items())
        return cls(sum(by_blocks.values()), blocks, payload_bytes, dict(by_blocks))

    def plus(self, other: "CountedTransfers") -> "CountedTransfers":
        """Return the sum of two counts."""
        if not other.operations:
            return self
        return CountedTransfers(
            self.operations + other.operations,
            self.blocks + other.blocks,
            self.payload_bytes + other.payload_bytes,
            Counter(self.by_blocks) + Counter(other.by_blocks),
        )


NO_TRANSFERS = CountedTransfers()


def exact_cost(operation: str, transfers: CountedTransfers) -> Bounds:
    """Return mount-target I/O operations of READs or WRITEs of known sizes, as bounds that coincide."""
    factor = WRITE_FACTOR if operation == WRITE else 1
    return Bounds.exact(float(factor * (transfers.operations + transfers.blocks)))


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts between two readings."""

    # `major:minor` of superblocks with all READs and WRITEs counted, idle superblocks included
    superblocks: frozenset[str] = frozenset()
    # by operation (READ, WRITE) and `major:minor`, without idle superblocks. Empty where nothing was counted
    transfers: Mapping[str, Mapping[str, CountedTransfers]] = field(default_factory=dict)
    # by operation, of superblocks without a visible mount
    invisible: Mapping[str, CountedTransfers] = field(default_factory=dict)
    locks: ByAddressAndProcedure | None = None  # Network Lock Manager calls. None where they are not counted
    acls: ByAddressAndProcedure | None = None  # NFSACL calls. None likewise
    has_sizes: bool = False  # whether the distribution of sizes is known, not only the sum of blocks
    failed: tuple[str, ...] = ()  # names of the checks that this interval did not pass
    active: bool = False  # whether the counting is in place


def weighted(reading: Reading) -> dict[str, Superblock]:
    """Return the superblocks whose service counts READs and WRITEs by size (cost rule `weighted`), by `major:minor`."""
    return {
        superblock.number: superblock for superblock in reading.superblocks if superblock.storage.cost == "weighted"
    }


def by_superblock(
    transfers: Mapping[str, Mapping[int, CountedTransfers]], numbers: Collection[str], present: Collection[str]
) -> tuple[dict[str, dict[str, CountedTransfers]], dict[str, CountedTransfers]]:
    """Return the transfers of the superblocks `numbers`, and together those of superblocks without a visible mount, by operation.

    `transfers` are by operation and device number. `present` is the `major:minor` of every visible mount.
    """
    names = {device_of(number): number for number in {*numbers, *present}} if any(transfers.values()) else {}
    visible: dict[str, dict[str, CountedTransfers]] = {operation: {} for operation in transfers}
    invisible = dict.fromkeys(transfers, NO_TRANSFERS)
    for operation, by_device in transfers.items():
        for device, added in by_device.items():
            number = names.get(device)
            if number is None:
                invisible[operation] = invisible[operation].plus(added)
            elif number in numbers:
                visible[operation][number] = added
    return visible, invisible


def device_of(number: str) -> int:
    """Return the device number in trace events (include/linux/kdev_t.h) of a `major:minor`."""
    major, _, minor = number.partition(":")
    return int(major) << 20 | int(minor) if major.isdecimal() and minor.isdecimal() else -1


@dataclass(slots=True)
class _Gap:
    """The lead of the tables over mountstats, in operations since the first look."""

    ahead: int = 0
    most_behind: int | None = None  # the unknown lead of the first look. None before the first interval

    @property
    def is_closed(self) -> bool:
        """Whether tables and mountstats have shown the same operations."""
        return self.ahead == 0 and self.most_behind == 0

    def holds(self, tables: int, mountstats: int) -> bool:
        """Add one interval. Return False if timing does not explain the gap. The gap then begins at zero."""
        if self.most_behind is None:
            self.most_behind = mountstats
        self.ahead += tables - mountstats
        busy = max(tables, mountstats)
        fits = -self.most_behind - busy <= self.ahead <= busy
        if not fits or not busy:
            self.ahead = self.most_behind = 0
        return fits


@dataclass(slots=True)
class _SeenCounters:
    """Counters of a superblock in mountstats at a look, by operation and check."""

    key: SeriesKey
    age_s: int
    operations: Mapping[str, OperationCounters]
    counted: Mapping[tuple[str, str], int]
    gaps: dict[tuple[str, str], _Gap] = field(default_factory=dict)

    def is_idle(self, superblock: Superblock) -> bool:
        """Whether a superblock is idle for at least two looks. The parser keeps the counters of an unchanged record."""
        return (
            superblock.record.operations is self.operations
            and superblock.key == self.key
            and len(self.gaps) == len(self.counted)
            and all(gap.is_closed for gap in self.gaps.values())
        )


class Agreement:
    """The counts of every superblock at the last look."""

    def __init__(self) -> None:
        self._seen: dict[str, _SeenCounters] = {}

    def check(
        self, superblocks: Mapping[str, Superblock], transfers: Mapping[str, Mapping[str, CountedTransfers]]
    ) -> dict[str, str]:
        """Check one interval. Return the failed check by `major:minor`. `transfers` are of the tables."""
        seen: dict[str, _SeenCounters] = {}
        failed = {}
        for number, superblock in superblocks.items():
            old = self._seen.get(number)
            if old is not None and old.is_idle(superblock) and not any(number in keys for keys in transfers.values()):
                old.age_s = superblock.record.age_s
                seen[number] = old
                continue
            now = seen[number] = _seen(superblock)
            counted = {operation: keys.get(number, NO_TRANSFERS) for operation, keys in transfers.items()}
            if old is not None and (check := _failed_check(old, now, counted)):
                failed[number] = check
        self._seen = seen
        return failed


def _failed_check(old: _SeenCounters, now: _SeenCounters, transfers: Mapping[str, CountedTransfers]) -> str:
    """Return the check that one interval of a superblock fails, empty for none. `transfers` are of the tables."""
    if now.age_s < old.age_s or any(now.counted[what] < old.counted[what] for what in now.counted):
        return REUSED if now.key != old.key else ""
    now.gaps = old.gaps
    failed = ""
    for (operation, check), count in now.counted.items():
        counted = transfers[operation]
        tables = counted.operations if check == OPERATIONS else counted.payload_bytes
        gap = now.gaps.setdefault((operation, check), _Gap())
        if not gap.holds(tables, count - old.counted[operation, check]):
            failed = failed or check
    return failed


def _seen(superblock: Superblock) -> _SeenCounters:
    record = superblock.record
    counted = {
        (READ, OPERATIONS): record.operations[READ].operations,
        (READ, PAYLOAD): record.read_bytes,
        (WRITE, OPERATIONS): record.operations[WRITE].operations,
        (WRITE, PAYLOAD): record.written_bytes,
    }
    return _SeenCounters(superblock.key, record.age_s, record.operations, counted)
