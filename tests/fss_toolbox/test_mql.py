"""MQL: what parses, what it means as a tree, and where the finger points when it does not."""

import re
import string
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.mql_text import mql_text

from fss_exporter.errors import MqlError
from fss_toolbox import mql
from fss_toolbox.mql import (
    Arithmetic,
    Comparison,
    Constant,
    Expression,
    Join,
    JoinOrder,
    QueriedMetric,
    Query,
    Selector,
    Stage,
    Statistic,
    parse,
)

FIVE = 5


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "expected a metric"),
        ("   ", 4, "expected a metric"),
        ("5", 1, "at least one metric"),
        ("Iops", 5, "expected [ after Iops"),
        ("Iops[]", 6, "expected an interval"),
        ("Iops[5s]", 6, "expected an interval"),
        ("Iops[61m].max()", 6, "1m to 60m"),
        ("Iops[0m].max()", 6, "1m to 60m"),
        ("Iops[25h].max()", 6, "1h to 24h"),
        ("Iops[2d].max()", 6, "or 1d"),
        ("Iops[5m]", 9, "expected . after Iops[5m]"),
        (f"Iops[5m].max() > {'9' * 310}", 18, "number is too large"),
        (f"{'9' * 310} * Iops[5m].max()", 1, "number is too large"),
        ("Iops[5m].", 10, "expected a statistic"),
        ("Iops[5m].maximum()", 10, "no such statistic"),
        ("Iops[5m].max", 13, "expected ( after max"),
        ("Iops[5m].max(3m)", 14, "max takes no argument"),
        ("Iops[5m].absent(4d)", 17, "1m to 3d"),
        ("Iops[5m].percentile()", 21, "between 0 and 1"),
        ("Iops[5m].percentile(1)", 21, "between 0 and 1"),
        ("Iops[5m]{}.max()", 10, "name of a dimension"),
        ('Iops[5m]{a != "b"}.max()', 12, "expected = or =~"),
        ("Iops[5m]{a =~ b}.max()", 15, "double quotes, because"),
        ("Iops[5m]{a = b c}.max()", 16, "expected } after"),
        ("Iops[5m]{a = }.max()", 14, "expected a value"),
        ('Iops[5m]{a = "b}.max()', 14, "double quotes"),
        ('Iops[5m]{a = "b\nc"}.max()', 14, "control character"),
        ('Iops[5m]{a = "b" c = "d"}.max()', 18, "expected } after"),
        ("Iops[5m].groupBy().max()", 18, "name of a dimension"),
        ("Iops[5m].groupBy(a)", 20, "expected . after the grouping"),
        ("Iops[5m].max() >", 17, "expected a number"),
        ("Iops[5m].max() >= 40k", 19, "expected a number"),
        ("Iops[5m].max() > 1e5", 18, "expected a number"),
        ("Iops[5m].max() in 3", 19, "expected ( after in"),
        ("Iops[5m].max() in (3)", 21, "expected , after"),
        ("Iops[5m].max() not > 3", 20, "expected in after not"),
        ("Iops[5m].max() > 3 > 4", 20, "expected an operator"),
        ("Iops[5m].max() > 3 &", 20, "expected an operator"),
        ("Iops[5m].max() > 3 &&", 22, "expected a metric"),
        ("(Iops[5m].max() > 3", 20, "expected ) after a nested query"),
        ("Iops[5m].max() = 3", 16, "expected an operator"),
        ("(" * 5000 + "Iops[5m].max()", 65, "more than 64"),
        ("Iops[5m].max()" + "+1" * 5000, 143, "more than 64"),
    ],
)
def test_a_mistake_is_reported_with_its_column_and_what_was_expected(text: str, column: int, reason: str) -> None:
    with pytest.raises(MqlError) as caught:
        parse(text)
    assert caught.value.column == column
    assert reason in caught.value.reason


