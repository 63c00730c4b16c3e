"""What an alarm may be made of. Constraints documented: CreateAlarmDetails and AlarmOverride of the Monitoring API."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.metric_details import Text
from fss_exporter.demo.region.monitoring import parsed_query
from fss_exporter.demo.region.tenancy import Tenancy
from fss_exporter.demo.region.wire import Message
from fss_exporter.oci.mql import is_trigger

Severity = Literal["CRITICAL", "ERROR", "WARNING", "INFO"]
MessageFormat = Literal["RAW", "PRETTY_JSON", "ONS_OPTIMIZED"]

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?)?", re.ASCII)
_DAY = 1440


class Override(Message):
    """A rule that is tried before the base rule."""

    rule_name: Text | None = None
    query: Text | None = None
    severity: Severity | None = None
    body: str | None = None
    pending_duration: str | None = None


class Suppression(Message):
    """A time without notifications, both ends inclusive."""

    description: str | None = None
    time_suppress_from: datetime
    time_suppress_until: datetime


class OptionalDetails(Message):
    """What an alarm may have."""

    metric_compartment_id_in_subtree: bool | None = None
    resource_group: str | None = None
    resolution: Literal["1m"] | None = None
    pending_duration: str | None = None
    body: str | None = None
    is_notifications_per_metric_dimension_enabled: bool | None = None
    message_format: MessageFormat | None = None
    repeat_notification_duration: str | None = None
    suppression: Suppression | None = None
    freeform_tags: dict[str, str] | None = None
    defined_tags: dict[str, dict[str, Any]] | None = None
    overrides: list[Override] | None = None
    rule_name: Text | None = None
    notification_version: str | None = Field(default=None, pattern=r"^[0-9]{1,4}\.X$")
    notification_title: str | None = None
    evaluation_slack_duration: str | None = None
    alarm_summary: str | None = None


class CreateAlarmDetails(OptionalDetails):
    """Body of CreateAlarm."""

    display_name: Text
    compartment_id: Text
    metric_compartment_id: Text
    namespace: Text
    query: Text
    severity: Severity
    destinations: list[Text] = Field(min_length=1)
    is_enabled: bool


class UpdateAlarmDetails(OptionalDetails):
    """Body of UpdateAlarm: the same fields, none required; what is not named stays."""

    display_name: Text | None = None
    compartment_id: Text | None = None
    metric_compartment_id: Text | None = None
    namespace: Text | None = None
    query: Text | None = None
    severity: Severity | None = None
    destinations: list[Text] | None = Field(default=None, min_length=1)
    is_enabled: bool | None = None


DEFAULTS: dict[str, Any] = {
    "metricCompartmentIdInSubtree": False,
    "resolution": "1m",
    "pendingDuration": "PT1M",
    "isNotificationsPerMetricDimensionEnabled": False,
    "messageFormat": "RAW",
    "ruleName": "BASE",
    "evaluationSlackDuration": "PT3M",
    "freeformTags": {},
    "definedTags": {},
    "overrides": [],
}
"""What the service fills in for what is not given, documented; a client that compares must expect it."""


def minutes_of(duration: str) -> int | None:
    """Whole minutes of an ISO 8601 duration of days, hours and minutes; None if it is none."""
    found = _DURATION.fullmatch(duration)
    if found is None or not any(found.groups()):
        return None
    days, hours, minutes = (int(part or 0) for part in found.groups())
    return days * _DAY + hours * 60 + minutes


def check_alarm(alarm: dict[str, Any], tenancy: Tenancy) -> None:
    """Everything the fields demand of each other and of the tenancy.

    Args:
        alarm: body of an alarm, camelCase, defaults filled in.
        tenancy: where it is to live.

    Raises:
        Refusal: the first thing that is wrong.
    """
    if not {alarm["compartmentId"], alarm["metricCompartmentId"]} <= tenancy.compartment_ids:
        raise refusal.not_authorized_or_not_found("compartment")
    if alarm["metricCompartmentIdInSubtree"] and alarm["metricCompartmentId"] != tenancy.id:
        raise refusal.invalid("field metricCompartmentIdInSubtree may be true only for the tenancy")
    _check_destinations(alarm["destinations"], tenancy)
    for mistake in _mistakes(alarm):
        raise refusal.invalid(mistake)


def _check_destinations(destinations: list[str], tenancy: Tenancy) -> None:
    """One topic and one stream at most, and both must be there: a topic of another region is not."""
    kinds = [destination.split(".")[1] if destination.count(".") >= 4 else "" for destination in destinations]
    if not set(kinds) <= {"onstopic", "stream"}:
        raise refusal.invalid("field destinations: only OCIDs of a topic or a stream")
    if len(kinds) != len(set(kinds)):
        raise refusal.invalid("field destinations: at most one topic and one stream")
    for destination in destinations:
        if destination not in (*tenancy.topics, *tenancy.streams):
            raise refusal.related_not_found(f"field destinations: not authorized, or no such destination {destination}")


def _mistakes(alarm: dict[str, Any]) -> Iterator[str]:
    yield from _query_mistakes(alarm)
    durations = (
        ("pendingDuration", alarm["pendingDuration"], 1, 60),
        ("evaluationSlackDuration", alarm["evaluationSlackDuration"], 3, 120),
        ("repeatNotificationDuration", alarm.get("repeatNotificationDuration"), 1, 30 * _DAY),
        *(("overrides.pendingDuration", one.get("pendingDuration"), 1, 60) for one in alarm["overrides"]),
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


def _query_mistakes(alarm: dict[str, Any]) -> Iterator[str]:
    for query in (alarm["query"], *(override.get("query") for override in alarm["overrides"])):
        if query is not None and not is_trigger(parsed_query(query)):
            yield f"field query: an alarm needs a threshold or absent(), and {query} has none"
