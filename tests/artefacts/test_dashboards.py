"""Dashboards as data: every panel says what it shows, asks for what exists, and colours as the alerts do."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from tests.artefacts.promql import ROOT, Dimension, Names, dimension_of_unit, selectors, substituted
from tools.dashboards.__main__ import texts

from fss_exporter.model.thresholds import (
    CRITICAL_RATIO,
    LATENCY_CRITICAL_RATIO,
    LATENCY_WARNING_RATIO,
    WARNING_RATIO,
)

FOLDER = ROOT / "dashboards"
FILES = {path.name: path for path in sorted(FOLDER.glob("*.json"))}
DASHBOARDS: dict[str, dict[str, Any]] = {name: json.loads(path.read_text("utf-8")) for name, path in FILES.items()}
UIDS = {
    "clients.json": "fss-clients",
    "exporter.json": "fss-exporter",
    "fleet.json": "fss-fleet",
    "mount-target.json": "fss-mount-target",
}
NAMES = Names.of_this_project()

# What a Grafana unit may show, by dimension; a mean per operation is a time or a size.
UNITS: dict[str, set[Dimension]] = {
    "s": {dimension_of_unit("seconds"), (("n", -1), ("s", 1))},
    "bytes": {dimension_of_unit("bytes"), (("bytes", 1), ("n", -1))},
    "Bps": {dimension_of_unit("bytes_per_second")},
    "iops": {dimension_of_unit("operations_per_second")},
    "ops": {dimension_of_unit("operations_per_second")},
    "reqps": {dimension_of_unit("requests_per_second")},
    "cps": {dimension_of_unit("records_per_second")},
    "percentunit": {()},
    "none": {(), dimension_of_unit("operations")},
    "short": {(), dimension_of_unit("operations")},
    "bool_yes_no": {()},
}

# Steps that are neither of a ceiling nor of an objective equal the numbers of these alerts.
STEPS_OF_ALERTS = {
    (600,): "FssOciDataStale",
    (0.05,): "FssOciThrottled",
    (0.01,): "FssClientRetransmissions",
    (1.5,): "FssFileSystemLoadUneven",
    (0.95, 0.99): "FssMountTargetUnhealthy",
    (2, 3): "FssReplicationBehind",
}
COUNT_STEPS = {(), (1,), (2,)}  # none; one is too many; more than one


@dataclass(frozen=True)
class Panel:
    file: str
    body: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.body["title"])

    def queries(self) -> Iterator[tuple[str, str, str]]:
        """Reference, expression, legend of each target."""
        for target in self.body["targets"]:
            yield target["refId"], target["expr"], target["legendFormat"]

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


PANELS = [
    Panel(name, body) for name, content in DASHBOARDS.items() for body in content["panels"] if body["type"] != "row"
]
QUERIES = [(panel, ref, expr, legend) for panel in PANELS for ref, expr, legend in panel.queries()]
EVERY_PANEL = pytest.mark.parametrize("panel", PANELS, ids=str)
EVERY_DASHBOARD = pytest.mark.parametrize("name", DASHBOARDS)


def variables(name: str) -> dict[str, dict[str, Any]]:
    return {variable["name"]: variable for variable in DASHBOARDS[name]["templating"]["list"]}


def parsed(expr: str) -> Any:
    return promql_parser.parse(substituted(expr))


def test_the_committed_files_are_what_the_generator_writes() -> None:
    committed = {name: path.read_text("utf-8") for name, path in FILES.items()}

    assert committed == dict(texts()), "run: make dashboards"


def test_the_readme_lists_each_dashboard_and_no_other() -> None:
    listed = re.findall(r"\[`([\w-]+\.json)`\]\(\1\)", (FOLDER / "README.md").read_text("utf-8"))

    assert sorted(listed) == sorted(FILES) == sorted(UIDS)


def test_the_provider_the_readme_shows_is_one_grafana_reads() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", (FOLDER / "README.md").read_text("utf-8"), re.DOTALL)
    (provider,) = yaml.safe_load(shown)["providers"]

    assert provider["name"]
    assert provider["options"]["path"].startswith("/")


@EVERY_DASHBOARD
def test_a_dashboard_can_be_imported_anywhere_and_keeps_its_address(name: str) -> None:
    content = DASHBOARDS[name]

    assert content["uid"] == UIDS[name]
    assert content["id"] is None
    assert content["schemaVersion"] == 39
    assert content["tags"] == ["fss"]
    assert content["refresh"] == ""
    assert content["editable"] is False
    assert content["graphTooltip"] == 1
    assert (content["time"]["from"], content["time"]["to"]) == ("now-3h", "now")
    assert "__inputs" not in content
    assert "libraryPanel" not in FILES[name].read_text("utf-8")


@EVERY_DASHBOARD
def test_a_change_of_a_dashboard_is_a_small_difference(name: str) -> None:
    text = FILES[name].read_text("utf-8")

    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@EVERY_DASHBOARD
def test_everything_asks_the_data_source_the_reader_chose(name: str) -> None:
    chosen = {"type": "prometheus", "uid": "${datasource}"}

    def sources(node: Any) -> Iterator[Any]:
        if isinstance(node, dict):
            if "datasource" in node:
                yield node["datasource"]
            for value in node.values():
                yield from sources(value)
        elif isinstance(node, list):
            for value in node:
                yield from sources(value)

    found = list(sources(DASHBOARDS[name]))
    first = DASHBOARDS[name]["templating"]["list"][0]

    assert found
    assert all(source == chosen for source in found)
    assert (first["name"], first["label"], first["type"], first["query"]) == (
        "datasource",
        "Data source",
        "datasource",
        "prometheus",
    )
    for panel in PANELS:
        assert panel.body["datasource"] == chosen
        assert all(target["datasource"] == chosen for target in panel.body["targets"])


@EVERY_DASHBOARD
def test_panels_have_ids_titles_and_places_of_their_own(name: str) -> None:
    panels = DASHBOARDS[name]["panels"]
    titles = [panel["title"] for panel in panels if panel["type"] != "row"]
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, f"{panel['title']} lies on another panel"
        assert place["x"] + place["w"] <= 24, f"{panel['title']} is wider than the screen"
        taken |= cells

    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    assert len(titles) == len(set(titles))


@EVERY_DASHBOARD
def test_variables_are_refreshed_sorted_offer_all_and_are_used(name: str) -> None:
    text = json.dumps({key: value for key, value in DASHBOARDS[name].items() if key != "templating"})
    for variable in DASHBOARDS[name]["templating"]["list"]:
        others = json.dumps([other for other in DASHBOARDS[name]["templating"]["list"] if other is not variable])
        carried = variable["hide"] == 2 and variable["name"] in {
            key for other in DASHBOARDS for key in variables(other)
        }
        assert f"${variable['name']}" in text + others or f"${{{variable['name']}" in text + others or carried, (
            variable["name"]
        )
        if variable["type"] == "datasource":
            continue
        assert variable["description"].endswith(".")
        assert variable["refresh"] == 2, "a new mount target must show up without a reload"
        assert variable["sort"] == 1
        if variable["multi"]:
            assert variable["includeAll"]
            assert variable["current"]["value"] == ["$__all"]


@EVERY_DASHBOARD
def test_variables_ask_for_labels_that_exist(name: str) -> None:
    for variable in DASHBOARDS[name]["templating"]["list"]:
        if variable["type"] != "query":
            continue
        query = variable["query"]["query"]
        if inner := re.fullmatch(r"query_result\((.*)\)", query):
            labels = set(re.findall(r"(\w+)=\"\(\?<(?:text|value)>", variable["regex"]))
            assert labels <= NAMES.series(parsed(inner[1])).labels
            assert len(labels) == 2
        else:
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()  # type: ignore[union-attr]  # fails well
            assert label in NAMES.series(parsed(metric)).labels


@EVERY_DASHBOARD
def test_links_lead_to_dashboards_of_this_pack_and_set_variables_they_have(name: str) -> None:
    (link,) = DASHBOARDS[name]["links"]
    files = {uid: file for file, uid in UIDS.items()}

    assert (link["type"], link["tags"], link["includeVars"], link["keepTime"]) == ("dashboards", ["fss"], True, True)
    for uid, parameters in re.findall(r'"/d/([\w-]+)\?([^"]*)"', FILES[name].read_text("utf-8")):
        assert uid in files
        set_here = re.findall(r"var-(\w+)=", parameters) + re.findall(r"\$\{(\w+):queryparam\}", parameters)
        assert set(set_here) <= set(variables(files[uid])), f"{name} sets what {files[uid]} has not"
        assert "${__url_time_range}" in parameters
        assert "${datasource:queryparam}" in parameters


@EVERY_PANEL
def test_a_panel_says_what_is_seen_and_how_to_read_it(panel: Panel) -> None:
    description = panel.body["description"]

    assert 3 < len(panel.title) < 60
    assert len(description) > 30
    assert description.endswith(".")


@EVERY_PANEL
def test_a_panel_of_the_first_few_says_so(panel: Panel) -> None:
    chosen = any(re.search(r"\b(top|bottom)k\(10,", expr) for _, expr, _ in panel.queries())

    assert not chosen or re.search(r"\b(ten|top|most)\b", panel.title.lower())


@pytest.mark.parametrize(
    ("expr", "complaint"),
    [
        ("fss_mount_target_iop", "neither in the catalogue nor recorded"),
        ('fss_mount_target_iops{adress="10.80.1.10"}', "no label adress"),
        ("sum by (operation) (fss_mount_target_iops)", "no such label"),
        ("fss_mount_target_iops * on (address) group_left (fqdn) fss_mount_target_info", "not on the left side"),
        ("histogram_quantile(0.9, fss_mount_target_iops)", "is not known here"),
    ],
)
def test_a_query_for_what_does_not_exist_would_be_found(expr: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        NAMES.series(parsed(expr))


@pytest.mark.parametrize(
    ("expr", "unit"),
    [
        ("rate(fss_client_read_bytes_total[5m])", "Bps"),
        ("sum(rate(fss_client_rtt_seconds_total[5m])) / sum(rate(fss_client_operations_total[5m]))", "s"),
        ("fss_mount_target_iops / fss_mount_target_iops_limit", "percentunit"),
        ("time() - fss_oci_poll_timestamp_seconds", "s"),
        ("count(fss_client_read_bytes_total)", "none"),
    ],
)
def test_the_dimension_of_an_expression_follows_from_its_metrics(expr: str, unit: str) -> None:
    fitting = {name for name, dimensions in UNITS.items() if NAMES.series(parsed(expr)).dimension in dimensions}

    assert unit in fitting
    assert fitting.isdisjoint({"s", "bytes", "Bps", "iops"} - {unit})


@pytest.mark.parametrize(("panel", "ref", "expr", "legend"), QUERIES, ids=lambda value: str(value)[:60])
def test_a_query_parses_and_asks_only_for_names_and_labels_that_exist(
    panel: Panel, ref: str, expr: str, legend: str
) -> None:
    labels = NAMES.series(parsed(expr)).labels

    if panel.body["type"] == "timeseries":
        assert legend != "__auto", f"{ref} has no legend"
        assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= labels
        assert "_id}}" not in legend, "people know names, not OCIDs"


@pytest.mark.parametrize(("panel", "ref", "expr", "legend"), QUERIES, ids=lambda value: str(value)[:60])
def test_the_unit_of_a_query_is_the_unit_that_is_shown(panel: Panel, ref: str, expr: str, legend: str) -> None:
    dimension = NAMES.series(parsed(expr)).dimension
    unit = panel.body["fieldConfig"]["defaults"]["unit"]
    if panel.body["type"] == "table":
        field = "Value" if len(panel.body["targets"]) == 1 else f"Value #{ref}"
        unit = next(
            (
                the_property["value"]
                for override in panel.body["fieldConfig"]["overrides"]
                if override["matcher"]["options"] == field
                for the_property in override["properties"]
                if the_property["id"] == "unit"
            ),
            None,
        )
    if unit is None:
        assert legend in {"info", "finding", "firing"}, "a value that is shown has a unit"
    else:
        assert dimension in UNITS[unit], f"{legend} is {dimension}, shown as {unit}"


@pytest.mark.parametrize(("panel", "ref", "expr", "legend"), QUERIES, ids=lambda value: str(value)[:60])
def test_counters_are_only_seen_as_rates_over_the_interval_grafana_chooses(
    panel: Panel, ref: str, expr: str, legend: str
) -> None:
    assert all(window == "$__rate_interval" for window in re.findall(r"\bi?rate\([^\[]*\[([^\]]*)\]", expr)), (
        f"{panel} {ref} {legend}"
    )
    bare = re.sub(r"\b(i?rate|increase)\([^()]*(?:\{[^}]*\})?[^()]*\)", "", expr)
    for selector in selectors(parsed(bare)) if bare.count("(") == bare.count(")") and "_total" in bare else ():
        assert not str(selector.name).endswith("_total")


@EVERY_PANEL
def test_a_table_shows_labels_its_queries_have(panel: Panel) -> None:
    if panel.body["type"] != "table":
        return
    labels = frozenset[str]().union(*(NAMES.series(parsed(expr)).labels for _, expr, _ in panel.queries()))
    fields = {"Value"} if len(panel.body["targets"]) == 1 else {f"Value #{ref}" for ref, _, _ in panel.queries()}
    for override in panel.body["fieldConfig"]["overrides"]:
        assert override["matcher"]["options"] in labels | fields
    headings = {
        entry["value"]
        for override in panel.body["fieldConfig"]["overrides"]
        for entry in override["properties"]
        if entry["id"] == "displayName"
    }
    assert {by["displayName"] for by in panel.body["options"]["sortBy"]} <= headings
    for url in re.findall(r"__data\.fields\.(\w+)", json.dumps(panel.body)):
        assert url in labels


def steps_of(thresholds: dict[str, Any]) -> tuple[float, ...]:
    return tuple(step["value"] for step in thresholds["steps"] if step["value"] is not None)


def coloured(panel: Panel) -> Iterator[tuple[str, tuple[float, ...], tuple[str, ...]]]:
    """Expression, steps and colours of everything in a panel that has steps."""
    defaults = panel.body["fieldConfig"]["defaults"]
    if panel.body["type"] != "table":
        for _, expr, _ in panel.queries():
            yield expr, steps_of(defaults["thresholds"]), _colours(defaults["thresholds"])
        return
    by_field = {f"Value #{ref}": expr for ref, expr, _ in panel.queries()} | {"Value": panel.body["targets"][0]["expr"]}
    for override in panel.body["fieldConfig"]["overrides"]:
        for entry in override["properties"]:
            if entry["id"] == "thresholds":
                yield by_field[override["matcher"]["options"]], steps_of(entry["value"]), _colours(entry["value"])


def _colours(thresholds: dict[str, Any]) -> tuple[str, ...]:
    return tuple(step["color"] for step in thresholds["steps"])


@EVERY_PANEL
def test_colours_change_where_the_model_and_the_alerts_say(panel: Panel) -> None:
    alerts = alert_expressions()
    for expr, steps, colours in coloured(panel):
        if ":fss_latency_objective:ratio" in expr:
            assert (steps, colours) == ((LATENCY_WARNING_RATIO, LATENCY_CRITICAL_RATIO), ("green", "orange", "red"))
        elif re.search(r":fss_(client_peak_)?utilisation:(ratio|max|forecast|busiest)", expr) and "count(" not in expr:
            assert (steps, colours) == ((WARNING_RATIO, CRITICAL_RATIO), ("green", "orange", "red"))
        elif steps in STEPS_OF_ALERTS:
            numbers = {
                float(number)
                for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", alerts[STEPS_OF_ALERTS[steps]])
            }
            assert set(steps) <= numbers
        else:
            assert steps in COUNT_STEPS | {(WARNING_RATIO, CRITICAL_RATIO)}


def alert_expressions() -> dict[str, str]:
    """All expressions of an alert by its name."""
    found: dict[str, str] = {}
    for group in yaml.safe_load((ROOT / "rules" / "alerts.yml").read_text("utf-8"))["groups"]:
        for rule in group["rules"]:
            found[rule["alert"]] = f"{found.get(rule['alert'], '')} {rule['expr']}"
    return found


@EVERY_PANEL
def test_shares_start_at_zero(panel: Panel) -> None:
    defaults = panel.body["fieldConfig"]["defaults"]
    if defaults["unit"] == "percentunit":
        assert defaults["min"] == 0


@pytest.mark.parametrize("path", [ROOT / "rules" / "alerts.yml"], ids=lambda path: path.name)
def test_alerts_link_to_dashboards_and_variables_that_exist(path: Path) -> None:
    files = {uid: file for file, uid in UIDS.items()}
    links = set(re.findall(r"dashboard_url: /d/([\w-]+)(?:\?(.*))?", path.read_text("utf-8")))

    assert links
    for uid, parameters in links:
        assert set(re.findall(r"var-(\w+)=", parameters)) <= set(variables(files[uid]))