def test_the_message_points_at_the_column() -> None:
    with pytest.raises(MqlError) as caught:
        parse("Iops[5m].maximum() >= 1")
    _, query, finger = str(caught.value).split("\n")
    assert query[finger.index("^") :].startswith("maximum")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A[5m].max()", Query(QueriedMetric("A", FIVE), (Stage(Statistic("max")),))),
        (
            'g::A[1h]{x="1",y =~ "a|b*"}.mean()',
            Query(
                QueriedMetric("A", 60, (Selector("x", "=", "1"), Selector("y", "=~", "a|b*")), "g"),
                (Stage(Statistic("mean")),),
            ),
        ),
        (
            "A[5m].groupBy(x,y).max() >= 40000",
            Comparison(
                Query(QueriedMetric("A", FIVE), (Stage(Statistic("max"), ("x", "y")),)),
                ">=",
                (40000.0,),
            ),
        ),
        (
            "A[5m].groupBy(x).max().grouping().sum()",
            Query(
                QueriedMetric("A", FIVE),
                (Stage(Statistic("max"), ("x",)), Stage(Statistic("sum"), ())),
            ),
        ),
        ("A[5m].absent(20m)", Query(QueriedMetric("A", FIVE), (Stage(Statistic("absent", 20)),))),
        ("A[5m].percentile(0.9)", Query(QueriedMetric("A", FIVE), (Stage(Statistic("percentile", 0.9)),))),
        (
            "(A[5m].max() > 80).grouping().sum()",
            Query(
                Comparison(Query(QueriedMetric("A", FIVE), (Stage(Statistic("max")),)), ">", (80.0,)),
                (Stage(Statistic("sum"), ()),),
            ),
        ),
        (
            "100 - A[5m].max() * 2",
            Arithmetic(
                Constant(100.0),
                "-",
                Arithmetic(Query(QueriedMetric("A", FIVE), (Stage(Statistic("max")),)), "*", Constant(2.0)),
            ),
        ),
        (
            "A[5m].max() not in (60, 80)",
            Comparison(Query(QueriedMetric("A", FIVE), (Stage(Statistic("max")),)), "not in", (60.0, 80.0)),
        ),
    ],
)
def test_each_form_of_the_reference_gives_its_tree(text: str, tree: Expression) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("documented", "printed"),
    [
        # "Join Queries", Example 3, on File Storage
        (
            (
                'FileSystemReadRequestsBySize[5m]{size = "0B_to_8KiB"}.percentile(.50) > 100 &&'
                ' FileSystemReadAverageLatencybySize[5m]{size = "0B_to_8KiB"}.mean() < 0.01'
            ),
            (
                'FileSystemReadRequestsBySize[5m]{size = "0B_to_8KiB"}.percentile(0.5) > 100 &&'
                ' FileSystemReadAverageLatencybySize[5m]{size = "0B_to_8KiB"}.mean() < 0.01'
            ),
        ),
        # "Specifying a Predicate in a Query", Examples 2, 4 and 7: absent(20) is 20 hours
        ("CpuUtilization[1m].mean() in (60, 80)", "CpuUtilization[1m].mean() in (60, 80)"),
        (
            'CpuUtilization[1m]{availabilityDomain="VeBZ:PHX-AD-1"}.groupBy(poolId).percentile(0.9) > 85',
            'CpuUtilization[1m]{availabilityDomain = "VeBZ:PHX-AD-1"}.groupBy(poolId).percentile(0.9) > 85',
        ),
        ("CpuUtilization[1m].groupBy(resourceId).absent(20)", "CpuUtilization[1m].groupBy(resourceId).absent(20h)"),
        # "Selecting Dimensions for a Query": quotes can be omitted unless the value contains spaces. Example 4 has a space before the interval
        (
            "CpuUtilization[1m]{faultDomain = FAULT-DOMAIN-1}.mean()",
            'CpuUtilization[1m]{faultDomain = "FAULT-DOMAIN-1"}.mean()',
        ),
        (
            'CpuUtilization [1m]{availabilityDomain=VeBZ:PHX-AD-1, resourceId = ocid1.instance.oc1.phx..a, shape = "myshape"}.mean()',
            'CpuUtilization[1m]{availabilityDomain = "VeBZ:PHX-AD-1", resourceId = "ocid1.instance.oc1.phx..a", shape = "myshape"}.mean()',
        ),
        # "Nesting Queries in an MQL Expression", Example 2
        (
            "(SuccessRate[1m].groupBy(availabilityDomain).mean() < 0.99).grouping().sum()",
            "(SuccessRate[1m].groupBy(availabilityDomain).mean() < 0.99).grouping().sum()",
        ),
    ],
)
def test_an_expression_of_the_documentation_is_read(documented: str, printed: str) -> None:
    assert mql_text(parse(documented)) == printed
    assert parse(printed) == parse(documented)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('A[5m]{a != "b"}.mean() > 5', 9),
        ("A[1m].mean() > 1e3", 16),
        ("A[1m].mean() > 5 and B[1m].mean() > 3", 18),
        ("A[60s].mean() > 5", 3),
        ("A[1m].rate() > B[1m].rate()", 16),
        ("A[1m].mean() > 5.", 16),
        ("A[1m].absent(73) == 1", 14),
    ],
)
def test_what_no_document_has_is_refused_with_its_place(text: str, column: int) -> None:
    with pytest.raises(MqlError) as refused:
        parse(text)
    assert refused.value.column == column


@pytest.mark.parametrize(
    ("order", "or_first", "and_first"),
    [
        ("&& binds tighter", "A || (B && C)", "(A && B) || C"),
        ("|| binds tighter", "(A || B) && C", "A && (B || C)"),
        ("read from left to right", "(A || B) && C", "(A && B) || C"),
        ("read from right to left", "A || (B && C)", "A && (B || C)"),
    ],
)
def test_a_mixture_of_and_and_or_is_read_in_the_order_of_the_service(
    order: JoinOrder, or_first: str, and_first: str
) -> None:
    def read(shape: str) -> str:
        return mql_text(parse(re.sub(r"\b([ABC])\b", r"\1[1m].max() > 1", shape), order)).replace("[1m].max() > 1", "")

    assert read("A || B && C") == or_first
    assert read("A && B || C") == and_first
    assert read("A || (B && C)") == "A || (B && C)"
    assert read("(A || B) && C") == "(A || B) && C"


