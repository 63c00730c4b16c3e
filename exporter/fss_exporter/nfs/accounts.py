# SPDX-License-Identifier: Apache-2.0
"""Add up the growth of each mount's counters since the exporter started.

The kernel counts by superblock, and starts at zero again when a superblock dies. The accounts add up the differences
between two readings of one life of a superblock, so totals never fall. An old superblock adds nothing of the time before
the first reading. A superblock that was born since the last reading, or while nobody could read it, counts from zero.

Only the cost of READ and WRITE is not linear in what happened. So each reading adds that cost, and the operations of the address. Everything
else is *settled*: added up later, in one step from the record of the last settling. The end of a span settles, and so does everybody who looks.
So a time in the queue that falls between two readings is clamped once a span, and payload that comes a second late counts for its span.
"""

import operator
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from fss_exporter.model.client_state import NO_WAIT, Wait
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import Bounds, TransferChange, estimated_cost
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.address_states import AddressStates
from fss_exporter.nfs.lives import Life, growth, is_same_life, with_every_operation
from fss_exporter.nfs.records import NfsRecord, OperationCounters
from fss_exporter.nfs.superblocks import Reading, Superblock
from fss_exporter.nfs.totals import AddressTotals, MountTotals, NetworkTotals, Peaks
from fss_exporter.nfs.unaccounted import UnaccountedCalls
from fss_exporter.nfs.unanswered import Unanswered

_REMOTE_LOCKS: Final = frozenset(("none", "flock"))
_NO_COUNTERS: Final = OperationCounters(0, 0, 0, 0, 0, 0, 0, 0, None)

_NO_LOCKS: Final[Mapping[str, float]] = {}

# Time without a reading after which nobody knows what happened in between: the texts of the kernel were unreadable, or the agent did not run.
# A busy host delays a tick by less. Decision of this project, December 2026.
LONGEST_PAUSE_SECONDS: Final = 30.0

# Time that a dead mount keeps its series. A server that scrapes once a minute has the last value twice by then.
RETENTION_SECONDS: Final = 120.0


class Tick(NamedTuple):
    """Everything that a source of costs learns of one tick."""

    changes: Sequence[TransferChange]  # READs and WRITEs of the superblocks with a cost by size
    mounts: Mapping[str, SeriesKey]  # keys by `major:minor` of superblocks with a cost by size, just unmounted ones too
    seconds: float  # since the last tick. 0 in the first
    with_series: Collection[SeriesKey]  # every mount with series, unmounted ones included


class TickCosts(NamedTuple):
    """Costs of one tick."""

    transfers: Iterable[tuple[str, str, Bounds]]  # superblock (`major:minor`), operation and cost
    lock_io_operations: Mapping[str, float] = _NO_LOCKS  # by address, of counted lock calls


class CostSource(Protocol):
    """The source of the cost of READs and WRITEs on mounts with a cost by size."""

    def tick_costs(self, tick: Tick) -> TickCosts:
        """Return the costs of one tick."""


class EstimatedCosts:
    """The costs that mountstats alone allows."""

    def tick_costs(self, tick: Tick) -> TickCosts:
        """Estimate the cost of each change."""
        return TickCosts([(change.superblock, change.operation, estimated_cost(change)) for change in tick.changes])


