"""The Alertmanager configuration of the docs loads, speaks of alerts there are, and holds back what it says and no more."""

import re
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.fss_exporter.background.test_fault_matrix import LOOPS
from tests.processes import require
from tests.rules.notifications import BLOCK, CONFIGURATION, NIGHTLY_BACKUP, inhibits, matches
from tests.rules.pack import RULE_FILES, Rule, rules_of

ALERTS = [rule for path in RULE_FILES for rule in rules_of(path) if rule.is_alert]
MATCHERS = [
    matcher
    for rule in (*CONFIGURATION["inhibit_rules"], *CONFIGURATION["route"]["routes"])
    for key in ("matchers", "source_matchers", "target_matchers")
    for matcher in rule.get(key, ())
]
RANK = ["info", "warning", "critical"]
PLACES = (
    {"region": "eu-1", "mount_target_id": "mt-a"},
    {"region": "eu-1", "mount_target_id": "mt-b"},
    {"address": "10.0.0.1"},
    {"region": "eu-1"},
)


def fired(rule: Rule, place: dict[str, str]) -> dict[str, str]:
    """The labels of an alert about a place."""
    return {"alertname": rule.name, **rule.labels, **place}


def test_amtool_accepts_the_documented_configuration(tmp_path: Path) -> None:
    (tmp_path / "alertmanager.yml").write_text(BLOCK, encoding="utf-8")
    command = [require("amtool", "prometheus-alertmanager"), "check-config", str(tmp_path / "alertmanager.yml")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)

    assert finished.returncode == 0, finished.stdout + finished.stderr


def with_nightly_backup() -> dict[str, Any]:
    """The documented configuration with the documented block for a backup in it."""
    added = yaml.safe_load(NIGHTLY_BACKUP)
    routes = [*added["route"]["routes"], *CONFIGURATION["route"]["routes"]]
    return {
        **CONFIGURATION,
        "time_intervals": added["time_intervals"],
        "route": {**CONFIGURATION["route"], "routes": routes},
    }


def test_amtool_takes_the_block_for_a_nightly_backup_and_routes_the_tickets_of_its_mount_target_alone(
    tmp_path: Path,
) -> None:
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(with_nightly_backup()), encoding="utf-8")
    amtool = require("amtool", "prometheus-alertmanager")
    checked = subprocess.run([amtool, "check-config", str(file)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr

    (route,) = yaml.safe_load(NIGHTLY_BACKUP)["route"]["routes"]
    (_, target) = route["matchers"]
    backed_up = target.split('"')[1]
    muted = {rule.name for rule in ALERTS if matches(route["matchers"], fired(rule, {"mount_target_id": backed_up}))}
    assert muted == {f"FssMountTarget{name}High" for name in ("Iops", "ReadBandwidth", "WriteBandwidth")}
    assert {rule.labels["severity"] for rule in ALERTS if rule.name in muted} == {"warning"}
    assert not any(matches(route["matchers"], fired(rule, {"mount_target_id": "another"})) for rule in ALERTS)


@pytest.mark.parametrize("matcher", [matcher for matcher in MATCHERS if "!=" not in matcher])
def test_every_part_of_a_matcher_finds_an_alert(matcher: str) -> None:
    label, pattern = re.fullmatch(r'(\w+) =~? "(.*)"', matcher).groups()  # type: ignore[union-attr]  # no match is a failure
    named = {"alertname": {rule.name for rule in ALERTS}, "collector": LOOPS.keys()}
    values = named.get(label) or {rule.labels[label] for rule in ALERTS}

    for part in re.split(r"\|(?![^(]*\))", pattern):
        assert any(re.fullmatch(part, value) for value in values), f"{part} finds no {label}"


def test_a_lower_severity_never_holds_back_a_higher_one() -> None:
    wrong = [
        (source.name, target.name)
        for source, target, place in product(ALERTS, ALERTS, PLACES)
        if RANK.index(source.labels["severity"]) < RANK.index(target.labels["severity"])
        and inhibits(fired(source, place), fired(target, place))
    ]

    assert not wrong


def test_no_alert_is_held_back_by_an_alert_about_another_mount_target() -> None:
    wrong = [
        (source.name, target.name)
        for source, target in product(ALERTS, ALERTS)
        if re.match("FssMountTarget(Down|Failing|Slow)|FssClient", source.name)
        and inhibits(fired(source, PLACES[0]), fired(target, PLACES[1]))
    ]

    assert not wrong


def test_what_is_held_back_is_kept_firing_no_longer_than_what_holds_it_back_or_does_not_begin_in_a_page() -> None:
    wrong = [
        f"{source.name} {source.fields['keep_firing_for']} holds back {target.name} {target.fields['keep_firing_for']}"
        for source, target, place in product(ALERTS, ALERTS, PLACES)
        if source.name != target.name
        and inhibits(fired(source, place), fired(target, place))
        and _minutes(source.fields["keep_firing_for"]) < _minutes(target.fields["keep_firing_for"])
        and not re.search(r"unless on .*\blast_over_time\(ALERTS", target.expr, re.DOTALL)
    ]

    assert not wrong


def test_the_region_holds_back_its_mount_targets_only() -> None:
    region = {"alertname": "FssRegionDown", "severity": "critical", "region": "eu-1"}
    down = {"alertname": "FssMountTargetDown", "severity": "critical", "region": "eu-1", "mount_target_id": "mt-a"}

    assert inhibits(region, down)
    assert not inhibits(region | {"alertname": "FssRegionDegraded"}, down)
    assert not inhibits(region, down | {"region": "us-1"})
    assert not inhibits(region, down | {"alertname": "FssOciPollerDown"})


def _minutes(duration: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([mh])", duration).groups()  # type: ignore[union-attr]  # no match is a failure
    return int(number) * (60 if unit == "h" else 1)
