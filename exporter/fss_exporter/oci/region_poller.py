"""One region: surveys and polls that share a thread and a budget, and the snapshot they make."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fss_exporter.errors import FssError
from fss_exporter.oci.complaints import Complaints
from fss_exporter.oci.inventory_refresh import InventoryRefresh, InventoryState
from fss_exporter.oci.metric_queries import Queries
from fss_exporter.oci.mount_target_estimates import Estimate, complete, estimate
from fss_exporter.oci.shared_series import Column
from fss_exporter.oci.snapshot import RegionSnapshot
from fss_exporter.oci.window import newest_complete

_SILENT_SECONDS: Final = 240  # a mount target reports its connections every minute; one this far behind may be deleted
_BETWEEN_SURVEYS_SECONDS: Final = 120  # however many hints there are
_SENT_ALWAYS: Final = "MountTargetConnections"


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things may take and last, in seconds."""

    inventory_interval: float = 600.0
    stale_after: float = 360.0


class RegionPoller:
    """Polls one region.

    Args:
        region: its name.
        survey: keeps its inventory.
        queries: ask its metrics.
        survey_complaints: where the survey's failures are noted.
        query_complaints: where failed queries are noted.
        pace: time limits.
        now: epoch seconds.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        region: str,
        survey: InventoryRefresh,
        queries: Queries,
        *,
        survey_complaints: Complaints,
        query_complaints: Complaints,
        pace: Pace,
        now: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        self.region = region
        self._survey = survey
        self._queries = queries
        self._survey_complaints = survey_complaints
        self._query_complaints = query_complaints
        self._pace = pace
        self._now = now
        self._clock = clock
        self._steps: Iterator[None] | None = None
        self._survey_began = float("-inf")
        self._names_learned = float("-inf")
        self._shown = InventoryState()
        self._seconds = 0.0
        self._ended = 0.0
        self._succeeded_at: float | None = None
        self._estimates: Mapping[str, Estimate] = {}
        self._suspicious: frozenset[object] = frozenset()
        self._hinted = False

    def poll(self, seconds: float) -> RegionSnapshot:
        """Ask everything once.

        Args:
            seconds: how long it may take; what is left then is asked first the next time.

        Raises:
            Stopped: the poller is to stop.
        """
        began = self._clock()
        if self._survey.found.inventory is None:
            self._survey_until_found()
        if self._survey.found.inventory is not None:
            self._ask(lambda: self._clock() - began > seconds)
        self._query_complaints.close()
        self._seconds, self._ended = self._clock() - began, self._now()
        asked = self._queries.asked.values()
        if asked and all(one.success for one in asked):
            self._succeeded_at = self._ended
        return self._snapshot()

    def work(self, until: float) -> RegionSnapshot | None:
        """Use the time between two polls for the survey, if one is due or under way.

        Args:
            until: a reading of the clock.

        Returns:
            What changed by it; None where nothing did.

        Raises:
            Stopped: the poller is to stop.
        """
        due = self._survey_began + (_BETWEEN_SURVEYS_SECONDS if self._hinted else self._pace.inventory_interval)
        if self._steps is None and self._clock() >= due:
            self._begin_survey()
        while self._steps is not None and self._clock() < until:
            self._step()
        if self._survey.found is self._shown or not self._ended:
            return None
        self._use_inventory()
        return self._snapshot()

    def _use_inventory(self) -> None:
        found = self._survey.found
        if found.inventory is not None and found.inventory is not self._shown.inventory:
            self._queries.use(found.inventory)
            self._estimates = {
                target: one for target, one in self._estimates.items() if target in found.inventory.mount_targets
            }
        self._shown = found

    def _begin_survey(self) -> None:
        self._survey_began = self._clock()
        self._hinted = False
        self._steps = self._survey.steps()

    def _survey_until_found(self) -> None:
        if self._steps is None:
            self._begin_survey()
        while self._steps is not None and self._survey.found.inventory is None:
            self._step()

    def _step(self) -> None:
        assert self._steps is not None  # noqa: S101  # callers look
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        except FssError:  # noted by the survey
            self._steps = None
        if self._steps is None:
            self._survey_complaints.close()

    def _ask(self, out_of_time: Callable[[], bool]) -> None:
        self._use_inventory()
        scopes, queries, now_minute = self._shown.scopes, self._queries, newest_complete(self._now())
        since = self._clock() - self._names_learned
        due = since >= self._pace.inventory_interval or (queries.names_are_due and since >= _BETWEEN_SURVEYS_SECONDS)
        if due and queries.learn_names(scopes):
            self._names_learned = self._clock()
        watched = queries.ask_all(scopes, out_of_time)
        for book in queries.books.values():
            book.forget(now_minute, self._pace.stale_after)
        fresh = estimate(watched) if complete(watched, queries.has) else {}
        oldest = now_minute - self._pace.stale_after
        self._estimates = {target: one for target, one in {**self._estimates, **fresh}.items() if one.minute >= oldest}
        self._look_for_hints()

    def _look_for_hints(self) -> None:
        """Mount targets that fell silent or are not known make the next survey come early, each once."""
        asked = self._queries.asked.get(_SENT_ALWAYS)
        if asked is None or not asked.success or asked.newest is None:
            return
        book = self._queries.books[_SENT_ALWAYS]
        late = (column for minute, column in book.points.items() if minute < asked.newest - _SILENT_SECONDS)
        silent = {series.labels for column in late for series in column.series}
        suspicious = frozenset(silent | book.unknown)
        if not suspicious <= self._suspicious:
            self._hinted = True
        self._suspicious = suspicious

    def _snapshot(self) -> RegionSnapshot:
        queries, found = self._queries, self._survey.found
        points: dict[str, Mapping[int, Column]] = {}
        for book in queries.books.values():
            if book.metric.gauge:
                name = book.metric.gauge.name
                points[name] = _both(points[name], book.points) if name in points else book.points
        sums = {book.metric.counter.name: book.sums for book in queries.books.values() if book.metric.counter}
        asked = dict(queries.asked)
        well = found.inventory is not None and bool(asked)
        return RegionSnapshot(
            region=self.region,
            surveyed=found,
            points=MappingProxyType(points),
            sums=MappingProxyType(sums),
            estimates=MappingProxyType(dict(self._estimates)),
            asked=MappingProxyType(asked),
            success=well and all(one.success for one in asked.values()) and all(found.succeeded.values()),
            duration_seconds=self._seconds,
            ended=self._ended,
            succeeded_at=self._succeeded_at,
        )


def _both(one: Mapping[int, Column], other: Mapping[int, Column]) -> Mapping[int, Column]:
    """Points of two OCI metrics that become one exported metric."""
    merged = dict(one)
    for minute, column in other.items():
        known = merged.get(minute, Column())
        merged[minute] = Column(known.series + column.series, known.values + column.values)
    return MappingProxyType(merged)
