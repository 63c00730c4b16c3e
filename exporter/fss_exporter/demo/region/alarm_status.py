"""Whether an alarm fires. Documented: "Overview of Monitoring".

Evaluated once a minute, `evaluationSlackDuration` (3 minutes) behind the clock so that late points are there; a rule
fires after `pendingDuration` of minutes in a row in which one stream breached, and is OK again with the first minute
that is clear. Overrides are tried in order, then the base rule. The internal reset period of silent streams (about 13
minutes) is not modelled: a silent stream is clear at once.
"""

from datetime import UTC, datetime
from typing import Any

from fss_exporter.demo.region.alarm_details import minutes_of
from fss_exporter.demo.region.bodies import rfc3339
from fss_exporter.demo.region.monitoring import Monitoring, parsed_query

_LOOK_BACK = 60


def status_of(alarm: dict[str, Any], monitoring: Monitoring, now: float) -> dict[str, Any]:
    """The AlarmStatusSummary of an alarm."""
    newest = int(now // 60) - (minutes_of(alarm["evaluationSlackDuration"]) or 3)
    rules = [*alarm["overrides"], {"ruleName": alarm["ruleName"]}]
    for rule in rules:
        since = _firing_since(
            alarm | {name: value for name, value in rule.items() if value is not None}, monitoring, newest
        )
        if since is not None:
            return _summary(alarm, rule, "SUSPENDED" if _suppressed(alarm, now) else "FIRING", since * 60)
    return _summary(alarm, rules[-1], "OK", datetime.fromisoformat(alarm["timeUpdated"]).timestamp())


def _firing_since(rule: dict[str, Any], monitoring: Monitoring, newest: int) -> int | None:
    """The minute a rule began to fire, as far as an hour shows; None while it does not."""
    pending = minutes_of(rule["pendingDuration"]) or 1
    scope = monitoring.scope(rule["metricCompartmentId"], subtree=rule["metricCompartmentIdInSubtree"])
    minutes = range(newest - _LOOK_BACK - pending + 1, newest + 1)
    lines = monitoring.lines(parsed_query(rule["query"]), rule["namespace"], rule.get("resourceGroup"), scope, minutes)
    began = []
    for line in lines:
        breached = 0
        while breached < len(minutes) and line.points.get(newest - breached):
            breached += 1
        if breached >= pending:
            began.append(newest - breached + pending)
    return min(began, default=None)


def _suppressed(alarm: dict[str, Any], now: float) -> bool:
    suppression = alarm.get("suppression")
    if not suppression:
        return False
    ends = (datetime.fromisoformat(suppression[name]) for name in ("timeSuppressFrom", "timeSuppressUntil"))
    start, end = (moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in ends)
    return start.timestamp() <= now <= end.timestamp()


def _summary(alarm: dict[str, Any], rule: dict[str, Any], status: str, triggered: float) -> dict[str, Any]:
    return {
        "id": alarm["id"],
        "displayName": alarm["displayName"],
        "severity": rule.get("severity") or alarm["severity"],
        "ruleName": rule["ruleName"],
        "timestampTriggered": rfc3339(datetime.fromtimestamp(triggered, UTC)),
        "alarmSummary": alarm.get("alarmSummary") or f"Alarm {alarm['displayName']} is {status}",
        "status": status,
        "suppression": alarm.get("suppression"),
    }
