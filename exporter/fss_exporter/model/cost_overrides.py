# SPDX-License-Identifier: Apache-2.0
"""Costs of operations that a tenancy has measured, in place of the white paper's table.

A fixed cost replaces the row of an operation. READ and WRITE depend on sizes, so a factor scales the cost of every size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import FIXED_COSTS, NLM_IO_OPERATIONS, nlm_io_operations

NLM: Final = "NLM"  # stands for every lock call but FREE_ALL, in an override


@dataclass(frozen=True, slots=True)
class CostOverride:
    """A measured cost."""

    operation: str  # NFSv3 procedure, or NLM
    io_operations: float | None  # cost of one call; None for READ and WRITE
    factor: float  # multiple of the table's cost, for READ and WRITE; 1 for the others
    date: str  # day of the measurement, as in 2026-11-22
    source: str  # the origin of the figure


@dataclass(frozen=True)
class CostOverrides:
    """Every override of a configuration."""

    rows: tuple[CostOverride, ...] = ()

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """I/O operations of each operation whose cost does not depend on its size, overrides applied."""
        measured = {row.operation: row.io_operations for row in self.rows if row.io_operations is not None}
        return {name: measured.get(name, cost) for name, cost in FIXED_COSTS.items()}

    @cached_property
    def lock_io_operations(self) -> float:
        """I/O operations of one lock call."""
        measured = (row.io_operations for row in self.rows if row.operation == NLM)
        return next((cost for cost in measured if cost is not None), float(NLM_IO_OPERATIONS))

    @cached_property
    def factors(self) -> Mapping[str, float]:
        """Factors of READ and WRITE that are not 1."""
        return {row.operation: row.factor for row in self.rows if row.factor != 1.0}

    @property
    def table(self) -> Mapping[str, float]:
        """Every cost and factor, to compare two tables."""
        return {**self.weights, **self.factors, NLM: self.lock_io_operations}

    def scaled(self, operation: str, cost: Bounds) -> Bounds:
        """The cost of READs or WRITEs with the factor of the operation."""
        factor = self.factors.get(operation, 1.0)
        return cost if factor == 1.0 else cost.times(factor)

    def lock_cost(self, procedure: str) -> float:
        """I/O operations of one Network Lock Manager call. An override of NLM leaves FREE_ALL alone."""
        return nlm_io_operations(procedure) if procedure == "FREE_ALL" else self.lock_io_operations


NO_OVERRIDES: Final = CostOverrides()  # The white paper's table
