"""Fitting an alarm of the pack to another ceiling, objective, mount target or name. Pure; returns new alarms."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final

from fss_exporter.oci import mql
from fss_exporter.oci.alarms.pack import KEY_TAG, Alarm
from fss_exporter.oci.mql import Arithmetic, Comparison, Constant, Expression, Join, Metric, Query, Selector

_TEXTS: Final = ("body", "notificationTitle", "alarmSummary")


MOST_IDS: Final = 50
"""OCIDs in one query. OCI publishes no limit on the length of a query; 50 OCIDs are about 5 kB."""


def rescale(
    alarm: Alarm,
    *,
    old: float,
    new: float,
    ratios: Sequence[float],
    spell: Callable[[float], str],
    words: Mapping[str, str] | None = None,
) -> Alarm:
    """The alarm for another ceiling or objective.

    Args:
        alarm: as the pack has it.
        old: the ceiling its literals and texts are made from.
        new: the ceiling they shall be made from.
        ratios: shares of the ceiling that trigger.
        spell: how the texts write a figure.
        words: further words of the texts to replace.
    """
    spelled = {spell(ratio * old): spell(ratio * new) for ratio in (*ratios, 1.0)} | dict(words or {})
    # one pass, longest first, and never inside a longer number: what was put in is not replaced again
    longest_first = sorted(spelled, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<![\d,.]){re.escape(word)}" for word in longest_first))
    literals = {literal(ratio, old): literal(ratio, new) for ratio in ratios}
    return _mapped(
        alarm,
        text=lambda value: pattern.sub(lambda found: spelled[found[0]], value),
        query=lambda node: _rebound(node, literals),
    )


def literal(ratio: float, ceiling: float) -> float:
    """The number that stands in a query: no noise from binary fractions."""
    return round(ratio * ceiling, 9)


def narrow(alarm: Alarm, ocids: Sequence[str]) -> Alarm:
    """The alarm for some mount targets only."""
    selector = mql.select("resourceId", ocids)
    return _mapped(
        alarm,
        query=lambda node: _metrics_mapped(
            node, lambda metric: replace(metric, selectors=(*metric.selectors, selector))
        ),
    )


def narrowed(alarm: Alarm, key: str, ocids: Sequence[str]) -> Iterator[Alarm]:
    """The alarm for some resources only, as many times as it takes to name them all."""
    most = max(1, MOST_IDS // len(list(mql.metrics(mql.parse(str(alarm.body["query"]))))))
    for number, start in enumerate(range(0, len(ocids), most), 1):
        part = narrow(alarm, ocids[start : start + most])
        yield rekey(part, key if number == 1 else f"{key}-part-{number}")


def respell(alarm: Alarm, spellings: Mapping[str, str]) -> Alarm:
    """The alarm with the names of its metrics as the tenancy spells them.

    Args:
        alarm: as the pack has it.
        spellings: the tenancy's spelling of a metric by its name in lower case.
    """
    return _mapped(
        alarm,
        query=lambda node: _metrics_mapped(
            node, lambda metric: replace(metric, name=spellings.get(metric.name.lower(), metric.name))
        ),
    )


def widen(alarm: Alarm, metric: str, dimension: str, values: Sequence[str]) -> Alarm:
    """The alarm on a metric with further values, where it selects on the dimension by patterns that do not match them."""

    def widened(one: Selector) -> Selector:
        if one.dimension != dimension or one.operator != "=~":
            return one
        patterns = one.value.split("|")
        missed = [value for value in values if not any(fnmatchcase(value, pattern) for pattern in patterns)]
        return replace(one, value="|".join([*patterns, *missed]))

    def change(source: Metric) -> Metric:
        return replace(source, selectors=tuple(map(widened, source.selectors))) if source.name == metric else source

    return _mapped(alarm, query=lambda node: _metrics_mapped(node, change))


def rekey(alarm: Alarm, key: str) -> Alarm:
    """The alarm under another key; its display name follows."""
    tags = {**(alarm.body.get("freeformTags") or {}), KEY_TAG: key}
    name = alarm.name.removesuffix(alarm.key) + key
    return Alarm(key, {**alarm.body, "displayName": name, "freeformTags": tags})


def _mapped(
    alarm: Alarm, query: Callable[[Expression], Expression], text: Callable[[str], str] = lambda value: value
) -> Alarm:
    def rule(body: Mapping[str, Any]) -> dict[str, Any]:
        changed = {key: text(value) if key in _TEXTS else value for key, value in body.items()}
        if "query" in body:
            changed["query"] = str(query(mql.parse(str(body["query"]))))
        if body.get("overrides"):
            changed["overrides"] = [rule(override) for override in body["overrides"]]
        return changed

    return Alarm(alarm.key, rule(alarm.body))


def _rebound(node: Expression, literals: Mapping[float, float]) -> Expression:
    match node:
        case Comparison(bounds=bounds):
            return replace(node, bounds=tuple(literals.get(bound, bound) for bound in bounds))
        case Join(left=left, right=right):
            return replace(node, left=_rebound(left, literals), right=_rebound(right, literals))
        case _:
            return node


def _metrics_mapped(node: Expression, change: Callable[[Metric], Metric]) -> Expression:
    match node:
        case Comparison(left=left):
            return replace(node, left=_metrics_mapped(left, change))
        case Join(left=left, right=right) | Arithmetic(left=left, right=right):
            return replace(node, left=_metrics_mapped(left, change), right=_metrics_mapped(right, change))
        case Query(source=source):
            changed = change(source) if isinstance(source, Metric) else _metrics_mapped(source, change)
            return replace(node, source=changed)
        case Constant():
            return node
