"""The alarm operations of a session, on plain JSON. A refusal names every statement that may be missing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fss_exporter.errors import BrokenAnswer, NotAuthorized
from fss_exporter.oci.cloud_client import RawCalls
from fss_exporter.oci.iam import statement


@dataclass(eq=False, repr=False)
class Alarms:
    """Alarms of one region."""

    session: RawCalls  # calls in that region
    auth: str  # how it signs; decides whom a policy statement names
    step: Callable[[], None] = lambda: None  # is called after each alarm that was read

    def list_alarms(self, compartment_id: str) -> Iterator[Mapping[str, Any]]:
        """Yield summaries of all alarms in the compartment."""
        for page in self.session.pages("monitoring", "list_alarms", compartment_id=compartment_id):
            for summary in page:
                if not isinstance(summary, Mapping) or "id" not in summary:
                    raise BrokenAnswer("ListAlarms: an element of the answer is no alarm", operation="ListAlarms")
                yield summary

    def get_alarm(self, alarm_id: str) -> tuple[Mapping[str, Any], str]:
        """Return the whole alarm and the etag."""
        answer = self.session.call("monitoring", "get_alarm", alarm_id)
        etag = answer.headers.get("etag")
        if not isinstance(answer.data, Mapping) or not isinstance(answer.data.get("freeformTags"), Mapping) or not etag:
            raise BrokenAnswer(f"GetAlarm {alarm_id}: the answer is no alarm with an etag", operation="GetAlarm")
        self.step()
        return answer.data, etag

    def create_alarm(self, body: Mapping[str, Any], retry_token: str) -> str:
        """Create an alarm and return the OCID. A repeated request with an equal token makes no second alarm."""
        try:
            answer = self.session.call("monitoring", "create_alarm", dict(body), opc_retry_token=retry_token)
        except NotAuthorized as refused:
            raise self._explained(refused, body) from refused
        if not isinstance(answer.data, Mapping) or "id" not in answer.data:
            raise BrokenAnswer(
                "CreateAlarm: the answer is no alarm. OCI may have created the alarm", operation="CreateAlarm"
            )
        return str(answer.data["id"])

    def update_alarm(self, alarm_id: str, changes: Mapping[str, Any], etag: str) -> None:
        """Change some fields, if the alarm still has the etag."""
        self.session.call("monitoring", "update_alarm", alarm_id, dict(changes), if_match=etag)

    def delete_alarm(self, alarm_id: str, etag: str) -> None:
        """Delete, if the alarm still has the etag."""
        self.session.call("monitoring", "delete_alarm", alarm_id, if_match=etag)

    def _explained(self, refused: NotAuthorized, body: Mapping[str, Any]) -> NotAuthorized:
        """Return the refusal with the three policy statements of CreateAlarm, because OCI does not name the missing
        statement.
        """
        needed = (
            statement("CreateAlarm", self.auth, body["compartmentId"]),
            statement("SummarizeMetricsData", self.auth, body["metricCompartmentId"], body["namespace"]),
            statement("PublishMessage", self.auth),
        )
        return NotAuthorized(
            f"{refused} It takes all of: {'; '.join(needed)}",
            operation=refused.operation,
            status=refused.status,
            request_id=refused.request_id,
        )
