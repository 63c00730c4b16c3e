"""What one mount has added up to since the exporter started.

An operation that never happened on a mount has no totals, and one that never failed no errors. What begins to happen
gets a total of its own at zero, and for a while it is added to OTHER, so that a reader who takes rates has seen the zero
before the growth.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field

from fss_exporter.model.estimate import NOTHING, Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.superblocks import Superblock

OTHER = "OTHER"
"""Stands for operations that began to happen on a mount a moment ago."""

NO_COUNTERS = OperationCounters(0, 0, 0, 0, 0, 0, 0, 0, None)
"""Of an operation before it first happens."""

_ALWAYS = (READ, WRITE, OTHER)
_ERRORS_ALWAYS = frozenset((READ, WRITE, "COMMIT", OTHER))
# Operations that do not fail in ordinary work; a first failure of theirs is told at once.

_LONG_AGO = -math.inf


@dataclass(slots=True)
class OperationTotals:
    """What one operation of one mount has added up to; times in milliseconds.

    I/O operations are those that are known exactly and, beside them, `estimated` ones, None where no cost is known (an
    unknown service). `errors` is None where there were none or the kernel does not count them.
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
    exact: int = 0
    estimated: Bounds | None = None

    def add_cost(self, added: Bounds) -> None:
        """Add estimated I/O operations."""
        lower, point, upper = self.estimated or NOTHING
        self.estimated = Bounds(lower + added.lower, point + added.point, upper + added.upper)

    @property
    def cost(self) -> Bounds | None:
        """All I/O operations; None where no cost is known."""
        if self.estimated is None:
            return None
        lower, point, upper = self.estimated
        return Bounds(self.exact + lower, self.exact + point, self.exact + upper)


@dataclass(slots=True)
class MountTotals:
    """What one mount has added up to; `lock_io_operations` is None where locks are local or not counted."""

    operations: dict[str, OperationTotals] = field(default_factory=lambda: defaultdict(OperationTotals))
    read_bytes: int = 0
    written_bytes: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0
    lock_io_operations: int | None = None

    def announce(self, superblock: Superblock) -> None:
        """Give totals, at zero, to what has happened on a mount before the exporter saw it."""
        happened = (name for name, counters in superblock.record.operations.items() if counters.operations)
        for name in dict.fromkeys((*_ALWAYS, *happened)):
            self.operations[name] = _at_zero(name, superblock, _LONG_AGO)

    def of(self, name: str, superblock: Superblock, at: float, announce_s: float) -> OperationTotals:
        """Where an operation that happens now is added.

        Args:
            name: of the operation.
            superblock: on which it happens.
            at: now, seconds of a monotonic clock.
            announce_s: how long OTHER stands for an operation that begins to happen.
        """
        totals = self.operations.get(name)
        if totals is None:
            totals = self.operations[name] = _at_zero(name, superblock, at)
        return self.operations[OTHER] if totals.announced_at > at - announce_s else totals

    def add_errors(self, totals: OperationTotals, errors: int, at: float, announce_s: float) -> None:
        """Add failures of the operation of these totals; those of one that begins to fail to OTHER for a while."""
        if errors and totals.errors is None:
            totals.errors = 0
            totals.errors_announced_at = at
        if totals.errors_announced_at > at - announce_s:
            totals = self.operations[OTHER]
        if errors:
            totals.errors = (totals.errors or 0) + errors


def _at_zero(name: str, superblock: Superblock, announced_at: float) -> OperationTotals:
    record, known = superblock.record, superblock.known
    estimated = known.cost != "unknown" and (name == OTHER or known.service.prices(name))
    counters = record.operations.get(name, NO_COUNTERS)
    counted = record.operations[READ].errors is not None
    failed = name in _ERRORS_ALWAYS or bool(counters.errors)
    return OperationTotals(
        announced_at, errors=0 if counted and failed else None, estimated=NOTHING if estimated else None
    )
