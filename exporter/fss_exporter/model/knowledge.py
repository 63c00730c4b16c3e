# SPDX-License-Identifier: Apache-2.0
"""How a figure is known: value, bounds, source, age and coverage travel together, and one rule chooses between figures.

Fresh figures of OCI come first, measured before estimated. Then comes the last known figure, for one hour and with its age.
Then comes what clients account for. The clients that are seen are a part of the load, so they never tell that a ceiling is far.

Every verdict takes the likely value, because a lower bound can lie a third below the truth and would hide a full ceiling. The
words say what is proven: "at least" stands before a lower bound only, and "about" before a likely value.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from fss_exporter.model.estimate import Bounds

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


class Knowledge(StrEnum):
    """What a figure is worth. The values are the values of the label `knowledge`."""

    NOW = "now"  # a figure of the whole load, younger than ten minutes
    BEFORE = "before"  # a figure of the whole load, at most an hour old
    PART = "part"  # a figure of a part of the load, younger than ten minutes
    NOTHING = "nothing"  # too old, or of unknown age


@dataclass(frozen=True, slots=True)
class KnownFigure:
    """A figure, and how it is known."""

    value: float  # the likely value, in the unit of the quantity
    source: FigureSource
    age_seconds: float | None = 0.0  # since the end of the time that the figure describes. None if unknown
    coverage: float | None = None  # share of the load that the source sees, 0 to 1. None if unknown
    # the least and the most of what the source sees, in the unit of the value. None if unknown
    bounds: Bounds | None = None

    @classmethod
    def of(cls, estimate: Bounds, source: FigureSource) -> "KnownFigure":
        """Return an estimate of now with its bounds."""
        return cls(estimate.point, source, bounds=estimate)

    @classmethod
    def counted(cls, value: float, source: FigureSource) -> "KnownFigure":
        """Return an amount of now that the source counts and does not estimate, such as bytes."""
        return cls.of(Bounds.exact(value), source)

    def times(self, factor: float) -> "KnownFigure":
        """Return the figure in another unit."""
        return replace(self, value=self.value * factor, bounds=self.bounds and self.bounds.times(factor))

    def share_of(self, ceiling: float) -> "KnownFigure":
        """Return the figure as a share of a ceiling in the same unit."""
        return replace(self.times(1 / ceiling), value=self.value / ceiling)  # 43 * (1 / 50) is not 43 / 50

    @property
    def knowledge(self) -> Knowledge:
        """What the figure is worth."""
        if self.age_seconds is None or self.age_seconds > LAST_KNOWN_SECONDS:
            return Knowledge.NOTHING
        if self.age_seconds >= FRESH_SECONDS:
            return Knowledge.NOTHING if self.source.is_part else Knowledge.BEFORE
        return Knowledge.PART if self.source.is_part else Knowledge.NOW

    @property
    def word(self) -> Literal["", "about", "at least"]:
        """What stands before the value. A source that misses operations and knows its own exactly gives a lower bound."""
        if self.source is FigureSource.MEASURED:
            return ""
        return "at least" if self.bounds and self.bounds.lower == self.bounds.upper else "about"

    def in_words(self, amount: Callable[[float], str]) -> str:
        """Return the figure as people read it: `84 %`, `about 84 % (71 to 97 %)` or `at least 71 %`.

        `amount` writes a value with its unit.
        """
        text = f"{self.word} {amount(self.value)}".lstrip()
        if self.word != "about" or self.bounds is None:
            return text
        lower, upper = amount(self.bounds.lower), amount(self.bounds.upper)
        if lower == upper:
            return text
        number, _, unit = lower.partition(" ")
        return f"{text} ({number if upper.endswith(f' {unit}') else lower} to {upper})"


def best_known(figures: Iterable[KnownFigure]) -> KnownFigure | None:
    """Return the figure to believe: fresh, else last known, else the highest of a part. None if nothing is known.

    A part above the last known figure is the better knowledge, because it is of now.
    """
    by_knowledge: dict[Knowledge, list[KnownFigure]] = {}
    for figure in figures:
        by_knowledge.setdefault(figure.knowledge, []).append(figure)
    trust = list(FigureSource)
    fresh = min(by_knowledge.get(Knowledge.NOW, ()), key=lambda figure: trust.index(figure.source), default=None)
    last = min(by_knowledge.get(Knowledge.BEFORE, ()), key=lambda figure: figure.age_seconds or 0.0, default=None)
    part = max(by_knowledge.get(Knowledge.PART, ()), key=lambda figure: figure.value, default=None)
    if fresh is not None or last is None or part is None:
        return fresh or last or part
    return part if part.value > last.value else last


def coverage_of(part: float, whole: KnownFigure | None) -> float | None:
    """Return the share of a load that clients with the load `part` account for. None without a fresh, positive figure."""
    if whole is None or whole.knowledge is not Knowledge.NOW or not whole.value:
        return None
    return part / whole.value
