# SPDX-License-Identifier: Apache-2.0
"""Assign the requests of the tables between two looks to owners, and check the counts against mountstats.

Both count a call at the same moment, so counts at rest are equal. A table is read between two readings of mountstats. So
the calls of mountstats minus the calls of the table lie between two numbers at each look. The true difference never changes,
so the ranges of all looks must share a number. A look without traffic gives a range of a single number.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field

from fss_exporter.model.operations import class_of
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.durations.owners import Owner, Owners, possible_owners
from fss_kernel_counting.durations.request_durations import (
    ANSWERED,
    FINISHED,
    NO_DURATIONS,
    NO_REQUESTS,
    OF_THE_STATE_CLIENT,
    UNANSWERED,
    AddressClass,
    Requests,
    durations,
    unanswered,
)
from fss_kernel_counting.hist_tables import Grown
from fss_kernel_counting.instance_tables import TableName

ByClient = Mapping[tuple[str, str], Requests]  # Requests by RPC client and procedure
ByProcedure = Mapping[str, int]


def requests_of(grown: Mapping[TableName, Grown]) -> ByClient:
    """Return the requests in the growth of the tables.

    Raises:
        Lost: a key has another layout.
    """
    finished = durations(grown[FINISHED])
    answered = durations(grown.get(ANSWERED, ()))
    no_reply = unanswered(grown.get(UNANSWERED, ()))
    return {
        place: Requests(finished.get(place, NO_DURATIONS), answered.get(place, NO_DURATIONS), no_reply.get(place, 0))
        for place in finished.keys() | answered.keys() | no_reply.keys()
    }


@dataclass(slots=True)
class Attributed:
    """Requests of one interval by owner."""

    places: dict[AddressClass, Requests] = field(default_factory=dict)  # by address and class
    calls: dict[Owner, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # by owner and procedure
    # addresses of an RPC client whose number went to another client in between
    ambiguous: frozenset[str] = frozenset()
    # by client and procedure, of clients of a superblock that no reading of mountstats has
    hidden: dict[tuple[str, str], Requests] = field(default_factory=dict)


def attributed(requests: ByClient, before: Owners, now: Owners, born: Mapping[str, frozenset[str]]) -> Attributed:
    """Assign the requests of an interval to owners. `before` and `now` are the owners at the last look and at this look.

    `born` has the addresses of the clients born in the interval by number.
    """
    result = Attributed()
    owners_of: dict[str, tuple[Owner | None, frozenset[str]]] = {}
    for (client, procedure), own in requests.items():
        if client not in owners_of:
            owners_of[client] = possible_owners(client, before, now, born.get(client, frozenset()))
        owner, several = owners_of[client]
        result.ambiguous |= several
        if owner is not None:
            place = (owner.address, class_of(procedure))
            result.places[place] = result.places.get(place, NO_REQUESTS).plus(own)
            result.calls[owner][procedure] += own.finished.calls
        elif client in now.linked and not several:
            result.hidden[client, procedure] = own
    return result


def with_earlier(requests: ByClient, earlier: ByClient, born: Container[str]) -> ByClient:
    """Return requests with those that clients sent before their mount was found. A client that was `born` again sent none of them."""
    together = dict(requests)
    for place, own in earlier.items():
        if place[0] not in born:
            together[place] = together.get(place, NO_REQUESTS).plus(own)
    return together


@dataclass(slots=True)
class _OwnerCalls:
    """The calls of an owner by mountstats and by the tables."""

    clients: frozenset[str]  # numbers of the RPC clients
    superblocks: frozenset[str]  # `major:minor`
    last: ByProcedure  # calls by mountstats before the last look
    counted: Counter[str] = field(default_factory=Counter)  # calls by the tables since the first look
    # least and most by which mountstats is ahead of the tables, by procedure. None before the first look
    ranges: dict[str, tuple[int, int]] | None = None

    def holds(self, before: ByProcedure, after: ByProcedure) -> bool:
        """Narrow the ranges by one look. Return False if a range becomes empty."""
        ranges = {}
        for procedure in before.keys() | after.keys() | self.counted.keys():
            table = self.counted[procedure]
            least, most = before.get(procedure, 0) - table, after.get(procedure, 0) - table
            # A procedure that no earlier look has seen was at zero in both.
            old_least, old_most = (least, most) if self.ranges is None else self.ranges.get(procedure, (0, 0))
            ranges[procedure] = max(least, old_least), min(most, old_most)
        self.ranges = ranges
        return all(least <= most for least, most in ranges.values())


class CallAgreement:
    """The counts of every owner up to the last look."""

    def __init__(self) -> None:
        self._by_owner: dict[Owner, _OwnerCalls] = {}

    def check(
        self,
        owners: Owners,
        counted: Mapping[Owner, ByProcedure],
        readings: tuple[Reading, Reading],
        born: Collection[str] = (),
    ) -> frozenset[Owner]:
        """Check one interval. Return the owners for which tables and mountstats disagree.

        An owner with changed mounts or clients starts again, because mountstats lost the earlier calls. So does one with a client
        that was `born` in the interval: its mount can have taken every number of the mount before. `counted` are calls of the
        tables. `readings` are of mountstats, just before and just after the tables.
        """
        numbered = tuple(
            {superblock.number: superblock.record for superblock in reading.superblocks} for reading in readings
        )
        clients, calls, failed = owners.clients, {}, set()
        for owner, numbers in owners.superblocks.items():
            before, after = (
                _calls([records[number].operations for number in numbers if number in records]) for records in numbered
            )
            old = self._by_owner.get(owner)
            now = calls[owner] = _OwnerCalls(clients.get(owner, frozenset()), numbers, before)
            if not _went_on(before, after):  # the mount was made anew between the two readings
                continue
            is_same = old and (old.clients, old.superblocks) == (now.clients, numbers) and now.clients.isdisjoint(born)
            if old and is_same and _went_on(old.last, before):
                now.counted, now.ranges = old.counted, old.ranges
                now.counted.update(counted.get(owner, {}))
            if not now.holds(before, after):
                failed.add(owner)
                now = calls[owner] = _OwnerCalls(now.clients, numbers, before)
                now.holds(before, after)
        self._by_owner = calls
        return frozenset(failed)


def _calls(operations_of_mounts: list[Mapping[str, OperationCounters]]) -> Counter[str]:
    calls: Counter[str] = Counter()
    for operations in operations_of_mounts:
        for procedure, counters in operations.items():
            if counters.operations and procedure not in OF_THE_STATE_CLIENT:
                calls[procedure] += counters.operations
    return calls


def _went_on(old: ByProcedure, new: ByProcedure) -> bool:
    return all(new.get(procedure, 0) >= calls for procedure, calls in old.items())
