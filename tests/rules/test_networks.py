"""Two networks of 100 clients each with equal addresses, and a pair of Prometheus servers, by promtool on the shipped rules."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.rules.pack import RULES, promtool

CLIENTS, MOUNT_TARGETS = 100, 50
IOPS_OF_A_CLIENT = 10  # a counter that grows by 600 a minute
TOTAL = "fss_client_address_estimated_io_operations_total"
BY_ADDRESS = "address:fss_client_estimated_iops:rate5m"
BY_MOUNT_TARGET = "mount_target:fss_client_estimated_iops:rate5m"


def clients(network: str, replica: str = "") -> Iterator[dict[str, str]]:
    """Two clients of each address. A replica is the same series under a further label, as a pair of servers writes it."""
    copy = f',{replica}="b"' if replica else ""
    for number in range(CLIENTS):
        labels = f'network="{network}",address="10.0.0.{number % MOUNT_TARGETS}",instance="{network}-{number}",job="fss-exporter"'
        yield {"series": f"{TOTAL}{{{labels}{copy}}}", "values": f"0+{IOPS_OF_A_CLIENT * 60}x20"}


def mount_targets(network: str) -> Iterator[dict[str, str]]:
    for number in range(MOUNT_TARGETS):
        target = f'region="{network}",mount_target_id="{network}.{number}",mount_target="mt-{number}"'
        place = f'network="{network}",address="10.0.0.{number}",shape="standard",state="ACTIVE"'
        yield {"series": f'fss_mount_target_info{{{target},{place},instance="p",job="p"}}', "values": "1x20"}


def holds(
    folder: Path, series: list[dict[str, str]], expected: Mapping[str, float], *further: str, minute: int = 15
) -> None:
    """Assert the value of each expression after some minutes of the series."""
    asked = [
        {"expr": expr, "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": value}] if value else []}
        for expr, value in expected.items()
    ]
    test = {
        "rule_files": [str(RULES / name) for name in ("clients.yml", "load.yml", *further)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": asked}],
    }
    (folder / "networks_test.yml").write_text(json.dumps(test))
    fine, said = promtool("test", "rules", folder / "networks_test.yml")
    assert fine, said


EACH = CLIENTS / MOUNT_TARGETS * IOPS_OF_A_CLIENT


def test_both_networks_are_polled_and_each_mount_target_has_its_own_clients(tmp_path: Path) -> None:
    series = [*clients("eu"), *clients("us"), *mount_targets("eu"), *mount_targets("us")]
    expected = {
        f"count({BY_ADDRESS} == {EACH})": 2 * MOUNT_TARGETS,
        f"count({BY_ADDRESS})": 2 * MOUNT_TARGETS,
        f"count({BY_MOUNT_TARGET} == {EACH})": 2 * MOUNT_TARGETS,
    }
    holds(tmp_path, series, expected)


def test_clients_of_a_network_without_a_poller_add_nothing_to_mount_targets_with_the_same_address(
    tmp_path: Path,
) -> None:
    series = [*clients("eu"), *clients("us"), *mount_targets("eu")]
    expected = {
        f"count({BY_MOUNT_TARGET} == {EACH})": MOUNT_TARGETS,
        f"count({BY_MOUNT_TARGET})": MOUNT_TARGETS,
        f'count({BY_ADDRESS}{{network="us"}} == {EACH})': MOUNT_TARGETS,
    }
    holds(tmp_path, series, expected)


def test_clients_over_ipv4_and_over_ipv6_are_those_of_one_mount_target(tmp_path: Path) -> None:
    """mt-0 has an address of IPv6 too, mt-1 has one that is mt-2's as well, and a poller that stopped knew that of mt-3."""
    of = 'region="eu",network="eu",job="p"'
    addresses = {("0", "2001:db8::9"): "1x20", ("1", "2001:db8::a"): "1x20", ("2", "2001:db8::a"): "1x20"}
    addresses[("3", "2001:db8::c")] = "1x5 stale"
    further = [
        {
            "series": f'fss_mount_target_address_info{{{of},instance="p",mount_target_id="eu.{number}",address="{address}"}}',
            "values": values,
        }
        for (number, address), values in addresses.items()
    ]
    over_ipv6 = [
        {"series": f'{TOTAL}{{network="eu",address="{address}",instance="v6",job="a"}}', "values": "0+600x20"}
        for address in ("2001:db8::9", "2001:db8::a", "2001:db8::c")
    ]
    expected = {
        f'{BY_MOUNT_TARGET}{{mount_target_id="eu.{number}"}}': value
        for number, value in enumerate((EACH + 10, EACH, EACH, EACH + 10))
    }
    of_one = {f"sum({query})": value for query, value in expected.items()}
    holds(tmp_path, [*clients("eu"), *mount_targets("eu"), *further, *over_ipv6], of_one)


