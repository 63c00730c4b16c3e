"""The dashboards as Grafana's own libraries draw them, over recorded answers: `make dashboard-check` (needs node).

The answers are those of real Prometheus servers that scraped the demo in situations of lab/pictures/situations.py, one every 15 s and the others
every 60 s. The data source of Grafana says 15 s for all.
"""

import copy
import json
import subprocess
import urllib.parse
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lab.pictures.drawing import Drawing, contents, draw, program
from lab.pictures.recording import EXACT_MODE, WHOLE, dashboards, recorded, shown
from lab.pictures.scenes import panels_of
from lab.pictures.schema_types import VERSIONS, complaints
from tests.dashboards.drawn import RULES, Drawn

Json = dict[str, Any]

_TABLE = "Mount targets: how close, who, what now"
_DURATION_EDGES = [
    *("512.0 µs", "1.0 ms", "2.0 ms", "4.1 ms", "8.2 ms", "16.4 ms", "32.8 ms", "65.5 ms", "131.1 ms", "262.1 ms"),
    *("524.3 ms", "1.0 s", "2.1 s", "4.2 s", "8.4 s", "16.8 s", "+Inf"),
]

# Edges of the histograms with requests in the recordings, from the bottom to the top.
_SIZE_EDGES = ["32.0 KiB", "64.0 KiB", "128.0 KiB", "256.0 KiB", "512.0 KiB", "1.0 MiB", "+Inf"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Drawn]]:
    """Every dashboard with all rows open, scraped every 60 s on a narrow screen, and every 15 s on a usual one."""
    reports: dict[str, list[Drawn]] = {}
    for name, width in zip(WHOLE, (1024, 1280), strict=True):
        folder = tmp_path_factory.mktemp(name)
        draw(recorded(name), folder, Drawing(widths=(width,)))
        reports[name] = [Drawn(json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("*.json"))]
    return reports


@cache
def _without_data(scrape: str, uid: str) -> tuple[set[str], set[str]]:
    """Titles of the panels without any data, and of those with a query without data. A test compares them with their reasons."""
    whole = shown(scrape)
    empty = whole.queries(without_data=True)
    filled = {title for of, title, _ in whole.queries() - empty if of == uid}
    some = {title for of, title, _ in empty if of == uid}
    return some - filled, some


def _unexpected(rule: str, dashboard: Drawn, scrape: str) -> list[str]:
    empty, in_part = _without_data(scrape, dashboard.uid)
    excused = {"no panel is empty": empty, "no override matches nothing": in_part}.get(rule, set())
    return [
        complaint
        for complaint in RULES[rule](dashboard)
        if complaint not in excused and complaint.rpartition(": ")[0] not in excused
    ]


@pytest.mark.parametrize("scrape", WHOLE)
def test_a_query_has_no_data_exactly_while_its_reason_holds(scrape: str) -> None:
    assert shown(scrape).unexplained() == {}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scrape", WHOLE)
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_holds_for_every_drawn_dashboard(drawn: dict[str, list[Drawn]], rule: str, scrape: str) -> None:
    by_dashboard = {
        dashboard.uid: complaints for dashboard in drawn[scrape] if (complaints := _unexpected(rule, dashboard, scrape))
    }

    assert not by_dashboard


@pytest.mark.timeout(600)
def test_every_panel_of_every_dashboard_is_drawn(drawn: dict[str, list[Drawn]]) -> None:
    for reports in drawn.values():
        seen = {(dashboard.uid, panel["title"]) for dashboard in reports for panel in dashboard.panels()}
        every = {
            (dashboard["uid"], panel["title"])
            for dashboard in dashboards()
            for outer in dashboard["panels"]
            for panel in (outer["panels"] if outer["type"] == "row" else [outer])
        }
        assert seen == every


