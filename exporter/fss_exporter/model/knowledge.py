# SPDX-License-Identifier: Apache-2.0
"""How a figure is known: value, source, age and coverage travel together, and one rule chooses between figures.

Fresh figures of OCI come first, measured before estimated. Then comes the last known figure, for one hour and with its age.
Then comes what clients account for. The clients that are seen are a part of the load, so their figure is a lower bound: it
can prove that a ceiling is near, and never that a ceiling is far.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# A younger figure of OCI is present knowledge. Decision of this project, November 2026: minutes arrive some minutes late.
FRESH_SECONDS: Final = 600.0

LAST_KNOWN_SECONDS: Final = 3600.0  # an older figure of OCI is no knowledge. Decision of this project, November 2026


class FigureSource(StrEnum):
    """Where a figure comes from. The order is the order of trust."""

    MEASURED = "measured"
    OCI = "estimated from OCI"
    CLIENTS = "estimated from clients"
    HOST = "estimated from this host's mounts"

    @property
    def is_part(self) -> bool:
        """Whether the source sees a part of the load only."""
        return self in (FigureSource.CLIENTS, FigureSource.HOST)

    @property
    def misses_operations(self) -> bool:
        """Whether the load may be larger than the figure: OCI does not publish every operation, and a part is no whole."""
        return self is not FigureSource.MEASURED


class Knowledge(StrEnum):
    """What a figure is worth. The values are the values of the label `knowledge`."""

    NOW = "now"  # a figure of the whole load, younger than ten minutes
    BEFORE = "before"  # a figure of the whole load, at most an hour old
    AT_LEAST = "at_least"  # a lower bound
    NOTHING = "nothing"  # too old, or of unknown age


@dataclass(frozen=True, slots=True)
class KnownFigure:
    """A figure, and how it is known."""

    value: float  # in the unit of the quantity
    source: FigureSource
    age_seconds: float | None = 0.0  # since the end of the time that the figure describes. None if unknown
    coverage: float | None = None  # share of the load that the source sees, 0 to 1. None if unknown

    @property
    def knowledge(self) -> Knowledge:
        """What the figure is worth."""
        if self.age_seconds is None or self.age_seconds > LAST_KNOWN_SECONDS:
            return Knowledge.NOTHING
        if self.age_seconds >= FRESH_SECONDS:
            return Knowledge.NOTHING if self.source.is_part else Knowledge.BEFORE
        return Knowledge.AT_LEAST if self.source.is_part else Knowledge.NOW


def best_known(figures: Iterable[KnownFigure]) -> KnownFigure | None:
    """Return the figure to believe: fresh, else last known, else the highest lower bound. None if nothing is known.

    A lower bound above the last known figure is the better knowledge, because it is of now.
    """
    by_knowledge: dict[Knowledge, list[KnownFigure]] = {}
    for figure in figures:
        by_knowledge.setdefault(figure.knowledge, []).append(figure)
    trust = list(FigureSource)
    fresh = min(by_knowledge.get(Knowledge.NOW, ()), key=lambda figure: trust.index(figure.source), default=None)
    last = min(by_knowledge.get(Knowledge.BEFORE, ()), key=lambda figure: figure.age_seconds or 0.0, default=None)
    bound = max(by_knowledge.get(Knowledge.AT_LEAST, ()), key=lambda figure: figure.value, default=None)
    if fresh is not None or last is None or bound is None:
        return fresh or last or bound
    return bound if bound.value > last.value else last


def coverage_of(part: float, whole: KnownFigure | None) -> float | None:
    """Return the share of a load that clients with the load `part` account for. None without a fresh, positive figure."""
    if whole is None or whole.knowledge is not Knowledge.NOW or not whole.value:
        return None
    return part / whole.value
