"""Compute costs of single requests from minutes of work: least squares over all minutes, with uncertainty and verdict. Pure.

A minute has the number of requests of each kind and the I/O operations that OCI counted. Kinds appear together (a CREATE
comes with LOOKUPs), so one system of equations gives all costs. A kind that the minutes cannot separate keeps the table's
cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal

Verdict = Literal["agrees", "differs", "uncertain"]

BACKGROUND: Final = "background"  # I/O operations of each minute that are no request of ours

TOLERANCE: Final = 0.03  # Share of the table's cost by which a measured cost may differ and still agree

MOST_UNCERTAIN: Final = 0.25  # Uncertainty, as a share of the table's cost, above which there is no verdict

_ROUNDING_VARIANCE: Final = 60.0**2 / 12
# OCI publishes whole IOPS: 60 I/O operations of a minute, rounded.

_PULL: Final = 1e-7
# Weight of the table's cost where the minutes say nothing, as a share of the largest squared count.


@dataclass(frozen=True, slots=True)
class FittedCost:
    """The measured cost of one request of a kind. `uncertainty` is two standard errors, both in I/O operations."""

    kind: str
    table: float
    measured: float
    uncertainty: float

    @property
    def ratio(self) -> float | None:
        """Measured cost divided by the table's cost. None for a kind outside the table."""
        return self.measured / self.table if self.table else None

    @property
    def verdict(self) -> Verdict:
        """Compare the measured cost of an operation with the cost in the table."""
        scale = max(self.table, 1.0)
        difference = abs(self.measured - self.table)
        if difference > max(1.5 * self.uncertainty, TOLERANCE * scale):
            return "differs"
        return "uncertain" if self.uncertainty > MOST_UNCERTAIN * scale else "agrees"


def fit_costs(
    requests: Sequence[Mapping[str, float]], io_operations: Sequence[float], table: Mapping[str, float]
) -> dict[str, FittedCost]:
    """Return costs of every kind in a step, with BACKGROUND.

    Each minute has requests by kind and the I/O operations by OCI. Kinds outside the table of costs count nothing.
    """
    kinds = [BACKGROUND, *sorted({kind for one in requests for kind in one if kind in table})]
    prior = [0.0, *(table[kind] for kind in kinds[1:])]
    rows = [[1.0, *(float(one.get(kind, 0)) for kind in kinds[1:])] for one in requests]
    scales = [max((abs(row[at]) for row in rows), default=0.0) or 1.0 for at in range(len(kinds))]
    rows = [[value / scale for value, scale in zip(row, scales, strict=True)] for row in rows]
    # Solve for the difference to the table, so that the pull is towards the table and not towards 0.
    scaled_prior = [cost * scale for cost, scale in zip(prior, scales, strict=True)]
    residuals = [counted - _dot(row, scaled_prior) for row, counted in zip(rows, io_operations, strict=True)]
    columns = [[row[at] for row in rows] for at in range(len(kinds))]
    normal = [[_dot(one, other) for other in columns] for one in columns]
    for at, line in enumerate(normal):
        line[at] += _PULL
    inverse = _inverted(normal)
    right = [_dot(column, residuals) for column in columns]
    change = [_dot(line, right) for line in inverse]
    left = [residual - _dot(row, change) for row, residual in zip(rows, residuals, strict=True)]
    variance = max(_ROUNDING_VARIANCE, _dot(left, left) / max(1, len(rows) - len(kinds)))
    return {
        kind: FittedCost(
            kind,
            prior[at],
            prior[at] + change[at] / scales[at],
            2 * sqrt(max(0.0, inverse[at][at]) * variance) / scales[at],
        )
        for at, kind in enumerate(kinds)
    }


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


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
