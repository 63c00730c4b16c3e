"""The rules pack as the tests read it: every rule with its file and line, and promtool to judge it."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tests.processes import require

ROOT = Path(__file__).parents[2]
RULES = ROOT / "rules"

# What every installation loads, in an order in which most series are recorded before they are read.
CORE_FILES = tuple(RULES / name for name in ("clients.yml", "load.yml", "service_level.yml", "monitoring.yml"))

# A third of the time of promtool is garbage collection, unless its small heap may grow. Tests run side by side.
PROMTOOL_ENVIRONMENT = {**os.environ, "GOGC": "400", "GOMAXPROCS": "1"}

RULE_FILES = (*CORE_FILES, RULES / "node_exporter.yml", RULES / "panels.yml")


@dataclass(frozen=True)
class Rule:
    """One rule. `str()` is where it stands: file, line, name."""

    path: Path
    line: int
    group: str
    fields: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.fields.get("record") or self.fields["alert"])

    @property
    def is_alert(self) -> bool:
        return "alert" in self.fields

    @property
    def expr(self) -> str:
        return str(self.fields["expr"])

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.fields.get("labels", {}))

    @property
    def annotations(self) -> dict[str, str]:
        return dict(self.fields.get("annotations", {}))

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line}: {self.name}"


@cache
def parsed(path: Path) -> dict[str, Any]:
    """A file of rules, parsed once. No test changes the answer."""
    # An open file has a name, which a mistake in the YAML is reported with. libyaml is ten times as fast as Python.
    with path.open(encoding="utf-8") as text:
        document: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return document


@cache
def rules_of(path: Path) -> tuple[Rule, ...]:
    """Every rule of a file in the order of evaluation."""
    return tuple(_rules_of(path))


def _rules_of(path: Path) -> Iterator[Rule]:
    values = parsed(path)
    with path.open(encoding="utf-8") as text:
        document = yaml.compose(text, Loader=yaml.CSafeLoader)
    groups = _item(document, "groups").value
    for group, group_values in zip(groups, values["groups"], strict=True):
        for rule, fields in zip(_item(group, "rules").value, group_values["rules"], strict=True):
            yield Rule(path, rule.start_mark.line + 1, group_values["name"], fields)


def _item(node: Any, key: str) -> Any:
    return next(value for name, value in node.value if name.value == key)


def expressions_of(alert: str) -> str:
    """The expressions of an alert, and of the records that they name."""
    pack = [rule for path in RULE_FILES for rule in rules_of(path)]
    own = " ".join(rule.expr for rule in pack if rule.name == alert)
    return " ".join((own, *(rule.expr for rule in pack if not rule.is_alert and rule.name in own)))


def groups_of(*paths: Path) -> list[str]:
    """Names of all groups, in the order of evaluation."""
    return [group["name"] for path in paths for group in parsed(path)["groups"]]


def promtool(*arguments: str | Path) -> tuple[bool, str]:
    """Whether promtool is content, and everything it says."""
    command = [require("promtool", "prometheus"), *map(str, arguments)]
    finished = subprocess.run(command, env=PROMTOOL_ENVIRONMENT, capture_output=True, text=True, check=False)
    return finished.returncode == 0, finished.stdout + finished.stderr
