"""Dashboards as data: what Grafana, its reader and a reviewer of changes need."""

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml
from tests.artefacts.shipped_dashboards import (
    DASHBOARDS,
    EVERY_DASHBOARD,
    FILES,
    FOLDER,
    NAMES,
    PANELS,
    UIDS,
    objects,
    parsed,
    variables,
)
from tests.rules.pack import ROOT
from tools.generate.dashboards.__main__ import texts
from tools.generate.dashboards.sharing import for_grafana_com

from fss_exporter.model.limits import SHAPES
from fss_toolbox.plan.comparison import shipped_prices


def test_the_committed_files_are_what_the_generator_writes() -> None:
    committed = {name: path.read_text("utf-8") for name, path in FILES.items()}

    assert committed == dict(texts()), "run: make dashboards"


def test_the_readme_lists_each_dashboard_and_no_other() -> None:
    listed = re.findall(r"\[`([\w-]+\.json)`\]\(\1\)", (FOLDER / "README.md").read_text("utf-8"))

    assert sorted(listed) == sorted(FILES) == sorted(UIDS)


def test_the_page_makes_a_configmap_of_each_dashboard() -> None:
    page = (ROOT / "docs/install.md").read_text("utf-8")
    (names,) = re.findall(r"for name in ([\w -]+); do\n +python3 -m json.tool --compact", page)

    assert sorted(f"{name}.json" for name in names.split()) == sorted(FILES)


@EVERY_DASHBOARD
def test_kubectl_and_argo_cd_can_apply_the_configmap_of_a_dashboard_with_a_tenth_to_spare(name: str) -> None:
    """Both keep what they apply as JSON in an annotation, and Kubernetes takes 262,144 bytes of annotations. Go escapes <, > and &."""
    compact = json.dumps(json.loads(FILES[name].read_text("utf-8")), separators=(",", ":"))
    applied = json.dumps({"data": {name: compact}})
    size = len(applied) + 5 * sum(applied.count(character) for character in "<>&")

    assert size + 1000 < 0.9 * 262_144, "name and labels need the 1,000"


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
    assert content["refresh"] == "1m"
    assert content["editable"] is False
    assert content["graphTooltip"] == 1
    assert (content["time"]["from"], content["time"]["to"]) == ("now-3h", "now")
    assert "__inputs" not in content
    assert "libraryPanel" not in FILES[name].read_text("utf-8")


@EVERY_DASHBOARD
def test_everything_asks_the_data_source_the_reader_chose(name: str) -> None:
    chosen = {"type": "prometheus", "uid": "${datasource}"}

    sources = [node["datasource"] for node in objects(DASHBOARDS[name]) if "datasource" in node]
    first = DASHBOARDS[name]["templating"]["list"][0]

    assert sources
    assert all(source == chosen for source in sources)
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
    outer = DASHBOARDS[name]["panels"]
    every = [panel_or_child for panel in outer for panel_or_child in (panel, *panel.get("panels", ()))]
    titles = [panel["title"] for panel in every if panel["type"] != "row"]

    assert [panel["id"] for panel in every] == list(range(1, len(every) + 1))
    assert len(titles) == len(set(titles))
    for panels in (outer, *(panel["panels"] for panel in outer if panel["type"] == "row")):
        assert_side_by_side(panels)


def assert_side_by_side(panels: Sequence[dict[str, Any]]) -> None:
    """No panel lies on another one or leaves the screen."""
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


@EVERY_DASHBOARD
def test_only_the_first_screen_is_open(name: str) -> None:
    outer = DASHBOARDS[name]["panels"]
    first = [panel for panel in outer if panel["type"] != "row"]
    rows = outer[len(first) :]

    assert all(panel["type"] == "row" and panel["collapsed"] and panel["panels"] for panel in rows)
    assert max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in first) <= 22, "a screen has no more room"


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
        if variable["type"] == "textbox":
            assert variable["query"] == variable["current"]["value"]
            continue
        if variable["type"] == "custom":
            assert [option["value"] for option in variable["options"] if option["selected"]] == [
                variable["current"]["value"]
            ]
            continue
        assert variable["description"].endswith(".")
        assert variable["refresh"] == 2, "a new mount target must show up without a reload"
        assert variable["sort"] == (0 if "sort_desc(" in variable["query"]["query"] else 1)
        if variable["multi"]:
            assert variable["includeAll"]
            assert variable["current"]["value"] == ["$__all"]


def test_what_asks_for_the_chosen_regions_asks_for_the_chosen_tenancies_too() -> None:
    """Two tenancies can have one region, and the reader of one does not want the other."""
    queries = [expr for panel in PANELS for _, expr, _ in panel.queries()]
    selectors = [selector for expr in queries for selector in re.findall(r"\{[^{}]*\$region[^{}]*\}", expr)]

    assert selectors
    assert [selector for selector in selectors if "$tenancy" not in selector] == []


