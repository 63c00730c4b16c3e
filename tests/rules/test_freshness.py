"""What OCI said last answers for a mount target for ten minutes, in every rule that reads a share of a ceiling."""

from pathlib import Path

import pytest
import yaml
from tests.rules.pack import RULES, promtool

TARGET = 'tenancy="t",region="r",mount_target_id="mt",resource="iops"'
EXPORTER = f'job="fss",instance="poller",{TARGET}'
SHARE = f'fss_mount_target_utilisation_ratio{{{EXPORTER},mount_target="home",source="measured",statistic='


@pytest.mark.parametrize(
    ("minute", "share"), [(0, 0.9), (9, 0.9), (10, None), (90, None)], ids=["0 s", "540 s", "600 s", "5,400 s"]
)
@pytest.mark.parametrize(("rule", "statistic"), [("ratio", "mean"), ("max5m", "peak")])
def test_a_share_counts_while_it_is_younger_than_ten_minutes(
    rule: str, statistic: str, minute: int, share: float | None, tmp_path: Path
) -> None:
    labels = f'mount_target_resource:fss_utilisation:{rule}{{{TARGET},mount_target="home",source="measured"}}'
    test = {
        "interval": "1m",
        "input_series": [
            {"series": f'{SHARE}"{statistic}"}}', "values": "0.9x100"},
            {"series": f"fss_mount_target_data_age_seconds{{{EXPORTER}}}", "values": "0+60x100"},
        ],
        "promql_expr_test": [
            {
                "expr": f"mount_target_resource:fss_utilisation:{rule}",
                "eval_time": f"{minute}m",
                "exp_samples": [] if share is None else [{"labels": labels, "value": share}],
            }
        ],
    }
    file = tmp_path / "freshness_test.yml"
    file.write_text(
        yaml.safe_dump({"rule_files": [str(RULES / "load.yml")], "evaluation_interval": "1m", "tests": [test]})
    )
    fine, said = promtool("test", "rules", file)

    assert fine, said
