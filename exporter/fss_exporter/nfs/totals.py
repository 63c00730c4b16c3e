"""Totals since the exporter started, of each mount and of each address, and peaks and waits by address.

Every operation of the kernel's table has totals from the first sight of the mount, at zero. So a server that computes
rates sees the zero before the first growth.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fss_exporter.model.client_verdict import VERDICTS, Verdict
from fss_exporter.model.estimate import NO_COST, Bounds
from fss_exporter.model.operations import FIXED_COSTS, READ, WRITE
from fss_exporter.model.service_table import CostRule
from fss_exporter.nfs.records import MOST_OPERATIONS, NfsRecord, OperationCounters
from fss_exporter.nfs.superblocks import Reading, Superblock

WINDOW_SECONDS: Final = 60.0  # Time that a peak is kept


@dataclass(slots=True)
class OperationTotals:
    """Totals of one operation on one mount. Times are milliseconds."""

    operations: int = 0
    retransmissions: int = 0
    timeouts: int = 0
    errors: int = 0
    queue_ms: int = 0
    rtt_ms: int = 0
    execute_ms: int = 0
    weight: float | None = None  # I/O operations of one call. None if the cost is estimated or unknown
    estimated: Bounds | None = None  # I/O operations of READ or WRITE, by size. None for any other operation

    @property
    def cost(self) -> Bounds | None:
        """All I/O operations. None without a known cost."""
        if self.weight is None:
            return self.estimated
        return Bounds.exact(self.operations * self.weight)

    def add_cost(self, cost: Bounds) -> None:
        """Add I/O operations of READ or WRITE."""
        self.estimated = cost if self.estimated is None else self.estimated.plus(cost)

    def add(self, before: OperationCounters, now: OperationCounters) -> int:
        """Add the growth between two readings. Return the completed operations. A counter that falls adds nothing."""
        operations = now.operations - before.operations
        operations = max(0, operations)
        self.operations += operations
        if (again := now.transmissions - before.transmissions - operations) > 0:
            self.retransmissions += again
        if (timeouts := now.timeouts - before.timeouts) > 0:
            self.timeouts += timeouts
        if now.errors and (errors := now.errors - (before.errors or 0)) > 0:
            self.errors += errors
        if (queue_ms := now.queue_ms - before.queue_ms) > 0:
            self.queue_ms += queue_ms
        if (rtt_ms := now.rtt_ms - before.rtt_ms) > 0:
            self.rtt_ms += rtt_ms
        if (execute_ms := now.execute_ms - before.execute_ms) > 0:
            self.execute_ms += execute_ms
        return operations


@dataclass(slots=True)
class MountTotals:
    """Totals of one mount."""

    operations: dict[str, OperationTotals] = field(default_factory=dict)  # by name of the procedure
    counts_errors: bool = False  # whether the kernel counts errors (5.3 and later)
    has_cost: bool = False  # whether the service's cost of operations is known
    read_bytes: int = 0
    written_bytes: int = 0
    lock_io_operations: float | None = None  # None if locks are local or not counted
    last_seen_at: float = 0.0  # time of the last reading with this mount, seconds of a monotonic clock
    # end of the time without the mount, on the same clock. None if the first reading found it old
    born_at: float | None = None
    answers: int = 0  # scrapes that have shown the series of this mount

    @property
    def at_zero(self) -> "MountTotals":
        """Return the totals of the same mount before the first operation."""
        operations = {
            name: OperationTotals(weight=totals.weight, estimated=None if totals.estimated is None else NO_COST)
            for name, totals in self.operations.items()
        }
        locks = None if self.lock_io_operations is None else 0
        return MountTotals(operations, self.counts_errors, self.has_cost, lock_io_operations=locks)

    def include(self, superblock: Superblock, weights: Mapping[str, float] = FIXED_COSTS) -> None:
        """Add totals at zero for every operation of a superblock. `weights` are costs by operation."""
        rule = superblock.known.cost
        self.has_cost |= rule != "unknown"
        for name, counters in superblock.record.operations.items():
            if name not in self.operations and len(self.operations) < MOST_OPERATIONS:
                self.operations[name] = _new_totals(name, rule, weights)
            self.counts_errors |= counters.errors is not None

    def has_weights(self, weights: Mapping[str, float]) -> bool:
        """Whether every operation with a fixed cost was counted by these costs."""
        return all(sums.weight in (None, weights[name]) for name, sums in self.operations.items() if name in weights)


def _new_totals(name: str, rule: CostRule, weights: Mapping[str, float]) -> OperationTotals:
    if rule == "plain":
        return OperationTotals(weight=1 if name in (READ, WRITE) else None)
    if rule == "weighted":
        return OperationTotals(weight=weights.get(name), estimated=NO_COST if name in (READ, WRITE) else None)
    return OperationTotals()


@dataclass(slots=True)
class AddressTotals:
    """Counters of one address."""

    requests: int = 0  # NFS operations completed
    io_operations: float | None = None  # estimated mount-target I/O operations; None where no mount has a known cost
    seconds: dict[Verdict, float] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0.0))  # judged time
    born_at: float | None = None  # as of its first mount
    answers: int = 0  # scrapes that have shown the address

    @property
    def at_zero(self) -> "AddressTotals":
        """The same address before anything happened on it."""
        return AddressTotals(io_operations=None if self.io_operations is None else 0.0)

    def add_cost(self, io_operations: float) -> None:
        """Add estimated I/O operations."""
        self.io_operations = (self.io_operations or 0.0) + io_operations


@dataclass(slots=True)
class NetworkTotals:
    """Bytes on the wire of all mounts together, headers included."""

    sent_bytes: int = 0
    received_bytes: int = 0


class Peaks:
    """Estimated IOPS of each tick by address, kept for `WINDOW_SECONDS`.

    Ceilings are per second, and the mean of a minute hides a burst of a second.
    """

    def __init__(self) -> None:
        self._ticks: dict[str, deque[tuple[float, float]]] = {}

    def add(self, iops: Mapping[str, float], at: float) -> None:
        """Note the IOPS of one tick by address. `at` is monotonic seconds. A missing address has no mount any more."""
        for address, value in iops.items():
            self._ticks.setdefault(address, deque()).append((at, value))
        self._ticks = {address: ticks for address, ticks in self._ticks.items() if address in iops}
        for ticks in self._ticks.values():
            while ticks[0][0] <= at - WINDOW_SECONDS:
                ticks.popleft()

    def highest(self) -> dict[str, float]:
        """Return the highest IOPS of a single tick by address, without addresses that have no mount."""
        return {address: max(value for _, value in ticks) for address, ticks in self._ticks.items()}


_GETATTR = "GETATTR"

_Records = Mapping[str, NfsRecord]
# By superblock: all of one server.


MEMORY_OF_LAST_TRY_SECONDS: Final = 600.0
"""A soft mount gives up, and its program may pause for minutes before it tries again. Until a reply arrives, the address stays
unanswered for this long after the last try. Decision of this project, November 2026."""


@dataclass(frozen=True, slots=True)
class _Silence:
    """The records of a server since the last reply or the last try that ended without one. Times are seconds of the clock."""

    records: _Records
    since: float | None = None  # start of the wait
    gave_up_at: float | None = None  # when the last try ended without a reply


class Unanswered:
    """Seconds that requests to each address have waited without any reply, fed with one reading a tick.

    A refused connection carries nothing: `sends` of the transport does not grow, and the kernel counts an operation at the end.
    Three counters still show a waiting request:

    - calls that were sent and whose operation has not ended,
    - attribute checks that began and whose GETATTR has not ended,
    - new connections, because the kernel opens a connection only for a waiting request.

    Some kernels count failed attempts as connections and others do not. So the agent can miss a refused connection while no
    program asks for attributes.

    A request that timed out for good, as on a soft mount, ends without a reply. The wait goes on until a reply arrives, and is
    forgotten some minutes after the last try.
    """

    def __init__(self) -> None:
        self._silences: dict[tuple[str, str], _Silence] = {}
        self._at = 0.0

    def add(self, reading: Reading, at: float) -> None:
        """Note one reading, taken at `at` seconds of a monotonic clock."""
        servers: dict[tuple[str, str], dict[str, NfsRecord]] = defaultdict(dict)
        for superblock in reading.superblocks:
            record = superblock.record
            if any(line.receives is not None for line in record.transports):
                servers[superblock.key.address, record.options.get("vers", "")][superblock.number] = record
        # A wait that shows now began after the last tick.
        self._silences = {server: self._silence(server, records) for server, records in servers.items()}
        self._at = at

    def seconds(self) -> dict[str, int]:
        """Return whole seconds by address. 0 if replies arrive or no request is known to wait."""
        waits: dict[str, int] = {}
        for (address, _), silence in self._silences.items():
            wait = 0 if silence.since is None or self._is_forgotten(silence) else round(self._at - silence.since)
            waits[address] = max(wait, waits.get(address, 0))
        return waits

    def _is_forgotten(self, silence: _Silence) -> bool:
        return silence.gave_up_at is not None and self._at - silence.gave_up_at > MEMORY_OF_LAST_TRY_SECONDS

    def _silence(self, server: tuple[str, str], records: _Records) -> _Silence:
        known = self._silences.get(server)
        if known is None or known.records.keys() != records.keys() or self._is_forgotten(known):
            return _Silence(records)
        if all(_is_idle(known.records[number], record) for number, record in records.items()):
            return known
        # All superblocks of a server share the connections, so one record has all of them.
        first = next(iter(records))
        before, now = _connections(known.records[first]), _connections(records[first])
        if now.receives != before.receives:
            return _Silence(records)
        since = self._at if known.since is None else known.since
        tries = _tries(known.records, records)
        if (
            tries.wanted > 0
            or now.sends - before.sends > tries.ended
            or (not tries.ended and now.connects > before.connects)
        ):
            return replace(known, since=since)
        if tries.timed_out:
            return _Silence(records, since, gave_up_at=self._at)
        # The waiting request was killed.
        return _Silence(records, *self._kept(known)) if tries.ended else known

    @staticmethod
    def _kept(known: _Silence) -> tuple[float | None, float | None]:
        """Return what a killed request leaves: the wait of an earlier try that timed out."""
        return (None, None) if known.gave_up_at is None else (known.since, known.gave_up_at)


def _is_idle(before: NfsRecord, now: NfsRecord) -> bool:
    """Whether nothing was asked, sent or received between two readings. The parser keeps the objects of an unchanged record."""
    return (
        now.operations is before.operations
        and now.transports is before.transports
        and now.revalidations == before.revalidations
    )


class _Transports(NamedTuple):
    """Sums over all connections to one server."""

    connects: int
    sends: int
    receives: int


def _connections(record: NfsRecord) -> _Transports:
    return _Transports(*(sum(getattr(line, name) or 0 for line in record.transports) for name in _Transports._fields))


class _Tries(NamedTuple):
    """Counts between two readings."""

    # transmissions of operations that ended. An operation without a transmission counts as one, as in `sends`
    ended: int
    wanted: int  # GETATTRs that began and did not end
    timed_out: bool  # whether an operation ended after a major timeout


def _tries(before: _Records, now: _Records) -> _Tries:
    ended = wanted = timeouts = 0
    for number, record in now.items():
        old = before[number]
        wanted += (record.revalidations or 0) - (old.revalidations or 0)
        if record.operations is old.operations:
            continue
        for name, counters in record.operations.items():
            past = old.operations.get(name, counters)
            ended += counters.transmissions - past.transmissions
            timeouts += counters.timeouts - past.timeouts
            if name == _GETATTR:
                wanted -= counters.operations - past.operations
    return _Tries(ended, wanted, timeouts > 0)
