"""What Grafana would ask: steps and rate windows, variables, and answers recorded and given again."""

from pathlib import Path
from typing import Any

import pytest
from lab.pictures.answers import Recording
from lab.pictures.intervals import rate_window_s, seconds, step_s
from lab.pictures.scenes import Asked, busiest_mount_target, panels_of, substituted


def test_a_query_that_is_not_recorded_is_an_error_that_names_the_fix() -> None:
    with pytest.raises(LookupError, match="make dashboard-pictures") as raised:
        Recording(0, 60, 15, {}).ask("query", query="up", time="60.000")

    assert "up" in str(raised.value)


def test_an_unknown_variable_is_an_error() -> None:
    with pytest.raises(KeyError, match="region"):
        substituted('up{region=~"$region"}', {})


@pytest.mark.parametrize(("text", "expected"), [("15s", 15), ("1m", 60), ("2h", 7200), ("1d", 86400)])
def test_a_duration_is_read_in_seconds(text: str, expected: int) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("range_s", "points", "scrape_s", "minimum", "expected"),
    [
        (3600, 800, 15, None, 15),  # 4.5 s would be shorter than a scrape
        (10800, 360, 15, None, 30),
        (604800, 800, 15, None, 900),
        (3600, 800, 15, "1m", 60),
    ],
)
def test_a_step_is_rounded_up_and_no_shorter_than_the_minimum(
    range_s: float, points: int, scrape_s: int, minimum: str | None, expected: int
) -> None:
    assert step_s(range_s, points, scrape_s, minimum) == expected


@pytest.mark.parametrize(
    ("step", "scrape_s", "minimum", "expected"),
    [
        (15, 15, None, 60),  # empty at a scrape of 60 s
        (60, 15, "1m", 240),
        (900, 15, "1m", 960),
    ],
)
def test_a_rate_window_is_four_scrapes_or_a_step_and_a_scrape(
    step: int, scrape_s: int, minimum: str | None, expected: int
) -> None:
    assert rate_window_s(step, scrape_s, minimum) == expected


def test_macros_and_variables_are_replaced_and_groups_of_expressions_stay() -> None:
    variables = {"region": {"text": "All", "value": "$__all", "query": ".*"}}
    text = 'label_replace(rate(x{region=~"$region"}[$__rate_interval]), "a", "$1", "b", "(.+)")'

    assert substituted(text, variables, {"__rate_interval": "240s"}) == (
        'label_replace(rate(x{region=~".*"}[240s]), "a", "$1", "b", "(.+)")'
    )


def test_a_recording_gives_the_same_answer_again(tmp_path: Path) -> None:
    recording = Recording(0, 60, 15, {"query\nquery=up\ntime=60.000": {"result": [{"metric": {}, "value": [60, "1"]}]}})
    recording.write(tmp_path / "recording.json.xz")

    again = Recording.read(tmp_path / "recording.json.xz")

    assert again == recording
    assert again.ask("query", query="up", time="60.000") == {"result": [{"metric": {}, "value": [60, "1"]}]}


class _Server:
    """Answers of one series to everything."""

    scrape_s = 15

    def ask(self, path: str, **_: str) -> Any:
        labels = {"mount_target": "mt-a", "mount_target_id": "ocid1.a", "address": "10.0.0.1", "region": "r"}
        if path == "series":
            return [labels]
        return {"result": [{"metric": labels, "value": [60, "1"], "values": [[60, "1"]]}]}


def test_a_scene_has_the_answers_of_closed_rows_too() -> None:
    def panel(title: str) -> dict[str, Any]:
        target = {"refId": "A", "expr": 'up{mount_target="$mount_target"}', "instant": True}
        return {"title": title, "type": "stat", "targets": [target], "gridPos": {"w": 3}}

    variable = {
        "name": "mount_target",
        "type": "query",
        "query": {"query": "query_result(up)"},
        "sort": 1,
        "regex": '/mount_target="(?<text>[^"]+)|mount_target_id="(?<value>[^"]+)/g',
    }
    dashboard = {
        "panels": [panel("first"), {"type": "row", "panels": [panel("second")]}],
        "templating": {"list": [variable]},
        "annotations": {"list": []},
    }

    scene = Asked(_Server(), dashboard, 0, 60, {}).scene()

    assert [panel["title"] for panel in panels_of(dashboard)] == ["first", "second"]
    assert set(scene["answers"]) == {"first", "second"}
    assert scene["variables"]["mount_target"] == {"text": "mt-a", "value": "ocid1.a"}
    assert busiest_mount_target(_Server(), 60) == "ocid1.a"


@pytest.mark.parametrize("regex", ['/mount_target_id="(?<value>[^"]+)/', '/mount_target_id="(?<value>[^"]+)/g'])
def test_a_variable_takes_its_value_by_a_regular_expression(regex: str) -> None:
    variable = {
        "name": "mount_target",
        "type": "query",
        "query": {"query": "query_result(up)"},
        "regex": regex,
        "sort": 1,
    }
    dashboard = {"panels": [], "templating": {"list": [variable]}, "annotations": {"list": []}}

    scene = Asked(_Server(), dashboard, 0, 60, {}).scene()

    assert scene["variables"]["mount_target"] == {"text": "ocid1.a", "value": "ocid1.a"}