@pytest.mark.timeout(600)
def test_every_panel_of_exact_mode_has_data_in_order_and_few_lines(tmp_path: Path) -> None:
    draw(recorded(EXACT_MODE), tmp_path, Drawing(widths=(1280,)))
    (path,) = tmp_path.glob("*.json")
    exact = [
        panel for panel in Drawn(json.loads(path.read_text("utf-8"))).panels() if "Exact mode" in (panel["row"] or "")
    ]

    assert [panel["title"] for panel in exact if panel["empty"]] == []
    assert {panel["title"]: panel["rows"] for panel in exact if panel["type"] == "heatmap"} == {
        "Durations of requests": _DURATION_EDGES,
        "READ sizes": _SIZE_EDGES,
        "WRITE sizes": _SIZE_EDGES,
    }
    assert [len(panel["lines"]) for panel in exact if panel["type"] == "timeseries"] == [12, 10, 2]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("style", "is_refused"),
    [
        ('[role="grid"] { visibility: hidden }', True),
        ('[role="row"]:has([role="gridcell"]) { visibility: hidden }', True),  # the headings are there
        ("p { color: red }", False),
    ],
)
def test_a_picture_is_refused_where_a_table_that_has_data_shows_no_row(
    style: str, is_refused: bool, tmp_path: Path
) -> None:
    fleet = [scene for scene in recorded("normal") if scene["dashboard"]["uid"] == "fss-fleet"]
    scenes = tmp_path / "scenes.json"
    scenes.write_text(json.dumps(fleet))
    script = Path(__file__).with_name("hidden_rows.mjs")
    command = [program("node"), str(script), str(scenes), program("chromium"), style]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode != 0) == is_refused, done.stderr
    assert (f"the picture shows no row of Firing alerts, {_TABLE}" in done.stderr) == is_refused


@pytest.mark.timeout(600)
def test_an_objective_is_a_dashed_line_without_fill(drawn: dict[str, list[Drawn]]) -> None:
    for reports in drawn.values():
        lines = [
            line
            for dashboard in reports
            for panel in dashboard.panels("timeseries")
            for line in panel["lines"]
            if line["name"].startswith(("objective", "ceiling"))
        ]
        assert len(lines) > 6
        assert all(line["dashed"] and line["fill"] == 0 for line in lines)


@pytest.mark.timeout(600)
def test_an_alert_names_its_subject_and_its_figure(drawn: dict[str, list[Drawn]]) -> None:
    for reports in drawn.values():
        (fleet,) = (dashboard for dashboard in reports if dashboard.uid == "fss-fleet")
        (alerts,) = (panel for panel in fleet.panels() if panel["title"] == "Firing alerts")
        columns = {column["name"]: column for column in alerts["columns"]}
        assert list(columns)[:5] == ["Severity", "Alert", "Subject", "Now", "Since"]
        assert "mt-home" in columns["Subject"]["texts"]
        assert all(columns["Subject"]["texts"])


@pytest.fixture(scope="module")
def fleets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawn]:
    """The first screen of the fleet in each situation."""
    reports = {}
    for name in _TEN_SECONDS:
        folder = tmp_path_factory.mktemp(name)
        fleet = [scene for scene in recorded(name) if scene["dashboard"]["uid"] == "fss-fleet"]
        draw(fleet, folder, Drawing(widths=(1280,), open=(False,)))
        (path,) = folder.glob("*.json")
        reports[name] = Drawn(json.loads(path.read_text("utf-8")))
    return reports


def _panel(fleet: Drawn, title: str) -> Json:
    (panel,) = (panel for panel in fleet.panels() if panel["title"] == title)
    return panel


