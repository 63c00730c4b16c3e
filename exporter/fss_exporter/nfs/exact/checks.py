"""Check the kernel's tables against mountstats for each superblock. Both count the same calls.

Mountstats is read first and the tables a moment later. So the tables are ahead by the calls in between, at most by the
calls of this interval. The lead of the first look is unknown. The calls of the next interval bound this lead, and an
interval without calls shows the lead exactly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.exact.counts import NO_TRANSFERS, CountedTransfers
from fss_exporter.nfs.superblocks import SeriesKey, Superblock

OPERATIONS = "operations"
PAYLOAD = "payload"
REUSED = "device_reused"


@dataclass(slots=True)
class Gap:
    """How far the tables are ahead of mountstats, since the first look."""

    ahead: int = 0  # by so much
    # the most they may be behind: the unknown head start of the first look; None before the first interval
    owed: int | None = None

    def holds(self, tables: int, mountstats: int) -> bool:
        """Add one interval. Return False if timing does not explain the gap. The gap then begins at zero."""
        if self.owed is None:
            self.owed = mountstats
        self.ahead += tables - mountstats
        busy = max(tables, mountstats)
        fits = -self.owed - busy <= self.ahead <= busy
        if not fits or not busy:
            self.ahead = self.owed = 0
        return fits


@dataclass(slots=True)
class _Seen:
    key: SeriesKey
    age_s: int
    counted: Mapping[tuple[str, str], int]
    gaps: dict[tuple[str, str], Gap] = field(default_factory=dict)


class Agreement:
    """The counts of every superblock at the last look."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def known(self, number: str) -> bool:
        """Whether a superblock was there at the last look."""
        return number in self._seen

    def check(
        self, superblocks: Mapping[str, Superblock], transfers: Mapping[str, Mapping[str, CountedTransfers]]
    ) -> dict[str, str]:
        """Check one interval.

        Args:
            superblocks: present superblocks in mountstats, by `major:minor`.
            transfers: transfers in the tables, by operation and `major:minor`.

        Returns:
            the failed check by `major:minor`.
        """
        failed: dict[str, str] = {}
        seen: dict[str, _Seen] = {}
        for number, superblock in superblocks.items():
            old, now = self._seen.get(number), _seen(superblock)
            if old is None:
                pass
            elif now.age_s < old.age_s or any(now.counted[what] < old.counted[what] for what in now.counted):
                if now.key != old.key:
                    failed[number] = REUSED
            else:
                now.gaps = old.gaps
                wrong = [
                    what
                    for (operation, what), added in _added(old, now)
                    if not now.gaps.setdefault((operation, what), Gap()).holds(
                        _counted(transfers[operation].get(number, NO_TRANSFERS), what), added
                    )
                ]
                if wrong:
                    failed[number] = wrong[0]
            seen[number] = now
        self._seen = seen
        return failed


def _seen(superblock: Superblock) -> _Seen:
    record = superblock.record
    return _Seen(
        superblock.key,
        record.age_s,
        {
            (READ, OPERATIONS): record.operations[READ].operations,
            (READ, PAYLOAD): record.read_bytes,
            (WRITE, OPERATIONS): record.operations[WRITE].operations,
            (WRITE, PAYLOAD): record.written_bytes,
        },
    )


def _added(old: _Seen, now: _Seen) -> Iterator[tuple[tuple[str, str], int]]:
    for what, value in now.counted.items():
        yield what, value - old.counted[what]


def _counted(transfers: CountedTransfers, what: str) -> int:
    return transfers.operations if what == OPERATIONS else transfers.payload_bytes
