"""What the region makes of MQL. Documented: "Monitoring Query Language (MQL) Reference", unless named otherwise."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fss_toolbox.demo.region.evaluate import MetricStream, evaluate
from fss_toolbox.mql import QueriedMetric, parse

HOSTS: Mapping[str, Mapping[int, float]] = {
    "a": {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 5.0, 6: 6.0},
    "b": {1: 10.0, 2: 10.0, 4: 40.0},
}


def streams(data: Mapping[str, Mapping[int, float]], rack: str = "r1") -> list[MetricStream]:
    def raw(values: Mapping[int, float]) -> Any:
        return lambda minute: ((values[minute], 1),) if minute in values else ()

    return [
        MetricStream("n", None, "c", "M", {"host": host, "rack": rack}, {}, raw(values))
        for host, values in data.items()
    ]


def results(query: str, minutes: range = range(1, 7)) -> dict[str, dict[int, float]]:
    def source(metric: QueriedMetric) -> list[MetricStream]:
        wanted = {selector.dimension: selector.value for selector in metric.selectors}
        return [stream for stream in streams(HOSTS) if wanted.items() <= stream.dimensions.items()]

    lines = evaluate(parse(query), source, minutes)
    return {",".join(line.dimensions.values()): line.points for line in lines}


class TestStatistics:
    def test_a_minute_without_data_has_no_point(self) -> None:
        assert results("M[1m].mean()") == {"a,r1": HOSTS["a"], "b,r1": HOSTS["b"]}

    @pytest.mark.parametrize(
        ("statistic", "expected"),
        [
            ("mean()", 5.0),
            ("avg()", 5.0),
            ("sum()", 15.0),
            ("min()", 4.0),
            ("max()", 6.0),
            ("count()", 3.0),
            ("first()", 4.0),
            ("last()", 6.0),
            ("percentile(0.5)", 5.0),
            ("percentile(0.9)", 6.0),
            ("increment()", 3.0),
            ("rate()", 3.0 / 180),
        ],
    )
    def test_it_is_taken_over_the_window_that_ends_at_the_point(self, statistic: str, expected: float) -> None:
        assert results(f"M[3m].{statistic}")["a,r1"][6] == pytest.approx(expected)

    def test_a_window_uses_what_data_it_has(self) -> None:
        assert results("M[3m].mean()")["b,r1"] == {1: 10, 2: 10, 3: 10, 4: 25, 5: 40, 6: 40}

    def test_rate_needs_two_windows_with_data(self) -> None:
        assert results("M[1m].rate()")["b,r1"] == {2: 0.0}

    def test_observations_count_as_often_as_they_were_made(self) -> None:
        weighted = MetricStream("n", None, "c", "M", {"host": "w"}, {}, lambda _: ((1.0, 3), (5.0, 1)))
        for statistic, expected in (("mean", 2.0), ("sum", 8.0), ("count", 4.0), ("percentile", 1.0)):
            argument = "0.75" if statistic == "percentile" else ""
            lines = evaluate(parse(f"M[1m].{statistic}({argument})"), lambda _: [weighted], range(1, 2))
            assert lines[0].points == {1: expected}


class TestGrouping:
    def test_group_by_merges_the_observations_of_streams(self) -> None:
        assert results("M[1m].groupBy(rack).mean()")["r1"] == {1: 5.5, 2: 6.0, 3: 3.0, 4: 22.0, 5: 5.0, 6: 6.0}

    def test_grouping_merges_all(self) -> None:
        assert results("M[1m].grouping().sum()") == {"": {1: 11.0, 2: 12.0, 3: 3.0, 4: 44.0, 5: 5.0, 6: 6.0}}

    def test_a_further_statistic_is_over_streams_at_the_same_minute(self) -> None:
        assert results("M[3m].max().grouping().sum()")[""][4] == 44.0

    def test_streams_without_the_dimension_are_merged_with_their_like(self) -> None:
        assert list(results("M[1m].groupBy(floor).max()")) == [""]


class TestPredicates:
    @pytest.mark.parametrize(
        ("predicate", "held"),
        [
            ("> 3", {4, 5, 6}),
            (">= 3", {3, 4, 5, 6}),
            ("< 3", {1, 2}),
            ("<= 3", {1, 2, 3}),
            ("== 3", {3}),
            ("!= 3", {1, 2, 4, 5, 6}),
            ("in (2, 4)", {2, 3, 4}),
            ("not in (2, 4)", {1, 5, 6}),
        ],
    )
    def test_they_give_one_and_zero_both_bounds_inclusive(self, predicate: str, held: set[int]) -> None:
        values = results(f'M[1m]{{host = "a"}}.mean() {predicate}')["a,r1"]
        assert values == {minute: float(minute in held) for minute in range(1, 7)}

    def test_nested_ones_can_be_counted_over(self) -> None:
        assert results("(M[1m].max() >= 3).grouping().sum()")[""] == {1: 1, 2: 1, 3: 1, 4: 2, 5: 1, 6: 1}


class TestArithmetic:
    def test_constants_stand_on_either_side(self) -> None:
        assert results('100 - M[1m]{host = "a"}.mean()')["a,r1"][6] == 94.0
        assert results('M[1m]{host = "a"}.mean() / 2')["a,r1"][6] == 3.0
        assert results('M[1m]{host = "a"}.mean() % 4')["a,r1"][6] == 2.0

    def test_constants_may_be_computed(self) -> None:
        assert results('M[1m]{host = "a"}.mean() / (4 / 2)')["a,r1"][6] == 3.0
        assert results('2 * 3 * M[1m]{host = "a"}.mean()')["a,r1"][6] == 36.0

    def test_two_metrics_join_where_their_dimensions_are_equal(self) -> None:
        assert results("M[1m].max() + M[1m].max()")["b,r1"] == {1: 20.0, 2: 20.0, 4: 80.0}
        assert results("M[1m].max() + M[1m].groupBy(rack).max()") == {}

    def test_division_by_zero_has_no_value(self) -> None:
        assert results('M[1m]{host = "a"}.mean() / (M[1m]{host = "a"}.mean() - 2)')["a,r1"].keys() == {1, 3, 4, 5, 6}

    def test_a_value_too_large_for_json_is_left_out(self) -> None:
        huge = "9" * 308
        assert results(f'{huge} * M[1m]{{host = "a"}}.mean()')["a,r1"].keys() == {1}
        assert results(f'{huge} * 10 * M[1m]{{host = "a"}}.mean()') == {}


class TestJoins:
    def test_or_holds_where_one_side_does_and_and_where_both_do(self) -> None:
        low, high = "M[1m].max() <= 2", "M[1m].max() >= 6"
        assert results(f"{low} || {high}")["a,r1"] == {1: 1, 2: 1, 3: 0, 4: 0, 5: 0, 6: 1}
        assert results("M[1m].max() > 2 && M[1m].max() < 5")["a,r1"] == {1: 0, 2: 0, 3: 1, 4: 1, 5: 0, 6: 0}

    def test_a_side_without_a_value_does_not_hold(self) -> None:
        both = 'M[1m]{host = "a"}.max() > 0 && M[1m]{host = "b"}.max() > 0'
        assert results(both) == {"a,r1": dict.fromkeys(range(1, 7), 0.0), "b,r1": {1: 0, 2: 0, 4: 0}}


class TestAbsence:
    def test_it_is_one_where_the_window_has_no_data_and_zero_where_it_has(self) -> None:
        assert results("M[1m].absent()")["b,r1"] == {1: 0, 2: 0, 3: 1, 4: 0, 5: 1, 6: 1}

    def test_it_ends_with_the_detection_period(self) -> None:
        assert results("M[1m].absent(3m)", range(1, 12))["b,r1"] == {1: 0, 2: 0, 3: 1, 4: 0, 5: 1, 6: 1, 7: 1}

    def test_a_stream_never_seen_cannot_be_absent(self) -> None:
        assert results('M[1m]{host = "z"}.absent()') == {}

    def test_together_with_a_threshold_it_catches_both(self) -> None:
        values = results("M[1m].groupBy(host).max() == 40 || M[1m].groupBy(host).absent() == 1")["b"]
        assert values == {1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 6: 1}


@given(st.dictionaries(st.integers(1, 30), st.floats(-1e9, 1e9), min_size=1))
def test_least_mean_and_greatest_keep_their_order_and_the_first_percentiles_too(values: dict[int, float]) -> None:
    def taken(statistic: str) -> dict[int, float]:
        return evaluate(parse(f"M[5m].{statistic}"), lambda _: streams({"a": values}), range(1, 31))[0].points

    least, mean, greatest, half = (taken(one) for one in ("min()", "mean()", "max()", "percentile(0.5)"))
    assert least.keys() == mean.keys() == greatest.keys()
    for minute, value in mean.items():
        assert least[minute] - 1e-3 <= value <= greatest[minute] + 1e-3
        assert least[minute] <= half[minute] <= greatest[minute]
