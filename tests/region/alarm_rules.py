"""The rules that the fields of an alarm must keep. Documented: CreateAlarmDetails."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter, ValidationError

from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.demo_tenancy import Tenancy
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
