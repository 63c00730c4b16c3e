# SPDX-License-Identifier: Apache-2.0
"""A plan and the results of the steps, as text for people."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fss_exporter.ocid import OCID
from fss_exporter.terminal_text import printable
from fss_toolbox.alarms.alarm_plan import FieldChange, Plan, Step, StepKind
from fss_toolbox.alarms.apply import StepOutcome

SIGNS: Final[dict[StepKind, str]] = {"create": "+", "update": "~", "delete": "-", "unchanged": "=", "clash": "!"}
_OCIDS: Final = re.compile(rf"{OCID.pattern}(?:\|{OCID.pattern})*")
_NAMED: Final = rf'resourceId\s*=~?\s*"{_OCIDS.pattern}"'
_SELECTOR: Final = re.compile(rf"\{{{_NAMED}\}}|,\s*{_NAMED}")  # of resources, alone or behind other selectors
_TELLING: Final = 6  # The last characters of an OCID tell resources apart
_DONE: Final[dict[StepKind, str]] = {"create": "created", "update": "updated", "delete": "deleted"}


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield the plan: changes with fields, clashes, and the totals."""
    for step in plan.steps:
        if step.kind == "unchanged" and not step.kept:
            continue
        yield f"  {SIGNS[step.kind]} {printable(step.name):<44} {_what(step)}"
        yield from (f"      {printable(line)}" for change in step.changes for line in _change_lines(change))
        if step.kind == "create":
            yield from (f"      {printable(line)}" for line in _effects(step))
        yield from (
            f"      {printable(f'{change.name}: {_short(change.old)}')}  (stays, and may silence the alarm)"
            for change in step.kept
        )
    kinds: tuple[tuple[StepKind, str], ...] = (
        ("create", "to create"),
        ("update", "to update"),
        ("delete", "to delete"),
        ("unchanged", "unchanged"),
        ("clash", "left alone"),
    )
    counts = [(len(plan.of(kind)), words) for kind, words in kinds]
    counts.append((sum(bool(step.kept) for step in plan.steps), "with a setting that may silence it"))
    always = ("to create", "to update", "to delete", "unchanged")
    yield "Plan: " + ", ".join(f"{count} {words}" for count, words in counts if count or words in always) + "."


def outcome_line(outcome: StepOutcome) -> str:
    """Return the result of a step, tried or not."""
    step = outcome.step
    if not outcome.tried:
        return f"  . {printable(step.name):<44} not tried"
    if outcome.error is None:
        return f"  {SIGNS[step.kind]} {printable(step.name):<44} {_DONE[step.kind]}"
    return f"  ! {printable(step.name):<44} not {_DONE[step.kind]}: {outcome.error}"


def summary(outcomes: Sequence[StepOutcome]) -> str:
    """Return how many steps were done, failed or not tried, and the next step."""
    done = [outcome for outcome in outcomes if outcome.tried and outcome.error is None]
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    untried = len(outcomes) - len(done) - len(failed)
    if not failed:
        return f"Done: {len(done)} of {len(outcomes)}."
    return (
        f"{'Stopped' if untried else 'Incomplete'}: {len(done)} done, {len(failed)} failed, {untried} not tried. The done steps stay. "
        "Run the command again when the cause is gone, to do the rest."
    )


def _what(step: Step) -> str:
    return {"delete": f"delete: {step.reason}", "clash": f"left alone: {step.reason}"}.get(step.kind, step.kind)


def _effects(step: Step) -> Iterator[str]:
    """Yield what an alarm that is not there yet will do: severity, time and query of each rule."""
    for rule in (*(step.body.get("overrides") or ()), step.body):
        severity, pending, query = (_short(rule.get(name)) for name in ("severity", "pendingDuration", "query"))
        yield f"{severity} after {pending}: {_shortened_query(query)}"


def _shortened(text: str, other: str = "") -> str:
    """Return a text with short OCIDs."""
    return _OCIDS.sub(lambda listed: _short_list(listed[0].split("|"), _ocids_in(other)), text)


def _shortened_query(query: str, other: str = "") -> str:
    """Return a query, and behind it in words the resources that it names. A short OCID inside MQL would match nothing."""
    named = _ocids_in(" ".join(_SELECTOR.findall(query)))
    return f"{_SELECTOR.sub('', query)}  (only for {_short_list(named, _ocids_in(other))})" if named else query


def _ocids_in(text: str) -> list[str]:
    return list(dict.fromkeys(ocid for listed in _OCIDS.findall(text) for ocid in listed.split("|")))


def _short_list(ocids: Sequence[str], common: Sequence[str]) -> str:
    """Return short OCIDs. Those that another text has as well become their number."""
    same = sum(ocid in common for ocid in ocids)
    own = [f"ocid1...{ocid[-_TELLING:]}" for ocid in ocids if ocid not in common or same == 1]
    return ", ".join([*own, *([f"{same} in both"] if same > 1 else [])])


def _change_lines(change: FieldChange) -> Iterator[str]:
    if isinstance(change.old, str) and isinstance(change.new, str) and len(change.old) + len(change.new) > 80:
        shortened = _shortened_query if change.name.endswith("query") else _shortened
        yield f"{change.name}:"
        yield f"  - {shortened(change.old, change.new)}"
        yield f"  + {shortened(change.new, change.old)}"
    elif isinstance(change.old, list) and isinstance(change.new, list) and change.name == "overrides":
        yield f"{change.name}:"
        yield from _rule_lines(change.old, change.new)
    else:
        yield f"{change.name}: {_short(change.old)} -> {_short(change.new)}"


def _rule_lines(old: list[dict[str, object]], new: list[dict[str, object]]) -> Iterator[str]:
    before = {str(rule.get("ruleName")): rule for rule in old}
    after = {str(rule.get("ruleName")): rule for rule in new}
    for name in dict.fromkeys((*before, *after)):
        if name not in after:
            yield f"  - {name}"
        elif name not in before:
            yield f"  + {name}: {_shortened_query(_short(after[name].get('query')))}"
        else:
            for key in dict.fromkeys((*before[name], *after[name])):
                earlier, later = before[name].get(key), after[name].get(key)
                if earlier != later:
                    for line in _change_lines(FieldChange(f"{name}.{key}", earlier, later)):
                        yield f"  {line}"


def _short(value: object) -> str:
    if value is None:
        return "(not set)"
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value) if not isinstance(value, list) else ", ".join(map(str, value))
