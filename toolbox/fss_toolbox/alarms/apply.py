# SPDX-License-Identifier: Apache-2.0
"""Carry out a plan, and list the existing alarms.

Three guards protect against parallel changes:

- The retry token of a creation depends on the content, so that neither a repeated request nor a second `apply` makes a second alarm.
- An update or deletion names the etag of the plan, so that a manual edit is never overwritten.
- An alarm with a parallel change costs only the alarm. After any other refusal the run stops, because the next alarm would
  meet the same refusal.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from fss_exporter.errors import BrokenAnswer, CloudError, NotAuthorized
from fss_exporter.oci.client import Session
from fss_exporter.oci.iam import statement
from fss_toolbox.alarms.alarm_plan import Existing, Plan, Step, is_as_planned, ours
from fss_toolbox.alarms.pack import KEY_TAG, PACK_TAG, has_alarm_fields

_GONE: Final = ("DELETING", "DELETED")
_CONFLICT: Final = 409
_ETAG_MISMATCH: Final = 412
_EDITED: Final = (_CONFLICT, _ETAG_MISMATCH)
_NOT_FOUND: Final = 404


class Alarms:
    """Alarms of one region.

    Args:
        session: calls in that region.
        auth: way of signing, which decides whom a policy statement names.
        step: is called after each alarm that was read.
    """

    def __init__(self, session: Session, auth: str, step: Callable[[], None] = lambda: None) -> None:
        self.session = session
        self.auth = auth
        self.step = step

    def list_alarms(self, compartment_id: str) -> Iterator[Mapping[str, Any]]:
        """Yield summaries of all alarms in the compartment, without deleted alarms.

        A listing that changes meanwhile may repeat an alarm on the next page. Each alarm comes once.
        """
        listed: set[str] = set()
        for page in self.session.pages("monitoring", "list_alarms", compartment_id=compartment_id):
            for summary in page:
                if not has_alarm_fields(summary) or not isinstance(summary.get("id"), str):
                    raise BrokenAnswer("ListAlarms: an element of the answer is no alarm", operation="ListAlarms")
                if summary["id"] not in listed and summary.get("lifecycleState") not in _GONE:
                    listed.add(summary["id"])
                    yield summary

    def get_alarm(self, alarm_id: str) -> tuple[Mapping[str, Any], str]:
        """Return the whole alarm and the etag."""
        answer = self.session.call("monitoring", "get_alarm", alarm_id)
        etag = answer.headers.get("etag")
        if not has_alarm_fields(answer.data) or answer.data.get("freeformTags") is None or not etag:
            raise BrokenAnswer(f"GetAlarm {alarm_id}: the answer is no alarm with an etag", operation="GetAlarm")
        self.step()
        return answer.data, etag

    def create_alarm(self, body: Mapping[str, Any], retry_token: str) -> Mapping[str, Any]:
        """Create an alarm and return it. A repeated request with an equal token returns the first alarm as it is now."""
        try:
            answer = self.session.call("monitoring", "create_alarm", body=dict(body), opc_retry_token=retry_token)
        except NotAuthorized as refused:
            raise self._explained(refused, body) from refused
        if not has_alarm_fields(answer.data) or "id" not in answer.data:
            raise BrokenAnswer(
                "CreateAlarm: the answer is no alarm. OCI may have created the alarm", operation="CreateAlarm"
            )
        created: Mapping[str, Any] = answer.data
        return created

    def _explained(self, refused: NotAuthorized, body: Mapping[str, Any]) -> NotAuthorized:
        """Return the refusal with all three policy statements, because OCI does not name the missing statement."""
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


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The result of a step. `error` is None after success. `tried` is False for a step that was not begun."""

    step: Step
    error: CloudError | None = None
    tried: bool = True