def test_clients_of_an_unknown_network_join_no_mount_target(tmp_path: Path) -> None:
    expected = {f"count({BY_MOUNT_TARGET})": 0.0, f"count({BY_ADDRESS})": float(MOUNT_TARGETS)}
    holds(tmp_path, [*clients("unknown"), *mount_targets("eu")], expected)


def test_a_pair_of_servers_that_write_to_one_store_doubles_nothing(tmp_path: Path) -> None:
    """Two of 20 exporters are dead, and a host with node_exporter sends 50 GETATTR a second to a server of its own."""
    series = [*clients("eu"), *clients("eu", "any_other"), *mount_targets("eu")]
    for copy in ("", ',any_other="b"'):
        for number in range(20):
            of = f'job="fss",instance="h{number}"{copy}'
            series.append({"series": f"up{{{of}}}", "values": f"{int(number > 1)}x20"})
            series.append({"series": f"fss_exporter_build_info{{{of}}}", "values": "1x20"})
            series.append({"series": f'fss_nfs_superblocks{{{of},boot_hash="{number}"}}', "values": "1x20"})
        of = f'job="node",instance="n",mountaddr="192.0.2.1",export="/a",protocol="tcp"{copy}'
        of_reads = f"node_mountstats_nfs_total_read_bytes_total{{{of}}}"
        series.append({"series": of_reads, "values": f"0+{32768 * 60}x20"})
        for operation, each_minute in (("GETATTR", 3000), ("READ", 60)):
            name = f'node_mountstats_nfs_operations_requests_total{{{of},operation="{operation}"}}'
            series.append({"series": name, "values": f"0+{each_minute}x20"})
    expected = {
        f"count({BY_MOUNT_TARGET} == {EACH})": MOUNT_TARGETS,
        f'sum({BY_ADDRESS}{{agent="node_exporter"}})': 52,
        "sum(fleet:fss_agents:count)": 20,
        'count(ALERTS{alertname="FssExporterDown",case="down"})': 1,
    }
    holds(tmp_path, series, expected, "node_exporter.yml", "monitoring.yml", minute=18)


def test_two_clusters_with_hosts_of_one_name_are_two_clients_of_the_mount_target_that_they_share(
    tmp_path: Path,
) -> None:
    """A pod network gives both clusters the same addresses. A replica of a server in one of them doubles nothing."""
    labels = 'network="eu",address="10.0.0.0",instance="10.244.0.5:10949",job="fss-exporter"'
    hosts = ('cluster="a"', 'cluster="a",replica="b"', 'cluster="b"')
    series = [{"series": f"{TOTAL}{{{labels},{host}}}", "values": "0+600x20"} for host in hosts]
    series += [
        {"series": f"fss_client_unanswered_seconds{{{labels},{host}}}", "values": "0+60x20"} for host in hosts[:2]
    ]
    series += [{"series": f"fss_client_unanswered_seconds{{{labels},{hosts[2]}}}", "values": "0x20"}]
    expected = {
        f"sum({BY_MOUNT_TARGET})": 20,
        "sum(address:fss_clients:count)": 2,
        "sum(address:fss_clients_unanswered:count)": 1,
        'count(ALERTS{alertname="FssClientStalled",cluster="a"})': 1,
        'count(ALERTS{alertname="FssClientStalled"})': 1,
    }
    holds(tmp_path, [*series, *mount_targets("eu")], expected)


def test_a_host_with_two_agents_that_waits_is_one_client_and_holds_no_page_back(tmp_path: Path) -> None:
    def client(instance: str, verdict: str) -> Iterator[dict[str, str]]:
        at = f'network="eu",address="10.0.0.1",instance="{instance}",job="fss-exporter"'
        yield {"series": f'fss_client_address_seconds_total{{{at},verdict="{verdict}"}}', "values": "0+60x20"}
        seconds = "0+60x20" if verdict == "hanging" else "0x20"
        yield {"series": f"fss_client_unanswered_seconds{{{at}}}", "values": seconds}

    agents = ("package", "pod")
    superblocks = [
        {"series": f'fss_nfs_superblocks{{instance="{name}",boot_hash="a"}}', "values": "1x20"} for name in agents
    ]
    waits = [row for name in agents for row in client(name, "hanging")]
    works = [row for number in range(3) for row in client(f"works-{number}", "fine")]
    expected = {
        "sum(address:fss_clients_unanswered:count)": 1,
        "sum(address:fss_clients_waiting:count)": 0,
        'count(ALERTS{alertname="FssClientStalled"})': 1,
    }
    holds(tmp_path, [*superblocks, *waits, *works], expected, "service_level.yml")


