"""Series whose text is put together when it is written.

A large tenancy has a hundred thousand series of 330 characters each, and nearly all of that are OCIDs and names that the series of one
file system share. So the pieces are kept, each once, and not the text: a third of the poller's memory.
"""

from collections.abc import Sequence
from sys import intern
from typing import NamedTuple

from fss_exporter.catalogue.metric import Metric, Series

_BETWEEN = ","


class SharedSeries(Series):
    """A series that shares its label text with others of the same owner; made and read like any other.

    Args:
        metric: the row.
        labels: label values in the row's order.
    """

    __slots__ = ("_pieces",)

    def __init__(self, metric: Metric, labels: Sequence[str]) -> None:
        whole = Series(metric, labels)
        self.labels = whole.labels
        self._pieces = tuple(map(intern, whole.text.split(_BETWEEN)))

    @property
    def text(self) -> str:  # type: ignore[override]  # read-only here, and no code writes it
        """As in `Series`; a comma inside a value is a piece's end like any other, joining brings it back."""
        return _BETWEEN.join(self._pieces)


class SeriesColumn(NamedTuple):
    """Series and their values, side by side."""

    series: tuple[Series, ...] = ()
    values: tuple[float, ...] = ()
