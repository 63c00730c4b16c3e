# SPDX-License-Identifier: Apache-2.0
"""The alarm pack: read and check the templates in `mql/templates`.

A template is the body of a CreateAlarm request with `${PLACEHOLDERS}` for OCIDs and for the figures of `figures.py`. The files in
`mql/alarms` are the templates with published ceilings. Freeform tags identify an alarm, because OCI allows equal display
names:

    fss-exporter-pack    name of the pack: `fss`, or the value of `--name`
    fss-exporter-alarm   name of the alarm in the pack
    prometheus-alert     twin in `rules/`

The module never calls OCI. A mistake is reported with the file, the field, and for MQL the column.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any, Final

from fss_exporter.errors import MqlError, UsageError
from fss_exporter.oci.iam import NAMESPACE, PUBLISHED_NAMESPACE as PUBLISHED
from fss_exporter.oci.metric_table import BLOCK, LUSTRE, METRICS, SERVICE_METRICS
from fss_exporter.oci.publish.published_metrics import PUBLISHED_METRICS
from fss_exporter.regular_files import read_bounded
from fss_toolbox import mql

PACK_TAG: Final = "fss-exporter-pack"
KEY_TAG: Final = "fss-exporter-alarm"


# Placeholder by error metric that counts successes as well, so that a query must select failures by name.
EVENT_METRICS: Final = {"KerberosErrors": "KERBEROS_FAILURES", "LdapConnectionErrors": "LDAP_FAILURES"}

# Figures that make the queries of a template valid for a check.
_EXAMPLE: Final = dict.fromkeys(("RESOURCES", "AND_RESOURCES", *EVENT_METRICS.values()), "") | {
    "WARNING": "1",
    "CRITICAL": "1",
    "WAITING": "1",
    "LEAST_ERRORS": "1",
}

_LONGEST_TITLE: Final = 250  # characters of an email subject, OCI documentation "Updating Alarm: dynamic variables"
_SHORT_VARIABLES: Final = re.compile(r"\{\{(severity|status|type)\}\}")
_ANY_VARIABLE: Final = re.compile(r"\{\{.*?\}\}")

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    NAMESPACE: tuple(METRICS),
    PUBLISHED: PUBLISHED_METRICS,
    **{
        namespace: tuple(name for name, metric in SERVICE_METRICS.items() if metric.namespace == namespace)
        for namespace in (LUSTRE, BLOCK)
    },
}

_REQUIRED: Final = (
    "displayName compartmentId metricCompartmentId namespace query severity destinations isEnabled".split()
)
_SEVERITIES: Final = ("CRITICAL", "ERROR", "WARNING", "INFO")
_PENDING: Final = re.compile(r"PT([1-9]|[1-5][0-9]|60)M|PT1H")
_PLACEHOLDER: Final = re.compile(r"\$\{([A-Z0-9_]+)\}")


@dataclass(frozen=True, slots=True)
class Alarm:
    """A wanted alarm."""

    key: str  # which of the pack it is; value of the `fss-exporter-alarm` tag
    body: Mapping[str, Any]  # CreateAlarmDetails, in the API's own names

    @property
    def name(self) -> str:
        """Display name of the alarm."""
        return str(self.body["displayName"])

    def rules(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield every rule with its name: the overrides in order of evaluation, then the base rule."""
        for override in self.body.get("overrides") or ():
            yield str(override.get("ruleName")), override
        yield str(self.body.get("ruleName") or "BASE"), self.body


def has_alarm_fields(body: Any) -> bool:  # a JSON value
    """Return whether tags, overrides and destinations have the form of the API. Null and missing fields are allowed."""
    if not isinstance(body, Mapping) or not isinstance(body.get("freeformTags") or {}, Mapping):
        return False
    defined = body.get("definedTags") or {}
    if not isinstance(defined, Mapping) or not all(isinstance(tags, Mapping) for tags in defined.values()):
        return False
    lists = ((body.get("overrides") or [], Mapping), (body.get("destinations") or [], str))
    return all(isinstance(items, list) and all(isinstance(item, kind) for item in items) for items, kind in lists)


def load(folder: Traversable, order: mql.JoinOrder | None = None) -> tuple[Alarm, ...]:
    """Return every alarm of a folder, by name. One UsageError names all wrong files and queries.

    `order` is how the service reads `&&` and `||` without parentheses. None refuses a mixture without parentheses.
    """
    alarms: list[Alarm] = []
    mistakes: list[str] = []
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".json")), key=lambda item: item.name)
    for file in files:
        try:
            with file.open("rb") as opened:
                alarms.append(read(file.name, read_bounded(opened), order))
        except OSError as error:
            mistakes.append(f"{file.name}: cannot be read: {error.strerror}")
        except UsageError as error:
            mistakes += error.lines
    keys = [alarm.key for alarm in alarms]
    mistakes += (f"{KEY_TAG}: {key} is that of {keys.count(key)} files" for key in set(keys) if keys.count(key) > 1)
    if not files:
        mistakes.append(f"{folder}: no *.json file here")
    if mistakes:
        raise UsageError(mistakes[0], tuple(mistakes[1:]))
    return tuple(alarms)


