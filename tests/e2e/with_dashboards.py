"""`make test-dashboards`: every query of every dashboard, put to a real prometheus that scrapes the running demo and has loaded the rules."""

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from lab.pictures.answers import Prometheus
from lab.pictures.scenes import scenes
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

_YOUNG = "the prometheus is younger than the rule needs"
_GOOD = "nothing of the kind goes wrong in the demo"
_FRESH = "the figure of OCI is fresh, so the last known one and the lower bound of clients stay away"
_ALL_CLIENTS = "split by class only while one client is chosen, and all are"
_POLLED = "only where no poller runs"
_EXACT = "no kernel counts for the clients of the demo"

# What has no data in the first minutes of a demo that works, by dashboard, panel and reference of the query, and why.
EMPTY: Mapping[tuple[str, str, str], str] = {
    ("fss-clients", "Alerts of clients", "A"): _GOOD,
    ("fss-mount-target", "Latency", "A"): _YOUNG,
    ("fss-fleet", "Latency as share of its objective: top $top", "A"): _YOUNG,
    ("fss-mount-target", "Latency as share of its objective", "A"): _YOUNG,
    ("fss-mount-target", "Objectives and their budgets", "B"): _YOUNG,
    ("fss-mount-target", "Objectives and their budgets", "C"): _YOUNG,
    ("fss-mount-target", "Objectives and their budgets", "D"): _YOUNG,
    ("fss-clients", "Batch jobs by cost: top $top", "A"): _EXACT,
    ("fss-clients", "Durations of requests", "A"): _EXACT,
    ("fss-clients", "Major timeouts: top $top", "A"): _GOOD,
    ("fss-clients", "Processes by cost: top $top", "A"): _EXACT,
    ("fss-clients", "READ sizes", "A"): _EXACT,
    ("fss-clients", "Retransmissions: top $top", "A"): _GOOD,
    ("fss-clients", "Top clients now", "C"): _GOOD,
    ("fss-clients", "Top clients now", "D"): _GOOD,
    ("fss-clients", "Top clients now", "E"): _GOOD,
    ("fss-clients", "WRITE sizes", "A"): _EXACT,
    ("fss-clients", "p50, p95 and p99 of durations", "A"): _EXACT,
    ("fss-clients", "p50, p95 and p99 of durations", "B"): _EXACT,
    ("fss-clients", "p50, p95 and p99 of durations", "C"): _EXACT,
    ("fss-exporter", "Addresses that are no known mount target", "A"): _GOOD,
    ("fss-exporter", "Alerts of the monitoring", "A"): _GOOD,
    ("fss-exporter", "Collectors that fail or stall", "A"): _GOOD,
    ("fss-exporter", "Collectors that fail or stall", "B"): _GOOD,
    ("fss-exporter", "Collectors that fail or stall", "C"): _GOOD,
    ("fss-exporter", "Less seen than expected", "A"): _GOOD,
    ("fss-exporter", "Less seen than expected", "B"): _GOOD,
    ("fss-exporter", "Loads that no mount target gets", "A"): _GOOD,
    ("fss-exporter", "Loads that no mount target gets", "B"): _GOOD,
    ("fss-exporter", "Records skipped: top $top reasons", "A"): "every record of the recordings can be read",
    ("fss-exporter", "Streams left out and queries split", "B"): "nothing has more than 2,000 streams",
    ("fss-file-systems", "Alerts of file systems", "A"): _GOOD,
    ("fss-file-systems", "File systems: load, size and growth", "H"): _YOUNG,
    ("fss-file-systems", "Soft quotas that writes pass", "A"): "only one minute of six has such a write",
    ("fss-fleet", "All ceilings of each mount target", "E"): _FRESH,
    ("fss-fleet", "All ceilings of each mount target", "F"): _FRESH,
    ("fss-fleet", "All ceilings of each mount target", "G"): _FRESH,
    ("fss-fleet", "Busiest minutes of each week: top $top", "A"): _YOUNG,
    ("fss-fleet", "Fullest", "B"): _FRESH,
    ("fss-fleet", "Fullest", "C"): _FRESH,
    ("fss-fleet", "Share of IOPS: top $top", "B"): _YOUNG,
    ("fss-fleet", "Mount targets: how close, who, what now", "E"): _FRESH,
    ("fss-fleet", "Over 80 %", "B"): _FRESH,
    ("fss-fleet", "Share of read bandwidth: top $top", "B"): _YOUNG,
    ("fss-fleet", "Services as their clients see them", "C"): "Apsara NAS has no published ceiling of its IOPS",
    ("fss-fleet", "Services as their clients see them", "D"): "Apsara NAS has no published ceiling of its IOPS",
    ("fss-fleet", "Single clients that fill a ceiling for a second", "A"): _GOOD,
    ("fss-fleet", "Share of write bandwidth: top $top", "B"): _YOUNG,
    ("fss-mount-target", "Alerts of this mount target", "A"): _GOOD,
    ("fss-mount-target", "Client connections", "B"): _YOUNG,
    ("fss-mount-target", "Exports that cannot be mounted", "A"): _GOOD,
    ("fss-mount-target", "IOPS", "B"): _FRESH,
    ("fss-mount-target", "IOPS", "C"): _FRESH,
    ("fss-mount-target", "IOPS by source, against the ceiling", "H"): _YOUNG,
    ("fss-mount-target", "Objectives and their budgets", "A"): _YOUNG,
    ("fss-mount-target", "Read", "B"): _FRESH,
    ("fss-mount-target", "Read", "C"): _FRESH,
    ("fss-mount-target", "Read bandwidth", "B"): _YOUNG,
    ("fss-mount-target", "Write", "B"): _FRESH,
    ("fss-mount-target", "Write", "C"): _FRESH,
    ("fss-mount-target", "Which shape carries this load", "G"): _YOUNG,
    **{("fss-clients", "Mount options with a finding", ref): _GOOD for ref in "BCDEF"},
    ("fss-clients", "Queue: slowest clients, top $top", "B"): _ALL_CLIENTS,
    ("fss-clients", "RTT: slowest clients, top $top", "B"): _ALL_CLIENTS,
    ("fss-clients", "Top clients now", "F"): _GOOD,
    ("fss-exporter", "Alerts of the monitoring", "B"): _GOOD,
    ("fss-file-systems", "Alerts of file systems", "B"): _GOOD,
    ("fss-fleet", "All ceilings of each mount target", "H"): _YOUNG,
    ("fss-fleet", "Fullest", "D"): _POLLED,
    ("fss-fleet", "Mount targets: how close, who, what now", "F"): _FRESH,
    ("fss-fleet", "Mount targets: how close, who, what now", "G"): _FRESH,
    ("fss-fleet", "Mount targets: how close, who, what now", "I"): _GOOD,
    ("fss-fleet", "Over 80 %", "C"): _POLLED,
    ("fss-mount-target", "Alerts of this mount target", "B"): _GOOD,
    ("fss-mount-target", "Alerts of this mount target", "C"): _GOOD,
    ("fss-mount-target", "Coverage", "B"): _GOOD,
    ("fss-mount-target", "Write bandwidth", "B"): _YOUNG,
}


