"""Add up the growth of each mount's counters since the exporter started.

The kernel counts by superblock, and starts at zero again when a superblock dies. The accounts add up the differences
between two readings of one life of a superblock, so totals never fall. An old superblock adds nothing of the time before
the first reading. A superblock born since the last reading counts from zero.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fss_exporter.catalogue import Family
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import Bounds, TransferChange, estimated_cost
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.records import MOST_OPERATIONS, NfsRecord, OperationCounters
from fss_exporter.nfs.superblocks import Reading, Superblock
from fss_exporter.nfs.totals import AddressTotals, MountTotals, NetworkTotals, Peaks, Unanswered
from fss_exporter.nfs.verdicts import AddressVerdicts

_REMOTE_LOCKS: Final = frozenset(("none", "flock"))
_NO_COUNTERS: Final = OperationCounters(0, 0, 0, 0, 0, 0, 0, 0, None)

_AGE_SLACK_S: Final = 2.0
# Ages are whole seconds, and the kernel prints them a moment after the reading begins.


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


class EstimatedCosts:
    """The source of the cost of READs and WRITEs on mounts with a cost by size, from mountstats alone.

    Exact mode overrides the methods.
    """

    @property
    def is_deferred(self) -> bool:
        """Whether a later reading brings the cost of this one. The accounts then keep records of unmounted superblocks."""
        return False

    def begin(self, reading: Reading) -> None:
        """Begin with a reading."""

    def cost(self, change: TransferChange) -> Bounds:
        """Return the cost of a change in mountstats."""
        return estimated_cost(change)

    def end(self, mounts: Mapping[str, SeriesKey], seconds: float) -> Iterable[tuple[str, str, Bounds]]:  # noqa: ARG002
        """Return costs known apart from mountstats: superblock, operation, cost.

        `mounts` are keys by `major:minor`, of superblocks whose cost depends on sizes, just unmounted ones included.
        """
        return ()

    def forget(self, keys: Collection[SeriesKey]) -> None:
        """Drop the state of mounts whose series are dropped."""

    def families(self, new_mounts: Collection[SeriesKey], new_addresses: Collection[str]) -> Iterable[Family]:  # noqa: ARG002
        """Return the source's own metric families. New mounts and addresses show zeros in this answer."""
        return ()