def existing_alarms(service: Alarms, compartment_id: str, name: str) -> tuple[tuple[Existing, ...], dict[str, str]]:
    """Return the alarms of the pack `name`, whole, and the display names of all others with their OCIDs."""
    owned, foreign = [], {}
    for summary in service.list_alarms(compartment_id):
        if ours(summary.get("freeformTags"), name):
            try:
                body, etag = service.get_alarm(summary["id"])
            except CloudError as error:
                if error.status == _NOT_FOUND and not _is_listed(service, compartment_id, summary["id"]):
                    continue  # another operator deleted the alarm after the listing
                raise
            if ours(body.get("freeformTags"), name):  # an operator may remove the tags after the listing
                owned.append(Existing(summary["id"], body, etag))
                continue
        foreign[str(summary.get("displayName"))] = str(summary["id"])
    return tuple(owned), foreign


def _is_listed(service: Alarms, compartment_id: str, ocid: str) -> bool:
    return any(summary["id"] == ocid for summary in service.list_alarms(compartment_id))


def apply(
    plan: Plan, service: Alarms, report: Callable[[StepOutcome], None] = lambda _: None
) -> tuple[StepOutcome, ...]:
    """Take the steps of a plan in order, and call `report` after each step."""
    outcomes: list[StepOutcome] = []
    stopped = False
    for step in plan.changes:
        outcome = StepOutcome(step, tried=False) if stopped else _take(step, service)
        stopped = stopped or not _costs_only_itself(outcome)
        outcomes.append(outcome)
        report(outcome)
    return tuple(outcomes)


def duplicates(service: Alarms, compartment_id: str, name: str) -> dict[str, list[str]]:
    """Return the OCIDs of duplicate alarms of the pack `name`, by display name."""
    listings: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for summary in service.list_alarms(compartment_id):
        if ours(summary.get("freeformTags"), name):
            listings[str(summary["freeformTags"][KEY_TAG])].append(summary)
    return {
        str(alarms[0].get("displayName")): [str(alarm["id"]) for alarm in alarms]
        for alarms in listings.values()
        if len(alarms) > 1
    }


def _costs_only_itself(outcome: StepOutcome) -> bool:
    if outcome.error is None or outcome.error.status in _EDITED:
        return True
    return outcome.error.status == _NOT_FOUND and outcome.step.kind != "create"


def _create(body: Mapping[str, Any], service: Alarms) -> None:
    """Create an alarm, also where OCI remembers an equal creation.

    OCI remembers a retry token for 24 hours. The alarm of the token may have been deleted, moved or handed over since, and the
    alarm is then created with another token.
    """
    content = json.dumps(body, sort_keys=True).encode()
    try:
        alarm = service.create_alarm(body, hashlib.sha256(content).hexdigest())
    except CloudError as error:
        if error.status != _CONFLICT or "InvalidatedRetryToken" not in str(error):
            raise
    else:
        if _is_in_pack(alarm, body):
            return
    service.create_alarm(body, str(uuid4()))


def _is_in_pack(alarm: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Return whether an answer is an alarm of the pack and compartment that a body names. An answer may leave out both."""
    tags, compartment = alarm.get("freeformTags"), alarm.get("compartmentId")
    return (tags is None or ours(tags, body["freeformTags"][PACK_TAG])) and compartment in (None, body["compartmentId"])


def _take(step: Step, service: Alarms) -> StepOutcome:
    try:
        if step.kind == "create":
            _create(step.body, service)
        elif step.kind == "update":
            service.session.call("monitoring", "update_alarm", step.ocid, body=dict(step.body), if_match=step.etag)
        else:
            service.session.call("monitoring", "delete_alarm", step.ocid, if_match=step.etag)
    except CloudError as error:
        if _is_done_already(step, error, service):
            return StepOutcome(step)
        return StepOutcome(step, error)
    return StepOutcome(step)


def _is_done_already(step: Step, refused: CloudError, service: Alarms) -> bool:
    """Return whether OCI refused a change because it is made already.

    A request whose answer is lost is repeated. The first has then changed the etag or deleted the alarm. Another operator
    may have done the same.
    """
    if (step.kind, refused.status) not in (("update", _ETAG_MISMATCH), ("delete", _NOT_FOUND)):
        return False
    try:
        body, _ = service.get_alarm(step.ocid)
    except CloudError as error:
        return step.kind == "delete" and error.status == _NOT_FOUND
    if step.kind == "delete":
        return body.get("lifecycleState") in _GONE
    return is_as_planned(step, body)
