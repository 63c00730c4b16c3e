"""Counts of the kernel's tables between two looks: READs and WRITEs by size, lock calls, traffic of invisible mounts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import WRITE
from fss_exporter.model.transfers import WRITE_FACTOR

_NO_SIZES: Mapping[int, int] = {}


class CountedTransfers(NamedTuple):
    """READs or WRITEs whose sizes are known, added up.

    Attributes:
        operations: how many.
        blocks: 32 KiB blocks they start, at least one each.
        payload_bytes: what was carried.
        by_blocks: operations by the blocks each starts; empty where only the sum of blocks is known.
    """

    operations: int = 0
    blocks: int = 0
    payload_bytes: int = 0
    by_blocks: Mapping[int, int] = _NO_SIZES

    def plus(self, other: "CountedTransfers") -> "CountedTransfers":
        """Both together."""
        return CountedTransfers(
            self.operations + other.operations,
            self.blocks + other.blocks,
            self.payload_bytes + other.payload_bytes,
            Counter(self.by_blocks) + Counter(other.by_blocks),
        )


NO_TRANSFERS = CountedTransfers()


def exact_cost(operation: str, transfers: CountedTransfers, resent: float = 0.0) -> Bounds:
    """Mount-target I/O operations of READs or WRITEs of known sizes: bounds that coincide.

    Args:
        operation: READ or WRITE.
        transfers: with their sizes.
        resent: cost of those that were sent again, which no table counts by size.
    """
    value = float((WRITE_FACTOR if operation == WRITE else 1) * (transfers.operations + transfers.blocks)) + resent
    return Bounds(value, value, value)


ByAddressAndProcedure = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted between two readings.

    Attributes:
        superblocks: `major:minor` of those whose READs and WRITEs were all counted, idle ones included.
        transfers: by operation (READ, WRITE) and `major:minor`; idle superblocks are left out. Empty where nothing was counted.
        invisible: by operation, of superblocks that no visible mount names.
        addresses: of the visible mounts.
        locks: Network Lock Manager calls; None where they are not counted.
        acls: NFSACL calls; None likewise.
        sizes_told: whether the distribution of sizes is known, not only the sum of blocks.
        failed: names of the checks that this interval did not pass.
        active: whether the counting is in place.
        deferred: this interval could not be counted yet, and the counts of a later one contain it.
    """

    superblocks: frozenset[str] = frozenset()
    transfers: Mapping[str, Mapping[str, CountedTransfers]] = field(default_factory=dict)
    invisible: Mapping[str, CountedTransfers] = field(default_factory=dict)
    addresses: frozenset[str] = frozenset()
    locks: ByAddressAndProcedure | None = None
    acls: ByAddressAndProcedure | None = None
    sizes_told: bool = False
    failed: tuple[str, ...] = ()
    active: bool = False
    deferred: bool = False
