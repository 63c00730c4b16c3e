"""Every query of every dashboard, put to a real prometheus that scrapes the running demo and has loaded the rules."""

import json
import re
import time
import urllib.error
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from tests.artefacts.promql import ROOT
from tests.processes import Prometheus, demo, get, prometheus, wait_for

from fss_exporter.demo.clients import CLIENT_MOUNTS

CONFIGURATION = """
global: {{scrape_interval: 2s, evaluation_interval: 2s}}
rule_files: ['{rules}/recording.yml', '{rules}/alerts.yml']
scrape_configs:
- job_name: fss
  static_configs: [{{targets: ['{target}']}}]
"""

# What has no data in half a minute of a demo that works, by dashboard, panel and reference of the query, and why.
EMPTY = {
    ("fleet.json", "Mount targets against their ceilings", "H"): "a forecast needs two days of history",
    ("fleet.json", "Firing alerts", "A"): "no alert fires before five minutes have passed",
    ("fleet.json", "Services as their clients see them", "C"): "Apsara NAS has no published ceiling of its IOPS",
    ("fleet.json", "Services as their clients see them", "D"): "Apsara NAS has no published ceiling of its IOPS",
    ("exporter.json", "Streams left out, queries split, polls refused", "B"): "nothing has more than 2,000 streams",
    ("exporter.json", "Records skipped by reason", "A"): "every record of the recordings can be read",
    ("clients.json", "I/O sizes of clients in exact mode", "A"): "no kernel counts for the clients of the demo",
    ("exporter.json", "Unresolved TLS forwarders", "A"): "no client of the demo mounts through a forwarder",
}


@dataclass(frozen=True)
class Query:
    """One query of one panel, as it stands in the file."""

    file: str
    panel: str
    ref: str
    expr: str
    instant: bool

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.panel, self.ref

    def __str__(self) -> str:
        return ": ".join(self.key)


def dashboards() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((ROOT / "dashboards").glob("*.json")):
        yield path.name, json.loads(path.read_text("utf-8"))


QUERIES = [
    Query(name, panel["title"], target["refId"], target["expr"], target["instant"])
    for name, content in dashboards()
    for panel in content["panels"]
    for target in panel.get("targets", ())
]
VARIABLES = [
    (name, variable)
    for name, content in dashboards()
    for variable in content["templating"]["list"]
    if variable["type"] == "query"
]


@dataclass(frozen=True)
class Scene:
    """A prometheus that has watched the demo for a while."""

    server: Prometheus
    chosen: Mapping[str, Mapping[str, str]]

    def sent(self, file: str, text: str) -> str:
        """A query as Grafana sends it with this dashboard's first choices; All is `.*`."""
        text = text.replace("$__rate_interval", "30s").replace("$__range", "10m")
        return re.sub(r"\$(\w+)", lambda match: self.chosen.get(file, {}).get(match[1], ".*"), text)

    def ask(self, path: str, **parameters: str) -> Any:
        """What the API answers; an error is a failure that shows the server's words."""
        try:
            answer = json.loads(get(f"{self.server.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"))
        except urllib.error.HTTPError as refused:
            pytest.fail(f"{parameters}: {refused.read().decode()}")
        assert not answer.get("warnings"), answer["warnings"]
        return answer["data"]

    def series(self, query: Query) -> int:
        """How many series a query has."""
        expr = self.sent(query.file, query.expr)
        if query.instant:
            return len(self.ask("query", query=expr)["result"])
        now = time.time()
        times = {"start": f"{now - 120:.3f}", "end": f"{now:.3f}", "step": "5"}
        return len(self.ask("query_range", query=expr, **times)["result"])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("dashboards")
    with demo(folder) as url:
        configuration = CONFIGURATION.format(rules=ROOT / "rules", target=url.removeprefix("http://"))
        with prometheus(configuration, folder / "prometheus") as server:
            busiest = 'topk(1, mount_target:fss_utilisation:ratio{resource="iops"})'
            wait_for(lambda: server.query(busiest), "the recording rules")
            wait_for(lambda: server.query("mount_target:fss_client_estimated_iops:rate5m > 0"), "the join with clients")
            (mount_target,) = (series["metric"]["mount_target_id"] for series in server.query(busiest))
            (address,) = (
                series["metric"]["address"]
                for series in server.query(f'fss_mount_target_info{{mount_target_id="{mount_target}"}}')
            )
            yield Scene(server, {"mount-target.json": {"mount_target": mount_target, "address": address}})


