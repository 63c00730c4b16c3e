"""The Alertmanager configuration of the docs loads, and speaks of alerts there are."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.processes import require
from tests.rules.pack import ROOT, RULE_FILES, rules_of

TEXT = (ROOT / "docs" / "alertmanager.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
CONFIGURATION: dict[str, Any] = yaml.safe_load(BLOCK)
ALERTS = [rule for path in RULE_FILES for rule in rules_of(path) if rule.is_alert]
MATCHERS = [
    matcher
    for rule in (*CONFIGURATION["inhibit_rules"], *CONFIGURATION["route"]["routes"])
    for key in ("matchers", "source_matchers", "target_matchers")
    for matcher in rule.get(key, ())
]


def test_amtool_accepts_the_documented_configuration(tmp_path: Path) -> None:
    (tmp_path / "alertmanager.yml").write_text(BLOCK, encoding="utf-8")
    command = [require("amtool", "prometheus-alertmanager"), "check-config", str(tmp_path / "alertmanager.yml")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)

    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("matcher", MATCHERS)
def test_every_part_of_a_matcher_finds_an_alert(matcher: str) -> None:
    label, pattern = re.fullmatch(r'(\w+) =~? "(.*)"', matcher).groups()  # type: ignore[union-attr]  # no match is a failure
    values = {rule.name if label == "alertname" else rule.labels[label] for rule in ALERTS}

    for part in re.split(r"\|(?![^(]*\))", pattern):
        assert any(re.fullmatch(part, value) for value in values), f"{part} finds no {label}"


def test_every_label_that_inhibition_compares_is_a_label_of_alerts() -> None:
    compared = {label for rule in CONFIGURATION["inhibit_rules"] for label in rule.get("equal", ())}
    spoken = {
        label for rule in ALERTS for text in rule.annotations.values() for label in re.findall(r"\$labels\.(\w+)", text)
    }

    assert compared <= spoken | {"alertname", "severity"}
