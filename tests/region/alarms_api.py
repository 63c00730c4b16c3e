"""The alarms of the demo region with all that the product does not call: rules, states and history."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from itertools import pairwise
from typing import Any

from tests.region import alarm_rules
from tests.region.alarm_rules import Alarm

from fss_toolbox.demo.region import alarms_api, monitoring_api
from fss_toolbox.demo.region.alarms_api import StoredAlarm
from fss_toolbox.demo.region.api_operations import ApiAnswer, Call, Handler
from fss_toolbox.demo.region.inventory_api import epoch, rfc3339
from fss_toolbox.demo.region.refusal import Refusal
from fss_toolbox.demo.region.wire import paged
from fss_toolbox.mql import metrics

_HOUR, _DAY = 60, 1440  # minutes a status and a history look back. Documented for a history are 90 days

_STATES = {True: "FIRING", False: "OK"}


@dataclass(frozen=True, slots=True)
class RegionLimits(monitoring_api.RegionLimits):
    """Limits of a region."""

    alarms: int = 50  # of a tenancy in a region; 50 is commonly quoted, no document states it


class AlarmsApi(alarms_api.AlarmsApi):
    """The alarms of a region, evaluated and limited in number."""

    def handlers(self) -> Mapping[str, Handler]:
        return {
            "ListAlarmsStatus": self.list_statuses,
            "GetAlarmHistory": self.history,
            **super().handlers(),
        }

    def check(self, alarm: Alarm) -> None:
        alarm_rules.check_alarm(alarm, self.monitoring.activity.tenancy)
        super().check(alarm)

    def add(self, body: dict[str, Any]) -> StoredAlarm:
        assert isinstance(self.monitoring.limits, RegionLimits)
        most = self.monitoring.limits.alarms
        if sum(stored.is_active for stored in self.alarms.values()) >= most:
            raise Refusal(
                HTTPStatus.BAD_REQUEST, "LimitExceeded", f"The tenancy may have {most} alarms in this region."
            )
        return super().add(body)

    def list_statuses(self, call: Call) -> ApiAnswer:
        """ListAlarmsStatus: enabled alarms, evaluated now."""
        query = call.query
        given = {"resourceId": query.resource_id, "serviceName": query.service_name, "entityId": query.entity_id}
        dimensions = {name: value for name, value in given.items() if value is not None}
        chosen = [
            body
            for body in self.bodies(query, "ACTIVE")
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
            for metric in metrics(self.monitoring.parsed(alarm["query"]))
            for stream in self.monitoring.selected_streams(
                metric, alarm["namespace"], alarm.get("resourceGroup"), scope
            )
        )

    def _status(self, alarm: Alarm) -> dict[str, Any]:
        """Return the AlarmStatusSummary of an alarm."""
        now = self.monitoring.now()
        minutes = alarm_rules.evaluated_minutes(alarm, now, _HOUR)
        fired = alarm_rules.firing_rules(alarm, self.monitoring, minutes)
        fires, rule = bool(fired and fired[-1]), (fired[-1] if fired else "") or alarm["ruleName"]
        began = len(fired)
        while began and bool(fired[began - 1]) == fires:
            began -= 1
        triggered = minutes[began] * 60 if fires or began else epoch_of(alarm["timeCreated"])
        state = ("SUSPENDED" if alarm_rules.is_suppressed(alarm, now) else "FIRING") if fires else "OK"
        override: Alarm = next((override for override in alarm["overrides"] if override["ruleName"] == rule), {})
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
        with self.lock:
            alarm = dict(self.stored(call).body)
        minutes = alarm_rules.evaluated_minutes(alarm, self.monitoring.now(), _DAY)
        slack = int(self.monitoring.now() // 60) - minutes[-1] if minutes else 0
        fired = alarm_rules.firing_rules(alarm, self.monitoring, minutes)
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
    summaries = {
        "STATE_HISTORY": f"The alarm state is {new}",
        "RULE_HISTORY": f"The alarm rule is {rule or base}, state {new}",
    }
    if old != new:
        summaries["STATE_TRANSITION_HISTORY"] = f"State transitioned from {old} to {new}"
    if before and rule and before != rule:
        summaries["RULE_TRANSITION_HISTORY"] = f"Rule transitioned from {before} to {rule}"
    return summaries


def _within(query: Any, moment: float) -> bool:
    first, end = query.timestamp_greater_than_or_equal_to, query.timestamp_less_than
    return (first is None or epoch(first) <= moment) and (end is None or moment < epoch(end))


def _summary(alarm: Alarm, state: str) -> str:
    """Return the text of `alarmSummary` with its dynamic variables filled in. Documented: "Alarm Message Format"."""
    text = alarm.get("alarmSummary") or (
        'Alarm "{{displayName}}" is in a "{{status}}" state; rule "{{query}}", trigger delay {{pendingDuration}}'
    )
    values = dict(alarm) | {"status": state}
    return re.sub(r"\{\{\{?(\w+)\}?\}\}", lambda match: str(values.get(match[1], "")), text)


def epoch_of(moment: str) -> float:
    """Return epoch seconds of a time as OCI prints it."""
    return datetime.fromisoformat(moment).timestamp()