def read(source: str, text: str | bytes, order: mql.JoinOrder | None = None) -> Alarm:
    """Read one alarm file. `source` is the name of the file in messages, `order` that of `load`.

    Raises:
        UsageError: the content is no alarm, or the alarm has mistakes.
    """
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{source}:{error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, too many digits, too many brackets
        raise UsageError(f"{source}: not JSON: {error}") from None
    if not has_alarm_fields(body):
        raise UsageError(f"{source}: an alarm is a JSON object with tags, overrides and destinations as in CreateAlarm")
    key = (body.get("freeformTags") or {}).get(KEY_TAG)
    if not isinstance(key, str) or not key:
        raise UsageError(f"{source}: freeformTags.{KEY_TAG} is missing. The tag names the alarm")
    alarm = Alarm(key, body)
    if mistakes := list(check(alarm, order)):
        # a query and the mark below its column are lines of their own
        lines = [mistake if mistake.startswith(" ") else f"{source}: {mistake}" for mistake in mistakes]
        raise UsageError(lines[0], tuple(lines[1:]))
    return alarm


def check(alarm: Alarm, order: mql.JoinOrder | None = None) -> Iterator[str]:
    """Yield each mistake with the field. OCI accepts some mistakes for an alarm that can never fire."""
    for field in _REQUIRED:
        if alarm.body.get(field) in (None, "", []):
            yield f"{field} is missing"
    names = [name for name, _ in alarm.rules()]
    if len(set(names)) < len(names):
        yield f"overrides: rule names are not unique: {', '.join(names)}"
    for name, rule in alarm.rules():
        place = "" if rule is alarm.body else f"overrides[{name}]."
        yield from _check_rule(place, rule, str(alarm.body.get("namespace")), order)
    yield from _check_title(str(alarm.body.get("notificationTitle") or ""))


def _check_title(title: str) -> Iterator[str]:
    """Yield the mistakes of a title. OCI refuses dimensions in a title, which have up to 256 characters."""
    fixed = _SHORT_VARIABLES.sub("CRITICAL", title)
    if variable := _ANY_VARIABLE.search(fixed):
        yield f"notificationTitle: {variable[0]} may be too long for a title. Put it into body"
    if len(fixed) > _LONGEST_TITLE:
        yield f"notificationTitle: longer than {_LONGEST_TITLE} characters"


def _check_rule(place: str, rule: Mapping[str, Any], namespace: str, order: mql.JoinOrder | None) -> Iterator[str]:
    if "severity" in rule and rule["severity"] not in _SEVERITIES:
        yield f"{place}severity: {rule['severity']!r} is none of {', '.join(_SEVERITIES)}"
    if "pendingDuration" in rule and not _PENDING.fullmatch(str(rule["pendingDuration"])):
        yield f"{place}pendingDuration: {rule['pendingDuration']!r} is not PT1M to PT60M"
    if "query" not in rule:
        return
    query = str(_filled(str(rule["query"]), _EXAMPLE))
    if _PLACEHOLDER.fullmatch(query):
        return
    try:
        expression = mql.parse(query, order)
    except MqlError as error:
        first, *others = error.lines
        yield f"{place}query: {first}"
        yield from others
        return
    if not mql.is_trigger(expression):
        yield f"{place}query: an alarm needs a predicate (>= 0.8) or absent()"
    for name in sorted({metric.name for metric in mql.metrics(expression)}):
        yield from (f"{place}query: {mistake}" for mistake in _check_metric(name, namespace))


def _check_metric(name: str, namespace: str) -> Iterator[str]:
    """Yield a mistake for an unknown metric. OCI accepts such an alarm, and the alarm never fires."""
    names = {metric.lower(): metric for metric in _NAMES.get(namespace, ())}
    if names and name.lower() not in names:
        near = difflib.get_close_matches(name.lower(), names, 1)
        hint = f". Did you mean {names[near[0]]}?" if near else ""
        yield f"{namespace} has no metric {name}{hint}"


def placeholders(alarm: Alarm) -> frozenset[str]:
    """Return names of the `${PLACEHOLDERS}` an alarm still has."""
    return frozenset(_PLACEHOLDER.findall(json.dumps(alarm.body)))


def fill(alarm: Alarm, values: Mapping[str, str]) -> Alarm:
    """Return the alarm with placeholders replaced. Placeholders without a value stay."""
    return Alarm(alarm.key, _filled(alarm.body, values))


def _filled(node: Any, values: Mapping[str, str]) -> Any:  # a JSON value
    if isinstance(node, str):
        return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), node)
    if isinstance(node, Mapping):
        return {key: _filled(value, values) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_filled(value, values) for value in node]
    return node
