# SPDX-License-Identifier: Apache-2.0
"""Compute costs of single requests from minutes of work: least squares over all minutes, with uncertainty and verdict. Pure.

A minute has the number of requests of each kind and the I/O operations that OCI counted. Kinds appear together (a CREATE
comes with a SETATTR), so one system of equations gives all costs. Kinds that the minutes cannot separate stay near the
table's costs, and their uncertainty is as large as these costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import mul
from typing import Final, Literal

Verdict = Literal["agrees", "differs", "uncertain"]

BACKGROUND: Final = "background"  # I/O operations of each minute that are no request of ours

TOLERANCE: Final = 0.03  # Share of the table's cost by which a cost may differ and still agree

ROUNDING: Final = 30.0  # I/O operations, or requests, by which OCI's whole rate a second can miss a minute
_ROUNDING_VARIANCE: Final = ROUNDING**2 / 3

_PULL: Final = 1e-7  # weight of the table's cost where the minutes say nothing, as a share of the largest squared count


_Row = Sequence[tuple[int, float]]  # the few kinds of a minute: the place of each, and its scaled count


@dataclass(frozen=True, slots=True)
class FittedCost:
    """The measured cost of one request of a kind, in I/O operations.

    `uncertainty` is the most that OCI's rounding can do, two standard errors of all other differences, and the most that
    wrong costs of inseparable kinds can do.
    """

    table: float
    measured: float
    uncertainty: float

    @property
    def ratio(self) -> float | None:
        """Measured cost divided by the table's cost. None for a kind outside the table."""
        return self.measured / self.table if self.table else None

    @property
    def verdict(self) -> Verdict:
        """Compare the measured cost of an operation with the cost in the table.

        A cost agrees if each value within its uncertainty is within the tolerance.
        """
        tolerance = TOLERANCE * max(self.table, 1.0)
        difference = abs(self.measured - self.table)
        if difference + self.uncertainty <= tolerance:
            return "agrees"
        return "differs" if difference > max(1.5 * self.uncertainty, tolerance) else "uncertain"


@dataclass(frozen=True, slots=True)
class CostFit:
    """Costs of all kinds, and how well they explain the minutes."""

    by_kind: Mapping[str, FittedCost]  # with BACKGROUND
    misfit: float  # root mean square of OCI's I/O operations of a minute minus those of the costs


def fit_costs(
    requests: Sequence[Mapping[str, float]], io_operations: Sequence[float], table: Mapping[str, float]
) -> CostFit:
    """Return the costs of every kind in a step.

    Each minute has requests by kind and the I/O operations by OCI. Kinds outside the table of costs count nothing.
    """
    kinds = [BACKGROUND, *sorted({kind for counts in requests for kind in counts if kind in table})]
    place = {kind: at for at, kind in enumerate(kinds)}
    prior = [0.0, *(table[kind] for kind in kinds[1:])]
    scales = [1.0, *(max(1.0, *(abs(counts.get(kind, 0.0)) for counts in requests)) for kind in kinds[1:])]
    rows = [
        [(0, 1.0), *((place[kind], count / scales[place[kind]]) for kind, count in counts.items() if kind in place)]
        for counts in requests
    ]
    # Solve for the difference to the table, so that the pull is towards the table and not towards 0.
    scaled_prior = [cost * scale for cost, scale in zip(prior, scales, strict=True)]
    residuals = [counted - _dot(row, scaled_prior) for row, counted in zip(rows, io_operations, strict=True)]
    inverse, change = _solved(rows, residuals, len(kinds))
    left = [residual - _dot(row, change) for row, residual in zip(rows, residuals, strict=True)]
    squares = sum(value * value for value in left)
    # A kind that the minutes cannot tell takes no degree of freedom: the pull decides its cost.
    free = len(rows) - len(kinds) + _PULL * sum(line[at] for at, line in enumerate(inverse))
    noise = max(0.0, squares / max(1.0, free) - _ROUNDING_VARIANCE)
    doubts = [max(1.0, cost) * scale for cost, scale in zip(prior, scales, strict=True)]
    costs = {}
    for at, (kind, line) in enumerate(zip(kinds, inverse, strict=True)):
        rounding = ROUNDING * sum(abs(_dot(row, line)) for row in rows)
        inseparable = _PULL * sum(abs(value) * doubt for value, doubt in zip(line, doubts, strict=True))
        uncertainty = (rounding + 2 * sqrt(max(0.0, line[at]) * noise) + inseparable) / scales[at]
        costs[kind] = FittedCost(prior[at], prior[at] + change[at] / scales[at], uncertainty)
    return CostFit(costs, sqrt(squares / max(1, len(rows))))


def _solved(rows: Sequence[_Row], residuals: Sequence[float], size: int) -> tuple[list[list[float]], list[float]]:
    """Return the inverse of the normal equations, and the solution, pulled to 0 where the rows say nothing."""
    normal = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    for row, residual in zip(rows, residuals, strict=True):
        for at, value in row:
            right[at] += value * residual
            for other, factor in row:
                normal[at][other] += value * factor
    for at, line in enumerate(normal):
        line[at] += _PULL
    inverse = _inverted(normal)
    return inverse, [sum(map(mul, line, right)) for line in inverse]


def _dot(row: _Row, values: Sequence[float]) -> float:
    return sum(value * values[at] for at, value in row)


def _inverted(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The inverse of a symmetric positive matrix, by Gauss-Jordan elimination with row exchange."""
    size = len(matrix)
    work = [[*row, *(float(at == i) for i in range(size))] for at, row in enumerate(matrix)]
    for column in range(size):
        best = max(range(column, size), key=lambda row: abs(work[row][column]))
        work[column], work[best] = work[best], work[column]
        pivot = work[column][column]
        work[column] = [value / pivot for value in work[column]]
        for row in range(size):
            factor = work[row][column]
            if row != column and factor:
                work[row] = [value - factor * top for value, top in zip(work[row], work[column], strict=True)]
    return [row[size:] for row in work]
