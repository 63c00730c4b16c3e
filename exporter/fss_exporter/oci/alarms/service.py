"""The alarm operations over a session, on plain JSON, with a refusal that names every statement it may lack."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from fss_exporter.errors import BrokenAnswer, NotAuthorized
from fss_exporter.oci.iam import statement


class MonitoringAnswer(Protocol):
    """What a call brings."""

    @property
    def data(self) -> Any:
        """Parsed JSON."""

    @property
    def headers(self) -> Mapping[str, str]:
        """By name, in lower case."""


class MonitoringSession(Protocol):
    """The part of `oci.client.Session` that alarms need."""

    def call(self, service: str, operation: str, *arguments: object, **options: object) -> MonitoringAnswer:
        """One operation."""

    def pages(self, service: str, operation: str, *arguments: object, **options: object) -> Iterator[list[Any]]:
        """Every page of a listing."""


class Alarms:
    """Alarms of one region.

    Args:
        session: calls in that region.
        auth: how it signs; decides whom a policy statement names.
        step: is called after each alarm that was read.
    """

    def __init__(self, session: MonitoringSession, auth: str, step: Callable[[], None] = lambda: None) -> None:
        self._session = session
        self._auth = auth
        self._step = step

    def list_alarms(self, compartment_id: str) -> Iterator[Mapping[str, Any]]:
        """Summaries of all alarms in the compartment."""
        for page in self._session.pages("monitoring", "list_alarms", compartment_id=compartment_id):
            for summary in page:
                if not isinstance(summary, Mapping) or "id" not in summary:
                    raise BrokenAnswer("ListAlarms: an element of the answer is no alarm", operation="ListAlarms")
                yield summary

    def get_alarm(self, alarm_id: str) -> tuple[Mapping[str, Any], str]:
        """The whole alarm and its etag."""
        answer = self._session.call("monitoring", "get_alarm", alarm_id)
        etag = answer.headers.get("etag")
        if not isinstance(answer.data, Mapping) or not isinstance(answer.data.get("freeformTags"), Mapping) or not etag:
            raise BrokenAnswer(f"GetAlarm {alarm_id}: the answer is no alarm with an etag", operation="GetAlarm")
        self._step()
        return answer.data, etag

    def create_alarm(self, body: Mapping[str, Any], retry_token: str) -> str:
        """Create and return the OCID. A repeated request with the same token makes no second alarm."""
        try:
            answer = self._session.call("monitoring", "create_alarm", dict(body), opc_retry_token=retry_token)
        except NotAuthorized as refused:
            raise self._explained(refused, body) from refused
        if not isinstance(answer.data, Mapping) or "id" not in answer.data:
            raise BrokenAnswer("CreateAlarm: the answer is no alarm; it may have been created", operation="CreateAlarm")
        return str(answer.data["id"])

    def update_alarm(self, alarm_id: str, changes: Mapping[str, Any], etag: str) -> None:
        """Change some fields, if the alarm still has the etag."""
        self._session.call("monitoring", "update_alarm", alarm_id, dict(changes), if_match=etag)

    def delete_alarm(self, alarm_id: str, etag: str) -> None:
        """Delete, if the alarm still has the etag."""
        self._session.call("monitoring", "delete_alarm", alarm_id, if_match=etag)

    def _explained(self, refused: NotAuthorized, body: Mapping[str, Any]) -> NotAuthorized:
        """Creating needs three permissions and OCI does not say which one is missing."""
        needed = (
            statement("CreateAlarm", self._auth, body["compartmentId"]),
            statement("SummarizeMetricsData", self._auth, body["metricCompartmentId"], body["namespace"]),
            statement("PublishMessage", self._auth),
        )
        return NotAuthorized(
            f"{refused} It takes all of: {'; '.join(needed)}",
            operation=refused.operation,
            status=refused.status,
            request_id=refused.request_id,
        )