# What the first row answers in each situation: which mount target, its state, how it is known, top client, what now.
_TEN_SECONDS = {
    "normal": ("mt-media", "failing", "measured", "media-1:10949", "open its row Errors"),
    "oci-failing": ("mt-scratch", "not known", "was", "render-1:10949", "see FSS exporter"),
    "poller-dead": ("mt-scratch", "not known", "was", "render-1:10949", "see FSS exporter"),
    "no-poller": ("10.90.0.5", "near", "about", "nas-1:10949", "cut or move its load"),
    "poller-started": ("mt-media", "failing", "measured", "media-1:10949", "open its row Errors"),
    "half-the-agents": ("mt-media", "failing", "measured", "no agent", "open its row Errors"),
    "hammering-client": ("mt-media", "failing", "measured", "media-1:10949", "open its row Errors"),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("situation", _TEN_SECONDS)
def test_the_first_row_answers_how_close_who_and_what_now(fleets: dict[str, Drawn], situation: str) -> None:
    columns = {column["name"]: column["texts"] for column in _panel(fleets[situation], _TABLE)["columns"]}
    target, state, known, client, todo = _TEN_SECONDS[situation]

    assert columns["Mount target"][0] == target
    assert columns["State"][0] == state
    assert columns["Known"][0].startswith(known)
    assert columns["Top client"][0] == client
    assert columns["What now"][0] == todo


@pytest.mark.timeout(600)
@pytest.mark.parametrize("situation", ["oci-failing", "poller-dead", "no-poller"])
def test_nothing_is_green_while_oci_tells_nothing_fresh(fleets: dict[str, Drawn], situation: str) -> None:
    fleet = fleets[situation]
    green = fleet.report["green"].lower()
    stats = {panel["title"]: panel["stats"] for panel in fleet.panels("stat")}

    assert green not in {stat["color"].lower() for shown in stats.values() for stat in shown}
    assert all(
        stat["text"] != "0" for title in ("Over 80 %", "Fullest", "Slowest", "Data age") for stat in stats[title]
    )
    assert "Fullest" not in {column["name"] for column in _panel(fleet, _TABLE)["columns"]}


@pytest.mark.timeout(600)
def test_the_last_share_stands_there_with_its_age(fleets: dict[str, Drawn]) -> None:
    (fullest,) = _panel(fleets["oci-failing"], "Fullest")["stats"]
    columns = {column["name"]: column["texts"] for column in _panel(fleets["oci-failing"], _TABLE)["columns"]}

    assert fullest["title"] == "mt-scratch, last known"
    assert all(known.endswith("%, 32 min") for known in columns["Known"])


@pytest.mark.timeout(600)
def test_a_week_ago_stands_beside_the_share_of_now(drawn: dict[str, list[Drawn]]) -> None:
    columns = {
        column["name"]: dict(zip(targets["texts"], column["texts"], strict=True))
        for fleet in drawn["normal"]
        if fleet.uid == "fss-fleet"
        for panel in (_panel(fleet, "All ceilings of each mount target"),)
        for targets in panel["columns"]
        if targets["name"] == "Mount target"
        for column in panel["columns"]
    }
    shares = {
        target: (int(columns[resource][target].rstrip("%")), int(columns["Week ago"][target].rstrip("%")))
        for target, resource in (("mt-home", "IOPS"), ("mt-scratch", "Read"))
    }

    assert all(80 <= now <= 95 for now, _ in (shares["mt-home"], shares["mt-scratch"]))
    assert [shares[target][1] / shares[target][0] for target in ("mt-home", "mt-scratch")] == [
        pytest.approx(0.6, abs=0.03),
        pytest.approx(0.75, abs=0.03),
    ]


@pytest.mark.timeout(600)
def test_coverage_falls_where_agents_are_missing(fleets: dict[str, Drawn]) -> None:
    covered = {
        name: dict(zip(columns["Mount target"], columns["Coverage"], strict=True))
        for name in ("normal", "half-the-agents")
        for columns in ({column["name"]: column["texts"] for column in _panel(fleets[name], _TABLE)["columns"]},)
    }

    assert covered["half-the-agents"]["mt-media"] == "-"
    assert int(covered["half-the-agents"]["mt-home"][:-1]) <= 0.7 * int(covered["normal"]["mt-home"][:-1])


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("situation", "said"), [("normal", "newest minute"), ("poller-dead", "not polled")])
def test_the_age_of_the_data_says_whether_somebody_polls(fleets: dict[str, Drawn], situation: str, said: str) -> None:
    (age,) = _panel(fleets[situation], "Data age")["stats"]

    assert age["title"] == said


@pytest.mark.timeout(600)
@pytest.mark.parametrize("title", ["Slowest", "Data age"])
def test_agents_alone_say_that_there_is_no_poller(fleets: dict[str, Drawn], title: str) -> None:
    assert [stat["text"] for stat in _panel(fleets["no-poller"], title)["stats"]] == ["no poller"]


def test_the_start_of_a_poller_gives_no_peak() -> None:
    def shares(name: str) -> list[float]:
        (fleet,) = (scene for scene in recorded(name) if scene["dashboard"]["uid"] == "fss-fleet")
        answers = fleet["answers"]["Fullest mount targets: top $top"]["A"]["series"]
        return [float(value) for series in answers for _, value in series["values"]]

    assert 0.8 < max(shares("poller-started")) <= max(shares("normal"))