class Accounts:
    """Totals by mount, fed with one reading a tick. The class is not thread-safe and has no clock but the `at` of a reading.

    Args:
        costs: source of the cost of READs and WRITEs.
        retention_s: seconds that the totals of a mount are kept after the umount.
        most_mounts: most totals of unmounted mounts, beside those that are mounted. Above the number the oldest go first.
        overrides: measured costs in place of the white paper's table.
        states: judge of the time of each address.
        longest_pause_s: seconds without a reading, beside the interval, that still count as watched.
    """

    def __init__(
        self,
        costs: CostSource | None = None,
        retention_s: float = RETENTION_SECONDS,
        *,
        most_mounts: int | None = None,
        overrides: CostOverrides = NO_OVERRIDES,
        states: AddressStates | None = None,
        longest_pause_s: float = LONGEST_PAUSE_SECONDS,
    ) -> None:
        self.costs: CostSource = costs or EstimatedCosts()
        self.overrides = overrides
        self.addresses: dict[str, AddressTotals] = {}
        self.superblocks: tuple[Superblock, ...] = ()
        self.unanswered = Unanswered()
        self.unaccounted = UnaccountedCalls()
        self.peaks = Peaks()
        self.states = states or AddressStates()
        self._mounts: dict[SeriesKey, MountTotals] = {}
        self._wire = NetworkTotals()
        self._retention_s = retention_s
        self._most_mounts = most_mounts
        self._longest_pause_s = longest_pause_s
        self._lives: dict[str, Life] = {}  # by `major:minor`
        self.last_at: float | None = None  # start of the last reading

    @property
    def mounts(self) -> dict[SeriesKey, MountTotals]:
        """Totals by mount, settled."""
        self.settle()
        return self._mounts

    @property
    def wire(self) -> NetworkTotals:
        """Bytes on the wire, settled."""
        self.settle()
        return self._wire

    def begin_with(
        self, mounts: Mapping[SeriesKey, MountTotals], addresses: Mapping[str, AddressTotals], wire: NetworkTotals
    ) -> None:
        """Begin with totals of earlier accounts."""
        self._mounts.update(mounts)
        self.addresses.update(addresses)
        self._wire = wire

    def apply(self, reading: Reading, at: float, until: float | None = None, interval_s: float = 0.0) -> None:
        """Add the growth since the last reading. The reading began `at` and ended `until`, seconds of a monotonic clock.

        `interval_s` are seconds to the next reading, which are no pause. They can be many, on a host with very many mounts.

        Peaks use the time from the last start to this end, because a slow reading contains more than the time since the last
        start.
        """
        until = at if until is None else until
        costs: dict[str, float] = {}
        seconds: dict[str, float] = {}
        superblocks = []
        changes: list[TransferChange] = []
        for read in reading.superblocks:
            life = self._life(read, at)
            superblock = read if read.key == life.key else read._replace(key=life.key)
            superblocks.append(superblock)
            seconds[read.number] = until - life.at if at > life.at else 0.0
            costs[read.number] = self._add(life, superblock, changes)
            life.at, life.until = at, until
        self.superblocks = tuple(superblocks)
        tick_costs = self._tick_costs(changes, at)
        self._add_transfer_costs(tick_costs, costs)
        self._add_lock_costs(tick_costs)
        for gone in self._lives.keys() - reading.present:
            self._settle(self._lives.pop(gone))
        self._drop_unmounted(at)
        self.peaks.add(self._iops(costs, seconds, tick_costs.lock_io_operations), at)
        if self.last_at is not None and at - self.last_at > self._longest_pause_s + interval_s:
            self._begin_anew()
        self.unanswered.add(reading, at)
        self._end_tick(reading, at)
        self.last_at = at

    def settle(self) -> None:
        """Add everything up to the last reading to the totals."""
        for life in self._lives.values():
            self._settle(life)

    def _begin_anew(self) -> None:
        """Judge nothing by what happened in a pause. The totals have it."""
        self.settle()
        self.unanswered.begin_anew()
        self.states.begin_anew()

    def _end_tick(self, reading: Reading, at: float) -> None:
        waits = self.unanswered.waits()
        has_waits = any(wait != NO_WAIT for wait in waits.values())
        # Nobody knows whether requests wait on a mount whose record cannot be read.
        unread = {life.key.address: Wait(None) for life in self._lives.values() if life.at < at}
        started, slowed_s = reading.calls_of_its_mounts, reading.search_slowed_s or 0.0
        # A wait is judged with the work of the span so far.
        if has_waits or unread or self.states.ends_span(at) or self.unaccounted.ends_window(started, at, slowed_s):
            self.settle()
        self.unaccounted.end_tick(started, at, search_slowed_s=slowed_s, has_waits=has_waits)
        mounted = [life.superblock for life in self._lives.values()]
        self.states.end_tick(unread | waits, mounted, self.addresses, self.peaks, at)

    def _life(self, superblock: Superblock, at: float) -> Life:
        """Return the life that a reading belongs to."""
        number, key = superblock.number, superblock.key
        life = self._lives.get(number)
        if life is not None and is_same_life(life, superblock, at):
            return life
        if life is not None:
            self._settle(life)
        record: NfsRecord | None = superblock.record
        began, born_at = at, None
        if self.last_at is not None:
            unread_s = max(at - self.last_at, superblock.unread_s)
            if superblock.record.age_s <= unread_s:
                record, began, born_at = None, at - unread_s, self.last_at
        totals = self._mounts.setdefault(key, MountTotals(born_at=born_at))
        address = self.addresses.setdefault(key.address, AddressTotals(born_at=born_at))
        life = Life(key, superblock, record, record, began, began, totals, address)
        life.include_operations(self.overrides.weights)
        self._settle(life)
        self._lives[number] = life
        return life

    def _add(self, life: Life, superblock: Superblock, changes: list[TransferChange]) -> float:
        """Add what each reading adds. Return the fixed cost in I/O operations. Append READs and WRITEs to `changes`."""
        before, now = life.record, superblock.record
        life.superblock = superblock
        if before is not None and now.operations is before.operations:
            life.record = now
            return 0.0
        names, completed = now.operations.names, growth(before, now.operations)
        is_usual = before is not None and names == life.names and min(completed) >= 0
        if not is_usual:
            self._settle(life)
            life.include_operations(self.overrides.weights)
            counted = life.totals.operations
            completed = [max(0, count) if name in counted else 0 for name, count in zip(names, completed, strict=True)]
        life.record = with_every_operation(now, before)
        if not is_usual:
            self._settle(life)
        done = sum(completed)
        life.address.requests += done
        if now.options.get("vers") == "3":
            self.unaccounted.ended(done - (completed[names.index("NULL")] if "NULL" in names else 0))
        changes.extend(_transfer_changes(life, before))
        cost: float = sum(map(operator.mul, completed, life.weights))
        if cost:
            life.address.add_cost(cost)
        return cost

    def _settle(self, life: Life) -> None:
        """Add the growth of a life since its last settling to the totals. A counter that falls adds nothing."""
        before, now = life.settled, life.record
        if now is None:
            return
        life.settled = now
        payload = _payload_growth(before, now)
        life.totals.read_bytes += payload[READ]
        life.totals.written_bytes += payload[WRITE]
        if now.delays is not None:
            old_delays = 0 if before is None else before.delays or 0
            life.totals.delays = (life.totals.delays or 0) + max(0, now.delays - old_delays)
        if life.superblock.storage.cost == "weighted":
            _add_locks(life.totals, before, now, self.overrides.lock_io_operations)
        if before is not None and now.operations is before.operations:
            return
        rows_before, execute_ms = {} if before is None else before.operations.rows, 0
        for name, counters in now.operations.rows.items():
            old = _NO_COUNTERS if before is None else rows_before.get(name, counters)
            if old != counters and name in life.totals.operations:
                life.totals.operations[name].add(old, counters)
                self.states.add(life.key.address, name, old, counters, payload.get(name, 0))
                self._wire.add(old, counters)
                execute_ms += counters.execute_ms - old.execute_ms
        if now.options.get("vers") == "3":
            self.unaccounted.took(max(0, execute_ms))

    def _tick_costs(self, changes: Sequence[TransferChange], at: float) -> TickCosts:
        mounts = {
            number: life.key for number, life in self._lives.items() if life.superblock.storage.cost == "weighted"
        }
        seconds = 0.0 if self.last_at is None else at - self.last_at
        return self.costs.tick_costs(Tick(changes, mounts, seconds, self._mounts.keys()))

    def _add_transfer_costs(self, tick_costs: TickCosts, costs: dict[str, float]) -> None:
        """Add the costs of READs and WRITEs to the totals, and to `costs` of the superblocks of this reading."""
        for number, operation, unscaled in tick_costs.transfers:
            cost = self.overrides.scaled(operation, unscaled)
            life = self._lives[number]
            life.totals.operations[operation].add_cost(cost)
            life.address.add_cost(cost.point)
            if number in costs:
                costs[number] += cost.point

    def _add_lock_costs(self, tick_costs: TickCosts) -> None:
        for address, cost in tick_costs.lock_io_operations.items():
            if address in self.addresses:
                self.addresses[address].add_cost(cost)

    def _drop_unmounted(self, at: float) -> None:
        """Drop totals of mounts that are unmounted for longer than the retention, and the oldest above as many as may be mounted."""
        for life in self._lives.values():
            life.totals.last_seen_at = at
        gone = sorted((totals.last_seen_at, key) for key, totals in self._mounts.items() if totals.last_seen_at < at)
        too_many = 0 if self._most_mounts is None else len(gone) - self._most_mounts
        dropped = [
            key
            for place, (last_seen_at, key) in enumerate(gone)
            if last_seen_at < at - self._retention_s or place < too_many
        ]
        for key in dropped:
            del self._mounts[key]
        if dropped:
            left = {key.address for key in self._mounts}
            self.addresses = {address: totals for address, totals in self.addresses.items() if address in left}

    def _iops(
        self, costs: Mapping[str, float], seconds: Mapping[str, float], lock_costs: Mapping[str, float]
    ) -> Mapping[str, float]:
        iops: dict[str, float] = defaultdict(float)
        longest: dict[str, float] = defaultdict(float)
        for superblock in self.superblocks:
            passed, address = seconds[superblock.number], superblock.key.address
            iops[address] += costs[superblock.number] / passed if passed > 0 else 0.0
            longest[address] = max(longest[address], passed)
        for address, passed in longest.items():
            iops[address] += lock_costs.get(address, 0.0) / passed if passed > 0 else 0.0
        return iops


