"""The table of rules/README.md that sets each threshold of Prometheus beside the one of OCI's alarm."""

import re
from collections.abc import Iterator

import promql_parser
from tests.artefacts.shipped_alarms import PACK
from tests.artefacts.test_alarms import twins
from tests.artefacts.test_rules import ALERTS, compared
from tests.rules.pack import RULES, Rule

README = (RULES / "README.md").read_text(encoding="utf-8")


def threshold_rows() -> Iterator[str]:
    """A row for each alert that has an alarm: what its expression compares with, and the same of each alarm."""
    alarms: dict[tuple[str, str], list[str]] = {}
    for alarm in PACK:
        for _, part in alarm.rules():
            bounds = re.findall(r"[<>]=? [\d.]+", part["query"])
            told = f"{alarm.name.removeprefix('fss-')} {_spelt(bounds)} {_for(part['pendingDuration'][2:-1])}"
            alarms.setdefault((twins(alarm)[part["severity"]], part["severity"].lower()), []).append(told)
    for rule in ALERTS:
        severity = rule.labels["severity"]
        if beside := alarms.pop((rule.name, severity), []):
            yield f"| {rule.name} | {severity} | {_of_prometheus(rule)} | {'<br>'.join(beside)} |"
    assert not alarms.keys() - {("FssMountTargetDown", "warning")}, "an alarm without an alert of its severity"


def _of_prometheus(rule: Rule) -> str:
    bounds = [f"{operator} {number:g}" for operator, number, _ in compared(promql_parser.parse(rule.expr))]
    return f"{_spelt(bounds)} {_for(rule.fields.get('for', '0m')[:-1])}"


def _for(minutes: str) -> str:
    return {"0": "at once", "1": "for a minute"}.get(minutes, f"for {minutes} minutes")


def _spelt(bounds: list[str]) -> str:
    return ", ".join(f"`{bound}`" for bound in dict.fromkeys(bounds)) or "no number"


def test_the_readme_sets_each_threshold_of_prometheus_beside_the_one_of_the_alarm() -> None:
    _, _, table = README.partition("| alert | severity | in Prometheus | in MQL |\n|---|---|---|---|\n")

    assert table.split("\n\n")[0].splitlines() == list(threshold_rows())
