"""What this host has done to each mount since the exporter started.

Kernel counters belong to a superblock and go back to zero when it dies; these accounts add up the differences between
readings and never go down. A difference is only taken between two readings of one life of one superblock. The past of
a superblock first seen old never enters; one born since the last reading counts from zero.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from fss_exporter.nfs.advances import NO_ADVANCE, Advances
from fss_exporter.nfs.connections import Connections
from fss_exporter.nfs.counted import Counts, Transfers, exact_cost
from fss_exporter.nfs.counted_totals import CountedTotals
from fss_exporter.nfs.differences import Difference
from fss_exporter.nfs.peaks import Peaks
from fss_exporter.nfs.records import NfsRecord
from fss_exporter.nfs.superblocks import Reading, SeriesKey, Superblock
from fss_exporter.nfs.totals import MountTotals
from fss_exporter.nfs.unanswered import Unanswered

ANNOUNCE_SECONDS = 300.0
"""How long OTHER stands for an operation that begins to happen: longer than anybody's scrape interval."""

_NOT_COUNTED: Mapping[str, Transfers] = {}


class _Baseline(NamedTuple):
    """The last good reading of a superblock, `at` seconds of a monotonic clock."""

    superblock: Superblock
    at: float


class Accounts:
    """Totals by mount, fed with one reading a tick. Not thread-safe; it knows no clock but the one passed in.

    Args:
        announce_s: how long OTHER stands for an operation that begins to happen.
    """

    def __init__(self, announce_s: float = ANNOUNCE_SECONDS) -> None:
        self._announce_s = announce_s
        self.mounts: dict[SeriesKey, MountTotals] = {}
        self.connections = Connections()
        self.unanswered = Unanswered()
        self.peaks = Peaks()
        self.counted: CountedTotals | None = None
        self._baselines: dict[str, _Baseline] = {}
        self._advances = Advances()
        self._last_at: float | None = None

    def apply(self, reading: Reading, at: float, until: float | None = None) -> None:
        """Add what happened since the last reading.

        Args:
            reading: the client as it is now.
            at: when reading it began, seconds of a monotonic clock.
            until: when it ended. A reader that was held up between the two saw more than the time since the last
                beginning tells, so peaks are reckoned from the last beginning to this end.
        """
        iops: dict[str, float] = defaultdict(float)
        held_up = 0.0 if until is None else until - at
        counts = reading.counted
        self._advances.begin(counts)
        for superblock in reading.superblocks:
            key, cost, seconds = self._add(superblock, at, counts)
            iops[key.address] += cost / (seconds + held_up) if seconds > 0 else 0.0
        if counts is not None:
            self._add_counts(counts, reading, at)
        self.peaks.add(iops, at)
        self.connections.add(reading)
        self.unanswered.add(reading, at)
        if counts is None or not counts.deferred:
            # Until then, counts may come of one that is gone.
            for gone in self._baselines.keys() - reading.present:
                del self._baselines[gone]
        self._last_at = at

    def _add(self, superblock: Superblock, at: float, counts: Counts | None) -> tuple[SeriesKey, float, float]:
        """Add one superblock's difference; return its key, the estimated cost and the seconds it took."""
        before, since = self._start(superblock, at)
        known = self._baselines.get(superblock.number)
        if known is not None and before is known.superblock.record and superblock.key != known.superblock.key:
            # The mounts that name an export come and go; the series keep the name they began with.
            superblock = replace(superblock, key=known.superblock.key)
        totals = self.mounts.get(superblock.key)
        if totals is None:
            totals = self.mounts[superblock.key] = MountTotals()
            totals.announce(superblock)
        difference = Difference(before, superblock, at, self._announce_s)
        if counts is None:
            cost = difference.add_to(totals, _NOT_COUNTED)
        else:
            number = superblock.number
            cost = difference.add_to(totals, counts.of(number), self._advances.of(number, counts))
        kept = superblock
        if before is not None and before.operations.keys() - superblock.record.operations.keys():
            operations = {**before.operations, **superblock.record.operations}
            kept = replace(superblock, record=replace(superblock.record, operations=operations))
        self._baselines[superblock.number] = _Baseline(kept, at)
        return superblock.key, cost, at - since

    def _add_counts(self, counts: Counts, reading: Reading, at: float) -> None:
        if self.counted is None:
            self.counted = CountedTotals()
        keys = {
            number: known.superblock.key
            for number, known in self._baselines.items()
            if known.superblock.known.cost == "weighted"
        }
        # What a mount did between the last reading and its umount is in no record any more.
        for number in keys.keys() - reading.present:
            advances = self._advances.of(number, counts)
            for name, transfers in counts.of(number).items():
                added = advances.get(name, NO_ADVANCE).settle(exact_cost(name, transfers))
                self.mounts[keys[number]].operations[name].add_cost(added)
        self.counted.add(counts, keys, 0.0 if self._last_at is None else at - self._last_at)

    def _start(self, superblock: Superblock, at: float) -> tuple[NfsRecord | None, float]:
        """The record to count from, None for zero, and when it was read."""
        known = self._baselines.get(superblock.number)
        if known is not None and _same_life(known.superblock, superblock):
            return known.superblock.record, known.at
        if self._last_at is not None and superblock.record.age_s <= at - self._last_at:
            return None, self._last_at
        return superblock.record, at


def _same_life(old: Superblock, new: Superblock) -> bool:
    """Whether two readings under one device number are of one superblock: numbers are used again after an umount."""
    if old.mounts[0].address != new.mounts[0].address or old.record.fstype != new.record.fstype:
        return False
    if new.record.age_s < old.record.age_s:
        return False
    operations = new.record.operations
    return operations is old.record.operations or all(
        operations[name].operations >= counters.operations
        for name, counters in old.record.operations.items()
        if name in operations
    )
