"""Fitting touches what it is meant to touch, in queries of any shape, and nothing else."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.oci import mql
from fss_exporter.oci.alarms import fit
from fss_exporter.oci.alarms.pack import Alarm

LONG = (
    '(A[5m]{x = "1"}.max() > 3).grouping().sum() / 2 >= 80 || B[1m].groupBy(r).absent(2h) && C[1m].mean() in (80, 95)'
)


def alarm(query: str, **more: str) -> Alarm:
    return Alarm("mine", {"displayName": "fss-mine", "query": query, **more})


def spell(value: float) -> str:
    return f"{value:g} units"


def rescaled(one: Alarm, new: float) -> Alarm:
    return fit.rescale(one, old=100, new=new, ratios=(0.8, 0.95), spell=spell)


def test_every_metric_of_a_query_is_narrowed() -> None:
    query = mql.parse(fit.narrow(alarm(LONG), ["ocid1.a", "ocid1.b"]).body["query"])
    assert [str(metric.selectors[-1]) for metric in mql.metrics(query)] == ['resourceId =~ "ocid1.a|ocid1.b"'] * 3
    assert str(next(mql.metrics(query))).startswith('A[5m]{x = "1", resourceId')


def test_every_bound_that_is_a_share_of_the_ceiling_is_rescaled_and_no_other() -> None:
    assert rescaled(alarm(LONG), 1000).body["query"] == LONG.replace(">= 80", ">= 800").replace("80, 95", "800, 950")


def test_figures_are_replaced_once_each_and_never_inside_a_longer_one() -> None:
    text = "from 80 units, 95 units, 100 units; not 180 units, 1,100 units or 2.80 units; 80 unit"
    fitted = rescaled(alarm("A[1m].max() >= 80", body=text), 80).body["body"]
    assert fitted == "from 64 units, 76 units, 80 units; not 180 units, 1,100 units or 2.80 units; 80 unit"


def test_names_of_metrics_are_spelled_anew_everywhere() -> None:
    fitted = fit.respell(alarm(LONG), {"a": "a", "c": "See"}).body["query"]
    assert [metric.name for metric in mql.metrics(mql.parse(fitted))] == ["a", "B", "See"]


@pytest.mark.parametrize(
    ("query", "widened"),
    [
        ('E[1m]{t =~ "No*|*kew*"}.sum() > 0', 'E[1m]{t =~ "No*|*kew*|Other"}.sum() > 0'),
        ('E[1m]{t = "No"}.sum() > 0', 'E[1m]{t = "No"}.sum() > 0'),
        ('F[1m]{t =~ "No*"}.sum() > 0', 'F[1m]{t =~ "No*"}.sum() > 0'),
        ('E[1m]{u =~ "No*"}.sum() > 0', 'E[1m]{u =~ "No*"}.sum() > 0'),
    ],
)
def test_only_patterns_on_that_dimension_of_that_metric_are_widened(query: str, widened: str) -> None:
    assert fit.widen(alarm(query), "E", "t", ["No Key", "Skewed", "Other"]).body["query"] == widened


def test_a_new_key_changes_name_and_tag_and_keeps_other_tags() -> None:
    one = Alarm("mine", {"displayName": "prod-mine", "freeformTags": {"fss-exporter-alarm": "mine", "team": "storage"}})
    assert fit.rekey(one, "yours") == Alarm(
        "yours", {"displayName": "prod-yours", "freeformTags": {"fss-exporter-alarm": "yours", "team": "storage"}}
    )


@given(st.floats(1, 1e12), st.sampled_from([0.8, 0.95, 1.0, 2.0, 3.0]))
def test_a_literal_is_within_rounding_of_ratio_times_ceiling_and_prints_without_noise(
    ceiling: float, ratio: float
) -> None:
    literal = fit.literal(ratio, ceiling)
    assert literal == pytest.approx(ratio * ceiling, rel=1e-9)
    assert len(mql.ast.number(literal).partition(".")[2]) <= 9


@given(st.integers(1, 10**9).map(float), st.integers(1, 10**9).map(float))
def test_rescaling_there_and_back_gives_the_same_alarm(old: float, new: float) -> None:
    one = alarm(f"A[1m].max() >= {fit.literal(0.8, old):.9f}", body=f"from {0.8 * old:.12g} of {old:.12g}")

    def plain(value: float) -> str:
        return f"{value:.12g}"

    there = fit.rescale(one, old=old, new=new, ratios=(0.8,), spell=plain)
    back = fit.rescale(there, old=new, new=old, ratios=(0.8,), spell=plain)
    assert mql.parse(back.body["query"]) == mql.parse(one.body["query"])
    assert back.body["body"] == one.body["body"]
