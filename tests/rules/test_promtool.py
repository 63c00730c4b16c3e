"""The rules load without a finding, and do what their unit tests (`*.yml` beside this file) say."""

import re
from pathlib import Path

import pytest
import yaml
from tests.rules.pack import RULE_FILES, RULES, UNIT_TESTS, groups_of, promtool, rules_of

CASES = ("fires", "quiet", "series missing", "label missing")


@pytest.mark.parametrize("path", sorted(RULES.glob("*.yml")), ids=lambda path: path.name)
def test_promtool_has_no_finding_with_all_its_lints(path: Path) -> None:
    fine, said = promtool("check", "rules", "--lint=all", "--lint-fatal", path)

    assert fine, said


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: path.stem)
def test_the_rules_do_what_their_unit_tests_say(path: Path) -> None:
    fine, said = promtool("test", "rules", path)

    assert fine, said


def test_every_alert_fires_stays_quiet_and_survives_a_missing_series_and_a_missing_label() -> None:
    alerts = {rule.name for path in RULE_FILES for rule in rules_of(path) if rule.is_alert}
    tested = [_case(block["name"]) for path in UNIT_TESTS for block in _blocks(path) if "alert_rule_test" in block]

    missing = {(alert, case) for alert in alerts for case in CASES} - set(tested)
    assert not missing, f"add to tests/rules/*.yml: {sorted(missing)}"
    assert {alert for alert, _ in tested} == alerts, "a unit test names an alert that does not exist"


def test_every_severity_of_every_alert_is_seen_firing() -> None:
    wanted = {(rule.name, rule.labels["severity"]) for path in RULE_FILES for rule in rules_of(path) if rule.is_alert}

    assert wanted == {
        (check["alertname"], expected["exp_labels"]["severity"])
        for path in UNIT_TESTS
        for block in _blocks(path)
        for check in block.get("alert_rule_test", ())
        for expected in check["exp_alerts"]
    }


def test_a_case_asks_for_the_alert_in_its_name_and_expects_what_it_says() -> None:
    for path in UNIT_TESTS:
        for block in _blocks(path):
            for check in block.get("alert_rule_test", ()):
                alert, case = _case(block["name"])
                place = f"{path.name}: {block['name']}"
                assert check["alertname"] == alert, place
                assert bool(check["exp_alerts"]) or case != "fires", place
                assert not check["exp_alerts"] or case != "quiet", place


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: path.stem)
def test_unit_tests_evaluate_the_groups_in_the_order_of_the_files(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    files = [(path.parent / name).resolve() for name in document["rule_files"]]

    assert document["group_eval_order"] == groups_of(*files)


@pytest.mark.parametrize(
    ("typo", "found"),
    [
        ("sum by (region) (rate(fss_mount_target_iops[5m])", "unclosed left parenthesis"),
        ("rat(fss_mount_target_io_operations_total[5m])", "unknown function"),
        ("fss_mount_target_iops{region=eu}", "unexpected identifier"),
    ],
    ids=["a parenthesis is missing", "no such function", "a quote is missing"],
)
def test_a_typo_in_a_rule_is_told_with_file_and_line(tmp_path: Path, typo: str, found: str) -> None:
    edited = tmp_path / "alerts.yml"
    edited.write_text(
        f"groups:\n  - name: mine\n    rules:\n      - alert: Mine\n        expr: {typo}\n", encoding="utf-8"
    )

    fine, said = promtool("check", "rules", edited)

    assert not fine
    assert re.search(rf"alerts\.yml: 5:15: .*{found}", said), said


def test_a_line_that_is_no_yaml_is_told_with_file_and_line(tmp_path: Path) -> None:
    edited = tmp_path / "alerts.yml"
    edited.write_text("groups:\n  - name: mine\n   rules: []\n", encoding="utf-8")

    with pytest.raises(yaml.YAMLError, match=re.escape(f'in "{edited}", line 3')):
        list(rules_of(edited))


def _blocks(path: Path) -> list[dict]:  # type: ignore[type-arg]  # promtool's own format
    return list(yaml.safe_load(path.read_text(encoding="utf-8"))["tests"])


def _case(name: str) -> tuple[str, str]:
    alert, case, _ = name.split(": ", 2)
    return alert, case
