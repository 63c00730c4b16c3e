"""Monitoring (20180401), alarms: Create, Get, Update, Delete, List, and their status."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Literal

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.alarm_details import DEFAULTS, CreateAlarmDetails, UpdateAlarmDetails, check_alarm
from fss_exporter.demo.region.alarm_status import status_of
from fss_exporter.demo.region.bodies import etag, rfc3339
from fss_exporter.demo.region.monitoring import BASE, Monitoring
from fss_exporter.demo.region.tenancy import Tenancy, ocid
from fss_exporter.demo.region.wire import Answer, Call, Message, Operation, Page, paged

RETRY_TOKEN_SECONDS = 24 * 3600
"""How long a retry token is remembered, documented: CreateAlarm."""

_SUMMARY = (
    *("id", "displayName", "compartmentId", "metricCompartmentId", "namespace", "query", "severity", "destinations"),
    *("suppression", "isEnabled", "isNotificationsPerMetricDimensionEnabled", "freeformTags", "definedTags"),
    *("lifecycleState", "overrides", "ruleName", "notificationVersion", "notificationTitle"),
    *("evaluationSlackDuration", "alarmSummary", "resourceGroup"),
)
# The fields of AlarmSummary; the others only Get shows.

_SEVERITIES = {"CRITICAL": 0, "ERROR": 1, "WARNING": 2, "INFO": 3}


class Alarms(Page):
    """Query of ListAlarms. Without lifecycleState only ACTIVE ones are listed, documented."""

    compartment_id: str
    compartment_id_in_subtree: bool = False
    display_name: str | None = None
    lifecycle_state: Literal["ACTIVE", "DELETING", "DELETED"] = "ACTIVE"
    sort_by: Literal["displayName", "severity"] | None = None
    sort_order: Literal["ASC", "DESC"] | None = None


class AlarmStatuses(Page):
    """Query of ListAlarmsStatus."""

    compartment_id: str
    compartment_id_in_subtree: bool = False
    display_name: str | None = None
    status: Literal["FIRING", "OK"] | None = None
    sort_by: Literal["displayName", "severity"] | None = None
    sort_order: Literal["ASC", "DESC"] | None = None


@dataclass(slots=True)
class _Stored:
    body: dict[str, Any]
    version: int = 1

    @property
    def etag(self) -> str:
        return etag((self.body["id"], self.version))


@dataclass(frozen=True)
class _Token:
    alarm_id: str
    details: str
    used_at: float


@dataclass
class AlarmBook:
    """The alarms of a region.

    Args:
        tenancy: where they live.
        monitoring: evaluates their queries.
        now: epoch seconds.
        limit: how many there may be.
    """

    tenancy: Tenancy
    monitoring: Monitoring
    now: Callable[[], float]
    limit: int
    _alarms: dict[str, _Stored] = field(default_factory=dict)
    _tokens: dict[str, _Token] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def operations(self) -> tuple[Operation, ...]:
        """What it serves. `/alarms/status` stands before `/alarms/{alarmId}`."""
        one = f"{BASE}/alarms/{{alarmId}}"
        return (
            Operation(
                "ListAlarmsStatus", "GET", f"{BASE}/alarms/status", self.list_statuses, AlarmStatuses, family="alarms"
            ),
            Operation("ListAlarms", "GET", f"{BASE}/alarms", self.list_alarms, Alarms, family="alarms"),
            Operation("CreateAlarm", "POST", f"{BASE}/alarms", self.create, Message, CreateAlarmDetails, "alarms"),
            Operation("GetAlarm", "GET", one, self.get, family="alarms"),
            Operation("UpdateAlarm", "PUT", one, self.update, Message, UpdateAlarmDetails, "alarms"),
            Operation("DeleteAlarm", "DELETE", one, self.delete, family="alarms"),
        )

    # -- one alarm

    def create(self, call: Call) -> Answer:
        """CreateAlarm. A retry token makes a repeated call answer with the alarm of the first."""
        details: CreateAlarmDetails = call.body
        token = call.headers.get("opc-retry-token", "")
        with self._lock:
            if token and (again := self._repeated(token, details.model_dump_json())):
                return _answer(again)
            if len(self._active()) >= self.limit:
                raise refusal.limit_exceeded(f"The tenancy may have {self.limit} alarms in this region.")
            moment = self._moment()
            given = details.model_dump(mode="json", by_alias=True, exclude_none=True)
            body = _complete(given) | {"lifecycleState": "ACTIVE", "timeCreated": moment, "timeUpdated": moment}
            check_alarm(body, self.tenancy)
            body["id"] = ocid("alarm", self.tenancy.region, f"{self.tenancy.id}/{len(self._alarms)}")
            stored = self._alarms[body["id"]] = _Stored(body)
            if token:
                self._tokens[token] = _Token(body["id"], details.model_dump_json(), self.now())
            return _answer(stored)

    def _repeated(self, token: str, details: str) -> _Stored | None:
        """The alarm an earlier call with this token made. Documented: a token expires, and other facts invalidate it."""
        earlier = self._tokens.get(token)
        if earlier is None or self.now() - earlier.used_at > RETRY_TOKEN_SECONDS:
            return None
        stored = self._alarms[earlier.alarm_id]
        if earlier.details != details or stored.body["lifecycleState"] != "ACTIVE":
            raise refusal.conflict(
                "InvalidatedRetryToken", "The retry token was used for a request that no longer holds."
            )
        return stored

    def get(self, call: Call) -> Answer:
        """GetAlarm."""
        with self._lock:
            return _answer(self._stored(call))

    def update(self, call: Call) -> Answer:
        """UpdateAlarm: what the body names changes, the rest stays."""
        changes: UpdateAlarmDetails = call.body
        with self._lock:
            stored = self._matching(call)
            given = changes.model_dump(mode="json", by_alias=True, exclude_unset=True)
            body = _complete({name: value for name, value in (stored.body | given).items() if value is not None})
            check_alarm(body, self.tenancy)
            stored.body = body | {"timeUpdated": self._moment()}
            stored.version += 1
            return _answer(stored)

    def delete(self, call: Call) -> Answer:
        """DeleteAlarm."""
        with self._lock:
            stored = self._matching(call)
            stored.body |= {"lifecycleState": "DELETED", "timeUpdated": self._moment()}
            stored.version += 1
            return Answer(status=HTTPStatus.NO_CONTENT)

    def _stored(self, call: Call) -> _Stored:
        stored = self._alarms.get(call.path["alarmId"])
        if stored is None or stored.body["lifecycleState"] != "ACTIVE":
            raise refusal.not_authorized_or_not_found("alarm")
        return stored

    def _matching(self, call: Call) -> _Stored:
        stored = self._stored(call)
        if call.headers.get("if-match", stored.etag) not in (stored.etag, "*"):
            raise refusal.etag_mismatch()
        return stored

    def _moment(self) -> str:
        return rfc3339(datetime.fromtimestamp(self.now(), UTC))

    # -- lists

    def _active(self) -> list[dict[str, Any]]:
        return [stored.body for stored in self._alarms.values() if stored.body["lifecycleState"] == "ACTIVE"]

    def _listed(self, query: Alarms | AlarmStatuses, state: str) -> list[dict[str, Any]]:
        scope = self.monitoring.scope(query.compartment_id, subtree=query.compartment_id_in_subtree)
        with self._lock:
            bodies = [
                stored.body
                for stored in self._alarms.values()
                if stored.body["lifecycleState"] == state
                and stored.body["compartmentId"] in scope
                and query.display_name in (None, stored.body["displayName"])
            ]
        if query.sort_by == "severity":
            bodies.sort(key=lambda body: _SEVERITIES[body["severity"]])
        elif query.sort_by:
            bodies.sort(key=lambda body: str(body["displayName"]))
        return bodies[::-1] if query.sort_order == "DESC" else bodies

    def list_alarms(self, call: Call) -> Answer:
        """ListAlarms: summaries, poorer than what Get answers."""
        query: Alarms = call.query
        bodies = self._listed(query, query.lifecycle_state)
        summaries = [{name: body.get(name) for name in _SUMMARY} for body in bodies]
        return paged(summaries, query, self.monitoring.limits.page)

    def list_statuses(self, call: Call) -> Answer:
        """ListAlarmsStatus: enabled alarms, evaluated now."""
        query: AlarmStatuses = call.query
        bodies = [body for body in self._listed(query, "ACTIVE") if body["isEnabled"]]
        statuses = [status_of(body, self.monitoring, self.now()) for body in bodies]
        chosen = [status for status in statuses if query.status in (None, status["status"])]
        return paged(chosen, query, self.monitoring.limits.page)


def _complete(given: dict[str, Any]) -> dict[str, Any]:
    """Defaults filled in; a stream as destination forces RAW messages, documented: messageFormat."""
    body = DEFAULTS | given
    if any(".stream." in destination for destination in body["destinations"]):
        body["messageFormat"] = "RAW"
    return body


def _answer(stored: _Stored) -> Answer:
    return Answer(dict(stored.body), headers={"etag": stored.etag})
