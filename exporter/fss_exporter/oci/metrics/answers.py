# SPDX-License-Identifier: Apache-2.0
"""What is left of an answer of Monitoring: series side by side with their values, and a summary of each query. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from sys import intern
from typing import NamedTuple

from fss_exporter.catalogue import Declaration, Series
from fss_exporter.oci.ledger import Key

_BETWEEN = ","


class SharedSeries(Series):
    """A series that shares pieces of its label text with other series. The arguments are like `Series`.

    A large tenancy has 100,000 series of 330 characters each. Nearly all of the text is OCIDs and names that the series of a
    file system share. Each piece exists once, which saves a third of the poller's memory.
    """

    __slots__ = ("_pieces",)

    def __init__(self, declared: Declaration, labels: Sequence[str]) -> None:
        whole = Series(declared, labels)
        self.labels = whole.labels
        self._pieces = tuple(map(intern, whole.text.split(_BETWEEN)))

    @property
    def text(self) -> str:  # type: ignore[override]  # read-only here, and no code writes it
        """The text of `Series`. A comma inside a value also ends a piece, and joining restores the comma."""
        return _BETWEEN.join(self._pieces)


class SeriesColumn(NamedTuple):
    """Series and their values, side by side."""

    series: tuple[Series, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricSnapshot:
    """One OCI metric after its last query."""

    success: bool = True  # whether the last query was answered in every scope
    streams: int = 0  # metric streams in the last answers
    newest: int | None = None  # end of the newest minute any resource has, epoch seconds; None while there is none
    query_bytes: int = 0  # length of the longest query that was sent
    answered: int = 0  # newest minute of the last query with a whole answer, epoch seconds; 0 before the first


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """The answer to the query of one metric: in one part, in one scope, or in all scopes."""

    success: bool = True  # whether every query was answered
    streams: int = 0  # metric streams
    newest: int | None = None  # end of the newest minute, epoch seconds; None without a point
    query_bytes: int = 0  # length of the longest query
    skipped: Mapping[str, int] = field(default_factory=dict)  # streams that were left out, by reason
    taken: AbstractSet[Key] = frozenset()  # streams that were taken

    @property
    def is_unreadable(self) -> bool:
        """Whether the answer has streams, and no stream or point of them is as documented."""
        reasons = ("broken", "broken_point", "future_point")
        return self.newest is None and 0 < self.streams <= sum(self.skipped.get(reason, 0) for reason in reasons)

    def plus(self, other: "AnswerSummary") -> "AnswerSummary":
        """Return the sum of two summaries. The sum is a success if both are."""
        return AnswerSummary(
            self.success and other.success,
            self.streams + other.streams,
            max(filter(None, (self.newest, other.newest)), default=None),
            max(self.query_bytes, other.query_bytes),
            Counter(self.skipped) + Counter(other.skipped),
            self.taken | other.taken,
        )