@pytest.mark.timeout(600)
def test_a_screen_narrower_than_the_breakpoint_of_grafana_has_one_column(tmp_path: Path) -> None:
    (fleet,) = (scene for scene in recorded("normal") if scene["dashboard"]["uid"] == "fss-fleet")
    draw([fleet], tmp_path, Drawing(widths=(768, 769), open=(False,)))
    narrow, wide = (json.loads((tmp_path / f"fss-fleet-{width}-light.json").read_text("utf-8")) for width in (768, 769))

    assert narrow["height"] > 1.5 * wide["height"]
    assert all(panel["empty"] or not panel["blank"] for panel in narrow["panels"] if panel["type"] == "table")


# A dashboard with every mistake at once, so that each rule is seen to find its own.

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def _mistaken(
    title: str, kind: str, target: Json, *, width: int = 12, defaults: Json | None = None, **more: Any
) -> Json:
    options: dict[str, Json] = {
        "stat": {
            "colorMode": "value",
            "graphMode": "none",
            "justifyMode": "auto",
            "textMode": "value",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        },
        "timeseries": {
            "legend": {"calcs": ["lastNotNull"], "displayMode": "table", "placement": "bottom", "showLegend": True}
        },
        "table": {"sortBy": [], "cellHeight": "sm"},
    }
    steps = {"mode": "absolute", "steps": [{"color": "green", "value": None}]}
    field_config = {
        "defaults": {"thresholds": steps, "color": {"mode": "thresholds"}, **(defaults or {})},
        "overrides": [],
    }
    body = {
        "title": title,
        "type": kind,
        "description": title,
        "datasource": _SOURCE,
        "options": options[kind],
        "fieldConfig": field_config,
    }
    return copy.deepcopy(
        body | {"targets": [{"refId": "A", **target}], "gridPos": {"x": 0, "y": 0, "w": width, "h": 6}} | more
    )


def _override(matcher: str, name: str, *properties: Json) -> Json:
    return {
        "defaults": {},
        "overrides": [{"matcher": {"id": matcher, "options": name}, "properties": list(properties)}],
    }


_LINES = {"format": "time_series", "legendFormat": "{{size}}"}
_ROWS = {"format": "table", "legendFormat": "__auto"}
_MISTAKES: Mapping[str, tuple[Json, list[Json]]] = {
    "no override matches nothing": (
        _mistaken(
            "regular expression without slashes",
            "timeseries",
            _LINES,
            fieldConfig=_override("byRegexp", "^obj", {"id": "unit", "value": "s"}),
        ),
        [{"size": "objective, read"}],
    ),
    "no column shows a bare number for a label": (_mistaken("a finding", "table", _ROWS), [{"finding": "text"}]),
    "every value has a unit": (_mistaken("no unit", "timeseries", _LINES), [{"size": "a"}]),
    "every value has sensible decimals": (
        _mistaken("digits", "timeseries", _LINES, defaults={"unit": "percentunit", "decimals": 4}),
        [{"size": "a"}],
    ),
    "no legend is a raw label set or a raw name of OCI": (
        _mistaken("bucket", "timeseries", _LINES),
        [{"size": "0B_to_8KiB"}],
    ),
    "no title is cut": (
        _mistaken("a title that no panel of this width can hold", "stat", _LINES, width=3),
        [{"size": "a"}],
    ),
    "no column is cut off or out of sight": (
        _mistaken("columns", "table", _ROWS, width=3),
        [{"one": "a", "two": "b", "three": "c"}],
    ),
    "no panel has more than twelve series": (
        _mistaken("crowd", "timeseries", _LINES),
        [{"size": str(at)} for at in range(13)],
    ),
    "no panel is empty": (_mistaken("nothing", "timeseries", _LINES), []),
    "no missing value is green": (_mistaken("missing", "stat", _LINES, defaults={"noValue": "no data"}), []),
    "no line has the colour of a verdict": (
        _mistaken("colours", "timeseries", _LINES, defaults={"color": {"fixedColor": "green", "mode": "fixed"}}),
        [{"size": "a"}],
    ),
    "no two of up to eight lines share a colour": (
        _mistaken("one colour", "timeseries", _LINES, defaults={"color": {"fixedColor": "blue", "mode": "fixed"}}),
        [{"size": "a"}, {"size": "b"}],
    ),
    "no legend is too short": (
        _mistaken("legend", "timeseries", _LINES),
        [{"size": str(at)} for at in range(9)],
    ),
    "no link leads to nothing": (
        _mistaken(
            "links",
            "table",
            _ROWS,
            fieldConfig=_override(
                "byName",
                "mount_target",
                {
                    "id": "links",
                    "value": [
                        {"title": "", "url": "/d/fss-mount-target?var-mount_target=${__data.fields.mount_target_id}"}
                    ],
                },
            ),
        ),
        [{"mount_target": "mt-home", "mount_target_id": ""}],
    ),
}


