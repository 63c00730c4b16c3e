"""Totals of one mount since the exporter started: counters by operation, bytes, locks and costs.

Every operation of the kernel's table has totals, at zero, from the first sight of the mount. A reader that takes rates
sees the zero before the first growth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fss_exporter.model.estimate import NO_COST, Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.storage_service import CostRule
from fss_exporter.nfs.estimated_costs import WEIGHTS
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.superblocks import Superblock

MOST_OPERATIONS: Final = 128
"""Operations of one mount that have totals. NFSv4 has 75; names of damaged records must not pile up."""


@dataclass(slots=True)
class OperationTotals:
    """Totals of one operation on one mount; times in milliseconds.

    Attributes:
        weight: I/O operations that one operation costs; None where the cost is estimated or not known.
        estimated: I/O operations of READ or WRITE, which depend on sizes; None for any other operation.
    """

    operations: int = 0
    retransmissions: int = 0
    timeouts: int = 0
    errors: int = 0
    queue_ms: int = 0
    rtt_ms: int = 0
    execute_ms: int = 0
    weight: float | None = None
    estimated: Bounds | None = None

    @property
    def cost(self) -> Bounds | None:
        """All I/O operations; None where no cost is known."""
        if self.weight is None:
            return self.estimated
        exact = self.operations * self.weight
        return Bounds(exact, exact, exact)

    def add_cost(self, cost: Bounds) -> None:
        """Add I/O operations of READ or WRITE."""
        self.estimated = cost if self.estimated is None else self.estimated.plus(cost)

    def add(self, before: OperationCounters, now: OperationCounters) -> int:
        """Add the growth between two readings of the kernel's counters.

        Returns:
            operations completed in between. An odd kernel's counter that goes back adds nothing.
        """
        operations = now.operations - before.operations
        operations = max(0, operations)  # cheaper than max(), and every changed counter passes here
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
    """Totals of one mount.

    Attributes:
        operations: by name of the procedure.
        counts_errors: whether the kernel counts errors (5.3 and later).
        has_cost: whether the service's cost of operations is known.
        lock_io_operations: None where locks are local or not counted.
        answers: scrapes that have shown the series of this mount.
        last_seen_at: when a mount of this name was last there, seconds of a monotonic clock.
    """

    operations: dict[str, OperationTotals] = field(default_factory=dict)
    counts_errors: bool = False
    has_cost: bool = False
    read_bytes: int = 0
    written_bytes: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    lock_io_operations: int | None = None
    last_seen_at: float = 0.0
    answers: int = 0

    @property
    def at_zero(self) -> "MountTotals":
        """The same mount before anything happened on it."""
        operations = {name: _at_zero(totals) for name, totals in self.operations.items()}
        locks = None if self.lock_io_operations is None else 0
        return MountTotals(operations, self.counts_errors, self.has_cost, lock_io_operations=locks)

    def include(self, superblock: Superblock, weights: Mapping[str, float] = WEIGHTS) -> None:
        """Give totals, at zero, to every operation of a superblock; `weights` are costs by operation."""
        rule = superblock.known.cost
        self.has_cost |= rule != "unknown"
        for name, counters in superblock.record.operations.items():
            if name not in self.operations and len(self.operations) < MOST_OPERATIONS:
                self.operations[name] = _new_totals(name, rule, weights)
            self.counts_errors |= counters.errors is not None


def _at_zero(totals: OperationTotals) -> OperationTotals:
    return OperationTotals(weight=totals.weight, estimated=None if totals.estimated is None else NO_COST)


def _new_totals(name: str, rule: CostRule, weights: Mapping[str, float]) -> OperationTotals:
    if rule == "plain":
        return OperationTotals(weight=1 if name in (READ, WRITE) else None)
    if rule == "weighted":
        return OperationTotals(weight=weights.get(name), estimated=NO_COST if name in (READ, WRITE) else None)
    return OperationTotals()
