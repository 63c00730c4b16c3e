"""Figures go where the templates have placeholders, in queries of any shape, and nowhere else."""

import json

import pytest
from hypothesis import given, strategies as st

from fss_toolbox import mql
from fss_toolbox.alarms import figures, pack
from fss_toolbox.alarms.desired import respelled
from fss_toolbox.alarms.figures import CEILING_ALARMS, SERVICE_CEILING_ALARMS

LONG = (
    '(A[5m]{x = "1"}.max() > 3).grouping().sum() / 2 >= 80 || (B[1m].groupBy(r).absent(2h) && C[1m].mean() in (80, 95))'
)


def test_names_of_metrics_are_spelled_anew_everywhere_and_nowhere_else() -> None:
    fitted = respelled(LONG, {"a": "a", "c": "See"})
    assert [metric.name for metric in mql.metrics(mql.parse(fitted))] == ["a", "B", "See"]
    assert respelled(LONG, {}) == LONG
    quoted = 'A[5m]{x = "A[5m]"}.max() > 3'
    assert respelled(quoted, {"a": "a"}) == 'a[5m]{x = "A[5m]"}.max() > 3'


def test_a_figure_in_a_text_that_is_no_placeholder_stays() -> None:
    body = {"body": "at 40,000 IOPS and ${WARNING_TEXT}, ${OTHER}", "destinations": ["${WARNING_TEXT}"]}
    filled = pack.fill(pack.Alarm("mine", body), CEILING_ALARMS["mount-target-iops-peak"].figures("standard", 100, 0.8))
    assert filled.body["body"] == "at 40,000 IOPS and 80 IOPS, ${OTHER}"


def test_resources_are_selected_alone_and_after_another_selector() -> None:
    assert figures.resources(()) == {"RESOURCES": "", "AND_RESOURCES": ""}
    some = figures.resources(["ocid1.a", "ocid1.b"])
    assert some["RESOURCES"] == '{resourceId =~ "ocid1.a|ocid1.b"}'
    assert mql.parse(f'A[1m]{{x = "1"{some["AND_RESOURCES"]}}}.max() > 1')


@pytest.mark.parametrize("hostile", ['ocid1"} || A[1m', "ocid1|ocid2", "*", ""])
def test_an_ocid_that_would_change_the_query_is_refused(hostile: str) -> None:
    from fss_exporter.errors import MqlError

    with pytest.raises(MqlError):
        figures.resources([hostile, "ocid1.b"])


@pytest.mark.parametrize(
    ("reads", "writes", "fires"),
    [(0.8, 0.0, True), (0.0, 0.8, True), (0.4, 0.4, True), (0.6, 0.2, True), (0.79, 0.0, False), (0.39, 0.39, False)],
)
def test_reads_and_writes_together_fire_above_the_threshold_only(
    reads: float, writes: float, fires: bool
) -> None:  # a parameter
    ceiling = SERVICE_CEILING_ALARMS["volume-iops"]
    query = mql.parse(ceiling.figures(1000.0, (), 0.8)["READS_AND_WRITES"])

    def holds(node: mql.Expression) -> bool:
        match node:
            case mql.Join(left=left, operator=sign, right=right):
                return (holds(left) or holds(right)) if sign == "||" else (holds(left) and holds(right))
            case mql.Comparison(left=left, bounds=(bound,)):
                share = reads if "Read" in str(left) else writes
                return share * 1000 * 300 >= bound - 1e-6
            case _:
                raise AssertionError(node)

    assert holds(query) is fires


@given(st.floats(1, 1e12), st.sampled_from([0.8, 0.95, 1.0, 2.0, 3.0]))
def test_a_literal_is_within_rounding_of_the_figure_and_prints_without_noise(ceiling: float, ratio: float) -> None:
    text = figures.literal(ratio * ceiling)
    assert float(text) == pytest.approx(ratio * ceiling, rel=1e-9)
    assert len(text.partition(".")[2]) <= 9


def test_a_template_that_is_all_placeholder_is_checked_when_it_is_filled() -> None:
    body = {**json.loads(json.dumps(_BODY)), "query": "${READS_AND_WRITES}"}
    assert pack.read("a.json", json.dumps(body)).body["query"] == "${READS_AND_WRITES}"
    filled = pack.fill(pack.Alarm("mine", body), {"READS_AND_WRITES": "broken["})
    assert "column" in next(pack.check(filled))


_BODY = {
    "displayName": "fss-mine",
    "compartmentId": "c",
    "metricCompartmentId": "c",
    "namespace": "oci_filestorage",
    "query": "",
    "severity": "WARNING",
    "destinations": ["t"],
    "isEnabled": True,
    "freeformTags": {"fss-exporter-alarm": "mine"},
}