Scenes = Mapping[str, Mapping[str, Any]]  # by dashboard: variables and answers of all panels at one time


def scenes_of_now(server: Prometheus) -> Scenes:
    now = time.time()
    shipped = [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "dashboards").glob("*.json"))]
    asked = scenes(server, shipped, start=now - 120, end=now)
    return {scene["dashboard"]["uid"]: scene for scene in asked}


@pytest.fixture(scope="module")
def dashboards(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    """All dashboards as soon as every query has data that can have some, else after some minutes."""
    folder = tmp_path_factory.mktemp("dashboards")
    with demo(folder) as url:
        configuration = CONFIGURATION.format(rules=ROOT / "rules", target=url.removeprefix("http://"))
        with prometheus(configuration, folder / "prometheus") as server:
            busiest = 'topk(1, mount_target:fss_utilisation:ratio{resource="iops"})'
            wait_for(lambda: server.query(busiest), "the recording rules", _PATIENCE_S)
            joined = "mount_target:fss_client_estimated_iops:rate5m > 0"
            wait_for(lambda: server.query(joined), "the join with clients", _PATIENCE_S)
            second_poll = "changes(fss_oci_poll_timestamp_seconds[10m]) > 0"
            wait_for(lambda: server.query(second_poll), "the second poll of the region", _PATIENCE_S)
            data_source, deadline = Prometheus(server.url, _DATA_SOURCE_S), time.monotonic() + _PATIENCE_S
            while _without_data(shown := scenes_of_now(data_source)) - set(EMPTY) and time.monotonic() < deadline:
                time.sleep(2)  # what needs two polls of the region comes with the next evaluations of the rules
    return shown


def _without_data(dashboards: Scenes) -> set[tuple[str, str, str]]:
    return {
        (uid, title, ref)
        for uid, scene in dashboards.items()
        for title, answers in scene["answers"].items()
        for ref, answer in answers.items()
        if not answer["series"]
    }


def test_every_query_has_data_or_a_reason_to_have_none(dashboards: Scenes) -> None:
    assert _without_data(dashboards) - set(EMPTY) == set()


def test_every_query_that_may_be_empty_is_one(dashboards: Scenes) -> None:
    every = {
        (uid, title, ref)
        for uid, scene in dashboards.items()
        for title, answers in scene["answers"].items()
        for ref in answers
    }

    assert set(EMPTY) <= every


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
        ("fss-mount-target", "Coverage", 0.00001, 1.0),
        ("fss-clients", "Clients", 1, 1),
        ("fss-clients", "Stalled", 0, 0),
        ("fss-exporter", "Exporters", 1, 1),
        ("fss-exporter", "Failing", 0, 0),
        ("fss-exporter", "Not joined", 0, 0),
    ],
)
def test_a_number_of_the_first_screen_is_that_of_the_demo(
    dashboards: Scenes, uid: str, panel: str, low: float, high: float
) -> None:
    (series,) = dashboards[uid]["answers"][panel]["A"]["series"]

    assert low <= float(series["values"][0][1]) <= high


def test_every_variable_offers_something_and_shows_display_names(dashboards: Scenes) -> None:
    assert dashboards["fss-mount-target"]["variables"]["mount_target"]["text"] == "mt-home"
    assert dashboards["fss-mount-target"]["variables"]["address"]["value"] == "10.80.1.10"
    for uid, scene in dashboards.items():
        for name, variable in scene["variables"].items():
            assert variable["value"], f"{uid}: {name}"
            assert variable.get("query", "some") != "()", f"{uid}: {name}"