@dataclass(eq=False, repr=False)
class Accounts:
    """Totals by mount, fed with one reading a tick. The class is not thread-safe and has no clock but the `at` of a reading."""

    costs: EstimatedCosts = field(default_factory=EstimatedCosts)  # source of the cost of READs and WRITEs
    retention_s: float = 3600.0  # seconds that the totals of a mount are kept after the umount
    most_mounts: int | None = None  # most totals of unmounted mounts. Above the number the oldest go first
    overrides: CostOverrides = NO_OVERRIDES  # measured costs in place of the white paper's table
    mounts: dict[SeriesKey, MountTotals] = field(default_factory=dict, init=False)
    addresses: dict[str, AddressTotals] = field(default_factory=dict, init=False)
    network: NetworkTotals = field(default_factory=NetworkTotals, init=False)
    superblocks: tuple[Superblock, ...] = field(default=(), init=False)
    unanswered: Unanswered = field(default_factory=Unanswered, init=False)
    peaks: Peaks = field(default_factory=Peaks, init=False)
    verdicts: AddressVerdicts = field(default_factory=AddressVerdicts)
    _baselines: dict[str, _Baseline] = field(default_factory=dict, init=False)
    _last_at: float | None = field(default=None, init=False)

    def apply(self, reading: Reading, at: float, until: float | None = None) -> None:
        """Add the growth since the last reading. The reading began `at` and ended `until`, seconds of a monotonic clock.

        Peaks use the time from the last start to this end, because a slow reading contains more than the time since the last
        start.
        """
        until = at if until is None else until
        self.costs.begin(reading)
        costs: dict[str, float] = {}
        seconds: dict[str, float] = {}
        superblocks = []
        for found in reading.superblocks:
            start = self._start(found, at)
            superblock = found if found.key == start.key else replace(found, key=start.key)
            superblocks.append(superblock)
            costs[found.number] = self._add(superblock, start.record)
            seconds[found.number] = until - start.at if at > start.at else 0.0
            self._baselines[found.number] = _Baseline(_with_every_operation(superblock, start.record), at, until)
        self.superblocks = tuple(superblocks)
        self._add_costs_apart(costs, at)
        if not self.costs.is_deferred:
            # A deferred cost may belong to a superblock that is gone, so the baselines stay until the costs come.
            for gone in self._baselines.keys() - reading.present:
                del self._baselines[gone]
            self._drop_unmounted(at)
        self.peaks.add(self._iops(costs, seconds), at)
        self.unanswered.add(reading, at)
        mounted = {known.superblock.key.address for known in self._baselines.values()}
        self.verdicts.end_tick(self.unanswered.seconds(), mounted, self.addresses, at)
        self._last_at = at

    def _add(self, superblock: Superblock, before: NfsRecord | None) -> float:
        """Add the growth of one superblock. Return the cost in I/O operations."""
        now = superblock.record
        totals = self.mounts.setdefault(superblock.key, MountTotals())
        address = self.addresses.setdefault(superblock.key.address, AddressTotals())
        if before is None or not now.operations.keys() <= totals.operations.keys():
            totals.include(superblock, self.overrides.weights)
        payload = {
            READ: max(0, now.read_bytes - (before.read_bytes if before else 0)),
            WRITE: max(0, now.written_bytes - (before.written_bytes if before else 0)),
        }
        totals.read_bytes += payload[READ]
        totals.written_bytes += payload[WRITE]
        if superblock.known.cost == "weighted":
            _add_locks(totals, before, now, self.overrides.lock_io_operations)
        if totals.has_cost and address.io_operations is None:
            address.io_operations = 0.0
        if before is not None and now.operations is before.operations:
            return 0.0
        done, whole_cost = 0, 0.0
        for name, counters in now.operations.items():
            old = before.operations.get(name, counters) if before else _NO_COUNTERS
            if old is not counters and old != counters and name in totals.operations:
                operations, cost = self._add_operation(totals, superblock, name, old, payload.get(name, 0))
                done += operations
                whole_cost += cost
        address.requests += done
        if whole_cost:
            address.add_cost(whole_cost)
        return whole_cost

    def _add_operation(
        self, totals: MountTotals, superblock: Superblock, name: str, old: OperationCounters, payload_bytes: int
    ) -> tuple[int, float]:
        """Add the change of one operation. Return how many completed and their cost in I/O operations."""
        record, target = superblock.record, totals.operations[name]
        now = record.operations[name]
        operations = target.add(old, now)
        self.verdicts.add(superblock.key.address, name, old, now, payload_bytes)
        sent, received = now.sent_bytes - old.sent_bytes, now.received_bytes - old.received_bytes
        if sent > 0:
            self.network.sent_bytes += sent
        if received > 0:
            self.network.received_bytes += received
        if target.weight is not None:
            return operations, operations * target.weight
        if target.estimated is None:
            return operations, 0.0
        change = TransferChange(
            superblock=superblock.number,
            operation=name,
            operations=operations,
            retransmissions=max(0, now.transmissions - old.transmissions - operations),
            payload_bytes=payload_bytes,
            wire_bytes=max(0, received if name == READ else sent),
            errors=max(0, (now.errors or 0) - (old.errors or 0)),
            options=record.options,
        )
        cost = self._scaled(name, self.costs.cost(change))
        target.add_cost(cost)
        return operations, cost.point

    def _scaled(self, operation: str, cost: Bounds) -> Bounds:
        return self.overrides.scaled(operation, cost) if operation in self.overrides.factors else cost

    def _add_costs_apart(self, costs: dict[str, float], at: float) -> None:
        """Add costs that the cost source learns apart from mountstats, for example of the last operations before an umount."""
        keys = {
            number: known.superblock.key
            for number, known in self._baselines.items()
            if known.superblock.known.cost == "weighted"
        }
        elapsed = 0.0 if self._last_at is None else at - self._last_at
        for number, operation, cost in self.costs.end(keys, elapsed):
            cost = self._scaled(operation, cost)  # noqa: PLW2901
            self.mounts[keys[number]].operations[operation].add_cost(cost)
            self.addresses[keys[number].address].add_cost(cost.point)
            if number in costs:
                costs[number] += cost.point

    def _drop_unmounted(self, at: float) -> None:
        """Drop totals of mounts that are unmounted for longer than the retention, and the oldest above the limit."""
        for known in self._baselines.values():
            self.mounts[known.superblock.key].last_seen_at = at
        gone = sorted((totals.last_seen_at, key) for key, totals in self.mounts.items() if totals.last_seen_at < at)
        too_many = 0 if self.most_mounts is None else len(self.mounts) - self.most_mounts
        dropped = [
            key
            for place, (last_seen_at, key) in enumerate(gone)
            if last_seen_at < at - self.retention_s or place < too_many
        ]
        for key in dropped:
            del self.mounts[key]
        if dropped:
            left = {key.address for key in self.mounts}
            self.addresses = {address: totals for address, totals in self.addresses.items() if address in left}
            self.costs.forget(dropped)

    def _iops(self, costs: Mapping[str, float], seconds: Mapping[str, float]) -> Mapping[str, float]:
        iops: dict[str, float] = defaultdict(float)
        for superblock in self.superblocks:
            passed = seconds[superblock.number]
            iops[superblock.key.address] += costs[superblock.number] / passed if passed > 0 else 0.0
        for known in self._baselines.values():
            # A mount whose record could not be read once is still there.
            iops.setdefault(known.superblock.key.address, 0.0)
        return iops

    def _start(self, superblock: Superblock, at: float) -> _Start:
        known = self._baselines.get(superblock.number)
        if known is not None and _same_life(known, superblock, at):
            # The mounts that name an export come and go, and the series keep the first name.
            return _Start(known.superblock.record, known.at, known.superblock.key)
        if self._last_at is not None and superblock.record.age_s <= at - self._last_at:
            return _Start(None, self._last_at, superblock.key)
        return _Start(superblock.record, at, superblock.key)


