"""Asking Monitoring: every metric once, and what the documentation leaves open."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from fss_exporter.doctor.account_facts import MetricFacts
from fss_exporter.errors import CloudError, TooMuchData
from fss_exporter.oci.iam import NAMESPACE
from fss_exporter.oci.inventory_refresh import Calls
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.oci_metric import OciMetric
from fss_exporter.oci.scopes import Scope

ASKED_MINUTES: Final = 15
_VALUES_AT_MOST: Final = 50
_PAGES_AT_MOST: Final = 50
_READS, _WRITES = "MountTargetReadThroughput", "MountTargetWriteThroughput"


class MetricProbe:
    """Asks the metrics of one region.

    Args:
        session: where to ask.
        scopes: what to ask of.
        now: epoch seconds.
        note: told how each operation went.
        step: told after every call.
    """

    def __init__(
        self,
        session: Calls,
        scopes: tuple[Scope, ...],
        *,
        now: Callable[[], float],
        note: Callable[[str, Exception | None], None],
        step: Callable[[], None],
    ) -> None:
        self._session = session
        self._scopes = scopes
        self._now = now
        self._note = note
        self._step = step

    def ask(self) -> tuple[MetricFacts, ...]:
        """Every metric of the namespace."""
        listed: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for scope in self._scopes:
            for row in self._listed(scope):
                if isinstance(row.get("name"), str):
                    listed[row["name"]].append(row)
        return tuple(self._metric(spelling, rows) for spelling, rows in sorted(listed.items()))

    def minutes(self, spelling: str) -> set[float]:
        """Timestamps of the points of one metric that can be read now, epoch seconds.

        Raises:
            CloudError: a query failed.
        """
        query = _query(spelling)
        return {
            moment
            for scope in self._scopes
            for stream in self._summarized(query, scope, self._now())
            for moment in _moments(stream)
        }

    def ignores_case(self, metrics: Iterable[MetricFacts]) -> bool | None:
        """Whether a name in lower case finds what the right one finds; None where that cannot be tried."""
        known = next((one for one in metrics if one.streams and one.documented == _READS), None)
        if known is None:
            return None
        try:
            return bool(self._summarized(f"{known.spelling.lower()}[1m].mean()", self._scopes[0], self._now()))
        except CloudError:
            return False

    def adds_up(self, metrics: Iterable[MetricFacts]) -> str:
        """What comes of adding two metrics in one query; empty where that cannot be tried."""
        spellings = {one.documented: one.spelling for one in metrics if one.streams}
        if not {_READS, _WRITES} <= spellings.keys():
            return ""
        query = f"{spellings[_READS]}[1m].mean() + {spellings[_WRITES]}[1m].mean()"
        try:
            return f"{len(self._summarized(query, self._scopes[0], self._now()))} streams"
        except CloudError as error:
            return f"refused: {error}"

    def _listed(self, scope: Scope) -> Iterator[dict[str, Any]]:
        pages = self._session.pages(
            "monitoring",
            "list_metrics",
            scope.compartment_id,
            {"namespace": NAMESPACE},
            compartment_id_in_subtree=scope.subtree,
        )
        try:
            for number, page in enumerate(pages, start=1):
                self._step()
                yield from (row for row in page if isinstance(row, dict))
                if number >= _PAGES_AT_MOST:
                    break
        except CloudError as error:
            self._note("ListMetrics", error)
        else:
            self._note("ListMetrics", None)

    def _metric(self, spelling: str, rows: list[dict[str, Any]]) -> MetricFacts:
        metric, query = _documented(spelling), _query(spelling)
        answered: list[dict[str, Any]] = []
        error = ""
        asked_at = self._now()
        for scope in self._scopes:
            try:
                answered += self._summarized(query, scope, asked_at)
            except TooMuchData:
                error = "more streams than one answer may hold; serve splits the query"
            except CloudError as failed:
                self._note("SummarizeMetricsData", failed)
                error = str(failed)
        found = [set(_moments(stream)) for stream in answered]
        moments = set().union(*found)
        return MetricFacts(
            spelling=spelling,
            documented=metric.name if metric else "",
            listed=len(rows),
            dimensions=_dimensions(rows),
            units=tuple(sorted({str((stream.get("metadata") or {}).get("unit", "")) for stream in answered} - {""})),
            streams=None if error else sum(map(bool, found)),
            empty_streams=sum(not one for one in found),
            newest_age_seconds=asked_at - max(moments) if moments else None,
            minutes=len(moments),
            error=error,
        )

    def _summarized(self, query: str, scope: Scope, now: float) -> list[dict[str, Any]]:
        end = int(now // 60) * 60 + 60
        details = {
            "namespace": NAMESPACE,
            "query": query,
            "startTime": _stamp(end - ASKED_MINUTES * 60),
            "endTime": _stamp(end),
            "resolution": "1m",
        }
        options: dict[str, object] = {"compartment_id_in_subtree": True} if scope.subtree else {}
        rows = self._session.call("monitoring", "summarize_metrics_data", scope.compartment_id, details, **options).data
        self._step()
        self._note("SummarizeMetricsData", None)
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _documented(spelling: str) -> OciMetric | None:
    return next((metric for name, metric in METRICS.items() if name.lower() == spelling.lower()), None)


def _query(spelling: str) -> str:
    metric = _documented(spelling)
    return metric.query(spelling) if metric else f"{spelling}[1m].mean()"


def _moments(stream: dict[str, Any]) -> Iterator[float]:
    for point in stream.get("aggregatedDatapoints") or ():
        try:
            yield datetime.fromisoformat(str(point["timestamp"])).timestamp()
        except (KeyError, TypeError, ValueError):
            continue


def _dimensions(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    values: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, value in (row.get("dimensions") or {}).items():
            values[str(name)].add(str(value))
    return {name: tuple(sorted(found)[:_VALUES_AT_MOST]) for name, found in sorted(values.items())}


def _stamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
