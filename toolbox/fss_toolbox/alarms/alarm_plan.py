# SPDX-License-Identifier: Apache-2.0
"""Compare wanted and existing alarms, and list the creations, changes and deletions. Pure.

An alarm with the pack's tags belongs to the pack. Other alarms only matter for a clash of names. The plan compares every
field that an update can set. A field that the pack does not state has OCI's default. Foreign tags stay. A suppression and
unknown fields stay as well, and the plan shows both, because they may silence an alarm.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal

from pydantic import TypeAdapter, ValidationError

from fss_exporter.errors import MqlError, UsageError
from fss_toolbox import mql
from fss_toolbox.alarms.pack import KEY_TAG, PACK_TAG, Alarm, has_alarm_fields

StepKind = Literal["create", "update", "unchanged", "delete", "clash"]

# Value of a field that is missing in an answer.
_DEFAULTS: Final[Mapping[str, object]] = {
    "evaluationSlackDuration": "PT3M",
    "isNotificationsPerMetricDimensionEnabled": False,
    "metricCompartmentIdInSubtree": False,
    "resolution": "1m",
    "pendingDuration": "PT1M",
    "messageFormat": "RAW",
    "ruleName": "BASE",
    "overrides": [],
}

# Fields of UpdateAlarmDetails. A separate operation moves an alarm to another compartment.
_SETTABLE: Final = (
    "displayName metricCompartmentId metricCompartmentIdInSubtree namespace resourceGroup query resolution pendingDuration "
    "severity body isNotificationsPerMetricDimensionEnabled messageFormat destinations repeatNotificationDuration isEnabled "
    "freeformTags definedTags overrides ruleName notificationTitle evaluationSlackDuration alarmSummary"
).split()

_TAGS: Final = frozenset({"freeformTags", "definedTags"})  # fields in which others may have entries of their own

# Fields of an alarm that OCI or other people set and that cannot silence the alarm.
_LEFT_ALONE: Final = frozenset(
    "compartmentId systemTags id lifecycleState timeCreated timeUpdated notificationVersion".split()
)

_DURATION: Final = TypeAdapter(timedelta)


@dataclass(frozen=True, slots=True)
class Existing:
    """An alarm in OCI: OCID, body of GetAlarm, and the etag that a change must name."""

    ocid: str
    body: Mapping[str, Any]
    etag: str

    @property
    def name(self) -> str:
        """Display name of the alarm."""
        return str(self.body.get("displayName", ""))


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A changed field."""

    name: str
    old: object
    new: object


@dataclass(frozen=True, slots=True)
class Step:
    """The step for one alarm."""

    kind: StepKind  # action of the step
    name: str  # display name
    # CreateAlarmDetails or, for an update, the fields that change
    body: Mapping[str, Any] = field(default_factory=dict)
    ocid: str = ""  # of the alarm that is there
    etag: str = ""  # it must still have
    changes: tuple[FieldChange, ...] = ()  # for an update, field by field
    # fields that differ from the pack and that no update changes: a suppression, and fields unknown here
    kept: tuple[FieldChange, ...] = ()
    reason: str = ""  # for a deletion or a clash, why


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order: creations, updates, deletions, then untouched alarms."""

    steps: tuple[Step, ...]

    def of(self, *kinds: StepKind) -> tuple[Step, ...]:
        """Return the steps of some kinds."""
        return tuple(step for step in self.steps if step.kind in kinds)

    @property
    def changes(self) -> tuple[Step, ...]:
        """The steps with a change."""
        return self.of("create", "update", "delete")


def ours(tags: Mapping[str, str] | None, name: str) -> bool:
    """Return whether an alarm with these freeform tags belongs to the pack called `name`."""
    tags = tags or {}
    return tags.get(PACK_TAG) == name and KEY_TAG in tags


def plan(
    wanted: Sequence[Alarm],
    owned: Iterable[Existing],
    foreign: Mapping[str, str],
    order: mql.JoinOrder | None = None,
    *,
    delete_copies: bool = False,
) -> Plan:
    """Compare the wanted alarms with the pack's alarms (`owned`) and all others (`foreign`, OCID by display name).

    `order` is how the service reads `&&` and `||` without parentheses. If it is not known, a mixture without parentheses
    differs from each query with parentheses. A second alarm with the tags of the first may be a person's copy, so that
    `delete_copies` alone deletes it.
    """
    present: dict[str, list[Existing]] = defaultdict(list)
    for existing in owned:
        present[str(existing.body["freeformTags"][KEY_TAG])].append(existing)
    steps: list[Step] = []
    for alarm in wanted:
        oldest_first = _oldest_first(present.pop(alarm.key, []))
        if oldest_first:
            steps.append(_compare(alarm, oldest_first[0], order))
            steps += _copies(oldest_first, delete=delete_copies)
        elif alarm.name in foreign:
            reason = f"{foreign[alarm.name]} has this name and not our tags"
            steps.append(Step("clash", alarm.name, ocid=foreign[alarm.name], reason=reason))
        else:
            steps.append(Step("create", alarm.name, alarm.body))
    for gone in present.values():
        oldest_first = _oldest_first(gone)
        steps += [_deletion(oldest_first[0], "no longer wanted here"), *_copies(oldest_first, delete=delete_copies)]
    shown: tuple[StepKind, ...] = ("create", "update", "delete", "unchanged", "clash")
    return Plan(tuple(sorted(steps, key=lambda step: (shown.index(step.kind), step.name, step.ocid))))


def _oldest_first(alarms: Iterable[Existing]) -> list[Existing]:
    return sorted(alarms, key=lambda alarm: (str(alarm.body.get("timeCreated", "")), alarm.ocid))


def _copies(oldest_first: Sequence[Existing], *, delete: bool) -> Iterator[Step]:
    for copy in oldest_first[1:]:
        reason = f"a copy with the tags of {oldest_first[0].ocid}"
        if delete:
            yield _deletion(copy, reason)
        else:
            yield Step("clash", copy.name, ocid=copy.ocid, reason=f"{reason}. --delete-copies deletes it")


def removal(owned: Iterable[Existing]) -> Plan:
    """Return the plan that deletes every owned alarm."""
    steps = [_deletion(existing, "destroy") for existing in owned]
    return Plan(tuple(sorted(steps, key=lambda step: (step.name, step.ocid))))


def is_as_planned(step: Step, body: Mapping[str, Any]) -> bool:
    """Return whether an alarm has what an update would set."""
    return not any(_differences({**body, **step.body}, body, None))


def _deletion(existing: Existing, reason: str) -> Step:
    return Step("delete", existing.name, ocid=existing.ocid, etag=existing.etag, reason=reason)


def _compare(alarm: Alarm, existing: Existing, order: mql.JoinOrder | None) -> Step:
    changes = tuple(_differences(alarm.body, existing.body, order))
    kept = tuple(
        FieldChange(name, value, None)
        for name, value in existing.body.items()
        if name not in _SETTABLE and name not in _LEFT_ALONE and value
    )
    if not changes:
        return Step("unchanged", alarm.name, ocid=existing.ocid, etag=existing.etag, kept=kept)
    body = {change.name: change.new for change in changes}
    for name in _TAGS & body.keys():
        body[name] = _merged(existing.body.get(name) or {}, alarm.body[name])
    return Step("update", alarm.name, body, existing.ocid, existing.etag, changes, kept)


def _differences(
    wanted: Mapping[str, Any], actual: Mapping[str, Any], order: mql.JoinOrder | None
) -> Iterator[FieldChange]:
    for name in _SETTABLE:
        old, new = actual.get(name), wanted.get(name)
        if name in _TAGS:
            new = new or {}
            old = _stated(old or {}, new)
        if _meaning(name, new, order) != _meaning(name, old, order):
            yield FieldChange(name, old, _DEFAULTS.get(name) if new is None else new)


def _stated(tags: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an alarm's tags that the pack states. Defined tags are by namespace."""
    return {
        key: _stated(tags.get(key) or {}, value) if isinstance(value, Mapping) else tags.get(key)
        for key, value in wanted.items()
    }


