"""Two networks of 100 clients each with equal addresses, and a pair of Prometheus servers, by promtool on the shipped rules."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
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


def holds(folder: Path, series: list[dict[str, str]], expected: Mapping[str, float]) -> None:
    """Assert the value of each expression after 15 minutes of the series."""
    asked = [
        {"expr": expr, "eval_time": "15m", "exp_samples": [{"labels": "{}", "value": value}] if value else []}
        for expr, value in expected.items()
    ]
    test = {
        "rule_files": [str(RULES / name) for name in ("clients.yml", "load.yml")],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": asked}],
    }
    (folder / "networks_test.yml").write_text(yaml.safe_dump(test))
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


def test_clients_of_an_unknown_network_join_no_mount_target(tmp_path: Path) -> None:
    expected = {f"count({BY_MOUNT_TARGET})": 0.0, f"count({BY_ADDRESS})": float(MOUNT_TARGETS)}
    holds(tmp_path, [*clients("unknown"), *mount_targets("eu")], expected)


@pytest.mark.parametrize("replica", ["replica", "__replica__", "prometheus_replica", "any_other"])
def test_a_pair_of_servers_that_write_to_one_store_doubles_nothing(tmp_path: Path, replica: str) -> None:
    series = [*clients("eu"), *clients("eu", replica), *mount_targets("eu")]
    holds(tmp_path, series, {f"count({BY_MOUNT_TARGET} == {EACH})": MOUNT_TARGETS})
