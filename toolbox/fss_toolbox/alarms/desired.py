# SPDX-License-Identifier: Apache-2.0
"""The wanted alarms: each template of the pack, filled in for the existing mount targets and ceilings.

MQL can neither divide by a ceiling nor select by shape. With different ceilings, a template gives an alarm for each ceiling,
with the OCIDs of the mount targets. With a common ceiling, the alarm names no mount target and covers future mount targets.
Where tags choose the mount targets, the alarm always names them, because the others may have another ceiling.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from fss_exporter import RUNBOOK_URL
from fss_exporter.model.limits import SHAPES, STANDARD, Limits
from fss_exporter.model.thresholds import (
    DEFAULT_LATENCY_SECONDS,
    REPLICATION_DEFAULT_INTERVAL_SECONDS,
    WARNING_RATIO,
)
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE as PUBLISHED
from fss_exporter.oci.inventory.oci_inventory import ServiceResource
from fss_exporter.oci.metric_table import is_success
from fss_exporter.oci.mql_writer import NAME
from fss_toolbox.alarms import figures
from fss_toolbox.alarms.figures import CEILING_ALARMS, MOST_IDS, REPLICATION, SERVICE_CEILING_ALARMS, Figures
from fss_toolbox.alarms.pack import EVENT_METRICS, KEY_TAG, PACK_TAG, Alarm, fill

_NEXT_STEP: Final = re.compile(r" Next step: \$\{RUNBOOK_URL\}#\w+")
_METRIC: Final = re.compile(rf"{NAME.pattern}(?=\s*\[)", re.ASCII)

# Templates whose place an alarm on published metrics takes.
_REPLACED = frozenset((*CEILING_ALARMS, "mount-target-slow", "mount-target-failing"))


@dataclass(frozen=True, slots=True)
class Target:
    """A mount target: OCID, name of the shape, and ceilings with the configuration applied."""

    ocid: str
    shape: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class AlarmScope:
    """The compartments of the alarms and of their metrics, and the destinations of notifications."""

    alarm_compartment: str  # OCID of the compartment the alarms are in
    metric_compartment: str  # OCID of the compartment the mount targets are in; the tenancy's with `in_subtree`
    destinations: tuple[str, ...]  # at most one topic and one stream
    in_subtree: bool = False  # whether compartments below count; OCI allows it for the tenancy only
    name: str = "fss"  # first word of every display name, and value of the tag that marks the pack's alarms
    runbook: str = RUNBOOK_URL  # base of the links to the runbook in texts. Empty: texts have no link


@dataclass(frozen=True, slots=True)
class AlarmInputs:
    """The resources and settings behind the thresholds and OCIDs in the alarms."""

    # present mount targets. Without any, the pack has the standard shape's alarms
    targets: Sequence[Target] = ()
    # whether tags of the configuration chose the mount targets and replications. An alarm on a ceiling then names them
    chosen_by_tags: bool = False
    # file systems and volumes of other services; None if they were not listed: the alarms of the shipped files
    service_resources: Sequence[ServiceResource] | None = None
    # interval in seconds of each replication by its OCID; none: the default interval's alarm
    replications: Mapping[str, float] = field(default_factory=dict)
    # ceilings of each shape, configuration included
    shape_limits: Mapping[str, Limits] = field(
        default_factory=lambda: {name: shape.limits for name, shape in SHAPES.items()}
    )
    # latency objectives in seconds by kind and size class; the others keep the default
    objectives: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # share of a ceiling or of a latency objective that warns
    warning_ratio: float = WARNING_RATIO
    # whether the exporter publishes metrics. Alarms on them then replace those on ceilings, latency and success
    published: bool = False
    # how the tenancy spells a metric, by its name in lower case; the documented spelling otherwise
    spellings: Mapping[str, str] = field(default_factory=dict)
    # event types a metric has been seen with, by its documented name, successes included
    error_types: Mapping[str, Sequence[str]] = field(default_factory=dict)


def desired(pack: Sequence[Alarm], scope: AlarmScope, inputs: AlarmInputs) -> tuple[Alarm, ...]:
    """Return the wanted alarms, sorted by key: the templates of the pack for some resources and settings."""
    fitted = (alarm for template in pack for alarm in _fitted(template, inputs))
    return tuple(sorted((_placed(alarm, scope, inputs.spellings) for alarm in fitted), key=lambda alarm: alarm.key))


def _fitted(template: Alarm, inputs: AlarmInputs) -> Iterator[Alarm]:
    if inputs.published and template.key in _REPLACED:  # one incident, one alarm
        return
    if template.key in CEILING_ALARMS:
        yield from _of_ceiling(template, inputs)
    elif template.key in SERVICE_CEILING_ALARMS:
        yield from _of_service_ceiling(template, inputs)
    elif template.key == REPLICATION:
        yield from _of_replications(template, inputs)
    elif template.body["namespace"] != PUBLISHED:
        yield fill(template, _common(template, inputs))
    elif inputs.published:
        yield fill(template, figures.published_figures(template.key, inputs.warning_ratio))


def _of_ceiling(template: Alarm, inputs: AlarmInputs) -> Iterator[Alarm]:
    ceiling = CEILING_ALARMS[template.key]
    targets = inputs.targets
    if not targets and not inputs.chosen_by_tags:
        targets = [Target("", STANDARD.name, inputs.shape_limits[STANDARD.name])]
    groups: dict[tuple[str, float], list[str]] = {}
    for target in targets:
        value = ceiling.of(target.limits)
        if value is not None:
            groups.setdefault((target.shape if ceiling.per_shape else "", value), []).append(target.ocid)
    for (shape, value), ocids in sorted(groups.items()):
        usual = ceiling.of(inputs.shape_limits.get(shape or STANDARD.name, Limits()))
        key = "-".join(filter(None, (template.key, shape, "" if value == usual else figures.literal(value))))
        named = ocids if inputs.chosen_by_tags or len(ocids) < len(targets) else []
        for part, ids in _parts(key, named):
            yield _filled(template, part, ids, ceiling.figures(shape, value, inputs.warning_ratio))


def _of_service_ceiling(template: Alarm, inputs: AlarmInputs) -> Iterator[Alarm]:
    """Yield an alarm with OCIDs for each ceiling, because a future resource may be larger."""
    ceiling, resources = SERVICE_CEILING_ALARMS[template.key], inputs.service_resources
    groups: dict[float, list[str]] = {} if resources is not None else {ceiling.stated: []}
    for resource in resources or ():
        value = ceiling.of(resource) if resource.service == ceiling.service else None
        if value is not None:
            groups.setdefault(value, []).append(resource.id)
    for value, ocids in sorted(groups.items()):
        key = template.key if value == ceiling.stated else f"{template.key}-{figures.literal(value)}"
        for part, ids in _parts(key, ocids, ceiling.most_ids):
            yield _filled(template, part, ids, ceiling.figures(value, ids, inputs.warning_ratio))


def _of_replications(template: Alarm, inputs: AlarmInputs) -> Iterator[Alarm]:
    """Yield an alarm for each interval. Two hours without a copy are late for one replication and normal for another."""
    usual = REPLICATION_DEFAULT_INTERVAL_SECONDS
    groups: dict[float, list[str]] = {}
    for ocid, interval in inputs.replications.items():
        groups.setdefault(interval, []).append(ocid)
    if not groups and not inputs.chosen_by_tags:
        groups[usual] = []
    for interval, ocids in sorted(groups.items()):
        key = REPLICATION if interval == usual else f"{REPLICATION}-{figures.literal(interval / 60)}m"
        named = ocids if inputs.chosen_by_tags or len(groups) > 1 else []
        for part, ids in _parts(key, named):
            yield _filled(template, part, ids, figures.replication_figures(interval))


def _parts(key: str, ocids: Sequence[str], most: int = MOST_IDS) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield key and OCIDs of each alarm, at most `most` OCIDs in one. No OCIDs means every resource, in one alarm."""
    ordered = sorted(ocids)
    for number, start in enumerate(range(0, max(len(ordered), 1), most), 1):
        yield key if number == 1 else f"{key}-part-{number}", ordered[start : start + most]


