"""The Alertmanager configuration of the docs loads, speaks of alerts there are, and holds back what it says and no more."""

import operator
import re
import subprocess
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from tests.fss_exporter.background.test_fault_matrix import LOOPS
from tests.processes import require
from tests.rules.notifications import BLOCK, CONFIGURATION, FLEET_IS_OFF, NIGHTLY_BACKUP, inhibits, matches
from tests.rules.pack import RULE_FILES, Rule, rules_of

from fss_exporter.catalogue import CATALOGUE

PACK = [rule for path in RULE_FILES for rule in rules_of(path)]
ALERTS = [rule for rule in PACK if rule.is_alert]
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


def of_case(rule: Rule, place: dict[str, str]) -> dict[str, str]:
    """The same, of an exporter, or of a region, if the alert has a case, and with a part where a part of what should be seen is missing."""
    in_regions = {rule.labels.get("case") for rule in PACK if not rule.is_alert and "region" in rule.expr}
    case = rule.labels.get("case")
    part = {"part": "metrics"} if "part" in rule.expr else {}
    return {**fired(rule, place if case is None else PLACES[3] if case in in_regions else {}), **part}


def test_amtool_accepts_the_documented_configuration(tmp_path: Path) -> None:
    (tmp_path / "alertmanager.yml").write_text(BLOCK, encoding="utf-8")
    command = [require("amtool", "prometheus-alertmanager"), "check-config", str(tmp_path / "alertmanager.yml")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)

    assert finished.returncode == 0, finished.stdout + finished.stderr


def with_block(block: str) -> dict[str, Any]:
    """The documented configuration with a documented block that mutes tickets in it."""
    added = yaml.safe_load(block)
    routes = [*added["route"]["routes"], *CONFIGURATION["route"]["routes"]]
    return {
        **CONFIGURATION,
        "time_intervals": added["time_intervals"],
        "route": {**CONFIGURATION["route"], "routes": routes},
    }


@pytest.mark.parametrize("block", [NIGHTLY_BACKUP, FLEET_IS_OFF], ids=["a nightly backup", "a fleet that is off"])
def test_amtool_takes_a_block_that_mutes_tickets(tmp_path: Path, block: str) -> None:
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(with_block(block)), encoding="utf-8")
    amtool = require("amtool", "prometheus-alertmanager")
    checked = subprocess.run([amtool, "check-config", str(file)], capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_block_for_a_nightly_backup_mutes_the_tickets_of_its_mount_target_alone() -> None:
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
    cases = {rule.labels["case"] for rule in ALERTS if "case" in rule.labels}
    named = {"alertname": {rule.name for rule in ALERTS}, "collector": LOOPS.keys(), "case": cases}
    named["part"] = set(re.findall(r"\w+", CATALOGUE["fss_coverage_expected"].help))
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
        if re.match(
            "FssMountTarget(Down|Failing|Slow)|FssClient(?!Network)", source.name
        )  # a network card is of a host
        and inhibits(fired(source, PLACES[0]), fired(target, PLACES[1]))
    ]

    assert not wrong


def test_what_holds_back_an_alert_lasts_longer_than_that_alert() -> None:
    wrong = set()
    minutes = {str(rule): _minutes_after_its_cause(rule) for rule in ALERTS}
    for source, target, place in product(ALERTS, ALERTS, PLACES):
        if source.name == target.name or _WAITS_FOR_SIX_HOURS.search(target.expr):
            continue
        one, other = of_case(source, place), of_case(target, place)
        if minutes[str(source)] <= minutes[str(target)] and inhibits(one, other):
            names = [" ".join((alert["alertname"], alert.get("case", ""))).strip() for alert in (one, other)]
            wrong.add(
                f"{names[0]} lasts {minutes[str(source)]:g} minutes after its cause, and {names[1]} {minutes[str(target)]:g}"
            )

    assert not wrong, "\n".join(sorted(wrong))


def test_the_block_for_a_fleet_that_is_off_mutes_a_service_discovery_without_exporters_alone() -> None:
    (route,) = yaml.safe_load(FLEET_IS_OFF)["route"]["routes"]
    alerts = (of_case(rule, {}) for rule in ALERTS)

    assert [(alert["alertname"], alert["case"]) for alert in alerts if matches(route["matchers"], alert)] == [
        ("FssExporterDown", "left_discovery")
    ]


def test_the_region_holds_back_its_mount_targets_only() -> None:
    region = {"alertname": "FssRegionDown", "severity": "critical", "region": "eu-1"}
    down = {"alertname": "FssMountTargetDown", "severity": "critical", "region": "eu-1", "mount_target_id": "mt-a"}

    assert inhibits(region, down)
    assert not inhibits(region | {"alertname": "FssRegionDegraded"}, down)
    assert not inhibits(region, down | {"region": "us-1"})
    assert not inhibits(region, down | {"alertname": "FssOciPollerDown"})


