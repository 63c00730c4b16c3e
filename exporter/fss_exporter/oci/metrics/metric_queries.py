# SPDX-License-Identifier: Apache-2.0
"""Query Monitoring in one region: each metric of the tenancy, once a poll in each scope.

Some queries are in flight at once, because an answer can take seconds. Everything but the call itself runs one at a time.

A failure costs one metric. A metric with a failed query keeps the points, and the next window reaches further back, so
that a counter loses no minute. A silent region is skipped until the next poll.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from fss_exporter.errors import BrokenAnswer, CloudError, NotAuthorized, TooMuchData, Unreachable
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci.calls import CallsInFlight, FailureLog, SelfMetrics
from fss_exporter.oci.cloud_client import CloudClient, MetricRequest, Scope
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.ledger import Ledger, newest_complete
from fss_exporter.oci.metric_table import METRICS, MetricNames, OciMetric
from fss_exporter.oci.metrics.answers import AnswerSummary, MetricSnapshot
from fss_exporter.oci.metrics.labels import RegionLabels
from fss_exporter.oci.metrics.schedule import Schedule, Window
from fss_exporter.oci.metrics.series_store import SKIPPED, MinuteStamps, Receive, SeriesStore

_UNANSWERED_AT_MOST: Final = 3
_DOUBLINGS_AT_MOST: Final = 5

log = logging.getLogger(__name__)


class MetricQueries:
    """The metrics of one region.

    Attributes:
        is_refused: whether OCI refused a query of the last poll for a permission.
        has_answer: whether a query of the last poll that had any was answered.
        left_out: metrics that the last poll did not ask for, because its time was over or nothing answered.
        schedules: what is asked of each metric, and when.

    Args:
        client: calls in the region.
        ledger: what is counted.
        now: epoch seconds by the clock of OCI.
        self_metrics: counters of the poller itself.
        failures: log of failed queries.
        metrics: by documented name. Metrics of another service are queried only if the inventory has resources of the service.
        optional_services: other services whose metrics may be forbidden without a failure.
        receivers: functions that get the points of a metric, by documented name.
        intervals: seconds between two queries by documented name, in place of those of the table.
        awaited: returns the end of the oldest minute that a calculation waits for, of a metric by documented name.
        calls: has some queries under way at once.
    """

    def __init__(
        self,
        client: CloudClient,
        *,
        ledger: Ledger,
        now: Callable[[], float],
        self_metrics: SelfMetrics,
        failures: FailureLog,
        metrics: Mapping[str, OciMetric] = METRICS,
        optional_services: Collection[str] = (),
        receivers: Mapping[str, Receive] | None = None,
        intervals: Mapping[str, float] | None = None,
        awaited: Callable[[str], int | None] = lambda _: None,
        calls: CallsInFlight | None = None,
    ) -> None:
        self.client = client
        self.ledger = ledger
        self.now = now
        self.self_metrics = self_metrics
        self.failures = failures
        self.metrics = metrics
        self._optional_services = optional_services
        self.is_refused = False
        self.has_answer = False
        self.left_out = 0
        self._calls = calls or CallsInFlight()
        self.names_are_due = True
        self._not_watched: set[str] = set()
        self._inventory = Inventory()
        self._lists_no_metric = False
        self._unanswered = 0
        self._first = 0
        stamps, self._labels = MinuteStamps(), RegionLabels(self.client.tenancy, self.client.region)
        self.stores: Mapping[str, SeriesStore] = {
            name: SeriesStore(metric, self._labels, ledger=ledger, stamps=stamps, receive=(receivers or {}).get(name))
            for name, metric in self.metrics.items()
        }
        stated = intervals or {}
        self.schedules: Mapping[str, Schedule] = {
            name: Schedule(
                metric,
                stated.get(name, metric.interval_seconds),
                lacking=self.stores[name].oldest_missing,
                awaited=partial(awaited, name),
                resumed=ledger.answered.get(name),
            )
            for name, metric in self.metrics.items()
        }
        self._names = MetricNames(self.metrics)
        for reason in SKIPPED:
            self.self_metrics.add("fss_oci_streams_skipped_total", 0, region=self.client.region, reason=reason)

    @property
    def snapshots(self) -> Mapping[str, MetricSnapshot]:
        """The snapshot of each metric of the tenancy, by documented name."""
        return {name: schedule.snapshot for name, schedule in self.schedules.items() if schedule.snapshot is not None}

    @property
    def is_empty(self) -> bool:
        """Whether OCI lists neither mount targets nor metrics here, so that there is nothing to ask for."""
        return self._lists_no_metric and not self._inventory.mount_targets

    def use(self, inventory: Inventory) -> None:
        """Use an inventory from now on."""
        if inventory is self._inventory:
            return
        self.names_are_due = self.names_are_due or not inventory.services <= self._inventory.services
        if not inventory.mount_targets.keys() <= self._inventory.mount_targets.keys():
            for schedule in self.schedules.values():
                schedule.ask_far_from(newest_complete(self.now()))
        if not inventory.file_systems.keys() <= self._inventory.file_systems.keys():
            for schedule in self.schedules.values():
                schedule.ask_in_the_next_poll()
        self._inventory = inventory
        self._labels.use(inventory)
        for store in self.stores.values():
            store.relabel()

    def learn_names(self, scopes: Sequence[Scope]) -> None:
        """List the names of the metrics. If a scope does not answer, all known names stay in use. Without a name, names stay due."""
        names: list[str] = []
        failed = False

        def learn(place: tuple[Scope, str, str]) -> None:
            nonlocal failed
            try:
                names.extend(self._listed(*place))
                self.failures.report("ListMetrics", None)
            except CloudError as error:
                self.failures.report("ListMetrics", error)
                failed = True

        namespaces = {metric.namespace: metric.service for metric in self.metrics.values() if self._exists(metric)}
        self._calls.each([(scope, *place) for scope in scopes for place in namespaces.items()], learn)
        self._names.learn(names, is_whole=not failed)
        self.names_are_due = failed or not names
        self._lists_no_metric = not failed and not names
        if self._lists_no_metric and (targets := len(self._inventory.mount_targets)):
            message = f"OCI lists no metric of File Storage, although there are {targets} mount targets"
            where = f"ListMetrics in {self.client.region}"
            self.failures.report("ListMetrics", BrokenAnswer(f"{where}: {message}", operation="ListMetrics"))

    def query_all(self, scopes: Sequence[Scope], out_of_time: Callable[[], bool]) -> None:
        """Query every metric of the tenancy. If the time runs out, the next poll begins with the remaining metrics."""
        self._unanswered, self.is_refused = 0, False
        metrics = [
            metric
            for metric in self.metrics.values()
            if self._exists(metric) and self._names.spelling(metric) is not None
        ]
        for name in self.snapshots.keys() - {metric.name for metric in metrics}:
            self.schedules[name].snapshot = None
            self.failures.report(name, None)
        begin = self._first % max(1, len(metrics))
        due = [metric for metric in metrics[begin:] + metrics[:begin] if self.schedules[metric.name].is_due(self.now())]
        self.left_out = 0

        def query(metric: OciMetric) -> None:
            if self._unanswered >= _UNANSWERED_AT_MOST or out_of_time():
                self.left_out += 1
                self._remember(metric, AnswerSummary(success=False))
            else:
                self._first += 1
                self._query(metric, scopes)

        self._calls.each(due, query)
        if due:
            snapshots = self.snapshots
            self.has_answer = any(snapshots[metric.name].success for metric in due)

    def _exists(self, metric: OciMetric) -> bool:
        if not metric.split_by and not self._inventory.shard.is_first:
            return False
        return not metric.service or metric.service in self._inventory.services

    def _listed(self, scope: Scope, namespace: str, service: str) -> tuple[str, ...]:
        try:
            return self._calls.called(partial(self.client.metric_names, scope, namespace))
        except NotAuthorized as error:
            if service not in self._optional_services:
                raise
            if service not in self._not_watched:
                self._not_watched.add(service)
                log.info("%s: %s has no metrics here: %s", self.client.region, SERVICES[service].title, error)
            return ()

    def _query(self, metric: OciMetric, scopes: Sequence[Scope]) -> None:
        self.stores[metric.name].release_held_back()
        self.schedules[metric.name].begin(self.now())
        total, asked = AnswerSummary(), newest_complete(self.now())
        for scope in scopes:
            total = total.plus(self._query_scope(metric, scope))
        for reason, number in total.skipped.items():
            self.self_metrics.add("fss_oci_streams_skipped_total", number, region=self.client.region, reason=reason)
        self._remember(metric, total, asked)

    def _remember(self, metric: OciMetric, answer: AnswerSummary, asked: int = 0) -> None:
        """Store the snapshot of a metric, and try another spelling of a name without a new minute."""
        schedule = self.schedules[metric.name]
        before = schedule.snapshot
        newest_before = before.newest if before else None
        newest = max(filter(None, (newest_before, answer.newest)), default=None)
        if answer.success and newest == newest_before:
            self._names.fell_silent(metric)
        if answer.success and not answer.streams and before is not None and before.streams:
            self.names_are_due = True  # another spelling is in use now, or there is nothing more to report
        answered = asked if answer.success else before.answered if before else 0
        if answer.success:
            self.ledger.answered[metric.name] = asked
            self.failures.report(metric.name, None)
        streams = answer.streams if answer.success or before is None else before.streams  # of the last whole answer
        schedule.snapshot = MetricSnapshot(answer.success, streams, newest, answer.query_bytes, answered)

    def _query_scope(self, metric: OciMetric, scope: Scope) -> AnswerSummary:
        """Query one metric in one scope, in as many parts as the answer needs."""
        schedule = self.schedules[metric.name].scope(scope)
        minutes = self.schedules[metric.name].window(scope, self.now())
        doublings = 0
        while True:
            parts = schedule.parts.parts(self._inventory, minutes.minutes)
            if not parts:
                return AnswerSummary()
            requests = [self._request(metric, scope, minutes, part) for part in parts]
            asked = AnswerSummary(query_bytes=max(len(request.query.encode()) for request in requests))
            try:
                answer = self._query_parts(metric, requests, asked)
            except CloudError as error:
                doublings += 1
                if doublings <= _DOUBLINGS_AT_MOST and schedule.parts.refused(len(parts)):
                    continue
                schedule.parts.failed(error)
                self.failures.report(metric.name, error)
                return replace(asked, success=False)
            if answer.success and answer.is_unreadable:
                message = f"none of {answer.streams} streams of {metric.name} in {self.client.region} is as documented"
                self.failures.report(metric.name, BrokenAnswer(message, operation="SummarizeMetricsData"))
                return replace(answer, success=False)
            if answer.success:
                schedule.answered(answer.streams, minutes)
            if len(parts) > 1:
                place = {"region": self.client.region, "oci_metric": metric.name}
                self.self_metrics.add("fss_oci_query_splits_total", len(parts) - 1, **place)
            return answer

    def _query_parts(
        self, metric: OciMetric, requests: Sequence[MetricRequest], answer: AnswerSummary
    ) -> AnswerSummary:
        """Send the parts of one query, and add them to `answer`. A failed part costs the part.

        A refusal for length or size is a CloudError.
        """
        store = self.stores[metric.name]
        selects = len(requests) > 1 or not self._inventory.shard.is_whole
        for request in requests:
            try:
                streams = self._calls.called(partial(self.client.summarize, request))
            except CloudError as error:
                if isinstance(error, TooMuchData) or (selects and error.status == 400):
                    raise
                self.failures.report(metric.name, error)
                self.is_refused = self.is_refused or error.lacks_permission
                self._unanswered = self._unanswered + 1 if isinstance(error, Unreachable) else 0
                answer = replace(answer, success=False)
                continue
            self._unanswered = 0
            answer = store.take(streams, newest_complete(self.now()), answer)
        return answer

    def _request(self, metric: OciMetric, scope: Scope, minutes: Window, part: tuple[str, ...]) -> MetricRequest:
        spelling = self._names.spelling(metric)
        assert spelling is not None  # noqa: S101  # only metrics that exist are queried
        return MetricRequest(scope, metric.namespace, metric.query(spelling, part), minutes.start, minutes.end)
