"""`make test-dashboards`: every query of every dashboard, put to a real prometheus that scrapes the running demo and has loaded the rules."""

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from lab.pictures.answers import Prometheus
from lab.pictures.scenes import busiest_mount_target, scenes
from tests.dashboards.reasons import EMPTY, Shown, true_reasons
from tests.processes import demo, prometheus, wait_for
from tests.rules.pack import ROOT

CONFIGURATION = """
global: {{scrape_interval: 2s, evaluation_interval: 4s}}
rule_files: ['{rules}/clients.yml', '{rules}/load.yml', '{rules}/service_level.yml', '{rules}/monitoring.yml', '{rules}/panels.yml']
scrape_configs:
- job_name: fss
  static_configs: [{{targets: ['{target}']}}]
"""
_DATA_SOURCE_S = 15
_PATIENCE_S = 300


def shown_now(server: Prometheus) -> Shown:
    now = time.time()
    shipped = [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "dashboards").glob("*.json"))]
    busiest = busiest_mount_target(server, now)  # the one of which most is known
    return Shown(scenes(server, shipped, start=now - 120, end=now, mount_target=busiest), true_reasons(server, now))


@pytest.fixture(scope="module")
def dashboards(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """All dashboards as soon as every query has data that can have some, else after some minutes."""
    folder = tmp_path_factory.mktemp("dashboards")
    with demo(folder) as url:
        configuration = CONFIGURATION.format(rules=ROOT / "rules", target=url.removeprefix("http://"))
        with prometheus(configuration, folder / "prometheus") as server:
            busiest = 'topk(1, mount_target_resource:fss_utilisation:ratio{resource="iops"})'
            wait_for(lambda: server.query(busiest), "the recording rules", _PATIENCE_S)
            joined = "mount_target:fss_client_estimated_iops:rate5m > 0"
            wait_for(lambda: server.query(joined), "the join with clients", _PATIENCE_S)
            second_poll = "changes(fss_oci_poll_timestamp_seconds[10m]) > 0"
            wait_for(lambda: server.query(second_poll), "the second poll of the region", _PATIENCE_S)
            data_source, deadline = Prometheus(server.url, _DATA_SOURCE_S), time.monotonic() + _PATIENCE_S
            while (shown := shown_now(data_source)).unexplained() and time.monotonic() < deadline:
                time.sleep(2)  # what needs two polls of the region comes with the next evaluations of the rules
    return shown


def test_a_query_has_no_data_exactly_while_its_reason_holds(dashboards: Shown) -> None:
    assert dashboards.unexplained() == {}


def test_every_query_that_may_be_empty_is_one(dashboards: Shown) -> None:
    assert set(EMPTY) <= dashboards.queries()


def _scene(dashboards: Shown, uid: str) -> Mapping[str, Any]:
    (scene,) = (scene for scene in dashboards.scenes if scene["dashboard"]["uid"] == uid)
    return scene


@pytest.mark.parametrize(
    ("uid", "panel", "low", "high"),
    [
        ("fss-fleet", "Over 80 %", 2, 2),
        ("fss-fleet", "Fullest", 0.8, 1.0),
        ("fss-fleet", "Slowest", 0.05, 0.8),
        ("fss-fleet", "Critical alerts", 0, 1),
        ("fss-fleet", "Data age", 1, 200),
        ("fss-mount-target", "IOPS", 0.8, 1.0),
        ("fss-mount-target", "Write", 0.01, 0.1),
        ("fss-mount-target", "Agents", 0.00001, 1.0),
        ("fss-clients", "Clients", 1, 1),
        ("fss-clients", "Stalled", 0, 0),
        ("fss-exporter", "Exporters", 1, 1),
        ("fss-exporter", "Failing", 0, 0),
        ("fss-exporter", "Not joined", 0, 0),
    ],
)
def test_a_number_of_the_first_screen_is_that_of_the_demo(
    dashboards: Shown, uid: str, panel: str, low: float, high: float
) -> None:
    (series,) = _scene(dashboards, uid)["answers"][panel]["A"]["series"]

    assert low <= float(series["values"][0][1]) <= high


def test_every_variable_offers_something_and_shows_display_names(dashboards: Shown) -> None:
    chosen = _scene(dashboards, "fss-mount-target")["variables"]
    assert chosen["mount_target"]["text"] == "mt-home"
    assert chosen["address"]["value"] == "10.80.1.10"
    for scene in dashboards.scenes:
        uid = scene["dashboard"]["uid"]
        for name, variable in scene["variables"].items():
            assert variable["value"], f"{uid}: {name}"
            assert variable.get("query", "some") != "()", f"{uid}: {name}"
