"""What this host has done to each mount since the exporter started.

Kernel counters belong to a superblock and go back to zero when it dies; these accounts add up the differences between
readings and never go down. A difference is only taken between two readings of one life of one superblock. The past of
a superblock first seen old never enters; one born since the last reading counts from zero.

The cost of READ and WRITE is not linear in what the kernel counts, so it is computed for each difference and added up.

An operation that never happened on a mount has no totals, and one that never failed no errors. What begins to happen
gets a total of its own at zero, and for `announce_s` it is added to OTHER, so that a reader who takes rates has seen the
zero before the growth.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fss_exporter.model.estimate import NOTHING, Bounds
from fss_exporter.model.operations import NLM_IO_OPERATIONS, READ, WRITE
from fss_exporter.nfs.costs import cost, grown_errors, plain_cost, resent_cost
from fss_exporter.nfs.counted import Counts, Transfers, exact_cost
from fss_exporter.nfs.counted_totals import CountedTotals
from fss_exporter.nfs.peaks import Peaks
from fss_exporter.nfs.records import NfsRecord, OperationCounters
from fss_exporter.nfs.superblocks import Reading, SeriesKey, Superblock

OTHER = "OTHER"
"""Stands for operations that began to happen on a mount a moment ago."""

ANNOUNCE_SECONDS = 300.0
"""How long OTHER stands for an operation that begins to happen: longer than anybody's scrape interval."""

_ALWAYS = (READ, WRITE, OTHER)
_ERRORS_ALWAYS = frozenset((READ, WRITE, "COMMIT", OTHER))
# Operations that do not fail in ordinary work; a first failure of theirs is told at once.

_ZERO = OperationCounters(0, 0, 0, 0, 0, 0, 0, 0, None)
_REMOTE_LOCKS = frozenset(("none", "flock"))
_LONG_AGO = -math.inf
_NOT_COUNTED: Mapping[str, Transfers] = {}


@dataclass(slots=True)
class OperationTotals:
    """What one operation of one mount has added up to; times in milliseconds.

    `cost` is None where no cost is known (an unknown service), `errors` where there were none or the kernel does not count them.
    """

    announced_at: float = _LONG_AGO
    errors_announced_at: float = _LONG_AGO
    operations: int = 0
    retransmissions: int = 0
    timeouts: int = 0
    errors: int | None = None
    queue_ms: int = 0
    rtt_ms: int = 0
    execute_ms: int = 0
    cost: Bounds | None = None


@dataclass(slots=True)
class MountTotals:
    """What one mount has added up to; `lock_io_operations` is None where locks are local or not counted."""

    operations: dict[str, OperationTotals] = field(default_factory=lambda: defaultdict(OperationTotals))
    read_bytes: int = 0
    written_bytes: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    lock_io_operations: int | None = None


@dataclass(frozen=True, slots=True)
class _Baseline:
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
        self.sends: dict[str, int] = {}
        self.receives: dict[str, int] = {}
        self.peaks = Peaks()
        self.counted: CountedTotals | None = None
        self._baselines: dict[str, _Baseline] = {}
        self._transports: dict[tuple[str, str], tuple[int, int]] = {}
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
        for superblock in reading.superblocks:
            key, cost, seconds = self._add(superblock, at, reading.counted)
            iops[key.address] += cost / (seconds + held_up) if seconds > 0 else 0.0
        if reading.counted is not None:
            self._add_counts(reading.counted, reading, at)
        self.peaks.add(iops, at)
        self._add_transports(reading)
        for gone in self._baselines.keys() - reading.present:
            del self._baselines[gone]
        self._last_at = at

    def _add(self, superblock: Superblock, at: float, counts: Counts | None) -> tuple[SeriesKey, float, float]:
        """Add one superblock's difference; return its key, the estimated cost and the seconds it took."""
        before, since = self._start(superblock, at)
        known = self._baselines.get(superblock.number)
        if known is not None and before is known.superblock.record:
            # The mounts that name an export come and go; the series keep the name they began with.
            superblock = replace(superblock, key=known.superblock.key)
        totals = self.mounts.get(superblock.key)
        if totals is None:
            totals = self.mounts[superblock.key] = MountTotals()
        _announce(totals, superblock)
        counted = _NOT_COUNTED if counts is None else counts.of(superblock.number)
        cost = _add_difference(totals, before, superblock, at, self._announce_s, counted)
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
            for name, transfers in counts.of(number).items():
                _add_cost(self.mounts[keys[number]].operations[name], exact_cost(name, transfers))
        self.counted.add(counts, keys, 0.0 if self._last_at is None else at - self._last_at)

    def _start(self, superblock: Superblock, at: float) -> tuple[NfsRecord | None, float]:
        """The record to count from, None for zero, and when it was read."""
        known = self._baselines.get(superblock.number)
        if known is not None and _same_life(known.superblock, superblock):
            return known.superblock.record, known.at
        if self._last_at is not None and superblock.record.age_s <= at - self._last_at:
            return None, self._last_at
        return superblock.record, at

    def _add_transports(self, reading: Reading) -> None:
        """Connections belong to the server and stand in the record of each of its superblocks: count them once."""
        seen: dict[tuple[str, str], tuple[int, int]] = {}
        for superblock in reading.superblocks:
            server = (superblock.key.address, superblock.record.options.get("vers", ""))
            if server not in seen:
                lines = superblock.record.transports
                seen[server] = (sum(line.sends or 0 for line in lines), sum(line.receives or 0 for line in lines))
        for server, (sends, receives) in seen.items():
            address = server[0]
            old_sends, old_receives = self._transports.get(server, (sends, receives))
            self.sends[address] = self.sends.get(address, 0) + max(0, sends - old_sends)
            self.receives[address] = self.receives.get(address, 0) + max(0, receives - old_receives)
        self._transports = seen


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


