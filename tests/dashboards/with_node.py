"""The dashboards as Grafana's own libraries draw them, over recorded answers: `make dashboard-check` (needs node).

The answers are those of two real Prometheus servers that scraped the demo, one every 15 s and one every 60 s. The data source of Grafana says
15 s for both.
"""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.dashboards.drawn import RULES, Drawn
from tests.dashboards.recording import EXACT_MODE, SCRAPES, dashboards, recorded
from tools.dashboard_pictures.drawing import Drawing, draw
from tools.dashboard_pictures.scenes import panels_of
from tools.dashboard_pictures.schema_types import VERSIONS, complaints

Json = dict[str, Any]

_YOUNG = "the recording has less than an hour of history"
_GOOD = "nothing of the kind goes wrong in the demo"
_EMPTY: Mapping[tuple[str, str], str] = {
    ("fss-clients", "Alerts of clients"): _GOOD,
    ("fss-clients", "Retransmissions: ten worst clients"): _GOOD,
    ("fss-clients", "Major timeouts: ten worst clients"): _GOOD,
    ("fss-clients", "Durations of requests"): "no kernel counts for the clients of the demo, so there is no exact mode",
    (
        "fss-clients",
        "p50, p95 and p99 of durations",
    ): "no kernel counts for the clients of the demo, so there is no exact mode",
    ("fss-clients", "READ sizes"): "no kernel counts for the clients of the demo, so there is no exact mode",
    ("fss-clients", "WRITE sizes"): "no kernel counts for the clients of the demo, so there is no exact mode",
    ("fss-clients", "Processes: ten with the highest cost"): "no kernel counts for the clients of the demo",
    ("fss-exporter", "Alerts of the monitoring"): _GOOD,
    ("fss-exporter", "Collectors that fail or stall"): _GOOD,
    ("fss-exporter", "Records skipped by reason: most frequent"): "the agents can read every record of the recordings",
    ("fss-exporter", "Agents that leave something out"): _GOOD,
    ("fss-fleet", "Busiest minutes of each week: ten highest"): "the rule needs days of history",
    ("fss-mount-target", "Budget left"): _YOUNG,
    ("fss-mount-target", "Exports that cannot be mounted"): _GOOD,
}
"""Panels without data in the demo, and why."""

_DURATION_EDGES = [
    *("512.0 µs", "1.0 ms", "2.0 ms", "4.1 ms", "8.2 ms", "16.4 ms", "32.8 ms", "65.5 ms", "131.1 ms", "262.1 ms"),
    *("524.3 ms", "1.0 s", "2.1 s", "4.2 s", "8.4 s", "16.8 s", "+Inf"),
]
_SIZE_EDGES = ["32.0 KiB", "64.0 KiB", "128.0 KiB", "256.0 KiB", "512.0 KiB", "1.0 MiB", "+Inf"]
"""Edges of the histograms with requests in the recordings, from the bottom to the top."""

_COLUMNS_WITHOUT_DATA: Mapping[tuple[str, str], str] = {
    ("fss-clients", "Top clients now"): "columns of faults, and no client of the demo has one",
    ("fss-fleet", "Mount targets against their ceilings"): "the error budget needs an hour, the forecast two weeks",
    ("fss-fleet", "Services as their clients see them"): "Apsara NAS has no published ceiling of its IOPS",
    ("fss-mount-target", "Objectives and their budgets"): _YOUNG,
}
"""Tables with a query that has no data in the demo, and why; the overrides of such a column match nothing."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Drawn]]:
    """Every dashboard with all rows open, at the smallest width, by the scrape interval of the recording."""
    reports: dict[str, list[Drawn]] = {}
    for name in SCRAPES:
        folder = tmp_path_factory.mktemp(name)
        draw(recorded(name), folder, Drawing(widths=(1280,)))
        reports[name] = [Drawn(json.loads(path.read_text("utf-8"))) for path in sorted(folder.glob("*.json"))]
    return reports


def _unexpected(rule: str, dashboard: Drawn) -> list[str]:
    excused = {"no panel is empty": (_EMPTY,), "no override matches nothing": (_EMPTY, _COLUMNS_WITHOUT_DATA)}.get(
        rule, ()
    )
    titles = {title for reasons in excused for uid, title in reasons if uid == dashboard.uid}
    return [
        complaint
        for complaint in RULES[rule](dashboard)
        if complaint not in titles and complaint.rpartition(": ")[0] not in titles
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scrape", SCRAPES)
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_holds_for_every_drawn_dashboard(drawn: dict[str, list[Drawn]], rule: str, scrape: str) -> None:
    found = {dashboard.uid: complaints for dashboard in drawn[scrape] if (complaints := _unexpected(rule, dashboard))}

    assert not found


@pytest.mark.timeout(600)
def test_every_panel_of_every_dashboard_is_drawn(drawn: dict[str, list[Drawn]]) -> None:
    for reports in drawn.values():
        shown = {(dashboard.uid, panel["title"]) for dashboard in reports for panel in dashboard.panels()}
        every = {
            (dashboard["uid"], panel["title"])
            for dashboard in dashboards()
            for outer in dashboard["panels"]
            for panel in (outer["panels"] if outer["type"] == "row" else [outer])
        }
        assert shown == every
        assert set(_EMPTY) | set(_COLUMNS_WITHOUT_DATA) <= every


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
    assert [len(panel["lines"]) for panel in exact if panel["type"] == "timeseries"] == [12, 10]


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
def test_the_most_severe_alert_comes_first_and_names_its_subject(drawn: dict[str, list[Drawn]]) -> None:
    for reports in drawn.values():
        (fleet,) = (dashboard for dashboard in reports if dashboard.uid == "fss-fleet")
        (alerts,) = (panel for panel in fleet.panels() if panel["title"] == "Firing alerts")
        columns = {column["name"]: column for column in alerts["columns"]}
        assert list(columns)[:4] == ["Severity", "Alert", "Subject", "Since"]
        assert "mt-home" in columns["Subject"]["texts"]
        assert all(columns["Subject"]["texts"])


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
    assert set(RULES) - set(_MISTAKES) == {"no annotation is without a subject", "no page complains"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_dashboards_have_the_types_that_grafana_publishes(version: str) -> None:
    assert complaints(dashboards(), version) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_field_that_a_version_of_grafana_does_not_know_is_found(version: str) -> None:
    (dashboard, *_) = dashboards()
    (one, other, *_) = (panel for panel in panels_of(dashboard) if panel["type"] == "timeseries")
    one["fieldConfig"]["defaults"]["custom"]["lineWith"] = 2
    other["fieldConfig"]["defaults"]["custom"]["drawStyle"] = "lines"
    dashboard["refreshes"] = "1m"

    found = "\n".join(complaints([dashboard], version))

    assert all(word in found for word in ("lineWith", '"lines"', "refreshes"))
