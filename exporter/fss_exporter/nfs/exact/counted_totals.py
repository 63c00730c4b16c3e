"""Counts of exact mode since the exporter started, beside the costs of the mounts."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.exact.counts import NO_TRANSFERS, ByAddressAndProcedure, CountedTransfers, Counts
from fss_exporter.nfs.superblocks import SeriesKey

LOCK_PROCEDURES = ("LOCK", "UNLOCK", "TEST", "CANCEL", "GRANTED_RES")
ACL_PROCEDURES = ("GETACL", "SETACL")
# Exported at zero for every visible mount, so that a reader who takes rates sees the first call.


@dataclass(slots=True)
class ModeSeconds:
    """How long a mount's READs and WRITEs were counted, and how long estimated."""

    exact: float = 0.0
    estimated: float = 0.0


@dataclass(slots=True)
class CountedTotals:
    """Totals of everything counted."""

    sizes: dict[tuple[str, str], CountedTransfers] = field(default_factory=dict)  # by address and operation
    # by operation, of superblocks no visible mount names
    invisible: dict[str, CountedTransfers] = field(default_factory=dict)
    locks: Counter[tuple[str, str]] = field(default_factory=Counter)  # calls by address and procedure
    acls: Counter[tuple[str, str]] = field(default_factory=Counter)  # calls by address and procedure
    failed: Counter[str] = field(default_factory=Counter)  # by check
    active: bool = False  # whether the counting was in place at the last reading
    # by mount of the last reading: whether its last interval was counted
    exact: dict[SeriesKey, bool] = field(default_factory=dict)
    seconds: dict[SeriesKey, ModeSeconds] = field(default_factory=lambda: defaultdict(ModeSeconds))  # by mount

    def add(self, counts: Counts, mounts: Mapping[str, SeriesKey], seconds: float) -> None:
        """Add one interval.

        Args:
            counts: counts of the interval.
            mounts: key by `major:minor` of superblocks with a known cost.
            seconds: length of the interval.
        """
        self.active = counts.active
        self.failed.update(counts.failed)
        if counts.sizes_told:
            self._add_sizes(counts, mounts)
        for operation in (READ, WRITE):
            before = self.invisible.get(operation, NO_TRANSFERS)
            self.invisible[operation] = before.plus(counts.invisible.get(operation, NO_TRANSFERS))
        _add_calls(self.locks, counts.locks, counts.addresses, LOCK_PROCEDURES)
        _add_calls(self.acls, counts.acls, counts.addresses, ACL_PROCEDURES)
        self.exact = {}
        for number, key in mounts.items():
            self.exact[key] = self.exact.get(key, True) and number in counts.superblocks
        for key, exact in self.exact.items():
            spent = self.seconds[key]
            spent.exact += seconds if exact else 0.0
            spent.estimated += 0.0 if exact else seconds

    def forget(self, keys: Collection[SeriesKey]) -> None:
        """Drop the totals of mounts without series, and the totals of addresses without a mount."""
        gone = {key.address for key in keys}
        for key in keys:
            self.seconds.pop(key, None)
        gone -= {key.address for key in self.seconds}
        self.sizes = {place: one for place, one in self.sizes.items() if place[0] not in gone}
        for calls in (self.locks, self.acls):
            for place in [place for place in calls if place[0] in gone]:
                del calls[place]

    def _add_sizes(self, counts: Counts, mounts: Mapping[str, SeriesKey]) -> None:
        for operation in (READ, WRITE):
            for number, transfers in counts.transfers.get(operation, {}).items():
                if number in mounts and number in counts.superblocks:
                    place = (mounts[number].address, operation)
                    self.sizes[place] = self.sizes.get(place, NO_TRANSFERS).plus(transfers)
            for address in {mounts[number].address for number in counts.superblocks if number in mounts}:
                self.sizes.setdefault((address, operation), NO_TRANSFERS)


def _add_calls(
    totals: Counter[tuple[str, str]],
    calls: ByAddressAndProcedure | None,
    addresses: Iterable[str],
    announced: tuple[str, ...],
) -> None:
    if calls is None:
        return
    for address in addresses:
        for procedure in announced:
            totals.setdefault((address, procedure), 0)
    totals.update(calls)