@pytest.mark.parametrize("telling", [("package", "pod"), ("package",), ("pod",)], ids=" and ".join)
def test_a_host_with_two_agents_has_an_alert_once_whichever_of_them_tells_of_it(
    tmp_path: Path, telling: tuple[str, ...]
) -> None:
    at = 'network="eu",address="10.0.0.1",job="fss-exporter"'
    series = {}
    for name, superblocks in (("package", 2), ("pod", 1)):
        series[f'fss_nfs_superblocks{{instance="{name}",boot_hash="a"}}'] = f"{superblocks}x20"
        series[f'fss_client_unanswered_seconds{{{at},instance="{name}"}}'] = "0x20"
        series[f'fss_nfs_received_bytes_total{{instance="{name}"}}'] = "0+60000000x20"
        series[f'fss_nfs_sent_bytes_total{{instance="{name}"}}'] = "0x20"
    for name in telling:
        series[f'fss_client_network_bytes_per_second_limit{{instance="{name}"}}'] = "1000000x20"
        series[f'fss_nfs_fstab_missing_mounts{{instance="{name}",mount_point="/mnt"}}'] = "1x20"
        for verdict, requests in (("bad", "0+600x20"), ("good", "0+6000x20")):
            of = f'{at},instance="{name}",class="read",verdict="{verdict}"'
            series[f"fss_client_judged_requests_total{{{of}}}"] = requests
    alerts = ("NetworkHigh", "MountMissing", "TailSlow")
    expected = {f'count(ALERTS{{alertname="FssClient{name}",alertstate="firing"}})': 1.0 for name in alerts}

    holds(tmp_path, [{"series": name, "values": values} for name, values in series.items()], expected)


@pytest.mark.parametrize(("alert", "page"), [("FssRegionDown", "down"), ("FssRegionDegraded", "slow")])
@pytest.mark.parametrize(
    ("subjects", "pages"),
    [
        ([("", network, address) for network in ("eu", "us") for address in ("10.0.0.1", "10.0.0.2")], 1),
        ([("mt-1", "eu", f"10.0.0.{number}") for number in range(3)], 0),
        ([("mt-1", "eu", "10.0.0.1"), ("mt-1", "", ""), ("mt-2", "eu", "10.0.0.2")], 0),
    ],
    ids=["two networks", "addresses of one", "with and without a place"],
)
def test_a_page_of_a_region_counts_servers_of_two_networks_apart_and_each_mount_target_once(
    subjects: list[tuple[str, str, str]], pages: int, alert: str, page: str, tmp_path: Path
) -> None:
    series = [
        {
            "series": f'slo:fss_page:max{{mount_target_id="{target}",network="{network}",address="{address}",page="{page}"}}',
            "values": "1x20",
        }
        for target, network, address in subjects
    ]
    holds(tmp_path, series, {f'count(ALERTS{{alertname="{alert}"}})': pages}, "service_level.yml")


def test_one_client_of_hundreds_is_no_sentence_about_0_percent_of_the_clients(tmp_path: Path) -> None:
    at = 'network="eu",address="10.0.0.1",instance="{}",job="fss-exporter"'
    series = {f"fss_client_unanswered_seconds{{{at.format(number)}}}": "0x20" for number in range(300)}
    for number in range(300):
        series[f'fss_client_address_seconds_total{{{at.format(number)},verdict="fine"}}'] = "0+60x20"
    for name in ("delayed_requests", "unexpected_errors"):
        series[f"fss_client_{name}_total{{{at.format(0)}}}"] = "0+6x20"
    for state, subject in (("failing", "failed requests"), ("slow", "latency")):
        of = f'{at.format(0)},state="{state}",subject="{subject}",detail="read"'
        series[f"fss_client_address_state_evidence_ratio{{{of}}}"] = "2x20"
    expected = {"count(address_state_detail:fss_clients:count)": 2.0, "count(address:fss_evidence:ratio)": 0.0}

    holds(tmp_path, [{"series": name, "values": values} for name, values in series.items()], expected)


def test_what_clients_prove_is_never_rounded_up(tmp_path: Path) -> None:
    """53 of 64 encrypted connections are 82.8 %."""
    of = 'tenancy="t",region="eu",mount_target_id="m"'
    series = {
        f'fss_mount_target_info{{{of},mount_target="mt",network="eu",address="10.0.0.1",job="p"}}': "1x20",
        f'fss_mount_target_encrypted_connections_limit{{{of},job="p"}}': "64x20",
        'fss_oci_warning_ratio{tenancy="t",region="eu",job="p"}': "0.8x20",
    }
    for number in range(53):
        at = f'network="eu",address="10.0.0.1",instance="c{number}",job="fss-exporter"'
        series[f'fss_client_mount_info{{{at},encrypted="true"}}'] = "1x20"
        series[f"fss_client_unanswered_seconds{{{at}}}"] = "0x20"
    expected = {'sum(address:fss_evidence:ratio{says="it used at least"})': 0.82}

    holds(tmp_path, [{"series": name, "values": values} for name, values in series.items()], expected)
