# SPDX-License-Identifier: Apache-2.0
"""Put the tags of mount targets and file systems into the labels of their alerts, because Alertmanager routes by labels alone.

Each expression is joined with one record of the tags. An alert without tags stays as it is.
"""

import re
from collections.abc import Sequence
from typing import Final

_ALERT: Final = re.compile(r"(?m)^( +)- alert: .*\n\1  expr: (?:\|-\n((?:\1    .*\n)+)|(.*)\n)")

# Labels of an alert, from the begin or the end of its expression.
_LABELS: Final = re.compile(r"\A\s*\w+ by \(([^)]*)\)|group_left \(([^)]*)\) address:fss_subject:info\s*\Z")

_SUBJECTS: Final = ("mount_target", "file_system")


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


def _subject_of(expression: str) -> str:
    found = _LABELS.search(expression.strip())
    names = re.split(r",\s*", found[1] or found[2]) if found else ()
    return next((subject for subject in _SUBJECTS if f"{subject}_id" in names), "")


def _record(subject: str) -> str:
    return f"{subject}:fss_{subject}_tags:info"


def _with_records(rules: str, labels: Sequence[str]) -> str:
    """Return the file with the records, if it is that of the inventory. Tags of a poller that stopped stay for six hours."""
    if "record: mount_target:fss_mount_target:info" not in rules:
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
    return rules.replace("groups:\n", f"{group}\n", 1)