def _with_every_operation(superblock: Superblock, before: NfsRecord | None) -> Superblock:
    """Return the superblock with every operation of the earlier record, because the kernel can cut off a record."""
    record = superblock.record
    if before is None or before.operations is record.operations or before.operations.keys() <= record.operations.keys():
        return superblock
    if len(before.operations) > MOST_OPERATIONS:
        return superblock
    return replace(superblock, record=record._replace(operations={**before.operations, **record.operations}))


def _same_life(known: _Baseline, new: Superblock, at: float) -> bool:
    """Whether two readings of a device number belong to one life of a superblock.

    The kernel uses a number again after an umount. So the address, the device text and the age must fit as well. The age must
    have grown by the time between the readings, even if the process was stopped for a while.
    """
    old = known.superblock
    if old.mounts[0].address != new.mounts[0].address or old.record.fstype != new.record.fstype:
        return False
    if {mount.device for mount in old.mounts}.isdisjoint(mount.device for mount in new.mounts):
        return False
    if new.record.age_s < old.record.age_s + (at - known.until) - _AGE_SLACK_S:
        return False
    operations = new.record.operations
    return operations is old.record.operations or all(
        operations[name].operations >= counters.operations
        for name, counters in old.record.operations.items()
        if name in operations
    )


def _add_locks(totals: MountTotals, before: NfsRecord | None, now: NfsRecord, cost: float) -> None:
    if now.vfs_locks is None or now.options.get("local_lock") not in _REMOTE_LOCKS:
        return
    old = 0 if before is None or before.vfs_locks is None else before.vfs_locks
    locks = max(0, now.vfs_locks - old)
    totals.lock_io_operations = (totals.lock_io_operations or 0) + locks * cost
