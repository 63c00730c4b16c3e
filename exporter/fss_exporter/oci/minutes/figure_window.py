# SPDX-License-Identifier: Apache-2.0
"""The figures of one mount target in the minutes of the last three hours. Pure."""

from array import array
from collections.abc import Iterator
from math import isnan, nan
from typing import Final

from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import FURTHEST_MINUTES, MINUTE

_UNKNOWN: Final = array("d", [nan])


class FigureWindow:
    """A column of minutes for each figure, because there may be thousands of mount targets. A figure is known by its name."""

    __slots__ = ("_columns", "_ends", "_newest")

    def __init__(self) -> None:
        self._ends = array("q", [0]) * FURTHEST_MINUTES
        self._columns: dict[str, array[float]] = {}
        self._newest: dict[str, int] = {}

    def note(self, figure: str, points: Points) -> None:
        """Note a figure of some minutes. A minute that is older than the window is left out."""
        column = self._columns.get(figure)
        if column is None:
            column = self._columns[figure] = _UNKNOWN * FURTHEST_MINUTES
        ends = self._ends
        for minute, value in points.items():
            place = minute // MINUTE % FURTHEST_MINUTES
            if ends[place] < minute:
                ends[place] = minute
                for each in self._columns.values():
                    each[place] = nan
            if ends[place] == minute:
                column[place] = value
        self._newest[figure] = max(self._newest.get(figure, 0), *points)

    def newest(self, figure: str) -> int:
        """Return the end of the newest minute with a figure, epoch seconds. 0 without any."""
        return self._newest.get(figure, 0)

    def value(self, figure: str, minute: int) -> float | None:
        """Return a figure of a minute. None if it is not known."""
        place = minute // MINUTE % FURTHEST_MINUTES
        column = self._columns.get(figure)
        if column is None or self._ends[place] != minute or isnan(column[place]):
            return None
        return column[place]

    def known(self, *figures: str) -> Iterator[tuple[int, *tuple[float, ...]]]:
        """Yield the end of each minute that has all of some figures, and the figures. In no order."""
        columns = [self._columns[figure] for figure in figures if figure in self._columns]
        if len(columns) == len(figures):
            for minute in zip(self._ends, *columns, strict=True):
                if not isnan(sum(minute)):  # a sum with an unknown figure is unknown
                    yield minute
