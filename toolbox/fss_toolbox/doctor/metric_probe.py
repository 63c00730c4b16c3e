# SPDX-License-Identifier: Apache-2.0
"""Query every metric once, and try undocumented behaviour of Monitoring."""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from fss_exporter.errors import CloudError, TooMuchData
from fss_exporter.oci.client import Session
from fss_exporter.oci.cloud_client import MetricRequest, Scope, dimensions_of, epoch_seconds
from fss_exporter.oci.iam import NAMESPACE
from fss_exporter.oci.inventory.oci_inventory import Export, Inventory
from fss_exporter.oci.metric_table import METRICS, OciMetric
from fss_exporter.oci.mql_writer import query
from fss_toolbox.doctor.account_facts import MetricFacts, ThroughputFactor, throughput_factor
from fss_toolbox.mql import JoinOrder
from fss_toolbox.tables import Progress

ASKED_MINUTES: Final = 15
_VALUES_AT_MOST: Final = 50
_COMPARED_MINUTES: Final = 60
_COMPARED_MOUNT_TARGETS: Final = 3
_OF_FILE_SYSTEM: Final = "FileSystemReadThroughput"
_READS, _WRITES = "MountTargetReadThroughput", "MountTargetWriteThroughput"


class MetricProbe:
    """Query the metrics of one region.

    Args:
        session: calls in that region.
        scopes: compartments that the queries cover.
        now: returns epoch seconds.
        note: is called with each operation and its error, None for success.
        progress: counts the calls.
    """

    def __init__(
        self,
        session: Session,
        scopes: tuple[Scope, ...],
        *,
        now: Callable[[], float],
        note: Callable[[str, Exception | None], None],
        progress: Progress,
    ) -> None:
        self.session = session
        self.scopes = scopes
        self.now = now
        self.note = note
        self.progress = progress

    def ask(self) -> tuple[MetricFacts, ...]:
        """Return every metric of the namespace."""
        self.progress.phase("names of metrics", len(self.scopes))
        rows, _ = self._listed({"groupBy": ["name"]})
        names = {str(row["name"]) for row in rows if isinstance(row.get("name"), str)}
        self.progress.phase("metrics", 2 * len(names) * len(self.scopes))
        return tuple(self._metric(spelling) for spelling in sorted(names))

    def minutes(self, spelling: str) -> set[float]:
        """Return timestamps of the readable points of one metric, epoch seconds, or raise the CloudError of a query."""
        merged = _merged(spelling)
        return {
            moment
            for scope in self.scopes
            for stream in self._summarized(merged, scope, self.now())
            for moment in _moments(stream)
        }

    def ignores_case(self, spellings: Mapping[str, str]) -> bool | None:
        """Return whether MQL accepts a metric name in lower case. None if no metric has points to try.

        `spellings` are the names of metrics with points, here and below, by documented name.
        """
        if _READS not in spellings:
            return None
        try:
            return bool(self._summarized(f"{spellings[_READS].lower()}[1m].mean()", self.scopes[0], self.now()))
        except CloudError:
            return False

    def adds_up(self, spellings: Mapping[str, str]) -> str:
        """Return the result of adding two metrics in one query. Empty if no metric has points to try."""
        if not {_READS, _WRITES} <= spellings.keys():
            return ""
        added = f"{spellings[_READS]}[1m].mean() + {spellings[_WRITES]}[1m].mean()"
        try:
            return f"{len(self._summarized(added, self.scopes[0], self.now()))} streams"
        except CloudError as error:
            return f"refused: {error}"

    def join_order(self, spellings: Mapping[str, str]) -> str:
        """Return which of `&&` and `||` binds tighter in a query without parentheses. Empty if no metric has points to try.

        No document says it. With T true and F false, `F && F || T` is false only if `||` binds tighter, and
        `T || F && F` is true only if `&&` does, or if the service reads from right to left.
        """
        if _READS not in spellings:
            return ""
        true, false = (f"{spellings[_READS]}[1m].mean() {comparison} 0" for comparison in (">=", "<"))
        answers = []
        for text in (f"{false} && {false} || {true}", f"{true} || {false} && {false}"):
            try:
                rows = self._summarized(text, self.scopes[0], self.now())
            except CloudError as error:
                return f"refused: {error}"
            values = [value for row in rows for value in _values(row)]
            if not values:
                return "no stream in the answer"
            answers.append(all(values))
        return JOIN_ORDERS[answers[0], answers[1]]

    def throughput_factor(self, spellings: Mapping[str, str], inventory: Inventory | None) -> ThroughputFactor:
        """Compare both metrics of bytes read over an hour, where a mount target alone serves its only file system."""
        if inventory is None or not {_READS, _OF_FILE_SYSTEM} <= spellings.keys():
            return "cannot tell"
        for export in islice(alone(inventory.exports), _COMPARED_MOUNT_TARGETS):
            values = [
                self._hour(query(spellings[metric], 1, "mean", where={"resourceId": ocid}, group_by=()))
                for metric, ocid in ((_READS, export.mount_target_id), (_OF_FILE_SYSTEM, export.file_system_id))
            ]
            factor = throughput_factor(*values)
            if factor != "cannot tell":
                return factor
        return "cannot tell"

    def _hour(self, text: str) -> Mapping[float, float]:
        """Return the values of the last hour by minute, of one stream. Empty without an answer."""
        found: dict[float, float] = {}
        for scope in self.scopes:
            try:
                rows = self._summarized(text, scope, self.now(), _COMPARED_MINUTES)
            except CloudError as error:
                self.note("SummarizeMetricsData", error)
                continue
            for row in rows:
                found |= dict(_points(row))
        return found

    def limit_names(self) -> tuple[str, ...] | None:
        """Return the names of the service limits of File Storage. None for a refused call."""
        try:
            pages = self.session.pages(
                "limits", "list_limit_values", compartment_id=self.session.tenancy_id, service_name="filesystem"
            )
            names = {str(row["name"]) for page in pages for row in page if isinstance(row, dict) and row.get("name")}
        except CloudError as error:
            self.note("ListLimitValues", error)
            return None
        self.note("ListLimitValues", None)
        return tuple(sorted(names))

    def _listed(self, wanted: dict[str, object]) -> tuple[list[dict[str, Any]], bool]:
        """Return the first page of ListMetrics in each scope, up to 1,000 rows, and whether there are more pages."""
        rows: list[dict[str, Any]] = []
        has_more = False
        for scope in self.scopes:
            details = {"namespace": NAMESPACE, **wanted}
            try:
                pages = self.session.pages("monitoring", "list_metrics", body=details, **scope.parameters)
                first, *others = islice(pages, 2)
                rows += [row for row in first if isinstance(row, dict)]
                has_more |= bool(others)
            except CloudError as error:
                self.note("ListMetrics", error)
            else:
                self.note("ListMetrics", None)
            self.progress.step()
        return rows, has_more

    def _metric(self, spelling: str) -> MetricFacts:
        metric = _documented(spelling)
        rows, is_large = self._listed({"name": spelling})
        dimensions = dimensions_of(rows).items()
        answered: list[dict[str, Any]] = []
        error = ""
        asked_at = self.now()
        for scope in self.scopes:
            try:
                answered += self._streams(spelling, scope, asked_at, merged=is_large)
            except CloudError as failed:
                self.note("SummarizeMetricsData", failed)
                error = str(failed)
        seen = [set(_moments(stream)) for stream in answered]
        moments = set().union(*seen)
        return MetricFacts(
            spelling=spelling,
            documented=metric.name if metric else "",
            listed=len(rows),
            dimensions={name: tuple(sorted(values)[:_VALUES_AT_MOST]) for name, values in sorted(dimensions)},
            units=tuple(sorted(set(map(_unit, answered)) - {""})),
            streams=None if error else sum(map(bool, seen)),
            empty_streams=seen.count(set()),
            newest_age_seconds=asked_at - max(moments) if moments else None,
            minutes=len(moments),
            error=error,
            is_large=is_large,
        )

    def _streams(self, spelling: str, scope: Scope, now: float, *, merged: bool) -> list[dict[str, Any]]:
        """Return the streams of a metric, or a single merged stream if the number may be too large for an answer."""
        try:
            return self._summarized(_merged(spelling) if merged else _query(spelling), scope, now)
        except TooMuchData:
            return self._summarized(_merged(spelling), scope, now)

    def _summarized(self, text: str, scope: Scope, now: float, minutes: int = ASKED_MINUTES) -> list[dict[str, Any]]:
        end = int(now // 60) * 60 + 60
        details = MetricRequest(scope, NAMESPACE, text, end - minutes * 60, end).details
        rows = self.session.call("monitoring", "summarize_metrics_data", body=details, **scope.parameters).data
        self.progress.step()
        self.note("SummarizeMetricsData", None)
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


# Meaning of the answers to `F && F || T` and `T || F && F`.
JOIN_ORDERS: Final[dict[tuple[bool, bool], JoinOrder]] = {
    (True, True): "&& binds tighter",
    (False, False): "|| binds tighter",
    (True, False): "read from left to right",
    (False, True): "read from right to left",
}


def _values(stream: dict[str, Any]) -> Iterator[bool]:
    points = stream.get("aggregatedDatapoints")
    for point in points if isinstance(points, list) else ():
        if isinstance(point, dict) and isinstance(point.get("value"), int | float):
            yield bool(point["value"])


def alone(exports: Collection[Export]) -> Iterator[Export]:
    """Yield an export of each mount target with one file system that no other mount target exports."""
    systems: dict[str, set[str]] = {}
    targets: dict[str, set[str]] = {}
    by_target = {export.mount_target_id: export for export in exports}
    for export in exports:
        systems.setdefault(export.mount_target_id, set()).add(export.file_system_id)
        targets.setdefault(export.file_system_id, set()).add(export.mount_target_id)
    for target, export in by_target.items():
        if len(systems[target]) == len(targets[export.file_system_id]) == 1:
            yield export


def _documented(spelling: str) -> OciMetric | None:
    return next((metric for name, metric in METRICS.items() if name.lower() == spelling.lower()), None)


def _query(spelling: str) -> str:
    metric = _documented(spelling)
    return metric.query(spelling) if metric else f"{spelling}[1m].mean()"


def _merged(spelling: str) -> str:
    """Return the query that merges the streams of all resources."""
    return f"{spelling}[1m].grouping().max()"


def _unit(stream: dict[str, Any]) -> str:
    metadata = stream.get("metadata")
    return str(metadata.get("unit", "")) if isinstance(metadata, dict) else ""


def _moments(stream: dict[str, Any]) -> Iterator[float]:
    return (moment for moment, _ in _points(stream))


def _points(stream: dict[str, Any]) -> Iterator[tuple[float, float]]:
    points = stream.get("aggregatedDatapoints")
    for point in points if isinstance(points, list) else ():
        try:
            yield epoch_seconds(str(point["timestamp"])), float(point["value"])
        except (KeyError, TypeError, ValueError):
            continue