def _transfer_changes(life: Life, before: NfsRecord | None) -> Iterator[TransferChange]:
    """Yield what READs and WRITEs with a cost by size have changed since an earlier record. None for zero."""
    now = life.superblock.record
    payload = _payload_growth(before, now)
    for name in life.transfers:
        old = _NO_COUNTERS if before is None else before.operations.transfers[name]
        counters = now.operations.transfers[name]
        if counters != old:
            yield _transfer_change(life.superblock, name, old, counters, payload[name])


def _payload_growth(before: NfsRecord | None, now: NfsRecord) -> dict[str, int]:
    read, written = (0, 0) if before is None else (before.read_bytes, before.written_bytes)
    return {READ: max(0, now.read_bytes - read), WRITE: max(0, now.written_bytes - written)}


def _transfer_change(
    superblock: Superblock, name: str, old: OperationCounters, now: OperationCounters, payload_bytes: int
) -> TransferChange:
    operations = max(0, now.operations - old.operations)
    retransmissions = max(0, now.transmissions - old.transmissions - operations)
    carried = now.received_bytes - old.received_bytes if name == READ else now.sent_bytes - old.sent_bytes
    wire_bytes, errors = max(0, carried), max(0, (now.errors or 0) - (old.errors or 0))
    number, options = superblock.number, superblock.record.options
    return TransferChange(number, name, operations, retransmissions, payload_bytes, wire_bytes, errors, options)


def _add_locks(totals: MountTotals, before: NfsRecord | None, now: NfsRecord, cost: float) -> None:
    if now.vfs_locks is None or now.options.get("local_lock") not in _REMOTE_LOCKS:
        return
    old = 0 if before is None or before.vfs_locks is None else before.vfs_locks
    locks = max(0, now.vfs_locks - old)
    totals.lock_io_operations = (totals.lock_io_operations or 0) + locks * cost
