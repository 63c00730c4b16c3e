"""Estimates that stand in for counts still to come, and what remains to be charged when these have come.

Counters in the kernel's tables are cumulative: where they cannot be read at one tick, the next look has both ticks. The
estimate of the first one has been charged by then, and a counter that is scraped cannot take anything back. So it is an
advance on the counts: what they come to is charged less the advance, and nothing where the advance was higher. The
totals are exact again, or as far above the truth as that estimate was at most.
"""

from typing import NamedTuple

from fss_exporter.model.estimate import NOTHING, Bounds
from fss_exporter.nfs.counted import Counts


class Advance(NamedTuple):
    """READs or WRITEs of one superblock estimated ahead of their counts.

    Attributes:
        charged: I/O operations of the estimate.
        resent: transmissions without a cost so far, because an estimate has none for them.
    """

    charged: Bounds = NOTHING
    resent: int = 0

    def plus(self, charged: Bounds, resent: int) -> "Advance":
        """With one more tick."""
        lower, point, upper = self.charged
        return Advance(
            Bounds(lower + charged.lower, point + charged.point, upper + charged.upper), self.resent + resent
        )

    def settle(self, counted: Bounds) -> Bounds:
        """What remains of a counted cost that contains this advance."""
        lower, point, upper = self.charged
        return Bounds(max(0.0, counted.lower - lower), max(0.0, counted.point - point), max(0.0, counted.upper - upper))


NO_ADVANCE = Advance()

ByOperation = dict[str, Advance]


class Advances:
    """The open advances by superblock number."""

    def __init__(self) -> None:
        self._open: dict[str, ByOperation] = {}

    def begin(self, counts: Counts | None) -> None:
        """A tick with these counts begins. Counting that has begun anew never tells what was before."""
        if self._open and (counts is None or not (counts.deferred or counts.transfers)):
            self._open.clear()

    def of(self, number: str, counts: Counts) -> ByOperation:
        """By operation, to be read where the tick was counted and to be added to where it is estimated.

        They stay open where the counts are deferred. Else this tick settles them, or they are void because the counts of
        this superblock do not hold.
        """
        return self._open.setdefault(number, {}) if counts.deferred else self._open.pop(number, {})
