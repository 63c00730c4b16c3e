"""Asking Monitoring: each metric that the tenancy has, once in each scope, and what is known from all answers so far.

What fails costs itself only. A metric whose call failed keeps its points, and asks further back the next time, so that no minute of a
counter is lost; a region that gives no answer at all is left alone until the next poll.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fss_exporter.errors import CloudError, MqlError, NotAuthorized, TooMuchData, Unreachable
from fss_exporter.model.services import SERVICES
from fss_exporter.oci.complaints import Complaints
from fss_exporter.oci.inventory_refresh import Calls
from fss_exporter.oci.labels import Key, RegionLabels
from fss_exporter.oci.metric_names import Names
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.mount_target_estimates import NEEDED, Watched
from fss_exporter.oci.oci_inventory import Inventory
from fss_exporter.oci.oci_metric import OciMetric
from fss_exporter.oci.query_shards import QueryShards
from fss_exporter.oci.scopes import Scope
from fss_exporter.oci.self_metrics import SelfMetrics
from fss_exporter.oci.series_store import SKIPPED, MinuteStamps, Points, SeriesStore, Taken
from fss_exporter.oci.snapshot import Asked
from fss_exporter.oci.streams import Stream, decode_streams
from fss_exporter.oci.window import COUNTER_OVERLAP_MINUTES, Window, gauge_minutes, newest_complete, window

_UNANSWERED_AT_MOST: Final = 3
_DOUBLINGS_AT_MOST: Final = 5
_THOROUGH_EVERY: Final = 5  # polls: a series that is new and late is seen that soon

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Request:
    """One metric, asked of one scope for some minutes."""

    metric: OciMetric
    scope: Scope
    window: Window


class Queries:
    """The metrics of one region.

    Args:
        session: where to ask.
        start: minutes that end at or before this, in epoch seconds, are none of this exporter's counters.
        now: epoch seconds.
        ledger: counters of what was done.
        complaints: where failures are noted.
        metrics: what is asked, by documented name; of another service only where the inventory has some of it.
        unasked: other services nobody asked for: their metrics may be out of bounds.
    """

    def __init__(
        self,
        session: Calls,
        *,
        start: int,
        now: Callable[[], float],
        ledger: SelfMetrics,
        complaints: Complaints,
        metrics: Mapping[str, OciMetric] = METRICS,
        unasked: Collection[str] = (),
    ) -> None:
        clockwork, self._owners = MinuteStamps(), RegionLabels(session.region)
        self.books: Mapping[str, SeriesStore] = {
            name: SeriesStore(metric, self._owners, start=start, clockwork=clockwork)
            for name, metric in metrics.items()
        }
        self.asked: dict[str, Asked] = {}
        self.names_are_due = True
        self._session = session
        self._start = start
        self._now = now
        self._ledger = ledger
        self._complaints = complaints
        self._metrics = metrics
        self._names = Names(metrics)
        self._unasked = frozenset(unasked)
        self._told: set[str] = set()
        self._inventory = Inventory()
        self._services: frozenset[str] = frozenset()
        self._splits: dict[tuple[str, Scope], QueryShards] = {}
        self._answered: dict[tuple[str, Scope], int] = {}
        self._unanswered = 0
        self._first = 0
        self._polls = 0
        for reason in SKIPPED:
            ledger.add("fss_oci_streams_skipped_total", (session.region, reason), 0)

    def use(self, inventory: Inventory) -> None:
        """What there is, from now on."""
        self.names_are_due = self.names_are_due or not inventory.services <= self._services
        self._inventory, self._services = inventory, inventory.services
        self._owners.use(inventory)
        for book in self.books.values():
            book.look_again()

    def learn_names(self, scopes: Sequence[Scope]) -> bool:
        """Ask which metrics there are; True if every scope answered. What was known stands where one did not."""
        found: list[str] = []
        namespaces = {metric.namespace: metric.service for metric in self._metrics.values() if self._is_there(metric)}
        try:
            for scope in scopes:
                for namespace, service in namespaces.items():
                    found += self._listed(scope, namespace, service)
        except CloudError as error:
            self._complaints.note("ListMetrics", error)
            return False
        self._names.learn(found)
        self.names_are_due = False
        return True

    def _is_there(self, metric: OciMetric) -> bool:
        return not metric.service or metric.service in self._services

    def _listed(self, scope: Scope, namespace: str, service: str) -> list[str]:
        wanted = {"namespace": namespace, "groupBy": ["name"]}
        pages = self._session.pages(
            "monitoring", "list_metrics", scope.compartment_id, wanted, compartment_id_in_subtree=scope.subtree
        )
        try:
            rows = [row for page in pages for row in page if isinstance(row, dict)]
        except NotAuthorized as error:
            if service not in self._unasked:
                raise
            if service not in self._told:
                self._told.add(service)
                log.info("%s: %s has no metrics here: %s", self._session.region, SERVICES[service].title, error)
            return []
        return [row["name"] for row in rows if isinstance(row.get("name"), str)]

    def ask_all(self, scopes: Sequence[Scope], out_of_time: Callable[[], bool]) -> Watched:
        """Ask every metric there is; what estimates are made of, by metric, where it was answered.

        A poll that runs out of time goes on, the next time, where it stopped.
        """
        watched: dict[str, dict[Key, Points]] = {}
        self._unanswered = 0
        self._polls += 1
        metrics = [
            one for one in self._metrics.values() if self._is_there(one) and self._names.spelling(one) is not None
        ]
        for name in self.asked.keys() - {metric.name for metric in metrics}:
            del self.asked[name]
        begin = self._first % len(metrics) if metrics else 0
        self._first = 0
        for turn, metric in enumerate(metrics[begin:] + metrics[:begin]):
            if self._unanswered >= _UNANSWERED_AT_MOST or out_of_time():
                self._first = self._first or begin + turn
                self._missed(metric)
            else:
                watch: dict[Key, Points] = {}
                if self._ask(metric, scopes, watch):
                    watched[metric.name] = watch
        return {name: watch for name, watch in watched.items() if name in NEEDED}

    @property
    def has(self) -> set[str]:
        """Documented names of the metrics the tenancy has."""
        return set(self.asked)

    def _missed(self, metric: OciMetric) -> None:
        known = self.asked.get(metric.name)
        self.asked[metric.name] = Asked(success=False, streams=0, newest=known.newest if known else None)

    def _ask(self, metric: OciMetric, scopes: Sequence[Scope], watch: dict[Key, Points]) -> bool:
        """Ask one metric in every scope; True if all of it was answered."""
        book, success, streams, newest = self.books[metric.name], True, 0, None
        book.open()
        for scope in scopes:
            seen: set[Key] = set()
            answered = True
            request = _Request(metric, scope, self._window(metric, scope))
            for taken in self._ask_scope(request, seen, watch):
                if taken is None:
                    answered = False
                    continue
                streams += taken.streams
                newest = max((minute for minute in (newest, taken.newest) if minute is not None), default=None)
                for reason, number in taken.skipped.items():
                    self._ledger.add("fss_oci_streams_skipped_total", (self._session.region, reason), number)
            success = success and answered
            if answered:
                self._answered[metric.name, scope] = newest_complete(self._now())
        self._remember(metric, Asked(success, streams, newest))
        return success

    def _remember(self, metric: OciMetric, fresh: Asked) -> None:
        before = self.asked.get(metric.name)
        newest = max((known.newest for known in (before, fresh) if known and known.newest is not None), default=None)
        if fresh.success and (before is None or newest == before.newest):
            self._names.fell_silent(metric)
        if fresh.success and not fresh.streams and before is not None and before.streams:
            self.names_are_due = True  # it is spelled differently now, or there is nothing more to report
        self.asked[metric.name] = Asked(fresh.success, fresh.streams, newest)

    def _ask_scope(self, request: _Request, seen: set[Key], watch: dict[Key, Points]) -> Iterator[Taken | None]:
        """What each part of the query brought; None for a part that failed."""
        metric = request.metric
        splits = self._splits.setdefault((metric.name, request.scope), QueryShards(metric))
        for _ in range(_DOUBLINGS_AT_MOST):
            parts = splits.parts(self._inventory, request.window.minutes)
            seen.clear()
            try:
                taken = [self._ask_part(request, part, seen, watch) for part in parts]
            except TooMuchData as error:
                if splits.was_too_much(len(parts)):
                    continue
                self._complaints.note(metric.name, error)
                taken = [None]
            if None not in taken:
                splits.answered(sum(part.streams for part in taken if part is not None))
            if len(parts) > 1:
                self._ledger.add("fss_oci_query_splits_total", (self._session.region, metric.name), len(parts) - 1)
            yield from taken
            return
        yield None

    def _window(self, metric: OciMetric, scope: Scope) -> Window:
        if metric.counter is None:
            known = self.asked.get(metric.name)
            minutes = gauge_minutes(
                self._now(),
                newest=known.newest if known else None,
                slowest=self.books[metric.name].slowest,
                thorough=self._polls % _THOROUGH_EVERY == 0,
            )
            return window(self._now(), overlap_minutes=minutes, answered=None)
        answered = self._answered.get((metric.name, scope), self._start)
        return window(self._now(), overlap_minutes=COUNTER_OVERLAP_MINUTES, answered=answered)

    def _ask_part(
        self, request: _Request, part: tuple[str, ...], seen: set[Key], watch: dict[Key, Points]
    ) -> Taken | None:
        metric, spelling = request.metric, self._names.spelling(request.metric)
        assert spelling is not None  # noqa: S101  # only metrics that are there are asked for
        try:
            streams = self._summarized(metric.query(spelling, part), request)
        except TooMuchData:
            raise
        except (CloudError, MqlError) as error:
            self._complaints.note(metric.name, error)
            self._unanswered = self._unanswered + 1 if isinstance(error, Unreachable) else 0
            return None
        self._unanswered = 0
        watching = watch if metric.name in NEEDED else None
        return self.books[metric.name].take(streams, newest_complete(self._now()), seen, watching)

    def _summarized(self, query: str, request: _Request) -> list[Stream | None]:
        details = {
            "namespace": request.metric.namespace,
            "query": query,
            "startTime": _stamp(request.window.start),
            "endTime": _stamp(request.window.end),
            "resolution": "1m",
        }
        operation = "summarize_metrics_data"
        options: dict[str, object] = {"compartment_id_in_subtree": True} if request.scope.subtree else {}
        answer = self._session.call(
            "monitoring", operation, request.scope.compartment_id, details, decode=decode_streams, **options
        )
        streams: list[Stream | None] = answer.data
        return streams


def _stamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
