# SPDX-License-Identifier: Apache-2.0
"""Add up the growth of each mount's counters since the exporter started.

The kernel counts by superblock, and starts at zero again when a superblock dies. The accounts add up the differences
between two readings of one life of a superblock, so totals never fall. An old superblock adds nothing of the time before
the first reading. A superblock that was born since the last reading, or while nobody could read it, counts from zero.
"""

import operator
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import Bounds, TransferChange, estimated_cost
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.address_states import AddressStates
from fss_exporter.nfs.records import MOST_OPERATIONS, NfsRecord, OperationCounters
from fss_exporter.nfs.superblocks import Reading, Superblock
from fss_exporter.nfs.totals import AddressTotals, MountTotals, NetworkTotals, OperationTotals, Peaks
from fss_exporter.nfs.unanswered import Unanswered

_REMOTE_LOCKS: Final = frozenset(("none", "flock"))
_NO_COUNTERS: Final = OperationCounters(0, 0, 0, 0, 0, 0, 0, 0, None)

_NO_LOCKS: Final[Mapping[str, float]] = {}

# Time that a dead mount keeps its series. A server that scrapes once a minute has the last value twice by then.
RETENTION_SECONDS: Final = 120.0

_AGE_SLACK_S: Final = 2.0

# The kernel cuts an age off to whole seconds of a clock with ticks of up to 10 ms, which a busy virtual machine can get late. A
# mount that is younger than the last reading may be another one, so its age gets no slack beyond the rounding.
_AGE_ERROR_S: Final = 1.02


class _Baseline(NamedTuple):
    """The last good reading of a superblock, begun `at` and ended `until` seconds of a monotonic clock."""

    superblock: Superblock
    at: float
    until: float


