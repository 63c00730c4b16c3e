"""Costs of operations that a tenancy has measured, in place of the white paper's table.

A fixed cost replaces the row of an operation. READ and WRITE depend on sizes, so a factor scales the cost of every size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import NFS3_OPERATIONS


@dataclass(frozen=True, slots=True)
class CostOverride:
    """A measured cost."""

    operation: str  # NFSv3 procedure
    io_operations: float | None  # cost of one call; None for READ and WRITE
    factor: float  # of the table's cost, for READ and WRITE; 1 for the others
    date: str  # day of the measurement, as in 2026-11-22
    source: str  # the origin of the figure


@dataclass(frozen=True)
class CostOverrides:
    """Every override of a configuration."""

    rows: tuple[CostOverride, ...] = ()

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """I/O operations of each operation whose cost does not depend on its size, overrides applied."""
        table = {name: row.io_operations for name, row in NFS3_OPERATIONS.items()}
        measured = {row.operation: row.io_operations for row in self.rows if row.io_operations is not None}
        return {name: cost for name, cost in (table | measured).items() if cost is not None}

    @cached_property
    def factors(self) -> Mapping[str, float]:
        """Factors of READ and WRITE that are not 1."""
        return {row.operation: row.factor for row in self.rows if row.factor != 1.0}

    def scaled(self, operation: str, cost: Bounds) -> Bounds:
        """The cost of READs or WRITEs with the factor of the operation."""
        factor = self.factors.get(operation, 1.0)
        return cost if factor == 1.0 else Bounds(*(factor * value for value in cost))


NO_OVERRIDES: Final = CostOverrides()  # The white paper's table