def _merged(tags: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return an alarm's tags with those of the pack, and all others as they are."""
    changed = {
        key: _merged(tags.get(key) or {}, value) if isinstance(value, Mapping) else value
        for key, value in wanted.items()
    }
    return {**tags, **changed}


def _meaning(name: str, value: Any, order: mql.JoinOrder | None) -> object:  # a JSON value
    """Return a value in a form in which two spellings of the same meaning are equal."""
    if value is None:
        value = _DEFAULTS.get(name)
    if name == "query" and isinstance(value, str):
        try:
            return mql.parse(value, order)
        except MqlError:
            return value
    if name.endswith("Duration") and isinstance(value, str):
        with suppress(ValidationError):  # any other text stands for itself
            return round(_DURATION.validate_python(value).total_seconds())
    if name == "destinations":
        return frozenset(value or ())
    if name == "overrides":
        return [
            {key: _meaning(key, item, order) for key, item in rule.items() if item is not None} for rule in value or ()
        ]
    return value


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan with region and compartment."""

    version: Literal[1]  # of this format
    region: str  # region the alarms are in
    alarm_compartment: str  # OCID of the compartment the alarms are in
    name: str  # value of the tag that marks the alarms of the pack
    plan: Plan  # steps to run


_FORMAT = TypeAdapter(SavedPlan)


def saved_json(saved: SavedPlan) -> str:
    """Return the plan as JSON. Half a character, which JSON of OCI can hold, becomes a question mark."""
    text = json.dumps(asdict(saved), indent=2, ensure_ascii=False)
    return text.encode(errors="replace").decode() + "\n"


def read_saved(source: str, content: bytes) -> SavedPlan:
    """Read a plan from JSON. A UsageError names the place that is no plan of this version."""
    try:
        saved = _FORMAT.validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{source}: not a plan of this version: {place + ': ' if place else ''}{first['msg']}"
        ) from None
    for step in saved.plan.of("create"):
        if not has_alarm_fields(step.body) or not ours(step.body.get("freeformTags"), saved.name):
            raise UsageError(f"{source}: not a plan of this version: {step.name} has no tags of the pack {saved.name}")
    return saved


def check_current(saved: SavedPlan, owned: Sequence[Existing], foreign: Mapping[str, str]) -> None:
    """Raise UsageError if an alarm of the plan was created, changed or deleted after the plan, so that no step is made.

    `owned` and `foreign` are as for `plan`. A plan changes no alarm but those of its pack.
    """
    etags = {existing.ocid: existing.etag for existing in owned}
    present = {str(existing.body["freeformTags"][KEY_TAG]) for existing in owned}
    for step in saved.plan.of("create"):
        if str(step.body["freeformTags"][KEY_TAG]) in present or step.name in foreign:
            raise UsageError(f"{step.name} was created after this plan was made. Plan again")
    for step in saved.plan.of("update", "delete", "unchanged"):
        if etags.get(step.ocid) != step.etag:
            raise UsageError(f"{step.name} was changed or deleted after this plan was made. Plan again")
