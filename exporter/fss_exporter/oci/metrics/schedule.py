# SPDX-License-Identifier: Apache-2.0
"""When one metric is asked for, for which minutes, and in how many parts. Pure. Times are epoch seconds by the clock of OCI.

A window reaches from the oldest minute that may still come to the newest complete minute. The wait for a minute ends when OCI
has answered for `GIVE_UP_MINUTES` without it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from fss_exporter.oci.cloud_client import Scope
from fss_exporter.oci.ledger import FURTHEST_MINUTES, GIVE_UP_MINUTES, MINUTE, newest_complete
from fss_exporter.oci.metric_table import OciMetric
from fss_exporter.oci.metrics.answers import MetricSnapshot
from fss_exporter.oci.metrics.query_parts import QueryParts

# Minutes to query again before the last answer, every five minutes. A point comes up to three minutes late, and a new series is
# found so.
LATE_MINUTES: Final = 4

# Minutes to query again before the last answer otherwise. What a series lacks is asked for in any case.
OVERLAP_MINUTES: Final = 1

_BETWEEN_LATE_SECONDS: Final = 295.0  # between two queries of a scope that find a late series which is new
_EARLY_SECONDS: Final = 10.0  # earliest query before the interval is over, because polls do not begin on the second


@dataclass(frozen=True, slots=True)
class Window:
    """Minutes to query. OCI includes `start` and excludes `end`."""

    start: int
    end: int

    @property
    def newest(self) -> int:
        """End of the newest minute in the window."""
        return self.end - MINUTE

    @property
    def minutes(self) -> int:
        """The most points of a stream in the window."""
        return (self.end - self.start) // MINUTE


def window(
    now: float, answers: Sequence[int], *, overlap_minutes: int, most_minutes: int, missing: int | None = None
) -> Window:
    """Return the window of one query.

    `answers` has the newest minute of each earlier window with an answer, oldest first. The last `overlap_minutes` before the last
    answer are always queried again. `missing` is the end of the oldest minute that somebody waits for.
    """
    newest = newest_complete(now)
    if not answers:
        return Window(newest - min(GIVE_UP_MINUTES, most_minutes) * MINUTE + MINUTE, newest + MINUTE)
    last = min(answers[-1], newest) - overlap_minutes * MINUTE
    if missing is not None:
        given_up = answers[0] if answers[0] <= newest - GIVE_UP_MINUTES * MINUTE else 0
        last = min(last, max(missing - MINUTE, given_up))
    return Window(max(last, newest - most_minutes * MINUTE) + MINUTE, newest + MINUTE)


@dataclass(slots=True)
class ScopeSchedule:
    """One metric in one scope.

    `answers` has the newest minute of each window with an answer in the last `GIVE_UP_MINUTES`, and of the one before. Before
    the first answer it has the last answer that the ledger has, if any.
    """

    parts: QueryParts
    answers: deque[int]
    asked_late: float = 0.0

    def answered(self, streams: int, asked: Window) -> None:
        """Note the number of streams in all parts together, and the window of the query."""
        answers = self.answers
        answers.append(asked.newest)
        while len(answers) > 1 and answers[1] <= asked.newest - GIVE_UP_MINUTES * MINUTE:
            answers.popleft()
        self.parts.answered(streams)


@dataclass(slots=True)
class Schedule:
    """One metric of one region.

    `lacking` returns the oldest minute that a series lacks, among the series that have a minute from the given one on. `awaited`
    returns the oldest minute that a calculation waits for. `resumed` is the newest minute that was answered before a restart.
    """

    metric: OciMetric
    interval: float  # seconds between two queries. 0 for a query in each poll
    lacking: Callable[[int], int | None] = lambda _: None
    awaited: Callable[[], int | None] = lambda: None
    resumed: int | None = None
    snapshot: MetricSnapshot | None = (
        None  # of the last query. None before the first, and while the tenancy has no such metric
    )
    _asked: float | None = None
    _new_targets_since: int = 0
    _scopes: dict[Scope, ScopeSchedule] = field(default_factory=dict)

    def is_due(self, now: float) -> bool:
        """Return whether the interval is over, or the last query failed."""
        if self.snapshot is None or not self.snapshot.success or self._asked is None:
            return True
        return abs(now - self._asked) >= self.interval - _EARLY_SECONDS

    def begin(self, now: float) -> None:
        """Note that the queries begin."""
        self._asked = now

    def ask_in_the_next_poll(self) -> None:
        """Let no interval delay the next query: a new file system does not wait for its first figures."""
        self._asked = None

    def ask_far_from(self, minute: int) -> None:
        """Ask for more minutes for some time, because a new mount target brings series with late points."""
        self._new_targets_since = minute

    def scope(self, scope: Scope) -> ScopeSchedule:
        """Return the schedule in one scope, which lives as long as this."""
        answers = deque(() if self.resumed is None else (self.resumed,))
        return self._scopes.setdefault(scope, ScopeSchedule(QueryParts(self.metric), answers))

    def window(self, scope: Scope, now: float) -> Window:
        """Return the minutes to ask for in a scope."""
        held = self.scope(scope)
        lacking = self.lacking(held.answers[0] - LATE_MINUTES * MINUTE) if held.answers else None
        overlap = OVERLAP_MINUTES
        if abs(now - held.asked_late) >= _BETWEEN_LATE_SECONDS:
            overlap, held.asked_late = LATE_MINUTES, now
        return window(
            now,
            held.answers,
            overlap_minutes=GIVE_UP_MINUTES if self._asks_far(now) else overlap,
            most_minutes=GIVE_UP_MINUTES if self.metric.counter is None else FURTHEST_MINUTES,
            missing=min(filter(None, (lacking, self.awaited())), default=None),
        )

    def _asks_far(self, now: float) -> bool:
        is_event = self.metric.idle == "silent" and self.metric.counter is not None  # events come at any time
        has_new_targets = now - self._new_targets_since < GIVE_UP_MINUTES * MINUTE
        return is_event or has_new_targets or self.snapshot is None or self.snapshot.newest is None
