"""What is old: what OCI said last answers for a mount target for ten minutes, and the time of a poll for eight, over a gap of the scrapes too."""

import json
from pathlib import Path

from tests.rules.pack import RULES, promtool

TARGET = 'tenancy="t",region="r",mount_target_id="mt",resource="iops"'
POLLER = 'job="fss",instance="poller",tenancy="t",region="r"'
EXPORTER = f'job="fss",instance="poller",{TARGET}'
SHARE = f'fss_mount_target_utilisation_ratio{{{EXPORTER},mount_target="home",source="measured",statistic='


def test_a_share_counts_while_it_is_younger_than_ten_minutes(tmp_path: Path) -> None:
    rules = [f"mount_target_resource:fss_utilisation:{name}" for name in ("ratio", "max5m")]
    labels = f'{{{TARGET},mount_target="home",source="measured"}}'
    test = {
        "interval": "1m",
        "input_series": [
            {"series": f'{SHARE}"mean"}}', "values": "0.9x100"},
            {"series": f'{SHARE}"peak"}}', "values": "0.9x100"},
            {"series": f"fss_mount_target_data_age_seconds{{{EXPORTER}}}", "values": "0+60x100"},
        ],
        "promql_expr_test": [
            {
                "expr": rule,
                "eval_time": f"{minute}m",
                "exp_samples": [{"labels": rule + labels, "value": 0.9}] if minute < 10 else [],
            }
            for rule in rules
            for minute in (0, 9, 10, 90)
        ],
    }
    file = tmp_path / "freshness_test.yml"
    file.write_text(json.dumps({"rule_files": [str(RULES / "load.yml")], "evaluation_interval": "1m", "tests": [test]}))
    fine, said = promtool("test", "rules", file)

    assert fine, said


def test_a_poller_that_stands_still_is_told_in_time_over_a_gap_of_the_scrapes(tmp_path: Path) -> None:
    """The last poll is in minute 3, and from minute 4 to 8 the poller does not answer."""
    gap = "stale _x4"
    test = {
        "interval": "1m",
        "input_series": [
            {"series": f"fss_oci_poll_timestamp_seconds{{{POLLER}}}", "values": f"0 60 120 180 {gap} 180x10"},
            {"series": f'fss_mount_target_info{{{POLLER},mount_target_id="mt"}}', "values": f"1x3 {gap} 1x10"},
        ],
        "promql_expr_test": [
            {
                "expr": 'count(ALERTS{alertname="FssOciPollerDown",alertstate="firing"})',
                "eval_time": "15m",
                "exp_samples": [{"labels": "{}", "value": 1}],
            }
        ],
    }
    file = tmp_path / "gap_test.yml"
    rules = [str(RULES / "monitoring.yml")]
    file.write_text(json.dumps({"rule_files": rules, "evaluation_interval": "1m", "tests": [test]}))
    fine, said = promtool("test", "rules", file)

    assert fine, said


def test_the_text_about_missing_data_names_a_mount_target_that_had_data(tmp_path: Path) -> None:
    """Another mount target is idle and has no data at all."""
    series = []
    for name, unknown, good in (("a-idle", "0+1x60", "0x60"), ("b-used", "0x10 1+1x50", "0+1x10 10x50")):
        of = f'{POLLER},mount_target_id="{name}",mount_target="{name}",objective="availability"'
        series += [
            {"series": f'fss_mount_target_verdicts_total{{{of},verdict="{verdict}"}}', "values": values}
            for verdict, values in (("unknown", unknown), ("good", good))
        ]
    asked = [{"alertname": "FssMountTargetDataMissing", "eval_time": "55m", "exp_alerts": []}]
    test = {"interval": "1m", "input_series": series, "alert_rule_test": asked}
    file = tmp_path / "text_test.yml"
    rules = [str(RULES / "monitoring.yml")]
    file.write_text(json.dumps({"rule_files": rules, "evaluation_interval": "1m", "tests": [test]}))
    _, said = promtool("test", "rules", file)

    assert "about 1 mount target(s) of r, for example b-used, that had data" in said
