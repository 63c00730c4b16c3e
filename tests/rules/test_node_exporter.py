"""The estimated IOPS of rules/node_exporter.yml, with figures computed by hand."""

import json
from pathlib import Path

import pytest
from tests.rules.pack import RULES, promtool
from tools.generate.cost_rules import rendered

from fss_exporter.model.cost_overrides import NO_OVERRIDES

MIB = 1 << 20

# Operations a second of a host. A READ has 1 MiB and costs 33, so all cost 50 x 33 + 100 x 8 + 10 + 20 x 2 = 2,500.
OPERATIONS = {"READ": 50, "RENAME": 100, "COMMIT": 10, "LOOKUP": 20}

SHIPPED = (RULES / "node_exporter.yml").read_text()


def series_of(job: str, *, without: str = "", address: str = "10.0.0.5") -> dict[str, float]:
    """Return the counters of the host by series, as one job scrapes them, with their growth in a minute."""
    mount = f'job="{job}",instance="n1:9100",mountaddr="{address}",export="10.0.0.5:/a",protocol="tcp"'
    counters = {
        f'node_mountstats_nfs_operations_requests_total{{{mount},operation="{operation}"}}': 60.0 * rate
        for operation, rate in OPERATIONS.items()
        if operation != without
    }
    return counters | {f"node_mountstats_nfs_total_read_bytes_total{{{mount}}}": 60.0 * MIB * OPERATIONS["READ"]}


@pytest.mark.parametrize("rules", [SHIPPED, rendered("node_exporter.yml", NO_OVERRIDES)], ids=["shipped", "rendered"])
def test_the_load_of_a_host_is_the_sum_of_its_stored_operations_each_counted_once(rules: str, tmp_path: Path) -> None:
    (tmp_path / "node_exporter.yml").write_text(rules)
    cases: dict[str, tuple[dict[str, float], int]] = {
        "one job": (series_of("a"), 2_500),
        "two jobs": (series_of("a") | series_of("b"), 2_500),
        "IPv4 written as IPv6": (series_of("a", address="::ffff:10.0.0.5"), 2_500),
        "LOOKUP not stored": (series_of("a", without="LOOKUP"), 2_460),
        "COMMIT not stored": (series_of("a", without="COMMIT"), 2_490),
    }
    name = "address:fss_client_estimated_iops:rate5m"
    of_host = f'{name}{{address="10.0.0.5",agent="node_exporter"}}'
    tests = [
        {
            "name": case,
            "interval": "1m",
            "input_series": [{"series": series, "values": f"0+{growth}x20"} for series, growth in counters.items()],
            "promql_expr_test": [
                {"expr": name, "eval_time": "15m", "exp_samples": [{"labels": of_host, "value": iops}]}
            ],
        }
        for case, (counters, iops) in cases.items()
    ]
    document = {"rule_files": ["node_exporter.yml"], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "node_exporter_test.yml").write_text(json.dumps(document))
    fine, said = promtool("test", "rules", tmp_path / "node_exporter_test.yml")

    assert fine, said