def test_a_mixture_of_and_and_or_without_a_known_order_is_refused_at_the_second_operator() -> None:
    with pytest.raises(MqlError, match="add parentheses") as refused:
        parse("A[1m].max() > 1 || B[1m].max() > 1 && C[1m].max() > 1")
    assert refused.value.column == 36
    assert parse("A[1m].max() > 1 || (B[1m].max() > 1 && C[1m].max() > 1)")


def test_parentheses_without_a_statistic_only_group() -> None:
    assert parse("(A[5m].max() + 1) * 2") == Arithmetic(
        Arithmetic(Query(QueriedMetric("A", FIVE), (Stage(Statistic("max")),)), "+", Constant(1.0)), "*", Constant(2.0)
    )


def test_the_query_of_the_white_paper_prints_as_written() -> None:
    text = 'MountTargetIOPS[5m]{resourceType = "mounttarget", resourceId = "ocid1.mounttarget.oc1..a"}.max() >= 40000'
    assert mql_text(parse(text)) == text


def test_an_hour_is_sixty_minutes() -> None:
    assert parse("A[1h].absent(1d)") == parse("A[60m].absent(24h)")


def test_numbers_print_without_exponent() -> None:
    assert mql_text(parse("A[1m].max() >= 2500000000000000000000")) == "A[1m].max() >= 2500000000000000000000"
    assert mql_text(Constant(0.00000001)) == "0.00000001"


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("A[1m].max() > 1", True),
        ("A[1m].groupBy(r).absent(20m)", True),
        ("A[2m].groupBy(r).mean() == 0 || A[2m].groupBy(r).absent() == 1", True),
        ("(A[1m].max() > 80).grouping().sum()", False),
        ("A[1m].max()", False),
        ("A[1m].max() > 1 && B[1m].max()", False),
        ("A[1m].max() / 2", False),
    ],
)
def test_an_alarm_needs_a_predicate_or_an_absence(text: str, fires: bool) -> None:
    assert mql.is_trigger(parse(text)) is fires


def test_metrics_and_queries_are_found_inside_everything() -> None:
    tree = parse("(A[1m].max() > 80).grouping().sum() + B[5m].mean() > 1 || C[1m].absent()")
    assert [metric.name for metric in mql.metrics(tree)] == ["A", "B", "C"]
    assert len(list(mql.queries(tree))) == 4


names = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,8}", fullmatch=True)
dimensions = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
values = st.text(string.ascii_letters + string.digits + " .:*|{}[]()<>=,-&'ü", max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)
intervals = st.integers(1, 60) | st.integers(1, 24).map(lambda hours: 60 * hours)
metric_nodes = st.builds(
    QueriedMetric,
    names,
    intervals,
    st.lists(st.builds(Selector, dimensions, st.sampled_from(["=", "=~"]), values), max_size=3).map(tuple),
    st.none() | names,
)
statistics = st.one_of(
    st.builds(Statistic, st.sampled_from(["avg", "count", "max", "mean", "rate", "absent"])),
    st.builds(Statistic, st.just("percentile"), st.floats(0.01, 0.99)),
    st.builds(Statistic, st.just("absent"), intervals),
)
stages = st.builds(Stage, statistics, st.none() | st.lists(dimensions, max_size=3).map(tuple))
some_stages = st.lists(stages, min_size=1, max_size=3).map(tuple)


def _grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(Query, inner, some_stages),
        st.builds(Arithmetic, inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner | st.builds(Constant, numbers)),
        st.builds(Comparison, inner, st.sampled_from([">", ">=", "<", "<=", "==", "!="]), st.tuples(numbers)),
        st.builds(Comparison, inner, st.sampled_from(["in", "not in"]), st.tuples(numbers, numbers)),
        st.builds(Join, inner, st.sampled_from(["&&", "||"]), inner),
    )


expressions = st.recursive(st.builds(Query, metric_nodes, some_stages), _grow, max_leaves=8)


@given(expressions)
def test_what_is_printed_reads_back_as_the_same_tree(tree: Expression) -> None:
    assert parse(mql_text(tree)) == tree


@given(st.text(string.printable, max_size=60) | st.text('A[5m]{r="x"}.groupBy(max)>0 &|+-(', max_size=40))
def test_no_text_crashes_the_parser(text: str) -> None:
    column = 1
    try:
        parse(text)
    except MqlError as error:
        column = error.column
    assert 1 <= column <= len(text) + 1


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("M[5m]{resourceId = 'ocid1.x'}.max() >= 1", 20, "expected a value in double quotes: single quotes"),
        ("(M[5m].groupby(resourceId).max()) >= 1", 8, "no such statistic. Did you mean groupBy?"),
        ("M[5m].Mean() > 1", 7, "no such statistic. Did you mean mean?"),
    ],
)
def test_what_the_service_would_take_for_something_else_is_refused_with_what_was_meant(
    text: str, column: int, reason: str
) -> None:
    with pytest.raises(MqlError) as refused:
        parse(text)
    assert refused.value.column == column
    assert reason in str(refused.value)