class _Start(NamedTuple):
    """The start of a superblock's next difference."""

    record: NfsRecord | None  # the earlier record. None for zero
    at: float  # time of the earlier reading
    key: SeriesKey  # labels of the superblock's series


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
        most_mounts: most totals of unmounted mounts. Above the number the oldest go first.
        overrides: measured costs in place of the white paper's table.
        states: judge of the time of each address.
    """

    def __init__(
        self,
        costs: CostSource | None = None,
        retention_s: float = RETENTION_SECONDS,
        *,
        most_mounts: int | None = None,
        overrides: CostOverrides = NO_OVERRIDES,
        states: AddressStates | None = None,
    ) -> None:
        self.costs: CostSource = costs or EstimatedCosts()
        self.overrides = overrides
        self.mounts: dict[SeriesKey, MountTotals] = {}
        self.addresses: dict[str, AddressTotals] = {}
        self.wire = NetworkTotals()
        self.superblocks: tuple[Superblock, ...] = ()
        self.unanswered = Unanswered()
        self.peaks = Peaks()
        self.states = states or AddressStates()
        self._retention_s = retention_s
        self._most_mounts = most_mounts
        self._baselines: dict[str, _Baseline] = {}
        self.last_at: float | None = None  # start of the last reading

    def apply(self, reading: Reading, at: float, until: float | None = None) -> None:
        """Add the growth since the last reading. The reading began `at` and ended `until`, seconds of a monotonic clock.

        Peaks use the time from the last start to this end, because a slow reading contains more than the time since the last
        start.
        """
        until = at if until is None else until
        costs: dict[str, float] = {}
        seconds: dict[str, float] = {}
        superblocks = []
        changes: list[TransferChange] = []
        for read in reading.superblocks:
            start = self._start(read, at)
            superblock = read if read.key == start.key else replace(read, key=start.key)
            superblocks.append(superblock)
            costs[read.number] = self._add(superblock, start.record, changes)
            seconds[read.number] = until - start.at if at > start.at else 0.0
            self._baselines[read.number] = _Baseline(_with_every_operation(superblock, start.record), at, until)
        self.superblocks = tuple(superblocks)
        tick_costs = self._tick_costs(changes, at)
        self._add_transfer_costs(tick_costs, costs)
        self._add_lock_costs(tick_costs)
        for gone in self._baselines.keys() - reading.present:
            del self._baselines[gone]
        self._drop_unmounted(at)
        self.peaks.add(self._iops(costs, seconds, tick_costs.lock_io_operations), at)
        self.unanswered.add(reading, at)
        mounted = [baseline.superblock for baseline in self._baselines.values()]
        self.states.end_tick(self.unanswered.seconds(), mounted, self.addresses, self.peaks, at)
        self.last_at = at

    def _add(self, superblock: Superblock, before: NfsRecord | None, changes: list[TransferChange]) -> float:
        """Add the growth of one superblock. Return the fixed cost in I/O operations. Append READs and WRITEs to `changes`."""
        now = superblock.record
        born_at = self.last_at if before is None else None
        totals = self.mounts.setdefault(superblock.key, MountTotals(born_at=born_at))
        address = self.addresses.setdefault(superblock.key.address, AddressTotals(born_at=born_at))
        if before is None or not now.operations.keys() <= totals.operations.keys():
            totals.include(superblock, self.overrides.weights)
        payload = {
            READ: max(0, now.read_bytes - (before.read_bytes if before else 0)),
            WRITE: max(0, now.written_bytes - (before.written_bytes if before else 0)),
        }
        totals.read_bytes += payload[READ]
        totals.written_bytes += payload[WRITE]
        if superblock.storage.cost == "weighted":
            _add_locks(totals, before, now, self.overrides.lock_io_operations)
        if totals.has_cost and address.io_operations is None:
            address.io_operations = 0.0
        if before is not None and now.operations is before.operations:
            return 0.0
        done, whole_cost = 0, 0.0
        for name, counters in now.operations.items():
            old = before.operations.get(name, counters) if before else _NO_COUNTERS
            if old is not counters and old != counters and name in totals.operations:
                payload_bytes, target = payload.get(name, 0), totals.operations[name]
                operations = self._add_operation(target, superblock, name, old, payload_bytes)
                done += operations
                if target.weight is not None:
                    whole_cost += operations * target.weight
                elif target.estimated is not None:
                    changes.append(_transfer_change(superblock, name, old, operations, payload_bytes))
        address.requests += done
        if whole_cost:
            address.add_cost(whole_cost)
        return whole_cost

    def _add_operation(
        self, target: OperationTotals, superblock: Superblock, name: str, old: OperationCounters, payload_bytes: int
    ) -> int:
        """Add the change of one operation. Return how many completed."""
        now = superblock.record.operations[name]
        operations = target.add(old, now)
        self.states.add(superblock.key.address, name, old, now, payload_bytes)
        if (sent := now.sent_bytes - old.sent_bytes) > 0:
            self.wire.sent_bytes += sent
        if (received := now.received_bytes - old.received_bytes) > 0:
            self.wire.received_bytes += received
        return operations

    def _tick_costs(self, changes: Sequence[TransferChange], at: float) -> TickCosts:
        mounts = {
            number: baseline.superblock.key
            for number, baseline in self._baselines.items()
            if baseline.superblock.storage.cost == "weighted"
        }
        seconds = 0.0 if self.last_at is None else at - self.last_at
        return self.costs.tick_costs(Tick(changes, mounts, seconds, self.mounts.keys()))

    def _add_transfer_costs(self, tick_costs: TickCosts, costs: dict[str, float]) -> None:
        """Add the costs of READs and WRITEs to the totals, and to `costs` of the superblocks of this reading."""
        for number, operation, unscaled in tick_costs.transfers:
            cost = self.overrides.scaled(operation, unscaled)
            key = self._baselines[number].superblock.key
            self.mounts[key].operations[operation].add_cost(cost)
            self.addresses[key.address].add_cost(cost.point)
            if number in costs:
                costs[number] += cost.point

    def _add_lock_costs(self, tick_costs: TickCosts) -> None:
        for address, cost in tick_costs.lock_io_operations.items():
            if address in self.addresses:
                self.addresses[address].add_cost(cost)

    def _drop_unmounted(self, at: float) -> None:
        """Drop totals of mounts that are unmounted for longer than the retention, and the oldest above the limit."""
        for baseline in self._baselines.values():
            self.mounts[baseline.superblock.key].last_seen_at = at
        gone = sorted((totals.last_seen_at, key) for key, totals in self.mounts.items() if totals.last_seen_at < at)
        too_many = 0 if self._most_mounts is None else len(self.mounts) - self._most_mounts
        dropped = [
            key
            for place, (last_seen_at, key) in enumerate(gone)
            if last_seen_at < at - self._retention_s or place < too_many
        ]
        for key in dropped:
            del self.mounts[key]
        if dropped:
            left = {key.address for key in self.mounts}
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
        for baseline in self._baselines.values():
            # A mount whose record could not be read once is still there.
            iops.setdefault(baseline.superblock.key.address, 0.0)
        return iops

    def _start(self, superblock: Superblock, at: float) -> _Start:
        baseline = self._baselines.get(superblock.number)
        if baseline is not None and _same_life(baseline, superblock, at):
            # The mounts that name an export come and go, and the series keep the first name.
            return _Start(baseline.superblock.record, baseline.at, baseline.superblock.key)
        if self.last_at is not None:
            unread_s = max(at - self.last_at, superblock.unread_s)
            if superblock.record.age_s <= unread_s:
                return _Start(None, at - unread_s, superblock.key)
        return _Start(superblock.record, at, superblock.key)


def _transfer_change(
    superblock: Superblock, name: str, old: OperationCounters, operations: int, payload_bytes: int
) -> TransferChange:
    now = superblock.record.operations[name]
    carried = now.received_bytes - old.received_bytes if name == READ else now.sent_bytes - old.sent_bytes
    return TransferChange(
        superblock=superblock.number,
        operation=name,
        operations=operations,
        retransmissions=max(0, now.transmissions - old.transmissions - operations),
        payload_bytes=payload_bytes,
        wire_bytes=max(0, carried),
        errors=max(0, (now.errors or 0) - (old.errors or 0)),
        options=superblock.record.options,
    )


def _with_every_operation(superblock: Superblock, before: NfsRecord | None) -> Superblock:
    """Return the superblock with every operation of the earlier record, because the kernel can cut off a record."""
    record = superblock.record
    if before is None or before.operations is record.operations or before.operations.keys() <= record.operations.keys():
        return superblock
    if len(before.operations) > MOST_OPERATIONS:
        return superblock
    return replace(superblock, record=record._replace(operations={**before.operations, **record.operations}))


def _same_life(baseline: _Baseline, new: Superblock, at: float) -> bool:
    """Whether two readings of a device number belong to one life of a superblock.

    The kernel uses a number again after an umount. So the address, the device text and the age must fit as well. The age must
    have grown by the time between the readings, even if the process was stopped for a while. For a young mount the kernel knows better.
    """
    old = baseline.superblock
    if old.mounts[0].address != new.mounts[0].address or old.record.fstype != new.record.fstype:
        return False
    if new.mounts is not old.mounts and {mount.device for mount in old.mounts}.isdisjoint(
        mount.device for mount in new.mounts
    ):
        return False
    if old.life is not None and new.life is not None:
        return old.life == new.life
    slack_s = _AGE_ERROR_S if new.record.age_s <= at - baseline.at else _AGE_SLACK_S
    if new.record.age_s < old.record.age_s + (at - baseline.until) - slack_s:
        return False
    if new.record.operations is old.record.operations or new.record.age_s > at - baseline.at + _AGE_ERROR_S:
        return True  # nothing was asked, or the mount is older than the last reading, so that no other can have taken its number
    return not _has_fallen(old.record, new.record)


def _has_fallen(old: NfsRecord, new: NfsRecord) -> bool:
    """Whether any counter is lower than before, which needs a new superblock. Equal work takes other times and bytes in another life."""
    if new.read_bytes < old.read_bytes or new.written_bytes < old.written_bytes:
        return True
    if (new.revalidations or 0) < (old.revalidations or 0) or (new.vfs_locks or 0) < (old.vfs_locks or 0):
        return True
    for name, now in new.operations.items():
        before = old.operations.get(name, now)
        if now != before and any(map(operator.lt, _never_falling(now), _never_falling(before))):
            return True
    return False


def _never_falling(counters: OperationCounters) -> tuple[int, ...]:
    """Return the counters that only grow. Time in the queue can be negative, for a call that was never sent."""
    return (*counters[:5], counters.rtt_ms, counters.execute_ms, counters.errors or 0)


def _add_locks(totals: MountTotals, before: NfsRecord | None, now: NfsRecord, cost: float) -> None:
    if now.vfs_locks is None or now.options.get("local_lock") not in _REMOTE_LOCKS:
        return
    old = 0 if before is None or before.vfs_locks is None else before.vfs_locks
    locks = max(0, now.vfs_locks - old)
    totals.lock_io_operations = (totals.lock_io_operations or 0) + locks * cost
