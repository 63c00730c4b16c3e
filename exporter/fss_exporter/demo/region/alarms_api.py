"""Monitoring (20180401), alarms: Create, Get, Update, Delete, List, status and history."""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from itertools import pairwise
from typing import Any

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.alarm_rules import (
    DEFAULTS,
    Alarm,
    check_alarm,
    evaluated_minutes,
    firing_rules,
    is_suppressed,
)
from fss_exporter.demo.region.api_operations import ApiAnswer, Call, Handler
from fss_exporter.demo.region.demo_tenancy import Tenancy, ocid
from fss_exporter.demo.region.monitoring_api import MonitoringApi, epoch, parsed_query
from fss_exporter.demo.region.resource_bodies import etag, rfc3339
from fss_exporter.demo.region.wire import paged
from fss_exporter.oci.mql import metrics

RETRY_TOKEN_SECONDS = 24 * 3600  # Life of a retry token, documented: CreateAlarm

_HOUR, _DAY = 60, 1440
# Minutes a status and a history look back. Documented for a history are 90 days.

_ONLY_IN_GET = {"body", "messageFormat", "pendingDuration", "resolution", "repeatNotificationDuration"}
_ONLY_IN_GET |= {"metricCompartmentIdInSubtree", "timeCreated", "timeUpdated"}
_SEVERITIES = {"CRITICAL": 0, "ERROR": 1, "WARNING": 2, "INFO": 3}
_STATES = {True: "FIRING", False: "OK"}


@dataclass(slots=True)
class _StoredAlarm:
    body: dict[str, Any]
    version: int = 1

    @property
    def etag(self) -> str:
        return etag((self.body["id"], self.version))

    @property
    def is_active(self) -> bool:
        return bool(self.body["lifecycleState"] == "ACTIVE")

    def answer(self) -> ApiAnswer:
        return ApiAnswer(dict(self.body), headers={"etag": self.etag})


