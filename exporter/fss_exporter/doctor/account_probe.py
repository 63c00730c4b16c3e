"""Asking an account: every operation the poller uses, every metric once, and what the documentation leaves open."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from fss_exporter.doctor.account_facts import MetricFacts, Outcome, RegionFacts, Tried
from fss_exporter.errors import CloudError, NotAuthorized, TooMuchData, Unreachable
from fss_exporter.oci.iam import NAMESPACE
from fss_exporter.oci.inventory import Inventory
from fss_exporter.oci.metric import OciMetric
from fss_exporter.oci.metrics import METRICS
from fss_exporter.oci.scopes import Scope
from fss_exporter.oci.survey import Calls, Survey
from fss_exporter.oci.tags import Tags

ASKED_MINUTES: Final = 15
_VALUES_AT_MOST: Final = 50
_PAGES_AT_MOST: Final = 50
_READS, _WRITES = "MountTargetReadThroughput", "MountTargetWriteThroughput"


class Probe:
    """Asks one region.

    Args:
        session: where to ask.
        compartments: OCIDs or names; empty for all.
        tags: which resources are wanted.
        now: epoch seconds.
        step: told after every call.
    """

    def __init__(
        self,
        session: Calls,
        compartments: tuple[str, ...],
        tags: Tags,
        *,
        now: Callable[[], float],
        step: Callable[[], None],
    ) -> None:
        self._session = session
        self._compartments = compartments
        self._tags = tags
        self._now = now
        self._step = step
        self._tried: dict[str, Tried] = {}

    def ask(self) -> RegionFacts:
        """Everything. What fails is in the facts; nothing of OCI is raised."""
        ahead = self._clock()
        if any(tried.outcome is Outcome.SILENT for tried in self._tried.values()):
            # Nobody answers: each further call would only wait as long again.
            return RegionFacts(self._session.region, self._tried)
        survey = Survey(self._session, self._compartments, self._tags, now=self._now, complain=self._note)
        try:
            for _ in survey.steps():
                self._step()
        except CloudError as error:
            self._note(error.operation, error)
        inventory, scopes = survey.found.inventory, survey.found.scopes
        scopes = scopes or (Scope(self._session.tenancy_id, subtree=True),)
        metrics = self._metrics(scopes)
        known = inventory if self._tried.get("ListMountTargets") == Tried(Outcome.OK) else None
        return RegionFacts(
            region=self._session.region,
            tried=self._tried,
            clock_ahead_seconds=ahead,
            mount_targets=None if known is None else len(known.mount_targets),
            observed_throughputs=_throughputs(inventory),
            availability_domains=_domains(inventory),
            metrics=metrics,
            asked_minutes=ASKED_MINUTES,
            names_ignore_case=self._ignores_case(metrics, scopes[0]),
            arithmetic=self._adds_up(metrics, scopes[0]),
        )

    def _note(self, operation: str, error: Exception | None) -> None:
        if error is None:
            self._tried.setdefault(operation, Tried(Outcome.OK))
        elif self._tried.get(operation, Tried(Outcome.OK)).outcome is Outcome.OK:
            self._tried[operation] = Tried(_outcome(error), str(error))

    def _clock(self) -> float | None:
        """How far this host's clock is ahead, from the `date` of an answer, which has whole seconds."""
        operation = "ListAvailabilityDomains"
        try:
            answer = self._session.call(
                "identity", "list_availability_domains", compartment_id=self._session.tenancy_id
            )
        except CloudError as error:
            self._note(operation, error)
            return None
        self._note(operation, None)
        try:
            return self._now() - parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
        except (TypeError, ValueError):
            return None

    def _metrics(self, scopes: Iterable[Scope]) -> tuple[MetricFacts, ...]:
        scopes = tuple(scopes)
        listed: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for scope in scopes:
            for row in self._listed(scope):
                if isinstance(row.get("name"), str):
                    listed[row["name"]].append(row)
        documented = {name.lower(): metric for name, metric in METRICS.items()}
        return tuple(
            self._metric(spelling, rows, documented.get(spelling.lower()), scopes)
            for spelling, rows in sorted(listed.items())
        )

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

    def _metric(
        self, spelling: str, rows: list[dict[str, Any]], metric: OciMetric | None, scopes: tuple[Scope, ...]
    ) -> MetricFacts:
        query = metric.query(spelling) if metric else f"{spelling}[1m].mean()"
        streams: list[dict[str, Any]] = []
        error = ""
        asked_at = self._now()
        for scope in scopes:
            try:
                streams += self._summarized(query, scope, asked_at)
            except TooMuchData:
                error = "more streams than one answer may hold; serve splits the query"
            except CloudError as failed:
                self._note("SummarizeMetricsData", failed)
                error = str(failed)
        moments = {moment for stream in streams for moment in _moments(stream)}
        return MetricFacts(
            spelling=spelling,
            documented=metric.name if metric else "",
            listed=len(rows),
            dimensions=_dimensions(rows),
            units=tuple(sorted({str((stream.get("metadata") or {}).get("unit", "")) for stream in streams} - {""})),
            streams=None if error else len(streams),
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

    def _ignores_case(self, metrics: Iterable[MetricFacts], scope: Scope) -> bool | None:
        """Whether a name in lower case finds what the right one finds."""
        known = next((one for one in metrics if one.streams and one.documented == _READS), None)
        if known is None:
            return None
        try:
            return bool(self._summarized(f"{known.spelling.lower()}[1m].mean()", scope, self._now()))
        except CloudError:
            return False

    def _adds_up(self, metrics: Iterable[MetricFacts], scope: Scope) -> str:
        spellings = {one.documented: one.spelling for one in metrics if one.streams}
        if not {_READS, _WRITES} <= spellings.keys():
            return ""
        query = f"{spellings[_READS]}[1m].mean() + {spellings[_WRITES]}[1m].mean()"
        try:
            return f"{len(self._summarized(query, scope, self._now()))} streams"
        except CloudError as error:
            return f"refused: {error}"


def _outcome(error: Exception) -> Outcome:
    if isinstance(error, NotAuthorized):
        return Outcome.REFUSED
    return Outcome.SILENT if isinstance(error, Unreachable) else Outcome.FAILED


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


def _throughputs(inventory: Inventory | None) -> dict[str, int]:
    targets = inventory.mount_targets.values() if inventory else ()
    reported = (target.observed_throughput_gbps for target in targets)
    return dict(sorted(Counter("absent" if gbps is None else str(gbps) for gbps in reported).items()))


def _domains(inventory: Inventory | None) -> dict[str, str]:
    targets = inventory.mount_targets.values() if inventory else ()
    return {target.address: target.availability_domain for target in targets if target.address}


def _stamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