def _announce(totals: MountTotals, superblock: Superblock) -> None:
    """Give totals, at zero, to what has happened on a mount before the exporter saw it."""
    if OTHER not in totals.operations:
        happened = (name for name, counters in superblock.record.operations.items() if counters.operations)
        for name in dict.fromkeys((*_ALWAYS, *happened)):
            totals.operations[name] = _at_zero(name, superblock, _LONG_AGO)


def _at_zero(name: str, superblock: Superblock, announced_at: float) -> OperationTotals:
    record, known = superblock.record, superblock.known
    estimated = known.cost != "unknown" and (name == OTHER or known.service.prices(name))
    counters = record.operations.get(name, _ZERO)
    counted = record.operations[READ].errors is not None
    failed = name in _ERRORS_ALWAYS or bool(counters.errors)
    return OperationTotals(announced_at, errors=0 if counted and failed else None, cost=NOTHING if estimated else None)


def _add_difference(
    totals: MountTotals,
    before: NfsRecord | None,
    superblock: Superblock,
    at: float,
    announce_s: float,
    counted: Mapping[str, Transfers],
) -> float:
    """Add what lies between two records of one life; return the estimated cost of it.

    READs and WRITEs that were counted by size cost what was counted, whenever mountstats shows them.
    """
    now, rule = superblock.record, superblock.known.cost
    payload = {
        READ: max(0, now.read_bytes - (before.read_bytes if before else 0)),
        WRITE: max(0, now.written_bytes - (before.written_bytes if before else 0)),
    }
    totals.read_bytes += payload[READ]
    totals.written_bytes += payload[WRITE]
    if rule == "weighted":
        _add_locks(totals, before, now)
    whole_cost = 0.0
    for name, counters in now.operations.items():
        old = before.operations.get(name, counters) if before else _ZERO
        if old is counters or old == counters:
            continue
        target = totals.operations.get(name)
        if target is None:
            target = totals.operations[name] = _at_zero(name, superblock, at)
        if target.announced_at > at - announce_s:
            target = totals.operations[OTHER]
        _add_operation(totals, target, old, counters)
        if counters.errors:
            _add_errors(totals, target, grown_errors(old, counters), at, announce_s)
        if rule != "unknown" and name not in counted:
            added = (
                cost(name, old, counters, payload.get(name, 0), now.options)
                if rule == "weighted"
                else plain_cost(name, old, counters)
            )
            if added is not None:
                _add_cost(target, added)
                whole_cost += added.point
    for name, transfers in counted.items():
        whole_cost += _add_counted(totals.operations[name], name, transfers, before, now, payload[name])
    return whole_cost


def _add_counted(
    target: OperationTotals,
    name: str,
    transfers: Transfers,
    before: NfsRecord | None,
    now: NfsRecord,
    payload_bytes: int,
) -> float:
    new = now.operations[name]
    old = before.operations.get(name, new) if before else _ZERO
    resent = resent_cost(name, old, new, payload_bytes, now.options, transfers)
    added = exact_cost(name, transfers, resent)
    _add_cost(target, added)
    return added.point


def _add_cost(target: OperationTotals, added: Bounds) -> None:
    lower, point, upper = target.cost or NOTHING
    target.cost = Bounds(lower + added.lower, point + added.point, upper + added.upper)


def _add_operation(
    totals: MountTotals, target: OperationTotals, old: OperationCounters, new: OperationCounters
) -> None:
    # Only growth is added: an odd kernel's counter that goes back costs nothing.
    operations = new.operations - old.operations
    if operations > 0:
        target.operations += operations
    if (again := new.transmissions - old.transmissions - max(0, operations)) > 0:
        target.retransmissions += again
    if (timeouts := new.timeouts - old.timeouts) > 0:
        target.timeouts += timeouts
    if (queue_ms := new.queue_ms - old.queue_ms) > 0:
        target.queue_ms += queue_ms
    if (rtt_ms := new.rtt_ms - old.rtt_ms) > 0:
        target.rtt_ms += rtt_ms
    if (execute_ms := new.execute_ms - old.execute_ms) > 0:
        target.execute_ms += execute_ms
    if (sent := new.sent_bytes - old.sent_bytes) > 0:
        totals.sent_bytes += sent
    if (received := new.received_bytes - old.received_bytes) > 0:
        totals.received_bytes += received


def _add_errors(totals: MountTotals, target: OperationTotals, errors: int, at: float, announce_s: float) -> None:
    if errors and target.errors is None:
        target.errors = 0
        target.errors_announced_at = at
    if target.errors_announced_at > at - announce_s:
        target = totals.operations[OTHER]
    if errors:
        target.errors = (target.errors or 0) + errors


def _add_locks(totals: MountTotals, before: NfsRecord | None, now: NfsRecord) -> None:
    if now.vfs_locks is None or now.options.get("local_lock") not in _REMOTE_LOCKS:
        return
    old = 0 if before is None or before.vfs_locks is None else before.vfs_locks
    locks = max(0, now.vfs_locks - old)
    totals.lock_io_operations = (totals.lock_io_operations or 0) + locks * NLM_IO_OPERATIONS