def test_every_query_has_data_or_a_reason_to_have_none(scene: Scene) -> None:
    """One test for all, because they take milliseconds and the scene a minute."""
    left = {query.key: query for query in QUERIES if query.key not in EMPTY}

    def missing() -> list[Query]:
        for key, query in list(left.items()):
            if scene.series(query):
                del left[key]
        return list(left.values())

    deadline = time.monotonic() + 45  # what needs two polls of the region comes with the next, 15 s later
    while missing() and time.monotonic() < deadline:
        time.sleep(2)

    assert [str(query) for query in left.values()] == []


def test_every_query_that_may_be_empty_is_one_and_is_answered(scene: Scene) -> None:
    listed = [query for query in QUERIES if query.key in EMPTY]

    assert {query.key for query in listed} == set(EMPTY)
    for query in listed:
        scene.series(query)


@pytest.mark.parametrize(
    ("file", "panel", "low", "high"),
    [
        ("fleet.json", "Mount targets", 5, 5),
        ("fleet.json", "At or above 80 % of a ceiling", 2, 2),
        ("fleet.json", "Nearest to a ceiling", 0.8, 1.0),
        ("fleet.json", "Worst latency of its objective", 0.05, 0.8),
        ("fleet.json", "Critical alerts", 0, 0),
        ("fleet.json", "Age of the data", 1, 200),
        ("mount-target.json", "IOPS", 0.8, 1.0),
        ("mount-target.json", "Write bandwidth", 0.01, 0.1),
        ("mount-target.json", "Successful requests", 0.9, 1.0),
        ("mount-target.json", "Seen by clients", 0.00001, 1.0),
        ("mount-target.json", "Mount targets needed", 2, 2),
        ("clients.json", "Clients", 1, 1),
        ("clients.json", "Mount points", len(CLIENT_MOUNTS), len(CLIENT_MOUNTS)),
        ("clients.json", "Stalled clients", 0, 0),
        ("exporter.json", "Exporters", 1, 1),
        ("exporter.json", "Collectors failing", 0, 0),
        ("exporter.json", "Not joined with clients", 0, 0),
    ],
)
def test_a_number_at_a_glance_is_that_of_the_demo(scene: Scene, file: str, panel: str, low: float, high: float) -> None:
    (query,) = (query for query in QUERIES if (query.file, query.panel) == (file, panel))
    (series,) = scene.ask("query", query=scene.sent(file, query.expr))["result"]

    assert low <= float(series["value"][1]) <= high


@pytest.mark.parametrize(
    ("file", "variable"), VARIABLES, ids=[f"{file}-{variable['name']}" for file, variable in VARIABLES]
)
def test_every_variable_offers_something(scene: Scene, file: str, variable: dict[str, Any]) -> None:
    query = scene.sent(file, variable["query"]["query"])
    if result := re.fullmatch(r"query_result\((.*)\)", query):
        lines = [shown(series["metric"]) for series in scene.ask("query", query=result[1])["result"]]
        offered = [choice(variable["regex"], line) for line in lines]
        assert "mt-home" in {text for text, _ in offered}
        assert all(value for _, value in offered)
    else:
        metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()  # type: ignore[union-attr]  # fails well
        values = {series.get(label) for series in scene.ask("series", **{"match[]": metric})}
        assert values - {None}


def shown(labels: Mapping[str, str]) -> str:
    """A series as `query_result` gives it to the regular expression of a variable."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in sorted(labels.items())) + "} 1 1700000000000"


def choice(pattern: str, line: str) -> tuple[str, str]:
    """Text and value that Grafana takes from a line by named groups; without a text the value is shown."""
    expression = pattern.removeprefix("/").removesuffix("/g").replace("(?<", "(?P<")
    groups: dict[str, str] = {}
    for match in re.finditer(expression, line):
        groups |= {name: value for name, value in match.groupdict().items() if value}
    return groups.get("text", groups["value"]), groups["value"]


def test_a_display_name_is_what_the_reader_chooses_by() -> None:
    pattern = next(
        variable["regex"] for _, variable in VARIABLES if variable["name"] == "mount_target" and variable["regex"]
    )
    line = shown({"mount_target": "mt-home", "mount_target_id": "ocid1.mounttarget.x"})

    assert choice(pattern, line) == ("mt-home", "ocid1.mounttarget.x")


def test_an_address_without_a_mount_target_is_offered_as_it_is() -> None:
    pattern = next(
        variable["regex"] for _, variable in VARIABLES if variable["name"] == "address" and variable["regex"]
    )

    assert choice(pattern, shown({"address": "10.9.9.9"})) == ("10.9.9.9", "10.9.9.9")
