"""Alerts about exporters that no longer answer last as long as their silence, because "resolved" would be read as "it is back"."""

from pathlib import Path

import yaml
from tests.rules.pack import RULES, promtool

SEEN = 2  # hours until the only exporter goes
SILENT = 72  # hours


def test_an_exporter_that_is_away_for_three_days_stays_an_alert(tmp_path: Path) -> None:
    steps = [12 * SEEN, 12 * SILENT]
    exporter = 'job="fss",instance="host-0"'
    seen_alone = "1x{} _x{}".format(*steps)
    test = {
        "interval": "5m",
        "input_series": [
            {"series": f"up{{{exporter}}}", "values": "1x{} 0x{}".format(*steps)},
            {"series": f"fss_exporter_build_info{{{exporter}}}", "values": seen_alone},
            {"series": f'fss_collector_success{{{exporter},collector="nfs"}}', "values": seen_alone},
        ],
        "promql_expr_test": [
            {
                "expr": f'count by (alertname) (ALERTS{{alertname="{alert}",alertstate="firing"}})',
                "eval_time": f"{hour}h",
                "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1}] if hour > SEEN else [],
            }
            for alert in ("FssMonitoringBlind", "FssExporterDown")
            for hour in (1, 3, 25, 30, 74)
        ],
    }
    file = tmp_path / "long_silence_test.yml"
    rules = [str(RULES / "monitoring.yml")]
    file.write_text(yaml.safe_dump({"rule_files": rules, "evaluation_interval": "5m", "tests": [test]}))
    fine, said = promtool("test", "rules", file)

    assert fine, said