def _filled(template: Alarm, key: str, ids: Sequence[str], values: Figures) -> Alarm:
    return Alarm(key, fill(template, {**values, **figures.resources(ids)}).body)


def _common(template: Alarm, inputs: AlarmInputs) -> Figures:
    """Return the figures of templates without single resources."""
    values = {"LEAST_ERRORS": str(figures.LEAST_ERRORS)}
    if template.key == "mount-target-failing":
        values |= figures.success_figures()
    if template.key == "mount-target-slow":
        values |= figures.latency_figures({**DEFAULT_LATENCY_SECONDS, **inputs.objectives}, inputs.warning_ratio)
    for metric, placeholder in EVENT_METRICS.items():
        values[placeholder] = _missed(template, metric, placeholder, inputs.error_types.get(metric, ()))
    return values


def _missed(template: Alarm, metric: str, placeholder: str, seen: Sequence[str]) -> str:
    """Return `|A|B` for known failures that the patterns of the template do not match."""
    patterned = re.search(rf'{metric}\[[^{{]*{{errorType =~ "([^"$]*)\${{{placeholder}}}"', str(template.body["query"]))
    if patterned is None:
        return ""
    patterns = patterned[1].split("|")
    missed = [
        value for value in seen if not (is_success(value) or any(fnmatchcase(value, pattern) for pattern in patterns))
    ]
    return "".join(f"|{pattern}" for pattern in map(_pattern, missed) if pattern.strip("*"))


