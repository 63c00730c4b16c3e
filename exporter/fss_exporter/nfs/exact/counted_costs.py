"""The cost source of exact mode: the kernel's counts by size give the cost of READs and WRITEs.

Counters in the kernel's tables are cumulative. If a tick cannot read the tables, the tick is estimated, and the next good
look has the counts of both ticks. By then the estimate is charged, and a scraped counter must not fall. So the estimate is
an advance: the counts are charged minus the advance, and not at all if the advance was higher. The totals are then exact
again, or as far above the truth as the estimate was.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from fss_exporter.catalogue import Family
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import NO_COST, Bounds
from fss_exporter.nfs.estimated_costs import TransferChange, estimated_cost
from fss_exporter.nfs.exact.counted_families import counted_families
from fss_exporter.nfs.exact.counted_totals import CountedTotals
from fss_exporter.nfs.exact.counts import NO_TRANSFERS, CountedTransfers, Counts, exact_cost
from fss_exporter.nfs.superblocks import Reading, SeriesKey

_Transfer = tuple[str, str]
# Superblock and operation.


class _Advance(NamedTuple):
    """READs or WRITEs estimated ahead of their counts."""

    charged: Bounds = NO_COST  # I/O operations of the estimate
    retransmissions: int = 0  # without a cost so far, because an estimate has none for them

    def rest(self, counted: Bounds) -> Bounds:
        """Return the uncharged part of a counted cost."""
        return Bounds(*(max(0.0, whole - paid) for whole, paid in zip(counted, self.charged, strict=True)))


_NO_ADVANCE = _Advance()


class CountedCosts:
    """Costs from the counts of the last reading, or estimates for a superblock without counts.

    Args:
        last_counts: returns the counts of the reading that the accounts add.
        overrides: measured costs of lock calls. The accounts apply overrides of READs and WRITEs.
    """

    def __init__(self, last_counts: Callable[[], Counts], overrides: CostOverrides = NO_OVERRIDES) -> None:
        self._overrides = overrides
        self.totals = CountedTotals()
        self._last_counts = last_counts
        self._counts = Counts()
        self._changes: dict[_Transfer, TransferChange] = {}
        self._advances: dict[_Transfer, _Advance] = {}
        self._unread: frozenset[str] = frozenset()

    @property
    def is_deferred(self) -> bool:
        """Whether a later look at the tables brings the counts of this look."""
        return self._counts.deferred

    def begin(self, reading: Reading) -> None:
        """Take the counts of a reading."""
        self._counts = self._last_counts()
        self._changes = {}
        self._unread = reading.present - {superblock.number for superblock in reading.superblocks}
        if not (self._counts.deferred or self._counts.transfers):
            # The tables are new and do not have the earlier counts.
            self._advances.clear()

    def cost(self, change: TransferChange) -> Bounds:
        """Return the estimate, or no cost for a counted superblock, because `end` returns the counted cost."""
        transfer = (change.superblock, change.operation)
        if change.superblock in self._counts.superblocks:
            self._changes[transfer] = change
            return NO_COST
        cost = estimated_cost(change)
        if self._counts.deferred:
            charged, again = self._advances.get(transfer, _NO_ADVANCE)
            self._advances[transfer] = _Advance(charged.plus(cost), again + change.retransmissions)
        return cost

    def end(self, mounts: Mapping[str, SeriesKey], seconds: float) -> Iterable[tuple[str, str, Bounds]]:
        """Counted costs. The counts are added to the totals of exact mode."""
        counted = [
            (number, operation, self._counted(number, operation, by_superblock.get(number, NO_TRANSFERS)))
            for number in mounts
            if number in self._counts.superblocks
            for operation, by_superblock in self._counts.transfers.items()
        ]
        if not self._counts.deferred:
            # Advances are settled, or void where the counts of their superblock do not hold. An unread record comes of later.
            self._advances = {key: open_ for key, open_ in self._advances.items() if key[0] in self._unread}
        self.totals.add(self._counts, mounts, seconds)
        return counted

    def _counted(self, number: str, operation: str, transfers: CountedTransfers) -> Bounds:
        """Return the cost of counted READs or WRITEs. A retransmission costs the mean, because no table counts
        retransmissions by size.
        """
        change = self._changes.get((number, operation))
        advance = self._advances.get((number, operation), _NO_ADVANCE)
        cost = exact_cost(operation, transfers)
        again = advance.retransmissions + (change.retransmissions if change else 0)
        if again and transfers.operations:
            cost = exact_cost(operation, transfers, again * cost.point / transfers.operations)
        elif again and change and change.operations:
            cost = exact_cost(operation, transfers, again * (estimated_cost(change).point / change.operations))
        return advance.rest(cost)

    def forget(self, keys: Collection[SeriesKey]) -> None:
        """Drop the totals of mounts."""
        self.totals.forget(keys)

    def families(self) -> Iterable[Family]:
        """Everything counted."""
        return counted_families(self.totals, self._overrides)
