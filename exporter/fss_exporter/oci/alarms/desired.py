"""What alarms there should be: the pack, fitted to the mount targets that exist and the ceilings they have.

The pack's files state ceilings and objectives as published. MQL can neither divide by a limit nor select by shape, so
where ceilings differ the alarm of a ceiling is made once for each: same text, other literals, and the mount targets it
is for named by OCID. Where one ceiling holds for all, no mount target is named and future ones are covered as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fss_exporter.model.limits import SHAPES, STANDARD, Limits
from fss_exporter.model.thresholds import (
    CRITICAL_RATIO,
    LATENCY_CRITICAL_RATIO,
    LATENCY_OBJECTIVES,
    LATENCY_WARNING_RATIO,
    REPLICATION_CRITICAL_INTERVALS,
    REPLICATION_DEFAULT_INTERVAL_SECONDS,
    REPLICATION_WARNING_INTERVALS,
    WARNING_RATIO,
)
from fss_exporter.oci.alarms.fit import narrowed, rekey, rescale, respell, widen
from fss_exporter.oci.alarms.other_services import OTHER_CEILINGS, of_other_services
from fss_exporter.oci.alarms.pack import KEY_TAG, PACK_TAG, Alarm, fill
from fss_exporter.oci.alarms.subjects import (
    CEILINGS,
    LATENCIES,
    REPLICATION,
    Ceiling,
    spell_interval,
    spell_latency,
)
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE as PUBLISHED
from fss_exporter.oci.metric_table import is_success
from fss_exporter.oci.oci_inventory import ServiceResource


@dataclass(frozen=True, slots=True)
class Target:
    """A mount target as far as alarms care: its OCID, the name of its shape, its ceilings, configuration included."""

    ocid: str
    shape: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class Scope:
    """Where alarms live, what they look at and whom they tell.

    Attributes:
        alarm_compartment: OCID of the compartment the alarms are in.
        metric_compartment: OCID of the compartment the mount targets are in; the tenancy's with `in_subtree`.
        destinations: at most one topic and one stream.
        in_subtree: whether compartments below count; OCI allows it for the tenancy only.
        name: first word of every display name, and value of the tag that says whose alarm it is.
    """

    alarm_compartment: str
    metric_compartment: str
    destinations: tuple[str, ...]
    in_subtree: bool = False
    name: str = "fss"


@dataclass(frozen=True, slots=True)
class Estate:
    """What the alarms are fitted to.

    Attributes:
        targets: the mount targets there are; none: the standard shape's alarms, for whatever comes.
        stores: file systems and volumes of other services; None where nobody looked, which leaves their alarms as they are.
        replications: interval in seconds of each replication by its OCID; none: the default interval's alarm.
        shape_limits: ceilings of each shape, configuration included.
        objectives: latency objectives in seconds by kind and size; what is not named keeps its default.
        published: whether the exporter publishes utilization, so that the alarms on it have something to look at.
        spellings: how the tenancy spells a metric, by its name in lower case; the documented spelling otherwise.
        error_types: event types a metric has been seen with, by its documented name, successes included.
    """

    targets: Sequence[Target] = ()
    stores: Sequence[ServiceResource] | None = None
    replications: Mapping[str, float] = field(default_factory=dict)
    shape_limits: Mapping[str, Limits] = field(default_factory=dict)
    objectives: Mapping[tuple[str, str], float] = field(default_factory=dict)
    published: bool = False
    spellings: Mapping[str, str] = field(default_factory=dict)
    error_types: Mapping[str, Sequence[str]] = field(default_factory=dict)


def desired(pack: Sequence[Alarm], scope: Scope, estate: Estate) -> tuple[Alarm, ...]:
    """The alarms there should be, by key."""
    models = {alarm.key: alarm for alarm in pack}
    alarms: list[Alarm] = []
    for ceiling in CEILINGS:
        if ceiling.key in models:
            alarms += _of_ceiling(models[ceiling.key], ceiling, estate)
    if REPLICATION in models:
        alarms += _of_replications(models[REPLICATION], estate.replications)
    derived = {f"{ceiling.stem}-{shape}" for ceiling in CEILINGS if ceiling.key in models for shape in SHAPES}
    derived |= {REPLICATION, *(ceiling.key for ceiling in CEILINGS)}
    if estate.stores is not None:
        alarms += of_other_services(models, estate.stores)
        derived |= {ceiling.key for ceiling in OTHER_CEILINGS}
    others = (alarm for alarm in pack if alarm.key not in derived)
    alarms += (
        _with_failures(_for_objective(alarm, estate.objectives), estate.error_types)
        for alarm in others
        if estate.published or alarm.body["namespace"] != PUBLISHED
    )
    placed = (_placed(respell(alarm, estate.spellings), scope) for alarm in alarms)
    return tuple(sorted(placed, key=lambda alarm: alarm.key))


def _of_ceiling(model: Alarm, ceiling: Ceiling, estate: Estate) -> Iterator[Alarm]:
    stated = ceiling.of(STANDARD.limits)
    if stated is None:
        return
    targets = estate.targets or [Target("", STANDARD.name, _limits_of(STANDARD.name, estate.shape_limits))]
    for (shape, value), ocids in sorted(_by_value(ceiling, targets).items()):
        words = {f"({STANDARD.name})": f"({shape})"} if shape else {}
        fitted = rescale(
            model, old=stated, new=value, ratios=(WARNING_RATIO, CRITICAL_RATIO), spell=ceiling.spell, words=words
        )
        usual = ceiling.of(_limits_of(shape or STANDARD.name, estate.shape_limits))
        key = "-".join(filter(None, (ceiling.stem, shape, "" if value == usual else f"{value:.0f}")))
        if len(ocids) == len(targets):
            yield rekey(fitted, key)
        else:
            yield from narrowed(fitted, key, sorted(ocids))


def _by_value(ceiling: Ceiling, targets: Sequence[Target]) -> dict[tuple[str, float], list[str]]:
    """Mount targets by shape and ceiling; those without this ceiling are in none."""
    groups: dict[tuple[str, float], list[str]] = {}
    for target in targets:
        value = ceiling.of(target.limits)
        if value is not None:
            groups.setdefault((target.shape if ceiling.per_shape else "", value), []).append(target.ocid)
    return groups


def _of_replications(model: Alarm, intervals: Mapping[str, float]) -> Iterator[Alarm]:
    """One alarm for each interval: two hours without a copy are late for one replication and early for another."""
    by_interval: dict[float, list[str]] = {}
    for ocid, interval in intervals.items():
        by_interval.setdefault(interval, []).append(ocid)
    usual = REPLICATION_DEFAULT_INTERVAL_SECONDS
    for interval, ocids in sorted(by_interval.items()):
        ratios = (REPLICATION_WARNING_INTERVALS, REPLICATION_CRITICAL_INTERVALS)
        fitted = rescale(model, old=usual, new=interval, ratios=ratios, spell=spell_interval)
        key = REPLICATION if interval == usual else f"{REPLICATION}-{interval / 60:.0f}m"
        if len(by_interval) == 1:
            yield rekey(fitted, key)
        else:
            yield from narrowed(fitted, key, sorted(ocids))
    if not intervals:
        yield model


def _limits_of(shape: str, configured: Mapping[str, Limits]) -> Limits:
    if shape in configured:
        return configured[shape]
    return SHAPES[shape].limits if shape in SHAPES else Limits()


def _for_objective(alarm: Alarm, objectives: Mapping[tuple[str, str], float]) -> Alarm:
    which = LATENCIES.get(alarm.key)
    if which is None or which not in objectives:
        return alarm
    ratios = (LATENCY_WARNING_RATIO, LATENCY_CRITICAL_RATIO)
    old = LATENCY_OBJECTIVES[which].seconds
    return rescale(alarm, old=old, new=objectives[which], ratios=ratios, spell=spell_latency)


def _with_failures(alarm: Alarm, error_types: Mapping[str, Sequence[str]]) -> Alarm:
    """The alarm selecting also the failures that have been seen and its patterns miss."""
    for metric, seen in error_types.items():
        failures = [_pattern(value) for value in seen if not is_success(value)]
        alarm = widen(alarm, metric, "errorType", [pattern for pattern in failures if pattern.strip("*")])
    return alarm


def _pattern(value: str) -> str:
    """A pattern for a value from OCI. What MQL or a placeholder `${ABC}` would read becomes `*`, any run of characters."""
    return "".join("*" if one in '|*"$' or not one.isprintable() else one for one in value)


def _placed(alarm: Alarm, scope: Scope) -> Alarm:
    values = {"ALARM_COMPARTMENT_OCID": scope.alarm_compartment, "METRIC_COMPARTMENT_OCID": scope.metric_compartment}
    body = {
        **fill(alarm, values).body,
        "displayName": f"{scope.name}-{alarm.key}",
        "destinations": list(scope.destinations),
        "metricCompartmentIdInSubtree": scope.in_subtree,
    }
    body.setdefault("overrides", [])  # said, so that one made by hand is noticed
    if any(".stream." in destination for destination in scope.destinations):
        body["messageFormat"] = "RAW"  # what OCI makes of it for a stream
    body["freeformTags"] = {**(body.get("freeformTags") or {}), PACK_TAG: scope.name, KEY_TAG: alarm.key}
    return Alarm(alarm.key, body)
