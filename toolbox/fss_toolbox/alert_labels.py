# SPDX-License-Identifier: Apache-2.0
"""Put the tags of mount targets and file systems into the labels of their alerts, because Alertmanager routes by labels alone.

Each expression is joined with one record of the tags. An alert without tags stays as it is. The fleet dashboard gets a variable for each tag.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_ALERT: Final = re.compile(r"(?m)^( +)- alert: .*\n\1  expr: (?:\|-\n((?:\1    .*\n)+)|(.*)\n)")

# Labels of an alert, from the begin or the end of its expression, rounded or not.
_LABELS: Final = re.compile(
    r"\A(?:round\(\s*)?\w+ by \(([^)]*)\)"
    r"|group_left \(([^)]*)\) address:fss_subject:info(?:,\s*[\d.]+\s*\))?\Z"
)

_SUBJECTS: Final = ("mount_target", "file_system")

# Mount targets, and the same with their tags, which only a dashboard reads.
_TARGETS: Final = "mount_target:fss_mount_target:info"
_TAGGED: Final = "mount_target:fss_mount_target_tagged:info"

# How the fleet dashboard chooses mount targets and alerts. Both end with the text that tags follow.
_CHOSEN_TARGETS: Final = re.compile(rf"{_TARGETS}({{[^}}]*shape=~\"\$shape\")")
_CHOSEN_ALERTS: Final = re.compile(r"(\bALERTS(?:_FOR_STATE)?{[^}]*region=~\"\$region\|\")")


def with_alert_labels(rules: str, labels: Sequence[str]) -> str:
    """Return a file of rules whose alerts about a mount target or a file system have these labels, and the records of the tags."""
    if not labels:
        return rules

    def joined(found: re.Match[str]) -> str:
        indent, lines, line = found.groups()
        expression = lines or f"{indent}    {line}\n"
        subject = _subject_of(expression)
        if not subject:
            return found[0]
        on, record = f"on (tenancy, region, {subject}_id)", _record(subject)
        head = found[0].partition("expr: ")[0]
        return (
            f"{head}expr: |-\n"
            f"{indent}    (\n{expression}{indent}    ) * {on} group_left ({', '.join(labels)}) {record}\n"
            f"{indent}    or\n"
            f"{indent}    (\n{expression}{indent}    ) unless {on} {record}\n"
        )

    return _with_records(_ALERT.sub(joined, rules), labels)


def with_tag_variables(dashboard: str, labels: Sequence[str]) -> str:
    """Return a dashboard with a variable for each tag behind that of the shape. One without such a variable stays as it is."""
    content = json.loads(dashboard)
    variables = content["templating"]["list"]
    shape = next((variable for variable in variables if variable["name"] == "shape"), None)
    if shape is None or not labels:
        return dashboard

    def chosen(text: str) -> str:
        text = _CHOSEN_TARGETS.sub(rf"{_TAGGED}\1{_matchers(labels)}", text)
        return _CHOSEN_ALERTS.sub(rf"\1{_matchers(labels, '|')}", text)

    content = _with_texts(content, chosen)
    place = variables.index(shape) + 1
    content["templating"]["list"][place:place] = [_variable(shape, label) for label in labels]
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _matchers(labels: Sequence[str], otherwise: str = "") -> str:
    """Return the choice by each tag. Grafana escapes for texts in quotes no quote, and people write tags."""
    return "".join(f", {label}=~`${{{label}:regex}}{otherwise}`" for label in labels)


def _with_texts(node: Any, change: Callable[[str], str]) -> Any:
    """Return a document of JSON with each text changed."""
    match node:
        case str():
            return change(node)
        case list():
            return [_with_texts(one, change) for one in node]
        case dict():
            return {key: _with_texts(one, change) for key, one in node.items()}
    return node


def _variable(shape: Mapping[str, Any], label: str) -> dict[str, Any]:
    query = f'label_values({_TAGGED}{{tenancy=~"$tenancy", region=~"$region"}}, {label})'
    name = label.removeprefix("tag_")
    return {
        **shape,
        "name": label,
        "label": name,
        "description": f"Tag {name} of the mount targets. Alerts about anything without it stay.",
        "query": {**shape["query"], "query": query},
        "regex": "/^[^`]*$/",  # nothing escapes a backtick in the text of `_matchers`
    }


def _subject_of(expression: str) -> str:
    found = _LABELS.search(expression.strip())
    names = re.split(r",\s*", found[1] or found[2]) if found else ()
    return next((subject for subject in _SUBJECTS if f"{subject}_id" in names), "")


def _record(subject: str) -> str:
    return f"{subject}:fss_{subject}_tags:info"


def _with_records(rules: str, labels: Sequence[str]) -> str:
    """Return the file with the records, if it is that of the inventory. Tags of a poller that stopped stay for six hours."""
    if f"record: {_TARGETS}\n" not in rules:
        return rules
    group = "groups:\n  - name: fss-tags\n    # By fss-exporter assets --alert-labels.\n    rules:\n"
    for subject in _SUBJECTS:
        by, info = f"tenancy, region, {subject}_id", f"fss_{subject}_tags_info"
        group += f"""\
      - record: {_record(subject)}
        expr: |-
          topk by ({by}) (1,
            group by ({by}, {", ".join(labels)}) (
              {info}
              or on ({by})
              (last_over_time({info}[6h]) unless on (job, cluster, instance, tenancy, region) fss_oci_poll_timestamp_seconds)
            )
          )
"""
    on = "on (tenancy, region, mount_target_id)"
    group += f"""\
      - record: {_TAGGED}
        expr: |-
          {_TARGETS} * {on} group_left ({", ".join(labels)}) {_record("mount_target")}
          or {on}
          {_TARGETS}
"""
    return rules.replace("groups:\n", f"{group}\n", 1)
