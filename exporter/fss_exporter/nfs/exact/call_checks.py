"""Check counted calls against mountstats. Both count a call at the same moment, so counts at rest are equal.

A table is read between two readings of mountstats. So the calls of mountstats minus the calls of the table lie between two
numbers at each look. The true difference never changes, so the ranges of all looks must share a number. A look without
traffic gives a range of a single number.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from fss_exporter.nfs.exact.client_owners import Owner
from fss_exporter.nfs.exact.request_durations import OF_THE_STATE_CLIENT
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.superblocks import Reading

ByProcedure = Mapping[str, int]


@dataclass(slots=True)
class _Known:
    """The known calls of an owner."""

    clients: frozenset[str]  # numbers of the RPC clients
    superblocks: frozenset[str]  # `major:minor`
    last: ByProcedure  # calls by mountstats before the last look
    counted: Counter[str] = field(default_factory=Counter)  # calls by the tables since the first look
    # least and most by which mountstats is ahead of the tables, by procedure; None before the first look
    ranges: dict[str, tuple[int, int]] | None = None

    def holds(self, before: ByProcedure, after: ByProcedure) -> bool:
        """Narrow the ranges by one look. Return False if a range becomes empty."""
        fits, ranges = True, {}
        for procedure in before.keys() | after.keys() | self.counted.keys():
            table = self.counted[procedure]
            least, most = before.get(procedure, 0) - table, after.get(procedure, 0) - table
            # A procedure that no earlier look has seen was at zero in both.
            old_least, old_most = (least, most) if self.ranges is None else self.ranges.get(procedure, (0, 0))
            ranges[procedure] = max(least, old_least), min(most, old_most)
            fits = fits and max(least, old_least) <= min(most, old_most)
        self.ranges = ranges
        return fits


class CallAgreement:
    """The counts of every owner up to the last look."""

    def __init__(self) -> None:
        self._known: dict[Owner, _Known] = {}

    def check(
        self,
        superblocks: Mapping[Owner, frozenset[str]],
        clients: Mapping[Owner, frozenset[str]],
        counted: Mapping[Owner, ByProcedure],
        readings: tuple[Reading, Reading],
    ) -> frozenset[Owner]:
        """Check one interval. An owner with changed mounts or clients starts again, because mountstats lost the earlier calls.

        Args:
            superblocks: present `major:minor` by owner.
            clients: present client numbers by owner.
            counted: calls of the interval by owner and procedure, from the tables.
            readings: readings of mountstats just before and just after the tables.

        Returns:
            owners for which tables and mountstats disagree.
        """
        numbered = tuple({one.number: one.record for one in reading.superblocks} for reading in readings)
        known, failed = {}, set()
        for owner, numbers in superblocks.items():
            before, after = (
                _calls([records[number].operations for number in numbers if number in records]) for records in numbered
            )
            old = self._known.get(owner)
            now = _Known(clients.get(owner, frozenset()), numbers, before)
            if old and (old.clients, old.superblocks) == (now.clients, numbers) and _went_on(old.last, before):
                now.counted, now.ranges = old.counted, old.ranges
                now.counted.update(counted.get(owner, {}))
            if not now.holds(before, after):
                failed.add(owner)
                now = _Known(now.clients, numbers, before)
                now.holds(before, after)
            known[owner] = now
        self._known = known
        return frozenset(failed)


def _calls(tables: list[Mapping[str, OperationCounters]]) -> Counter[str]:
    calls: Counter[str] = Counter()
    for operations in tables:
        for procedure, counters in operations.items():
            if counters.operations and procedure not in OF_THE_STATE_CLIENT:
                calls[procedure] += counters.operations
    return calls


def _went_on(old: ByProcedure, new: ByProcedure) -> bool:
    return all(new.get(procedure, 0) >= calls for procedure, calls in old.items())
