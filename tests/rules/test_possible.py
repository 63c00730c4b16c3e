"""A trial leaves out the rules that can have no result, and no other rule."""

import pytest
from tests.rules import trial
from tests.rules.incidents import INCIDENTS
from tests.rules.possible import Group, read_by_alerts, with_results


def names(groups: list[Group]) -> list[str]:
    return [rule.get("record") or rule["alert"] for group in groups for rule in group["rules"]]


@pytest.mark.parametrize(
    ("expression", "possible"),
    [
        ("known", True),
        ("unknown", False),
        ("rate(known[5m])", True),
        ("sum by (a) (rate(unknown[5m]))", False),
        ("known and unknown", False),
        ("known / on (a) group_left () unknown", False),
        ("unknown or known", True),
        ("known unless unknown", True),
        ("unknown unless known", False),
        ("max_over_time((unknown > 1)[5m:1m])", False),
        ("-unknown", False),
        ("unknown > bool 1", False),
        ("absent(unknown)", True),
        ("absent_over_time(unknown[5m])", True),
        ("vector(1)", True),
        ("vector(scalar(unknown))", True),
        ("time() - unknown", False),
        ('{job="a"}', True),
        ("count(written)", True),
        ("count(read_from_unknown)", False),
        ('ALERTS{alertname="A"}', True),
    ],
)
def test_a_rule_stays_where_its_expression_can_have_a_result(expression: str, possible: bool) -> None:
    groups = [
        {"name": "reader", "rules": [{"record": "asked", "expr": expression}]},
        {
            "name": "writer",
            "rules": [
                {"record": "written", "expr": "known"},
                {"record": "read_from_unknown", "expr": "unknown"},
                {"alert": "A", "expr": "known > 1"},
            ],
        },
    ]

    assert ("asked" in names(with_results(groups, frozenset({"known"})))) is possible


def test_a_rule_stays_where_an_alert_reads_its_result_also_through_another_rule() -> None:
    groups = [
        {"name": "a", "rules": [{"record": "deep", "expr": "known"}, {"record": "drawn", "expr": "deep + known"}]},
        {"name": "b", "rules": [{"record": "level:deep:sum", "expr": "sum(deep)"}]},
        {"name": "c", "rules": [{"alert": "A", "expr": "level:deep:sum > 1"}]},
        {"name": "d", "rules": [{"record": "also_drawn", "expr": "drawn"}]},
    ]

    assert names(read_by_alerts(groups)) == ["deep", "level:deep:sum", "A"]


def test_the_alerts_of_an_incident_are_those_of_all_rules() -> None:
    (incident,) = (one for one in INCIDENTS if one.name == "a full ceiling")
    world = incident.build()
    world.minutes = 40
    promtool = trial.promtool_of("2")

    quick = trial.firing(world, promtool)

    assert quick == trial.firing(world, promtool, all_rules=True)
    assert any(quick.values())
