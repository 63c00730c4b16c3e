"""Tags in the labels of alerts and in the fleet dashboard: what gets them, and that nothing is lost."""

import json
import re
from pathlib import Path

import pytest
import yaml
from tests.rules.pack import RULE_FILES, promtool

from fss_toolbox.alert_labels import with_alert_labels, with_tag_variables

DASHBOARDS = sorted((RULE_FILES[0].parents[1] / "dashboards").glob("*.json"))
LABELS = ("tag_team", "tag_cost_unit")
WITHOUT = re.compile(
    "Fss(Region|Exporter|Monitoring|Oci|Collector|Coverage|Service|Volume|Replication).+|.+(LimitReached|DataMissing)"
)


def written(folder: Path) -> list[Path]:
    for path in RULE_FILES:
        (folder / path.name).write_text(with_alert_labels(path.read_text(), LABELS))
    return [folder / path.name for path in RULE_FILES]


def test_alerts_about_a_mount_target_or_a_file_system_get_the_labels(tmp_path: Path) -> None:
    files = written(tmp_path)
    rules = [rule for path in files for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]
    left = {
        rule["alert"]
        for rule in rules
        if "alert" in rule and "group_left (tag_team, tag_cost_unit)" not in rule["expr"]
    }

    assert {name for name in left if not WITHOUT.fullmatch(name)} == {
        "FssClientNetworkHigh",
        "FssClientMountMissing",
        "FssAddressUtilisationHigh",
    }
    fine, said = promtool("check", "rules", "--lint=all", "--lint-fatal", *files)
    assert fine, said


def test_without_a_tag_the_rules_are_as_shipped() -> None:
    for path in RULE_FILES:
        assert with_alert_labels(path.read_text(), ()) == path.read_text()


def info(name: str, values: str, tags: str = "", metric: str = "fss_mount_target_info") -> dict[str, str]:
    of = f'instance="p",job="p",tenancy="t",region="r",mount_target_id="{name}",mount_target="{name}"'
    state = 'state="FAILED"' if metric.endswith("target_info") else tags
    return {"series": f"{metric}{{{of},{state}}}", "values": values}


def holds(folder: Path, series: list[dict[str, str]], expr: str, wanted: list[str]) -> None:
    """Assert that an expression is 1 for these labels after 95 minutes of the series."""
    test = {
        "rule_files": [str(path) for path in written(folder) if path.name in {"load.yml", "service_level.yml"}],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [
                    {"expr": expr, "eval_time": "95m", "exp_samples": [{"labels": of, "value": 1} for of in wanted]}
                ],
            }
        ],
    }
    (folder / "labels_test.yml").write_text(yaml.safe_dump(test))
    fine, said = promtool("test", "rules", folder / "labels_test.yml")
    assert fine, said


def test_an_alert_has_the_tags_of_now_and_one_without_tags_is_not_lost(tmp_path: Path) -> None:
    tags = "fss_mount_target_tags_info"
    series = [
        info("a", "1x100"),
        info("b", "1x100"),
        info("a", "1x20 stale", 'tag_team="batch"', tags),
        info("a", "_x20 1x80", 'tag_team="genomics",tag_cost_unit="42"', tags),
        {"series": 'fss_oci_poll_timestamp_seconds{instance="p",job="p",tenancy="t",region="r"}', "values": "0+60x100"},
    ]
    firing = 'count by (mount_target_id, tag_team, tag_cost_unit) (ALERTS{alertname="FssMountTargetNotActive",alertstate="firing"})'
    wanted = ['{mount_target_id="a",tag_team="genomics",tag_cost_unit="42"}', '{mount_target_id="b"}']
    holds(tmp_path, series, firing, wanted)


