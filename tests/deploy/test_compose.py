"""The compose file starts the demo, and each server loads what the project ships."""

import subprocess
from pathlib import Path

import pytest
import yaml
from tests.processes import require

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy/compose"


@pytest.fixture
def services() -> dict[str, dict[str, object]]:
    document: dict[str, dict[str, dict[str, object]]] = yaml.safe_load((COMPOSE / "compose.yml").read_text())
    return document["services"]


def test_every_file_that_is_mounted_exists(services: dict[str, dict[str, object]]) -> None:
    mounted = [
        str(volume).partition(":")[0]
        for service in services.values()
        for volume in service.get("volumes", ())  # type: ignore[attr-defined]
        if str(volume).startswith(".")
    ]
    assert len(mounted) > 3
    assert [path for path in mounted if not (COMPOSE / path).exists()] == []


def test_every_port_is_open_on_this_host_only(services: dict[str, dict[str, object]]) -> None:
    ports = [str(port) for service in services.values() for port in service.get("ports", ())]  # type: ignore[attr-defined]
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "prometheus.yml").write_text((COMPOSE / "prometheus.yml").read_text())
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/rules").symlink_to(ROOT / "rules")
    promtool = require("promtool", "prometheus")
    done = subprocess.run(
        [promtool, "check", "config", tmp_path / "prometheus.yml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_alertmanager_takes_its_configuration() -> None:
    amtool = require("amtool", "prometheus-alertmanager")
    done = subprocess.run(
        [amtool, "check-config", COMPOSE / "alertmanager.yml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_prometheus_and_grafana_load_rules_and_dashboards_whose_links_open_on_the_host(
    services: dict[str, dict[str, object]], tmp_path: Path
) -> None:
    command = [str(word) for word in services["pack"]["command"]]  # type: ignore[attr-defined]
    subprocess.run([require("fss-exporter", "this project"), *command[:-1], tmp_path], check=True, capture_output=True)

    rules = "".join(path.read_text() for path in (tmp_path / "rules").glob("*.yml"))
    assert "runbook_url: http://127.0.0.1:10949/runbook#fss" in rules
    assert "dashboard_url: http://127.0.0.1:3000/d/fss-fleet" in rules
    for rule_file in yaml.safe_load((COMPOSE / "prometheus.yml").read_text())["rule_files"]:
        assert (tmp_path / str(rule_file).removeprefix("pack/")).is_file()
    for name in ("prometheus", "grafana"):
        assert any(str(volume).startswith("pack:") for volume in services[name]["volumes"])  # type: ignore[attr-defined]
