"""Queries that the exporter writes. Names come from a tenancy: they must not be able to change what a query means."""

import pytest
from tests.mql_text import mql_text

from fss_exporter.errors import MqlError
from fss_exporter.oci import mql_writer
from fss_exporter.oci.metric_table import METRICS, SERVICE_METRICS
from fss_toolbox.mql import parse


def test_one_value_is_matched_exactly_and_several_as_alternatives() -> None:
    assert mql_writer.query("A", 5, "max", where={"r": ["x"]}) == 'A[5m]{r = "x"}.max()'
    several = mql_writer.query("A", 5, "max", where={"r": ["y", "x", "x"]}, group_by=["r"])
    assert several == 'A[5m]{r =~ "x|y"}.groupBy(r).max()'
    assert mql_writer.query("A", 1, "sum", group_by=()) == "A[1m].grouping().sum()"


@pytest.mark.parametrize("value", ['x"}.max() > 0 || A[5m]{r = "', "a\nb"])
def test_a_value_that_would_end_the_string_is_refused(value: str) -> None:
    for wanted in (value, [value], [value, "b"]):
        with pytest.raises(MqlError):
            mql_writer.query("A", 5, "max", where={"r": wanted})


@pytest.mark.parametrize("values", [["a|b"], ["a*", "b"], [""], []])
def test_a_value_among_several_cannot_widen_the_selection(values: list[str]) -> None:
    with pytest.raises(MqlError):
        mql_writer.query("A", 5, "max", where={"r": values})


@pytest.mark.parametrize("name", ["A b", "A[1m]", "", "1A", "Ä"])
def test_a_name_that_mql_does_not_know_is_refused(name: str) -> None:
    for arguments in ({"metric": name}, {"metric": "A", "where": {name: "x"}}, {"metric": "A", "group_by": [name]}):
        with pytest.raises(MqlError):
            mql_writer.query(minutes=5, statistic="max", **arguments)


@pytest.mark.parametrize("name", [*METRICS, *SERVICE_METRICS])
def test_each_query_of_the_poller_is_a_query(name: str) -> None:
    metric = {**METRICS, **SERVICE_METRICS}[name]
    for ids in ((), ("ocid1.a",), ("ocid1.a", "ocid1.b")) if metric.split_by else ((),):
        text = metric.query(name, ids)
        assert mql_text(parse(text)) == text