@dataclass
class AlarmsApi:
    """The alarms of a region."""

    tenancy: Tenancy  # the compartments and destinations an alarm may name
    monitoring: MonitoringApi  # evaluates the queries
    now: Callable[[], float]  # epoch seconds
    limit: int  # most alarms
    _alarms: dict[str, _StoredAlarm] = field(default_factory=dict)
    _tokens: dict[str, tuple[str, str, float]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers by API operation."""
        return {
            "ListAlarmsStatus": self.list_statuses,
            "ListAlarms": self.list_alarms,
            "CreateAlarm": self.create,
            "GetAlarm": self.get,
            "UpdateAlarm": self.update,
            "DeleteAlarm": self.delete,
            "GetAlarmHistory": self.history,
        }

    # -- one alarm

    def create(self, call: Call) -> ApiAnswer:
        """CreateAlarm. A retry token makes a repeated call answer with the alarm of the first."""
        details = call.body
        token = call.headers.get("opc-retry-token", "")
        with self._lock:
            if token and (earlier := self._repeated(token, details.model_dump_json())):
                return earlier.answer()
            if sum(stored.is_active for stored in self._alarms.values()) >= self.limit:
                raise refusal.limit_exceeded(f"The tenancy may have {self.limit} alarms in this region.")
            given = details.model_dump(mode="json", by_alias=True, exclude_none=True)
            moment = rfc3339(self.now())
            body = _complete(given) | {"lifecycleState": "ACTIVE", "timeCreated": moment, "timeUpdated": moment}
            check_alarm(body, self.tenancy)
            body["id"] = ocid("alarm", self.tenancy.region, f"{self.tenancy.id}/{len(self._alarms)}")
            stored = self._alarms[body["id"]] = _StoredAlarm(body)
            if token:
                self._tokens[token] = body["id"], details.model_dump_json(), self.now()
            return stored.answer()

    def _repeated(self, token: str, details: str) -> _StoredAlarm | None:
        """The alarm of an earlier call with this token. Documented: a token expires, and other facts invalidate it."""
        alarm_id, earlier, used_at = self._tokens.get(token, ("", "", 0.0))
        if not alarm_id or self.now() - used_at > RETRY_TOKEN_SECONDS:
            return None
        stored = self._alarms[alarm_id]
        if earlier != details or not stored.is_active:
            raise refusal.conflict("InvalidatedRetryToken", "The token was used for a request that no longer holds.")
        return stored

    def get(self, call: Call) -> ApiAnswer:
        """GetAlarm."""
        with self._lock:
            return self._stored(call).answer()

    def update(self, call: Call) -> ApiAnswer:
        """UpdateAlarm: named fields change, the others stay."""
        with self._lock:
            stored = self._stored(call)
            given = call.body.model_dump(mode="json", by_alias=True, exclude_unset=True)
            body = _complete({name: value for name, value in (stored.body | given).items() if value is not None})
            check_alarm(body, self.tenancy)
            stored.body = body | {"timeUpdated": rfc3339(self.now())}
            stored.version += 1
            return stored.answer()

    def delete(self, call: Call) -> ApiAnswer:
        """DeleteAlarm."""
        with self._lock:
            stored = self._stored(call)
            stored.body |= {"lifecycleState": "DELETED", "timeUpdated": rfc3339(self.now())}
            stored.version += 1
            return ApiAnswer(status=HTTPStatus.NO_CONTENT)

    def _stored(self, call: Call) -> _StoredAlarm:
        """Return the alarm of a call, in the version that if-match names."""
        stored = self._alarms.get(call.path["id"])
        if stored is None or not stored.is_active:
            raise refusal.not_authorized_or_not_found("alarm")
        if call.headers.get("if-match", stored.etag) not in (stored.etag, "*"):
            raise refusal.etag_mismatch()
        return stored

    # -- lists

    def _listed(self, query: Any, state: str) -> list[dict[str, Any]]:
        scope = self.monitoring.scope(query.compartment_id, subtree=query.compartment_id_in_subtree)
        with self._lock:
            bodies = [
                stored.body
                for stored in self._alarms.values()
                if stored.body["lifecycleState"] == state and stored.body["compartmentId"] in scope
                if query.display_name in (None, stored.body["displayName"])
            ]
        if query.sort_by == "severity":
            bodies.sort(key=lambda body: _SEVERITIES[body["severity"]])
        elif query.sort_by:
            bodies.sort(key=lambda body: str(body["displayName"]))
        return bodies[::-1] if query.sort_order == "DESC" else bodies

    def list_alarms(self, call: Call) -> ApiAnswer:
        """ListAlarms: summaries, with fewer fields than Get answers."""
        bodies = self._listed(call.query, call.query.lifecycle_state)
        summaries = [{name: value for name, value in body.items() if name not in _ONLY_IN_GET} for body in bodies]
        return paged(summaries, call.query, self.monitoring.limits.page)

    def list_statuses(self, call: Call) -> ApiAnswer:
        """ListAlarmsStatus: enabled alarms, evaluated now."""
        query = call.query
        given = {"resourceId": query.resource_id, "serviceName": query.service_name, "entityId": query.entity_id}
        dimensions = {name: value for name, value in given.items() if value is not None}
        chosen = [
            body
            for body in self._listed(query, "ACTIVE")
            if body["isEnabled"] and (not dimensions or self._watches(body, dimensions))
        ]
        statuses = [self._status(body) for body in chosen]
        wanted = [status for status in statuses if query.status in (None, status["status"])]
        return paged(wanted, query, self.monitoring.limits.page)

    def _watches(self, alarm: Alarm, dimensions: dict[str, str]) -> bool:
        """Return whether an alarm has a stream with all these dimensions."""
        scope = self.monitoring.scope(alarm["metricCompartmentId"], subtree=alarm["metricCompartmentIdInSubtree"])
        return any(
            dimensions.items() <= stream.dimensions.items()
            for metric in metrics(parsed_query(alarm["query"]))
            for stream in self.monitoring.raw(metric, alarm["namespace"], alarm.get("resourceGroup"), scope)
        )

    def _status(self, alarm: Alarm) -> dict[str, Any]:
        """Return the AlarmStatusSummary of an alarm."""
        now = self.now()
        minutes = evaluated_minutes(alarm, now, _HOUR)
        fired = firing_rules(alarm, self.monitoring, minutes)
        fires, rule = bool(fired and fired[-1]), (fired[-1] if fired else "") or alarm["ruleName"]
        began = len(fired)
        while began and bool(fired[began - 1]) == fires:
            began -= 1
        triggered = minutes[began] * 60 if fires or began else epoch_of(alarm["timeCreated"])
        state = ("SUSPENDED" if is_suppressed(alarm, now) else "FIRING") if fires else "OK"
        override: Alarm = next((one for one in alarm["overrides"] if one["ruleName"] == rule), {})
        severity = override.get("severity") or alarm["severity"]
        return {
            "id": alarm["id"],
            "displayName": alarm["displayName"],
            "severity": severity,
            "ruleName": rule,
            "timestampTriggered": rfc3339(triggered),
            "alarmSummary": _summary(dict(alarm) | {"severity": severity, "timestamp": rfc3339(now)}, state),
            "status": state,
            "suppression": alarm.get("suppression"),
        }

    def history(self, call: Call) -> ApiAnswer:
        """GetAlarmHistory: the states and rules of the last day, and the changes between them, newest first."""
        query = call.query
        with self._lock:
            alarm = dict(self._stored(call).body)
        minutes = evaluated_minutes(alarm, self.now(), _DAY)
        slack = int(self.now() // 60) - minutes[-1] if minutes else 0
        fired = firing_rules(alarm, self.monitoring, minutes)
        entries = []
        for minute, (before, rule) in zip(minutes, pairwise(["", *fired]), strict=True):
            summaries = _history_summaries(before, rule, alarm["ruleName"])
            times = {"timestamp": rfc3339((minute + slack) * 60), "timestampTriggered": rfc3339(minute * 60)}
            text = _summary(alarm | {"timestamp": times["timestamp"]}, _STATES[bool(rule)])
            for kind, summary in summaries.items():
                if query.alarm_historytype in (None, kind) and _within(query, (minute + slack) * 60):
                    entries.append({"summary": summary, **times, "alarmSummary": text})
        page = paged(entries[::-1], query, self.monitoring.limits.page)
        body = {"alarmId": alarm["id"], "isEnabled": alarm["isEnabled"], "entries": page.body}
        return ApiAnswer(body, headers=page.headers)


def _history_summaries(before: str, rule: str, base: str) -> dict[str, str]:
    """Return the entries of one minute by type of history."""
    old, new = _STATES[bool(before)], _STATES[bool(rule)]
    found = {
        "STATE_HISTORY": f"The alarm state is {new}",
        "RULE_HISTORY": f"The alarm rule is {rule or base}, state {new}",
    }
    if old != new:
        found["STATE_TRANSITION_HISTORY"] = f"State transitioned from {old} to {new}"
    if before and rule and before != rule:
        found["RULE_TRANSITION_HISTORY"] = f"Rule transitioned from {before} to {rule}"
    return found


def _within(query: Any, moment: float) -> bool:
    first, end = query.timestamp_greater_than_or_equal_to, query.timestamp_less_than
    return (first is None or epoch(first) <= moment) and (end is None or moment < epoch(end))


def _summary(alarm: Alarm, state: str) -> str:
    """Return the text of `alarmSummary` with its dynamic variables filled in. Documented: "Alarm Message Format"."""
    text = alarm.get("alarmSummary") or (
        'Alarm "{{displayName}}" is in a "{{status}}" state; rule "{{query}}", trigger delay {{pendingDuration}}'
    )
    values = dict(alarm) | {"status": state}
    return re.sub(r"\{\{\{?(\w+)\}?\}\}", lambda found: str(values.get(found[1], "")), text)


def epoch_of(moment: str) -> float:
    """Return epoch seconds of a time as OCI prints it."""
    return datetime.fromisoformat(moment).timestamp()


def _complete(given: dict[str, Any]) -> dict[str, Any]:
    """Defaults filled in. A stream as destination forces RAW messages, documented: messageFormat."""
    body = DEFAULTS | given
    if any(".stream." in destination for destination in body["destinations"]):
        body["messageFormat"] = "RAW"
    return body
