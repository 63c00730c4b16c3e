"""The Alertmanager configuration of the docs loads, speaks of alerts there are, and holds back what it says and no more."""

import re
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.processes import require
from tests.rules.pack import ROOT, RULE_FILES, UNIT_TESTS, rules_of

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
RANK = ["info", "warning", "critical"]


def fired() -> Iterator[dict[str, str]]:
    """The labels of every alert that a unit test of the rules sees firing."""
    for path in UNIT_TESTS:
        for block in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]:
            for check in block.get("alert_rule_test", ()):
                for alert in check["exp_alerts"]:
                    yield {"alertname": check["alertname"], **alert["exp_labels"]}


FIRED = [dict(labels) for labels in {tuple(sorted(labels.items())) for labels in fired()}]


def matches(matchers: list[str], labels: dict[str, str]) -> bool:
    for matcher in matchers:
        label, operator, pattern = re.fullmatch(r'(\w+) (=|=~|!=) "(.*)"', matcher).groups()  # type: ignore[union-attr]  # no match is a failure
        found = re.fullmatch(pattern, labels.get(label, "")) is not None
        if found == (operator == "!="):
            return False
    return True


def inhibits(source: dict[str, str], target: dict[str, str]) -> bool:
    """Whether one alert holds another back, as Alertmanager decides it: a label that is missing is an empty one."""
    return source != target and any(
        matches(rule["source_matchers"], source)
        and matches(rule["target_matchers"], target)
        and all(source.get(label, "") == target.get(label, "") for label in rule.get("equal", ()))
        for rule in CONFIGURATION["inhibit_rules"]
    )


def test_amtool_accepts_the_documented_configuration(tmp_path: Path) -> None:
    (tmp_path / "alertmanager.yml").write_text(BLOCK, encoding="utf-8")
    command = [require("amtool", "prometheus-alertmanager"), "check-config", str(tmp_path / "alertmanager.yml")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)

    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("matcher", [matcher for matcher in MATCHERS if "!=" not in matcher])
def test_every_part_of_a_matcher_finds_an_alert(matcher: str) -> None:
    label, pattern = re.fullmatch(r'(\w+) =~? "(.*)"', matcher).groups()  # type: ignore[union-attr]  # no match is a failure
    values = {rule.name if label == "alertname" else rule.labels[label] for rule in ALERTS}

    for part in re.split(r"\|(?![^(]*\))", pattern):
        assert any(re.fullmatch(part, value) for value in values), f"{part} finds no {label}"


def test_every_label_that_inhibition_compares_is_a_label_of_alerts() -> None:
    compared = {label for rule in CONFIGURATION["inhibit_rules"] for label in rule.get("equal", ())}

    assert compared <= {label for labels in FIRED for label in labels}


def test_a_lower_severity_never_holds_back_a_higher_one() -> None:
    wrong = [
        (source["alertname"], target["alertname"])
        for source, target in product(FIRED, repeat=2)
        if RANK.index(source["severity"]) < RANK.index(target["severity"]) and inhibits(source, target)
    ]

    assert not wrong


def test_the_higher_severity_of_an_alert_holds_back_the_lower_of_the_same_resource_only() -> None:
    for alert in FIRED:
        if alert["severity"] == "critical":
            warning = alert | {"severity": "warning"}
            assert inhibits(alert, warning), alert
            for label in ("mount_target_id", "address", "replication_id", "resource_id"):
                if label in alert:
                    assert not inhibits(alert, warning | {label: "another"}), f"{alert} hides another {label}"


@pytest.mark.parametrize(
    ("source", "target", "held_back"),
    [
        (("FssMountTargetIopsHigh", "critical"), ("FssReadLatencyHigh", "critical"), True),
        (("FssMountTargetIopsHigh", "warning"), ("FssReadLatencyHigh", "critical"), False),
        (("FssMountTargetIopsHigh", "warning"), ("FssClientReadLatencyHigh", "warning"), True),
        (("FssMountTargetStalled", "critical"), ("FssClientStalled", "warning"), True),
        (("FssMountTargetNotActive", "critical"), ("FssMountTargetUnhealthy", "critical"), True),
        (("FssReadLatencyHigh", "critical"), ("FssMountTargetIopsHigh", "warning"), False),
    ],
)
def test_a_cause_holds_back_its_consequences_at_the_same_mount_target(
    source: tuple[str, str], target: tuple[str, str], held_back: bool
) -> None:
    place = {"region": "eu-1", "mount_target_id": "mt-a", "address": "10.0.0.1"}
    first = {"alertname": source[0], "severity": source[1], **place}
    second = {"alertname": target[0], "severity": target[1], **place}

    assert inhibits(first, second) is held_back
    assert not inhibits(first, second | {"mount_target_id": "mt-b", "address": "10.0.0.2"})


def test_a_stalled_address_that_is_no_mount_target_says_nothing_of_another() -> None:
    stalled = {"alertname": "FssMountTargetStalled", "severity": "critical", "address": "10.0.0.1"}
    client = {"alertname": "FssClientStalled", "severity": "warning", "instance": "web-1:10949"}

    assert inhibits(stalled, client | {"address": "10.0.0.1"})
    assert not inhibits(stalled, client | {"address": "10.0.0.2"})
    assert not inhibits(stalled, {"alertname": "FssClientDataAbsent", "severity": "warning"})


def test_slow_reads_at_oci_say_nothing_of_slow_writes_at_clients() -> None:
    place = {"region": "eu-1", "mount_target_id": "mt-a", "severity": "critical"}
    slow = {"alertname": "FssReadLatencyHigh", "kind": "read", **place}

    assert inhibits(slow, {"alertname": "FssClientReadLatencyHigh", "kind": "read", **place})
    assert not inhibits(slow, {"alertname": "FssClientWriteLatencyHigh", "kind": "write", **place})