def _scene(uid: str, panel: Json, series: list[Json]) -> Json:
    """A dashboard of one panel with these series."""
    frame = {"title": "", "links": [], "templating": {"list": []}, "uid": uid, "panels": [panel]}
    values = [
        {"metric": labels, "values": [[1700000000 + 15 * step, "0.123456"] for step in range(4)]} for labels in series
    ]
    return {
        "dashboard": frame,
        "from": 1700000000000,
        "to": 1700000060000,
        "variables": {},
        "answers": {panel["title"]: {"A": {"step": 15, "series": values}}},
        "annotations": [],
    }


@pytest.mark.timeout(600)
def test_each_rule_finds_the_mistake_it_is_for(tmp_path: Path) -> None:
    wrong = [_scene(f"mistake-{at}", panel, series) for at, (panel, series) in enumerate(_MISTAKES.values())]

    draw(wrong, tmp_path, Drawing(widths=(1280,)))

    for at, rule in enumerate(_MISTAKES):
        report = json.loads((tmp_path / f"mistake-{at}-1280-light-open.json").read_text("utf-8"))
        assert RULES[rule](Drawn(report)), rule


@pytest.mark.timeout(600)
def test_a_heat_map_shows_the_edges_of_its_buckets_in_their_unit(tmp_path: Path) -> None:
    (durations,) = (
        panel
        for dashboard in dashboards()
        for panel in panels_of(dashboard)
        if panel["title"] == "Durations of requests"
    )

    draw(
        [_scene("heat", durations, [{"le": "+Inf"}, {"le": "0.01"}, {"le": "0.001"}])],
        tmp_path,
        Drawing(widths=(1280,)),
    )

    ((panel,),) = (json.loads(path.read_text("utf-8"))["panels"] for path in tmp_path.glob("*.json"))
    assert panel["rows"] == ["1.0 ms", "10.0 ms", "+Inf"]


def test_every_rule_has_a_mistake() -> None:
    assert set(RULES) - set(_MISTAKES) == {
        "no annotation is without a subject",
        "no page complains",
        "no table is blank",
    }


_OLDEST = "data-10"  # the data library of the oldest Grafana that the dashboards are for, as package.json names it


def _without_palette(report: Json) -> Json:
    """A report without the colours that the palette of Grafana gives, and with links as people read them. Both differ with the version."""
    panels = copy.deepcopy(report["panels"])
    for panel in panels:
        for line in panel.get("lines", ()):
            del line["seen"]
        for column in panel.get("columns", ()):
            column["links"] = [[urllib.parse.unquote(link) for link in links] for links in column["links"]]
    return {"uid": report["uid"], "panels": panels}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WHOLE)
def test_the_oldest_grafana_shows_the_texts_values_and_colours_of_the_newest(name: str) -> None:
    scenes = recorded(name)
    oldest, newest = contents(scenes, _OLDEST), contents(scenes, "@grafana/data")

    assert [_without_palette(report) for report in oldest] == [_without_palette(report) for report in newest]
    one_colour = RULES["no two of up to eight lines share a colour"]
    assert [complaint for report in oldest for complaint in one_colour(Drawn(report))] == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_dashboards_have_the_types_that_grafana_publishes(version: str) -> None:
    assert complaints(dashboards(), version) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_field_that_a_version_of_grafana_does_not_know_is_found(version: str) -> None:
    (dashboard, *_) = dashboards()
    (panel_with_typo, other, *_) = (panel for panel in panels_of(dashboard) if panel["type"] == "timeseries")
    panel_with_typo["fieldConfig"]["defaults"]["custom"]["lineWith"] = 2
    other["fieldConfig"]["defaults"]["custom"]["drawStyle"] = "lines"
    dashboard["refreshes"] = "1m"

    text = "\n".join(complaints([dashboard], version))

    assert all(word in text for word in ("lineWith", '"lines"', "refreshes"))
