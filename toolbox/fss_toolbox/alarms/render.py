# SPDX-License-Identifier: Apache-2.0
"""Write alarms as JSON for the OCI CLI, and as Terraform's `oci_monitoring_alarm` in the layout of `terraform fmt`."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from fss_toolbox.alarms.pack import Alarm, placeholders
from fss_toolbox.hcl import ESCAPES, assignments

Form = Literal["json", "cli", "terraform"]

_WHOLE: Final = re.compile(r"\$\{([A-Z0-9_]+)\}")
_NOT_A_LABEL: Final = re.compile(r"[^A-Za-z0-9_]")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TO_ESCAPE: Final = re.compile(r'[\\"\n\r\t]|\$\{(?![A-Z0-9_]+\})|%\{')


def body_of(alarm: Alarm, form: Form) -> Mapping[str, Any]:
    """Return CreateAlarmDetails of the API, or the body for `oci monitoring alarm create --from-json`.

    The CLI calls the query `queryText`, because `--query` is the JMESPath filter. In overrides the name stays `query`.
    """
    if form == "json":
        return alarm.body
    return {"queryText" if key == "query" else key: value for key, value in alarm.body.items()}


def terraform(alarms: Iterable[Alarm]) -> str:
    """Return a resource for each alarm, and a variable for each remaining placeholder."""
    listed = list(alarms)
    names = sorted({name for alarm in listed for name in placeholders(alarm)})
    blocks = [f'variable "{name.lower()}" {{\n  type = string\n}}\n' for name in names]
    blocks += [
        _block(f'resource "oci_monitoring_alarm" "{_NOT_A_LABEL.sub("_", alarm.name)}"', alarm.body) for alarm in listed
    ]
    return "\n".join(blocks)


def files(alarms: Sequence[Alarm], form: Form) -> dict[str, str]:
    """Return content by file name: a file for each alarm, or a single file of Terraform resources."""
    if form == "terraform":
        return {"alarms.tf": terraform(alarms)}
    return {f"{alarm.name.replace('/', '_')}.json": _json(body_of(alarm, form)) for alarm in alarms}


def document(alarms: Sequence[Alarm], form: Form) -> str:
    """Return all alarms in one text: a JSON list, or Terraform resources."""
    if form == "terraform":
        return terraform(alarms)
    return _json([body_of(alarm, form) for alarm in alarms])


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _block(head: str, body: Mapping[str, Any], indent: str = "") -> str:
    inner = indent + "  "
    parts = [f"{indent}{head} {{"]
    nested = [(key, rule) for key, value in body.items() if _is_blocks(value) for rule in value]
    parts += _attributes({key: value for key, value in body.items() if not _is_blocks(value)}, inner)
    for key, rule in nested:
        parts += ["", _block(_CAMEL.sub("_", key).lower(), rule, inner).rstrip("\n")]
    return "\n".join([*parts, f"{indent}}}"]) + "\n"


def _is_blocks(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _attributes(body: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Yield lines of `name = value`, with the signs of neighbouring lines in one column as `terraform fmt` wants them."""
    defined = body.get("definedTags") or {}
    tags = {f"{space}.{key}": tag for space, pairs in defined.items() for key, tag in pairs.items()}
    flat = {**body, "definedTags": tags}
    named = {_CAMEL.sub("_", key).lower(): value for key, value in flat.items() if value not in (None, [], {})}
    single = {name: _value(value) for name, value in named.items() if not isinstance(value, Mapping)}
    yield from assignments(single, indent)
    for name, value in named.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name} = {{"
            yield from assignments({_string(key): _value(item) for key, item in value.items()}, f"{indent}  ")
            yield f"{indent}}}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        whole = _WHOLE.fullmatch(value)
        return f"var.{whole[1].lower()}" if whole else _string(value)
    return json.dumps(value)


def _string(text: str) -> str:
    escaped = _TO_ESCAPE.sub(lambda match: ESCAPES[match[0]], text)
    return '"' + _WHOLE.sub(lambda match: f"${{var.{match[1].lower()}}}", escaped) + '"'
