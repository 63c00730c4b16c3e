"""One minute of one mount target: good, bad, or unknown."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.minute_verdict import (
    VERDICTS,
    MountTargetMinute,
    RequestKind,
    RequestStream,
    availability,
    by_kind,
    latency,
    latency_ratio,
    mean_ratios,
    worst_kinds,
)


def requests(rate: float, ratio: float | None, system: str = "a", name: str = "read", size: str = "") -> RequestStream:
    """Requests with a latency that is a multiple of an objective of 10 ms."""
    return RequestStream(RequestKind(system, name, size), rate, None if ratio is None else ratio * 0.01, 0.01)


def minute(*kinds: RequestStream, success: float | None = 1.0) -> MountTargetMinute:
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
    assert latency(minute(requests(500, 0.3), requests(1 / 60, 40.0, name="metadata"))) == "good"


def test_one_slow_file_system_makes_the_minute_slow_although_the_mean_is_good() -> None:
    assert latency(minute(requests(900, 0.3), requests(100, 1.5, system="b"))) == "bad"
    assert latency(minute(requests(900, 0.3), requests(0.9, 1.5, system="b"))) == "good", (
        "too few requests for a verdict"
    )


def test_a_minute_with_less_than_one_request_a_second_is_good() -> None:
    idle = minute(requests(0.5, 30.0), requests(0.4, None), success=0.01)
    assert (availability(idle), latency(idle)) == ("good", "good")
    assert (availability(minute()), latency(minute())) == ("good", "good")


@pytest.mark.parametrize(
    ("few", "success", "verdict"),
    [(2, 0.0, "good"), (2, None, "good"), (3, 0.0, "bad"), (3, 0.01, "good"), (3, None, "unknown"), (59, 0.0, "bad")],
)
def test_a_minute_of_three_requests_of_which_none_succeeds_is_bad(
    few: int, success: float | None, verdict: str
) -> None:
    streams = (requests(1 / 60, 0.5, size=str(number)) for number in range(few))
    assert availability(minute(*streams, success=success)) == verdict


def test_a_minute_with_one_request_a_second_is_judged() -> None:
    busy = minute(requests(0.5, 30.0), requests(0.5, 30.0), success=0.0)

    assert (availability(busy), latency(busy)) == ("bad", "bad")


def test_one_slow_kind_makes_the_minute_slow_although_the_mean_is_good() -> None:
    assert latency(minute(requests(900, 0.3), requests(100, 1.5, name="write"))) == "bad"
    assert latency(minute(requests(900, 0.3, size="small"), requests(1, 1.5, size="large"))) == "bad"
    assert latency(minute(requests(900, 0.3), requests(0.9, 1.5, name="write"))) == "good", "too few for a verdict"


def test_a_kind_that_is_rare_in_each_file_system_counts_over_all_of_them() -> None:
    rare = minute(*(requests(0.5, 2.0, system=system) for system in "abc"))
    assert latency(rare) == "bad"
    assert worst_kinds(mean_ratios((by_kind(rare),))) == {RequestKind("", "read", ""): pytest.approx(2.0)}


def ratios(*minutes: MountTargetMinute) -> dict[str, float]:
    return {kind.name: ratio for kind, ratio in worst_kinds(mean_ratios(tuple(map(by_kind, minutes)))).items()}


def test_requests_without_a_latency_do_not_thin_the_latency_of_the_others() -> None:
    assert ratios(minute(requests(100, 2.0), requests(300, None))) == {"read": pytest.approx(2.0)}
    assert ratios(minute(requests(0, 2.0), requests(300, None))) == {}
    assert ratios(MountTargetMinute(None, None)) == {}
    assert ratios() == {}


def test_minutes_are_weighted_by_requests_and_rare_ones_do_not_count() -> None:
    assert ratios(minute(requests(300, 0.5)), minute(requests(100, 1.5))) == {"read": pytest.approx(0.75)}
    assert ratios(minute(requests(4, 0.5)), *[minute()] * 3) == {"read": pytest.approx(0.5)}
    assert ratios(minute(requests(4, 0.5)), *[minute()] * 4) == {}


@given(st.integers(1, 5), st.floats(0.1, 10))
def test_a_kind_names_its_file_system_although_all_file_systems_are_equally_slow(systems: int, ratio: float) -> None:
    equal = minute(*(requests(7.7, ratio, system=str(number)) for number in range(systems)))
    ((kind, _),) = worst_kinds(mean_ratios((by_kind(equal),))).items()
    assert kind.file_system


def test_a_minute_whose_requests_are_unknown_is_unknown() -> None:
    blind = MountTargetMinute(None, 0.5)
    assert (availability(blind), latency(blind)) == ("unknown", "unknown")
    assert latency_ratio(blind) is None


def test_the_latency_of_one_request_in_a_hundred_may_be_missing() -> None:
    assert latency(minute(requests(99, 0.5), requests(1, None))) == "good"
    assert latency(minute(requests(98, 0.5), requests(2, None))) == "unknown"


def test_metadata_of_a_file_system_are_one_kind_and_sizes_are_kinds_of_their_own() -> None:
    metadata = (requests(300, 0.5, name="metadata"), requests(100, 1.5, name="metadata"))
    reads = (requests(5, 0.2, size="small"), requests(1, 0.9, size="large"), requests(9, 0.1, "b", size="large"))
    assert worst_kinds(mean_ratios((by_kind(minute(*metadata, *reads)),))) == {
        RequestKind("a", "metadata", ""): pytest.approx(0.75),
        RequestKind("a", "read", "large"): pytest.approx(0.9),
    }
    assert latency_ratio(minute(*metadata, *reads)) == pytest.approx(0.9)


_ANY = st.builds(
    RequestStream,
    st.builds(RequestKind, st.sampled_from("ab"), st.sampled_from(["read", "write"]), st.just("")),
    st.floats(0, 1e6),
    st.one_of(st.none(), st.floats(0, 1e3)),
    st.floats(1e-4, 10),
)


@given(st.one_of(st.none(), st.lists(_ANY, max_size=6).map(tuple)), st.one_of(st.none(), st.floats(0, 1)))
def test_every_minute_has_one_verdict_an_objective(kinds: Any, success: float | None) -> None:
    judged = MountTargetMinute(kinds, success)
    assert {availability(judged), latency(judged)} <= set(VERDICTS)