def test_the_tags_of_a_poller_that_stopped_stay_though_one_of_its_name_polls_in_another_cluster(tmp_path: Path) -> None:
    polls = 'fss_oci_poll_timestamp_seconds{instance="p",job="p",tenancy="t",region="r",cluster='
    series = [
        info("a", "1x20 stale", 'tag_team="batch",cluster="x"', "fss_mount_target_tags_info"),
        {"series": f'{polls}"x"}}', "values": "0+60x20 stale"},
        {"series": f'{polls}"y"}}', "values": "0+60x100"},
    ]
    kept = 'count(mount_target:fss_mount_target_tags:info{tag_team="batch"})'
    holds(tmp_path, series, kept, ["{}"])


def test_a_dashboard_without_tags_or_without_the_choice_of_mount_targets_is_as_shipped() -> None:
    for path in DASHBOARDS:
        text = path.read_text()
        assert with_tag_variables(text, ()) == text
        assert (with_tag_variables(text, LABELS) == text) == (path.stem != "fleet")


def test_the_fleet_dashboard_filters_its_mount_targets_and_alerts_by_each_tag() -> None:
    (path,) = (path for path in DASHBOARDS if path.stem == "fleet")
    shipped, text = path.read_text(), with_tag_variables(path.read_text(), LABELS)
    variables = json.loads(text)["templating"]["list"]
    chosen = 'shape=~\\"$shape\\"'
    by_tag = ", tag_team=~`${tag_team:regex}`, tag_cost_unit=~`${tag_cost_unit:regex}`"

    assert [variable["name"] for variable in variables][4:7] == ["shape", *LABELS]
    assert text.count(f"{chosen}{by_tag}}}") == text.count(chosen) == shipped.count(chosen)
    assert text.count("mount_target:fss_mount_target_tagged:info{tenancy") == shipped.count(chosen) + len(LABELS)
    alerts = re.findall(r"ALERTS(?:_FOR_STATE)?{[^}]*\$region[^}]*}", text)
    assert alerts
    assert [one for one in alerts if ", tag_team=~`${tag_team:regex}" not in one] == []
    assert text.count("tag_team:regex}|`") == len(alerts)


def test_a_tag_with_a_backtick_is_not_offered_because_it_would_end_the_text_of_a_query() -> None:
    (path,) = (path for path in DASHBOARDS if path.stem == "fleet")
    by_name = {
        one["name"]: one for one in json.loads(with_tag_variables(path.read_text(), LABELS))["templating"]["list"]
    }
    for label in LABELS:
        offered = by_name[label]["regex"].strip("/")
        assert [value for value in ("genomics", HOSTILE, "a`b", "`") if re.search(offered, value)] == [
            "genomics",
            HOSTILE,
        ]


# Grafana's own escapes of a value in the format `regex`.
HOSTILE = """a"b'c$d(e|f)[g].*+?{h}\\i/j"""
ESCAPED = re.sub(r"[\\^$*+?.()|[\]{}/]", r"\\\g<0>", HOSTILE)


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [(".*", ["a", "b", "c"]), ("genomics", ["a"]), (ESCAPED, ["c"]), (f"(genomics|{ESCAPED})", ["a", "c"])],
)
def test_all_shows_mount_targets_without_the_tag_too(chosen: str, shown: list[str], tmp_path: Path) -> None:
    tags = "fss_mount_target_tags_info"
    series = [
        *(info(name, "1x100") for name in "abc"),
        info("a", "1x100", 'tag_team="genomics"', tags),
        info("b", "1x100", 'tag_cost_unit="42"', tags),
        info("c", "1x100", f"tag_team={json.dumps(HOSTILE)}", tags),
        {"series": 'fss_oci_poll_timestamp_seconds{instance="p",job="p",tenancy="t",region="r"}', "values": "0+60x100"},
    ]
    found = f"group by (mount_target_id) (mount_target:fss_mount_target_tagged:info{{tag_team=~`{chosen}`}})"
    holds(tmp_path, series, found, [f'{{mount_target_id="{name}"}}' for name in shown])