@pytest.mark.parametrize(
    ("part", "collector", "is_held_back"),
    [
        ("regions", "oci", True),
        ("metrics", "oci/beta", True),
        ("permissions", "oci_inventory/beta", True),
        ("mount_namespace", "nfs", True),
        ("ledger", "oci_ledger", True),
        ("mounts", "oci", False),
        ("file_systems", "oci", False),
        ("metrics", "nfs", False),
        ("p99_latency", "nfs_latency", False),
    ],
)
def test_a_gap_holds_back_the_collector_that_fails_by_the_same_cause(
    part: str, collector: str, is_held_back: bool
) -> None:
    gap = {"alertname": "FssCoverageIncomplete", "severity": "warning", "job": "fss", "part": part}
    failing = {"alertname": "FssCollectorFailing", "severity": "warning", "job": "fss", "case": "failing"}

    assert inhibits(gap, failing | {"collector": collector}) == is_held_back


def test_refused_credentials_hold_back_the_failing_polls_of_their_own_job() -> None:
    (rule,) = (rule for rule in ALERTS if rule.name == "FssOciCredentialsRefused")
    refused = fired(rule, {"job": "fss", "tenancy": "beta", "region": "eu-1"})
    failing = {"alertname": "FssCollectorFailing", "severity": "warning", "case": "failing", "collector": "oci"}

    assert re.findall(r"by \((.*?)\)", rule.expr) == ["job, tenancy, region"] * 2
    assert inhibits(refused, failing | {"job": "fss"})
    assert not inhibits(refused, failing | {"job": "another"})


# A ticket that does not begin within six hours of a page.
_WAITS_FOR_SIX_HOURS = re.compile(r"unless on \([\w, ]+\)\s+last_over_time\(slo:fss_page:max\[6h\]\)")

# Functions whose windows still see a cause that has ended. Others ask for what was known before.
_SUMS = {"rate", "increase", "avg_over_time", "sum_over_time"}


def _minutes_after_its_cause(alert: Rule) -> float:
    return _minutes(alert.fields["keep_firing_for"]) + _seen_for(promql_parser.parse(alert.expr), _seen_by_records())


@cache
def _seen_by_records() -> tuple[tuple[Rule, float], ...]:
    """Each record, and the minutes for which it still sees a cause that has ended."""
    seen: tuple[tuple[Rule, float], ...] = ()
    for rule in PACK:
        if not rule.is_alert:
            seen += ((rule, _seen_for(promql_parser.parse(rule.expr), seen)),)
    return seen


def _seen_for(node: Any, by_records: tuple[tuple[Rule, float], ...]) -> float:
    """The minutes for which an expression still sees a cause that has ended: both sides of an `and` see it, or one of an `or`."""
    if isinstance(node, promql_parser.BinaryExpr):
        if isinstance(node.lhs, promql_parser.NumberLiteral):
            return _seen_for(node.rhs, by_records)
        sides = [_seen_for(side, by_records) for side in (node.lhs, node.rhs)]
        minutes = _minutes_that_must_be_bad(node)
        return max(0.0, {"and": min, "or": max}.get(str(node.op), operator.itemgetter(0))(sides) - minutes)
    if isinstance(node, promql_parser.VectorSelector):
        asked = {matcher.name: matcher for matcher in node.matchers.matchers}
        if "window" in asked:
            return max(map(_minutes, asked["window"].value.split("|")))
        return max(
            (
                minutes
                for rule, minutes in by_records
                if rule.name == node.name
                and all(_takes(asked[label], value) for label, value in rule.labels.items() if label in asked)
                and ("case" not in asked or _takes(asked["case"], rule.labels.get("case", "")))
            ),
            default=0.0,
        )
    if isinstance(node, promql_parser.Call):
        windows = [
            part.range.total_seconds() / 60 for part in node.args if isinstance(part, promql_parser.MatrixSelector)
        ]
        inner = max((_seen_for(part, by_records) for part in node.args), default=0.0)
        return inner + sum(windows) * (node.func.name in _SUMS)
    inside = getattr(node, "vector_selector", None) or getattr(node, "expr", None)
    return 0.0 if inside is None else _seen_for(inside, by_records)


def _minutes_that_must_be_bad(node: Any) -> float:
    """How many minutes of its window a counter of minutes asks for. It forgets a cause when fewer are left."""
    counts_minutes = re.search(r"^[^/]*_verdicts_total", str(node.lhs)) and str(node.op) == ">="
    return node.rhs.val if counts_minutes and isinstance(node.rhs, promql_parser.NumberLiteral) else 0.0


def _takes(matcher: Any, value: str) -> bool:
    pattern = matcher.value if str(matcher.op).endswith("Re") else re.escape(matcher.value)
    return (re.fullmatch(pattern, value) is not None) != str(matcher.op).startswith("MatchOp.Not")


def _minutes(duration: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([mh])", duration).groups()  # type: ignore[union-attr]  # no match is a failure
    return int(number) * (60 if unit == "h" else 1)
