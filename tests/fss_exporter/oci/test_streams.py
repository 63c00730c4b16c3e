"""Answers of SummarizeMetricsData, cut, mixed up and good."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fss_exporter.oci.client.service_clients import decode_streams
from fss_exporter.oci.cloud_client import Point, Stream

POINT = {"timestamp": "2026-11-20T12:00:00.000Z", "value": 7}
GOOD = {"name": "MountTargetIOPS", "dimensions": {"resourceId": "a", "more": None}, "aggregatedDatapoints": [POINT]}


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"null", b"{}", b'"text"', b"17", json.dumps([GOOD]).encode()[:-1], b"\xff[]"]
)
def test_what_is_no_list_of_json_is_no_answer(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_streams(content)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        17,
        "text",
        [],
        {},
        {"dimensions": GOOD["dimensions"]},
        {**GOOD, "dimensions": None},
        {**GOOD, "aggregatedDatapoints": None},
        {"\ud800": 1},
    ],
    ids=ascii,
)
def test_a_stream_that_is_not_as_documented_costs_only_itself(bad: Any) -> None:
    first, second, third = decode_streams(json.dumps([GOOD, bad, GOOD]).encode())
    assert second is None
    assert first == third == Stream({"resourceId": "a", "more": None}, (Point("2026-11-20T12:00:00.000Z", 7.0),))


def test_numbers_that_json_does_not_know_cost_no_other_stream() -> None:
    infinite = {**GOOD, "aggregatedDatapoints": [{**POINT, "value": float("inf")}]}
    first, second = decode_streams(json.dumps([GOOD, infinite]).encode())
    assert first is not None
    assert second is not None
    assert second.points[0].value == float("inf")


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.text(), st.text()),
            st.lists(st.tuples(st.text(), st.floats(allow_nan=False))),
        )
    )
)
def test_every_good_stream_comes_as_it_was_sent(rows: list[tuple[dict[str, str], list[tuple[str, float]]]]) -> None:
    content = [
        {"dimensions": dimensions, "aggregatedDatapoints": [{"timestamp": at, "value": value} for at, value in points]}
        for dimensions, points in rows
    ]
    wanted = [Stream(dimensions, tuple(Point(at, value) for at, value in points)) for dimensions, points in rows]
    assert decode_streams(json.dumps(content).encode()) == wanted


@pytest.mark.parametrize(
    "bad",
    [
        None,
        {"value": 1.0},
        {"timestamp": POINT["timestamp"]},
        {**POINT, "timestamp": 12},
        {**POINT, "value": None},
        {**POINT, "value": "7"},
        {**POINT, "value": True},
        {**POINT, "\ud800": 1},
    ],
    ids=ascii,
)
def test_a_point_that_is_not_as_documented_costs_only_itself(bad: Any) -> None:
    (stream,) = decode_streams(json.dumps([{**GOOD, "aggregatedDatapoints": [bad, POINT]}]).encode())
    assert stream is not None
    assert (len(stream.points), stream.broken_points) == (1, 1)
