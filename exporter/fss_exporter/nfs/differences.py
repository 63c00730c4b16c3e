"""What lies between two records of one superblock, added to the totals of its mount.

The cost of READ and WRITE is not linear in what the kernel counts, so it is computed for each difference and added up.
"""

from collections.abc import Mapping
from typing import NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import NLM_IO_OPERATIONS, READ, WRITE
from fss_exporter.nfs.advances import NO_ADVANCE, ByOperation
from fss_exporter.nfs.costs import WEIGHTS, cost, cost_each, grown_errors, plain_cost, resent
from fss_exporter.nfs.counted import Transfers, exact_cost
from fss_exporter.nfs.records import NfsRecord, OperationCounters
from fss_exporter.nfs.superblocks import Superblock
from fss_exporter.nfs.totals import NO_COUNTERS, MountTotals, OperationTotals

_REMOTE_LOCKS = frozenset(("none", "flock"))


class Difference(NamedTuple):
    """Two records of one life of a superblock.

    Attributes:
        before: None for zero.
        superblock: as it is now.
        at: now, seconds of a monotonic clock.
        announce_s: how long OTHER stands for an operation that begins to happen.
    """

    before: NfsRecord | None
    superblock: Superblock
    at: float
    announce_s: float

    def add_to(
        self, totals: MountTotals, counted: Mapping[str, Transfers], advances: ByOperation | None = None
    ) -> float:
        """Add it; return the estimated cost of it, I/O operations.

        Args:
            totals: of the mount.
            counted: READs and WRITEs that were counted by size: they cost what was counted, whenever mountstats shows them.
            advances: what was estimated ahead of these counts; takes in what is estimated now. None where nobody counts.
        """
        before, now = self.before, self.superblock.record
        payload = {
            READ: max(0, now.read_bytes - (before.read_bytes if before else 0)),
            WRITE: max(0, now.written_bytes - (before.written_bytes if before else 0)),
        }
        totals.read_bytes += payload[READ]
        totals.written_bytes += payload[WRITE]
        if self.superblock.known.cost == "weighted":
            _add_locks(totals, before, now)
        whole_cost = self._add_operations(totals, payload, counted, advances)
        for name, transfers in counted.items():
            added = self._counted(name, transfers, payload[name], advances or {})
            totals.operations[name].add_cost(added)
            whole_cost += added.point
        return whole_cost

    def _add_operations(
        self,
        totals: MountTotals,
        payload: Mapping[str, int],
        counted: Mapping[str, Transfers],
        advances: ByOperation | None,
    ) -> float:
        before, now, rule = self.before, self.superblock.record, self.superblock.known.cost
        whole_cost = 0.0
        if before is not None and now.operations is before.operations:
            return whole_cost
        for name, counters in now.operations.items():
            old = before.operations.get(name, counters) if before else NO_COUNTERS
            if old is counters or old == counters:
                continue
            target = totals.of(name, self.superblock, self.at, self.announce_s)
            _add_operation(totals, target, old, counters)
            if counters.errors:
                totals.add_errors(target, grown_errors(old, counters), self.at, self.announce_s)
            if rule == "unknown" or name in counted:
                continue
            if rule == "weighted" and name in WEIGHTS:
                exact = max(0, counters.operations - old.operations) * WEIGHTS[name]
                target.exact += exact
                whole_cost += exact
                continue
            if rule == "weighted":
                added = cost(name, old, counters, payload.get(name, 0), now.options)
            else:
                added = plain_cost(name, old, counters)
            if added is not None:
                target.add_cost(added)
                whole_cost += added.point
                if advances is not None and name in payload:
                    advances[name] = advances.get(name, NO_ADVANCE).plus(added, resent(old, counters))
        return whole_cost

    def _counted(self, name: str, transfers: Transfers, payload_bytes: int, advances: ByOperation) -> Bounds:
        """What counted READs or WRITEs add; those sent again, which nobody counts by size, at the mean cost of the others."""
        new = self.superblock.record.operations[name]
        old = self.before.operations.get(name, new) if self.before else NO_COUNTERS
        advance = advances.get(name, NO_ADVANCE)
        counted, again = exact_cost(name, transfers), resent(old, new) + advance.resent
        if again and transfers.operations:
            counted = exact_cost(name, transfers, again * counted.point / transfers.operations)
        elif again:
            each = cost_each(name, old, new, payload_bytes, self.superblock.record.options)
            counted = exact_cost(name, transfers, again * each)
        return advance.settle(counted)


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


def _add_locks(totals: MountTotals, before: NfsRecord | None, now: NfsRecord) -> None:
    if now.vfs_locks is None or now.options.get("local_lock") not in _REMOTE_LOCKS:
        return
    old = 0 if before is None or before.vfs_locks is None else before.vfs_locks
    locks = max(0, now.vfs_locks - old)
    totals.lock_io_operations = (totals.lock_io_operations or 0) + locks * NLM_IO_OPERATIONS
