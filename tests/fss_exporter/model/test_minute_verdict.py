"""One minute of one mount target: good, bad, or unknown."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.minute_verdict import (
    VERDICTS,
    KindOfRequests,
    MountTargetMinute,
    availability,
    latency,
    latency_ratio,
    latency_ratios,
)


def requests(rate: float, ratio: float | None, system: str = "a", operation_class: str = "read") -> KindOfRequests:
    """Requests with a latency that is a multiple of an objective of 10 ms."""
    return KindOfRequests(system, operation_class, rate, None if ratio is None else ratio * 0.01, 0.01)


def minute(*kinds: KindOfRequests, success: float | None = 1.0) -> MountTargetMinute:
    return MountTargetMinute(kinds, success)


@pytest.mark.parametrize(
    ("success", "verdict"), [(1.0, "good"), (0.99, "good"), (0.9899, "bad"), (0.0, "bad"), (None, "unknown")]
)
def test_less_than_99_percent_of_successes_make_a_minute_unavailable(success: float | None, verdict: str) -> None:
    assert availability(minute(requests(500, 0.5), success=success)) == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(0.5, "good"), (0.999, "good"), (1.0, "bad"), (7.0, "bad")])
def test_a_minute_at_the_objective_is_slow(ratio: float, verdict: str) -> None:
    assert latency(minute(requests(500, ratio))) == verdict


def test_one_slow_read_a_minute_beside_500_fast_ones_a_second_is_good() -> None:
    assert latency(minute(requests(500, 0.3), requests(1 / 60, 40.0, operation_class="metadata_read"))) == "good"


def test_one_slow_file_system_makes_the_minute_slow_although_the_mean_is_good() -> None:
    assert latency(minute(requests(900, 0.3), requests(100, 1.5, system="b"))) == "bad"
    assert latency(minute(requests(900, 0.3), requests(0.9, 1.5, system="b"))) == "good", (
        "too few requests for a verdict"
    )


@pytest.mark.parametrize("success", [0.0, None])
def test_a_minute_with_less_than_one_request_a_second_is_good(success: float | None) -> None:
    idle = minute(requests(0.5, 30.0), requests(0.4, None), success=success)
    assert (availability(idle), latency(idle)) == ("good", "good")
    assert (availability(minute()), latency(minute())) == ("good", "good")


def test_a_minute_with_one_request_a_second_is_judged() -> None:
    busy = minute(requests(0.5, 30.0), requests(0.5, 30.0), success=0.0)

    assert (availability(busy), latency(busy)) == ("bad", "bad")


def test_requests_without_a_latency_do_not_thin_the_latency_of_the_others() -> None:
    assert latency_ratios(minute(requests(100, 2.0), requests(300, None))) == {"read": pytest.approx(2.0)}
    assert latency_ratios(minute(requests(0, 2.0), requests(300, None))) == {}
    assert latency_ratios(MountTargetMinute(None, None)) == {}


def test_a_minute_whose_requests_are_unknown_is_unknown() -> None:
    blind = MountTargetMinute(None, 0.5)
    assert (availability(blind), latency(blind)) == ("unknown", "unknown")
    assert latency_ratio(blind) is None


def test_the_latency_of_one_request_in_a_hundred_may_be_missing() -> None:
    assert latency(minute(requests(99, 0.5), requests(1, None))) == "good"
    assert latency(minute(requests(98, 0.5), requests(2, None))) == "unknown"


def test_classes_are_weighted_by_requests() -> None:
    judged = minute(requests(300, 0.5), requests(100, 1.5), requests(1, 4.0, operation_class="write"), requests(0, 9.0))
    assert latency_ratios(judged) == {"read": pytest.approx(0.75), "write": pytest.approx(4.0)}
    assert latency_ratio(judged) == pytest.approx((150 + 150 + 4) / 401)


_ANY = st.builds(
    KindOfRequests,
    st.sampled_from("ab"),
    st.sampled_from(["read", "write"]),
    st.floats(0, 1e6),
    st.one_of(st.none(), st.floats(0, 1e3)),
    st.floats(1e-4, 10),
)


@given(st.one_of(st.none(), st.lists(_ANY, max_size=6).map(tuple)), st.one_of(st.none(), st.floats(0, 1)))
def test_every_minute_has_one_verdict_an_objective(kinds: Any, success: float | None) -> None:
    judged = MountTargetMinute(kinds, success)
    assert {availability(judged), latency(judged)} <= set(VERDICTS)
