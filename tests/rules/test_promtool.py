"""The rules load without a finding, in the shape that evaluation needs."""

import re
from pathlib import Path

import pytest
import yaml
from tests.rules.pack import RULE_FILES, RULES, promtool, rules_of

FILES = sorted(RULES.glob("*.yml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_promtool_has_no_finding_with_all_its_lints(path: Path) -> None:
    fine, said = promtool("check", "rules", "--lint=all", "--lint-fatal", path)

    assert fine, said


def test_no_mean_is_taken_over_rates_and_no_rate_is_only_renamed() -> None:
    rules = [rule for path in RULE_FILES for rule in rules_of(path)]
    over_rates = [str(rule) for rule in rules if re.search(r"avg_over_time\([^)]*rate", rule.expr)]
    renamed = [str(rule) for rule in rules if re.fullmatch(r"i?rate\([\w{}=\"~|]+\[\w+\]\)", rule.expr)]

    assert not over_rates
    assert not renamed


@pytest.mark.parametrize(
    ("typo", "expected"),
    [
        ("sum by (region) (rate(fss_mount_target_iops[5m])", "unclosed left parenthesis"),
        ("rat(fss_mount_target_io_operations_total[5m])", "unknown function"),
        ("fss_mount_target_iops{region=eu}", "unexpected identifier"),
    ],
    ids=["a parenthesis is missing", "no such function", "a quote is missing"],
)
def test_a_typo_in_a_rule_is_reported_with_file_and_line(tmp_path: Path, typo: str, expected: str) -> None:
    edited = tmp_path / "alerts.yml"
    edited.write_text(
        f"groups:\n  - name: mine\n    rules:\n      - alert: Mine\n        expr: {typo}\n", encoding="utf-8"
    )

    fine, said = promtool("check", "rules", edited)

    assert not fine
    assert re.search(rf"alerts\.yml: 5:15: .*{expected}", said), said


def test_a_line_that_is_no_yaml_is_reported_with_file_and_line(tmp_path: Path) -> None:
    edited = tmp_path / "alerts.yml"
    edited.write_text("groups:\n  - name: mine\n   rules: []\n", encoding="utf-8")

    with pytest.raises(yaml.YAMLError, match=re.escape(f'in "{edited}", line 3')):
        list(rules_of(edited))