@EVERY_DASHBOARD
def test_variables_ask_for_labels_that_exist(name: str) -> None:
    for variable in DASHBOARDS[name]["templating"]["list"]:
        if variable["type"] != "query":
            continue
        query = variable["query"]["query"]
        if inner := re.fullmatch(r"query_result\((.*)\)", query):
            labels = set(re.findall(r"(\w+)=\"\(\?<(?:text|value)>", variable["regex"]))
            assert labels <= NAMES.series(parsed(inner[1])).labels
            assert labels
        else:
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", query).groups()  # type: ignore[union-attr]  # fails well
            assert label in NAMES.series(parsed(metric)).labels


@EVERY_DASHBOARD
def test_links_lead_to_dashboards_of_this_pack_and_set_variables_they_have(name: str) -> None:
    *outside, link = DASHBOARDS[name]["links"]
    files = {uid: file for file, uid in UIDS.items()}

    assert all(link["url"].startswith("https://cloud.oracle.com/") and link["targetBlank"] for link in outside)

    assert (link["type"], link["tags"], link["includeVars"], link["keepTime"]) == ("dashboards", ["fss"], True, True)
    for uid, parameters in re.findall(r'"/d/([\w-]+)\?([^"]*)"', FILES[name].read_text("utf-8")):
        assert uid in files
        set_here = re.findall(r"var-(\w+)=", parameters) + re.findall(r"\$\{(\w+):queryparam\}", parameters)
        assert set(set_here) <= set(variables(files[uid])), f"{name} sets what {files[uid]} has not"
        assert "${__url_time_range}" in parameters
        assert "${datasource:queryparam}" in parameters


def test_no_link_sets_the_address_whose_clients_the_mount_target_shows() -> None:
    """Grafana 10 takes the value of a link even where the variable does not offer the value, such as All."""
    panels = json.dumps([panel.body for panel in PANELS if panel.file == "mount-target.json"])

    assert variables("mount-target.json")["mount_address"]["skipUrlSync"] is True
    assert '"$address' not in panels
    assert all("var-mount_address" not in path.read_text("utf-8") for path in FILES.values())


def test_a_panel_says_what_is_seen_and_how_to_read_it() -> None:
    assert [panel for panel in PANELS if not (panel.title and panel.body["description"])] == []


def test_a_panel_of_the_first_few_says_so() -> None:
    for panel in PANELS:
        chosen = any(re.search(r"\b(top|bottom)k\(\$top,", expr) for _, expr, _ in panel.queries())

        assert not chosen or re.search(r"\$top|\btop\b", panel.title.lower()), panel


def test_shares_start_at_zero() -> None:
    for panel in PANELS:
        defaults = panel.body["fieldConfig"]["defaults"]
        if panel.body["type"] == "timeseries" and defaults["unit"] == "percentunit":
            assert defaults["min"] == 0, panel


def test_alerts_link_to_dashboards_and_variables_that_exist() -> None:
    files = {uid: file for file, uid in UIDS.items()}
    texts = [path.read_text("utf-8") for path in (ROOT / "rules").glob("*.yml")]
    links = {link for text in texts for link in re.findall(r"/d/([\w-]+)(?:\?(\S*))?", text)}

    assert len(links) > 4
    for uid, parameters in links:
        assert set(re.findall(r"var-(\w+)=", parameters)) <= set(variables(files[uid]))


@EVERY_DASHBOARD
def test_the_variant_for_grafana_com_asks_for_its_data_source_at_the_import(name: str) -> None:
    shared = for_grafana_com(DASHBOARDS[name])
    sources = [node["datasource"] for node in objects(shared) if "datasource" in node]
    required = {entry["id"] for entry in shared["__requires"] if entry["type"] == "panel"}

    assert [entry["name"] for entry in shared["__inputs"]] == ["DS_PROMETHEUS"]
    assert {source["uid"] for source in sources} == {"${DS_PROMETHEUS}"}
    assert "datasource" not in {variable["name"] for variable in shared["templating"]["list"]}
    assert "${datasource" not in json.dumps(shared)
    assert required == {panel.body["type"] for panel in PANELS if panel.file == name}


def test_a_shape_costs_on_the_dashboard_what_it_costs_in_plan() -> None:
    variables = json.loads((ROOT / "dashboards/mount-target.json").read_text())["templating"]["list"]
    (usd_per_gb,) = (float(variable["query"]) for variable in variables if variable["name"] == "usd_per_gb")

    assert {name: price.usd_per_gb for name, price in shipped_prices().items()} == dict.fromkeys(SHAPES, usd_per_gb)
