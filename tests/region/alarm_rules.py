"""The rules an alarm must keep, and the minutes in which it fires. Documented: CreateAlarmDetails, "Overview of Monitoring".

An alarm is evaluated once a minute, `evaluationSlackDuration` (3 minutes) behind the clock so that late points are
there. A rule fires after `pendingDuration` of minutes in a row in which one stream breached, and is OK again with the
first clear minute. Overrides are tried in order, then the base rule. No minute before the creation of the alarm counts.
The internal reset period of silent streams (about 13 minutes) is not modelled: a silent stream is clear at once.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.demo_tenancy import Tenancy
from fss_toolbox.demo.region.inventory_api import epoch
from fss_toolbox.demo.region.monitoring_api import MonitoringApi
from fss_toolbox.demo.region.refusal import Refusal

Alarm = Mapping[str, Any]  # Body of an alarm in camelCase, defaults filled in

_DAY = 1440


def minutes_of(duration: str) -> int | None:
    """Return the whole minutes of an ISO 8601 duration. None for any other text."""
    try:
        seconds = TypeAdapter(timedelta).validate_python(duration).total_seconds()
    except ValidationError:
        return None
    return int(seconds // 60) if seconds % 60 == 0 else None


def check_alarm(alarm: Alarm, tenancy: Tenancy) -> None:
    """Check the fields of an alarm against each other and the tenancy. Raise a Refusal for the first mistake."""
    if not {alarm["compartmentId"], alarm["metricCompartmentId"]} <= tenancy.compartment_ids:
        raise refusal.not_authorized_or_not_found("compartment")
    if alarm["metricCompartmentIdInSubtree"] and alarm["metricCompartmentId"] != tenancy.id:
        raise refusal.invalid("field metricCompartmentIdInSubtree may be true only for the tenancy")
    _check_destinations(alarm["destinations"], tenancy)
    for mistake in _mistakes(alarm):
        raise refusal.invalid(mistake)


def _check_destinations(destinations: list[str], tenancy: Tenancy) -> None:
    """One topic and one stream at most, both of this region."""
    kinds = [destination.split(".")[1] if destination.count(".") >= 4 else "" for destination in destinations]
    if not set(kinds) <= {"onstopic", "stream"}:
        raise refusal.invalid("field destinations: only OCIDs of a topic or a stream")
    if len(kinds) != len(set(kinds)):
        raise refusal.invalid("field destinations: at most one topic and one stream")
    for destination in destinations:
        if destination not in (*tenancy.topics, *tenancy.streams):
            message = f"field destinations: not authorized, or no such destination {destination}"
            raise Refusal(HTTPStatus.BAD_REQUEST, "RelatedResourceNotAuthorizedOrNotFound", message)


def _mistakes(alarm: Alarm) -> Iterator[str]:
    durations = (
        ("pendingDuration", alarm["pendingDuration"], 1, 60),
        ("evaluationSlackDuration", alarm["evaluationSlackDuration"], 3, 120),
        ("repeatNotificationDuration", alarm.get("repeatNotificationDuration"), 1, 30 * _DAY),
        *(("overrides.pendingDuration", override.get("pendingDuration"), 1, 60) for override in alarm["overrides"]),
    )
    for field, text, least, most in durations:
        if text is not None and not least <= (minutes_of(text) or 0) <= most:
            yield f"field {field}: {text!r} is not an ISO 8601 duration of {least} to {most} minutes"
    names = [alarm["ruleName"], *(override.get("ruleName") for override in alarm["overrides"])]
    if None in names or len(names) != len(set(names)):
        yield "field overrides: every override needs a ruleName of its own"
    suppression = alarm.get("suppression")
    if suppression and suppression["timeSuppressFrom"] > suppression["timeSuppressUntil"]:
        yield "field suppression: timeSuppressFrom is after timeSuppressUntil"


def evaluated_minutes(alarm: Alarm, now: float, look_back: int) -> range:
    """Return minutes that were evaluated up to now: not before the alarm was created, at most `look_back` of them."""
    newest = int(now // 60) - (minutes_of(alarm["evaluationSlackDuration"]) or 3)
    created = int(datetime.fromisoformat(alarm["timeCreated"]).timestamp() // 60)
    return range(max(created, newest - look_back), newest + 1)


def firing_rules(alarm: Alarm, monitoring: MonitoringApi, minutes: range) -> list[str]:
    """Return the name of the rule that fires in each minute, empty where none does."""
    fired = [""] * len(minutes)
    for override in reversed([*alarm["overrides"], {"ruleName": alarm["ruleName"]}]):
        given = {name: value for name, value in override.items() if value is not None}
        for at in _firing(dict(alarm) | given, monitoring, minutes):
            fired[at] = override["ruleName"]
    return fired


def _firing(rule: Alarm, monitoring: MonitoringApi, minutes: range) -> set[int]:
    """Return places in `minutes` at which a rule fires."""
    pending = minutes_of(rule["pendingDuration"]) or 1
    scope = monitoring.scope(rule["metricCompartmentId"], subtree=rule["metricCompartmentIdInSubtree"])
    query = monitoring.parsed(rule["query"])
    fired = set()
    for stream in monitoring.results(query, rule["namespace"], rule.get("resourceGroup"), scope, minutes):
        breached = 0
        for at, minute in enumerate(minutes):
            breached = breached + 1 if stream.points.get(minute) else 0
            if breached >= pending:
                fired.add(at)
    return fired


def is_suppressed(alarm: Alarm, now: float) -> bool:
    """Return whether notifications of an alarm are suppressed now."""
    suppression = alarm.get("suppression")
    if not suppression:
        return False
    ends = (datetime.fromisoformat(suppression[name]) for name in ("timeSuppressFrom", "timeSuppressUntil"))
    start, end = map(epoch, ends)
    return start <= now <= end
