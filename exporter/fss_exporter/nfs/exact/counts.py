"""Counts of the kernel's tables between two looks: READs and WRITEs by size, lock calls, traffic of invisible mounts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import WRITE, WRITE_FACTOR

_NO_SIZES: Mapping[int, int] = {}


class CountedTransfers(NamedTuple):
    """READs or WRITEs whose sizes are known, added up."""

    operations: int = 0  # how many
    blocks: int = 0  # 32 KiB blocks they start, at least one each
    payload_bytes: int = 0  # what was carried
    # operations by the blocks each starts; empty where only the sum of blocks is known
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
    """Return mount-target I/O operations of READs or WRITEs of known sizes, as bounds that coincide.

    Args:
        operation: READ or WRITE.
        transfers: transfers with sizes.
        resent: cost of retransmissions, which no table counts by size.
    """
    factor = WRITE_FACTOR if operation == WRITE else 1
    return Bounds.exact(float(factor * (transfers.operations + transfers.blocks)) + resent)


ByAddressAndProcedure = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts between two readings."""

    # `major:minor` of those whose READs and WRITEs were all counted, idle ones included
    superblocks: frozenset[str] = frozenset()
    # by operation (READ, WRITE) and `major:minor`; idle superblocks are left out. Empty where nothing was counted
    transfers: Mapping[str, Mapping[str, CountedTransfers]] = field(default_factory=dict)
    # by operation, of superblocks that no visible mount names
    invisible: Mapping[str, CountedTransfers] = field(default_factory=dict)
    addresses: frozenset[str] = frozenset()  # of the visible mounts
    locks: ByAddressAndProcedure | None = None  # Network Lock Manager calls; None where they are not counted
    acls: ByAddressAndProcedure | None = None  # NFSACL calls; None likewise
    sizes_told: bool = False  # whether the distribution of sizes is known, not only the sum of blocks
    failed: tuple[str, ...] = ()  # names of the checks that this interval did not pass
    active: bool = False  # whether the counting is in place
    deferred: bool = False  # this interval could not be counted yet, and the counts of a later one contain it