def _pattern(value: str) -> str:
    """Return a pattern for a value from OCI, with `*` for characters that MQL or a placeholder `${ABC}` would interpret."""
    return "".join("*" if character in '|*"$' or not character.isprintable() else character for character in value)


def _placed(alarm: Alarm, scope: AlarmScope, spellings: Mapping[str, str]) -> Alarm:
    values = {"ALARM_COMPARTMENT_OCID": scope.alarm_compartment, "METRIC_COMPARTMENT_OCID": scope.metric_compartment}
    body: dict[str, Any] = {
        **fill(alarm, values).body,
        "displayName": f"{scope.name}-{alarm.key}",
        "destinations": list(scope.destinations),
        "metricCompartmentIdInSubtree": scope.in_subtree,
    }
    body = _rule(body, scope.runbook, spellings)
    body["overrides"] = [_rule(rule, scope.runbook, spellings) for rule in body.get("overrides") or ()]
    if any(".stream." in destination for destination in scope.destinations):
        body["messageFormat"] = "RAW"  # OCI sets the same format for a stream
    body["freeformTags"] = {**(body.get("freeformTags") or {}), PACK_TAG: scope.name, KEY_TAG: alarm.key}
    return Alarm(alarm.key, body)


def _rule(rule: Mapping[str, Any], runbook: str, spellings: Mapping[str, str]) -> dict[str, Any]:
    """Return a rule with the tenancy's names of metrics and a link to the runbook."""
    changed = dict(rule)
    if "query" in rule:
        changed["query"] = respelled(str(rule["query"]), spellings)
    if "body" in rule:
        body = str(rule["body"])
        changed["body"] = body.replace("${RUNBOOK_URL}", runbook) if runbook else _NEXT_STEP.sub("", body)
    return changed


def respelled(query: str, spellings: Mapping[str, str]) -> str:
    """Return a query with a tenancy's spelling of metrics, by the name in lower case. Other names stay."""
    # Every second part is between quotes, and so the value of a dimension.
    parts = query.split('"')
    parts[::2] = [_METRIC.sub(lambda name: spellings.get(name[0].lower(), name[0]), part) for part in parts[::2]]
    return '"'.join(parts)
