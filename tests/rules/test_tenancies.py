"""Two tenancies in one region, by promtool on the shipped rules: the trouble of one is not hidden by the other, and not blamed on it."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.rules.pack import RULES, promtool

SICK, WELL = "beta", "acme"
MINUTES = 40


def poller(tenancy: str, *, is_well: bool) -> Iterator[dict[str, str]]:
    """One account of a poller. Data and queries of a sick one stand still from minute 10 on."""
    where = f'tenancy="{tenancy}",region="eu",job="p",instance="p"'
    age = "60x40" if is_well else "60x10 120+60x30"
    yield {"series": f'fss_oci_datapoint_age_seconds{{{where},oci_metric="MountTargetConnections"}}', "values": age}
    yield {"series": f"fss_oci_poll_timestamp_seconds{{{where}}}", "values": "0+60x40"}
    yield {"series": f'fss_mount_target_info{{{where},mount_target_id="{tenancy}.1"}}', "values": "1x40"}
    last = f'fss_collector_last_success_timestamp_seconds{{job="p",instance="p",collector="%s/{tenancy}"}}'
    yield {"series": last % "oci", "values": "0+60x40"}
    yield {"series": last % "oci_inventory", "values": "0x40"}  # the inventory may be hours old
    success = f'fss_collector_success{{job="p",instance="p",collector="oci/{tenancy}"}}'
    yield {"series": success, "values": "1x40" if is_well else "1x10 0x30"}
    yield {"series": f'fss_coverage_expected{{{where},part="metrics"}}', "values": "10x40"}
    yield {"series": f'fss_coverage_seen{{{where},part="metrics"}}', "values": "10x40" if is_well else "10x10 3x30"}


def test_an_alert_about_one_tenancy_names_it_and_another_tenancy_of_the_region_does_not_hide_it(tmp_path: Path) -> None:
    alerts = [
        {
            "expr": f'count by (alertname, tenancy) (ALERTS{{alertname="{name}",alertstate="firing"}})',
            "eval_time": f"{MINUTES}m",
            "exp_samples": [{"labels": f'{{alertname="{name}",tenancy="{SICK}"}}', "value": number}],
        }
        for name, number in (("FssOciDataLate", 2), ("FssCoverageIncomplete", 1))
    ]
    none = 'ALERTS{alertname=~"FssCollectorFailing|FssMonitoringBlind",case!="failing"}'
    alerts.append({"expr": none, "eval_time": f"{MINUTES}m", "exp_samples": []})
    test = {
        "rule_files": [str(RULES / "monitoring.yml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": 'fss_exporter_build_info{job="p",instance="p"}', "values": "1x40"},
                    *poller(WELL, is_well=True),
                    *poller(SICK, is_well=False),
                ],
                "promql_expr_test": alerts,
            }
        ],
    }
    (tmp_path / "tenancies_test.yml").write_text(json.dumps(test))
    fine, said = promtool("test", "rules", tmp_path / "tenancies_test.yml")
    assert fine, said
