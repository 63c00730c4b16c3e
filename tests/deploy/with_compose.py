"""`make verify`: the parts of deploy/compose with the servers of this host, each with its own file of the stack. Compose itself is not started."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.alerting import alertmanager
from tests.processes import Prometheus, demo, get, prometheus, require, wait_for

COMPOSE = Path(__file__).parents[2] / "deploy/compose"

# The first alert of the demo waits for two minutes of data, for its own two minutes and for the group in Alertmanager.
ALERT_S = 600


@dataclass
class Stack:
    """The addresses of the running servers."""

    prometheus: Prometheus
    alertmanager: str
    pack: Path


@contextmanager
def running(folder: Path) -> Iterator[Stack]:
    services = yaml.safe_load((COMPOSE / "compose.yml").read_text())["services"]
    pack = folder / "pack"
    command = [str(word) for word in services["pack"]["command"][:-1]]
    subprocess.run([require("fss-exporter", "this project"), *command, pack], check=True, capture_output=True)
    flags = [str(flag) for flag in services["exporter"]["command"][1:] if "listen-address" not in flag]
    routes = (COMPOSE / "alertmanager.yml").read_text()
    with demo(folder / "demo", *flags) as exporter, alertmanager(folder, routes) as manager:
        text = (COMPOSE / "prometheus.yml").read_text()
        for name, url in (("exporter:10949", exporter), ("alertmanager:9093", manager)):
            assert f'["{name}"]' in text, "Prometheus names the services of the stack"
            text = text.replace(name, url.removeprefix("http://"))
        with prometheus(text, folder) as server:
            yield Stack(server, manager, pack)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("compose")) as started:
        yield started


def test_prometheus_evaluates_every_rule_on_what_the_demo_serves(stack: Stack) -> None:
    wait_for(
        lambda: stack.prometheus.query("mount_target_resource:fss_utilisation:ratio"),
        "the share of each ceiling",
        ALERT_S,
    )
    groups = json.loads(get(f"{stack.prometheus.url}/api/v1/rules"))["data"]["groups"]
    assert {Path(group["file"]).name for group in groups} == {
        Path(name).name for name in yaml.safe_load((COMPOSE / "prometheus.yml").read_text())["rule_files"]
    }
    assert [rule["name"] for group in groups for rule in group["rules"] if rule.get("lastError")] == []


def test_an_alert_of_the_demo_reaches_alertmanager_with_a_link_that_opens_on_the_host(stack: Stack) -> None:
    def firing() -> list[dict[str, Any]]:
        alerts: list[dict[str, Any]] = json.loads(get(f"{stack.alertmanager}/api/v2/alerts"))
        return alerts

    alerts = wait_for(firing, "an alert in Alertmanager", ALERT_S)
    assert all(alert["annotations"]["runbook_url"].startswith("http://127.0.0.1:10949/runbook#") for alert in alerts), (
        alerts
    )


def test_grafana_finds_its_source_and_every_dashboard_where_the_stack_mounts_them(stack: Stack) -> None:
    """What Grafana reads of the files, checked without a Grafana."""
    grafana = yaml.safe_load((COMPOSE / "compose.yml").read_text())["services"]["grafana"]
    mounts = {place: source for source, place, *_ in (str(volume).split(":") for volume in grafana["volumes"])}
    (source,) = _provisioned("datasources", mounts)["datasources"]
    (provider,) = _provisioned("dashboards", mounts)["providers"]

    assert (source["type"], source["url"], source["isDefault"]) == ("prometheus", "http://prometheus:9090", True)
    assert mounts["/pack"] == "pack"
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    dashboards = sorted((stack.pack / provider["options"]["path"].removeprefix("/pack/")).glob("*.json"))
    assert stack.pack / home.removeprefix("/pack/") in dashboards
    shown = [json.loads(path.read_text()) for path in dashboards]
    assert len({dashboard["uid"] for dashboard in shown}) == len(shown) >= 5
    for dashboard in shown:
        # The only source is the default of this variable.
        assert any(variable["type"] == "datasource" for variable in dashboard["templating"]["list"]), dashboard["title"]
        assert not re.search(r'"uid": "(?!\$|fss-|-- )', json.dumps(dashboard)), dashboard["title"]


def _provisioned(what: str, mounts: dict[str, str]) -> Any:
    folder = COMPOSE / mounts[f"/etc/grafana/provisioning/{what}"]
    (file,) = folder.iterdir()
    return yaml.safe_load(file.read_text())
