# SPDX-License-Identifier: Apache-2.0
"""Totals since the exporter started, of each mount and of each address, and peaks by address.

Every operation of the kernel's table has totals from the first sight of the mount, at zero. So a server that computes
rates sees the zero before the first growth.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from fss_exporter.model.client_state import VERDICTS, Verdict
from fss_exporter.model.estimate import NO_COST, Bounds
from fss_exporter.model.operations import FIXED_COSTS, READ, WRITE
from fss_exporter.model.service_table import CostRule
from fss_exporter.nfs.records import MOST_OPERATIONS, OperationCounters
from fss_exporter.nfs.superblocks import Superblock

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

    def add(self, before: OperationCounters, now: OperationCounters) -> None:
        """Add the growth between two readings. A counter that falls adds nothing."""
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


@dataclass(slots=True)
class MountTotals:
    """Totals of one mount."""

    operations: dict[str, OperationTotals] = field(default_factory=dict)  # by name of the procedure
    counts_errors: bool = False  # whether the kernel counts errors (5.3 and later)
    has_cost: bool = False  # whether the service's cost of operations is known
    read_bytes: int = 0
    written_bytes: int = 0
    delays: int | None = None  # answers that asked to try again later. None if the kernel does not count them
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
        delays = None if self.delays is None else 0
        return MountTotals(operations, self.counts_errors, self.has_cost, delays=delays, lock_io_operations=locks)

    def include(self, superblock: Superblock, weights: Mapping[str, float] = FIXED_COSTS) -> None:
        """Add totals at zero for every operation of a superblock. `weights` are costs by operation."""
        rule = superblock.storage.cost
        self.has_cost |= rule != "unknown"
        for name, counters in superblock.record.operations.rows.items():
            if name not in self.operations and len(self.operations) < MOST_OPERATIONS:
                self.operations[name] = _new_totals(name, rule, weights)
            self.counts_errors |= counters.errors is not None


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
    born_at: float | None = None  # time as in `MountTotals`, of the first mount
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

    def add(self, before: OperationCounters, now: OperationCounters) -> None:
        """Add the growth of one operation between two readings. A counter that falls adds nothing."""
        if (sent := now.sent_bytes - before.sent_bytes) > 0:
            self.sent_bytes += sent
        if (received := now.received_bytes - before.received_bytes) > 0:
            self.received_bytes += received


class Peaks:
    """Estimated IOPS of each tick by address, kept for `WINDOW_SECONDS`.

    Ceilings are per second, and the mean of a minute hides a burst of a second.
    """

    def __init__(self) -> None:
        self._ticks: dict[str, deque[tuple[float, float]]] = {}

    def add(self, iops: Mapping[str, float], at: float) -> None:
        """Note the IOPS of one tick by address. `at` is monotonic seconds. A missing address has no mount that can be read, and keeps its ticks."""
        for address, value in iops.items():
            self._ticks.setdefault(address, deque()).append((at, value))
        for ticks in self._ticks.values():
            while ticks and ticks[0][0] <= at - WINDOW_SECONDS:
                ticks.popleft()
        self._ticks = {address: ticks for address, ticks in self._ticks.items() if ticks}

    def highest(self) -> dict[str, float]:
        """Return the highest IOPS of a single tick by address, also of an address whose last mount ended in the window."""
        return {address: max(value for _, value in ticks) for address, ticks in self._ticks.items()}
