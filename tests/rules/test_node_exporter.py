"""The estimated IOPS of rules/node_exporter.yml, with figures computed by hand."""

import json
from pathlib import Path

import pytest
from tests.rules.pack import RULES, promtool
from tests.rules.test_networks import holds
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


NODES = tuple(f'instance="n{number}:9100",job="node",export="/a",protocol="tcp"' for number in range(2))
MOUNT_TARGET = 'tenancy="t",region="eu",mount_target_id="m",mount_target="mt",job="p",instance="p"'


def reads_of(mount: str) -> dict[str, str]:
    """Counters of a host that reads 100 times 4 KiB a second, a round trip 20 ms each."""
    return {
        f'node_mountstats_nfs_operations_requests_total{{{mount},operation="READ"}}': "0+6000x20",
        f'node_mountstats_nfs_operations_response_time_seconds_total{{{mount},operation="READ"}}': "0+120x20",
        f"node_mountstats_nfs_total_read_bytes_total{{{mount}}}": "0+24576000x20",
    }


def listed(series: dict[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": values} for name, values in series.items()]


def test_hosts_that_write_an_address_in_two_ways_are_clients_of_one_address(tmp_path: Path) -> None:
    series: dict[str, str] = {}
    for node, address in zip(NODES, ("10.0.0.1", "::ffff:10.0.0.1"), strict=True):
        mount = f'{node},mountaddr="{address}"'
        series |= reads_of(mount)
        series[f'node_mountstats_nfs_operations_requests_total{{{mount},operation="WRITE"}}'] = "0+60x20"
        written = f'node_mountstats_nfs_operations_response_time_seconds_total{{{mount},operation="WRITE"}}'
        series[written] = "0+1.2x20"
        series[f"node_mountstats_nfs_total_write_bytes_total{{{mount}}}"] = "0+245760x20"
    expected = {
        f'round(sum(address_class:fss_client_{name}:mean5m{{address="10.0.0.1",class="{kind}"}}), 0.001)': value
        for kind in ("read", "write")
        for name, value in (("rtt_seconds", 0.02), ("latency_objective", 2.0))
    }

    holds(tmp_path, listed(series), expected, "node_exporter.yml")


def test_one_address_of_a_network_has_clients_with_an_agent_and_with_node_exporter(tmp_path: Path) -> None:
    agent = 'network="eu",address="10.0.0.1",instance="a:10949",job="fss"'
    series = reads_of(f'{NODES[0]},mountaddr="10.0.0.1",network="eu"')
    series[f"fss_client_address_estimated_io_operations_total{{{agent}}}"] = "0+600x20"
    series[f"fss_client_unanswered_seconds{{{agent}}}"] = "0x20"
    expected = {
        'sum(client:fss_client_load:topk1{agent=""})': 10.0,
        'sum(client:fss_client_load:topk1{agent="node_exporter"})': 200.0,
    }

    holds(tmp_path, listed(series), expected, "node_exporter.yml", "service_level.yml", "panels.yml")


@pytest.mark.parametrize(("nodes", "pages"), [(0, 0.0), (1, 1.0)], ids=["agents", "half by node_exporter"])
def test_late_data_of_oci_are_a_page_where_agents_see_less_than_80_percent(
    tmp_path: Path, nodes: int, pages: float
) -> None:
    """node_exporter sees no slow requests, and of failures almost none. Every client has 200 of the 400 IOPS."""
    series = {
        f'fss_mount_target_info{{{MOUNT_TARGET},network="eu",address="10.0.0.1",state="ACTIVE"}}': "1x20",
        f"fss_mount_target_iops_limit{{{MOUNT_TARGET}}}": "50000x20",
        f'fss_mount_target_data_age_seconds{{{MOUNT_TARGET},resource="iops"}}': "120x20",
        'fss_oci_poll_timestamp_seconds{tenancy="t",region="eu",job="p",instance="p"}': "0+60x20",
        'fss_oci_datapoint_age_seconds{tenancy="t",region="eu",job="p",instance="p",oci_metric="MountTargetIOPS"}': "1200x20",
    }
    measured = f'{MOUNT_TARGET},resource="iops",statistic="mean",source="measured"'
    series[f"fss_mount_target_utilisation_ratio{{{measured}}}"] = "0.008x20"
    for number in range(2 - nodes):
        agent = f'network="eu",address="10.0.0.1",instance="a{number}",job="fss"'
        series[f"fss_client_address_estimated_io_operations_total{{{agent}}}"] = "0+12000x20"
    for node in NODES[:nodes]:
        series |= reads_of(f'{node},mountaddr="10.0.0.1"')
    expected = {
        "sum(mount_target:fss_client_coverage:ratio)": 1.0,
        'count(ALERTS{alertname="FssOciDataLate",severity="critical",alertstate="firing"})': pages,
    }

    holds(tmp_path, listed(series), expected, "node_exporter.yml", "monitoring.yml")


@pytest.mark.parametrize(("nodes", "pages"), [(1, 0.0), (0, 1.0)], ids=["node_exporter sees", "nothing sees"])
def test_monitoring_is_not_blind_while_node_exporter_sees_clients(tmp_path: Path, nodes: int, pages: float) -> None:
    series = {'up{job="p",instance="p"}': "0x20", 'fss_exporter_build_info{job="p",instance="p"}': "1 stale"}
    for node in NODES[:nodes]:
        series |= reads_of(f'{node},mountaddr="10.0.0.1"')
    expected = {'count(ALERTS{alertname="FssMonitoringBlind",alertstate="firing"})': pages}

    holds(tmp_path, listed(series), expected, "node_exporter.yml", "monitoring.yml")
