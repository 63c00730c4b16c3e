"""Mean and largest minute of five: nothing too early, nothing invented, and the last known value for an hour."""

import pytest
from hypothesis import given, strategies as st
from tests.clock import NOON

from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import MINUTE
from fss_exporter.oci.minutes.load_history import LoadHistory, ResourceLoad

MT = "ocid1.mounttarget.oc1..a"


def points(*values: float, first: int = 1) -> Points:
    """Points of consecutive minutes, from some minutes after noon on."""
    return {NOON + at * MINUTE: value for at, value in enumerate(values, first)}


def history(*answers: Points) -> LoadHistory:
    made = LoadHistory()
    for answer in answers:
        made.add(MT, "iops", "measured", answer)
    return made


def test_there_is_no_load_before_five_minutes_are_known() -> None:
    made = history(points(100, 90, 80, 70))
    assert made.loads() == {}
    made.add(MT, "iops", "measured", points(60, first=5))
    assert made.loads() == {MT: (ResourceLoad("iops", "measured", NOON + 5 * MINUTE, 80.0, 100.0, 60.0),)}


def test_the_load_is_of_the_newest_five_minutes() -> None:
    (load,) = history(points(900, 900, 10, 20, 30, 40, 50)).loads()[MT]
    assert (load.mean, load.peak, load.minute) == (30.0, 50.0, NOON + 7 * MINUTE)


def test_a_minute_that_never_comes_is_replaced_by_an_older_one_but_not_by_an_ancient_one() -> None:
    (load,) = history(points(1, 2, 3), points(5, 6, 7, first=5)).loads()[MT]
    assert (load.mean, load.minute) == ((2 + 3 + 5 + 6 + 7) / 5, NOON + 7 * MINUTE)
    assert history(points(1, 2, 3, 4), points(9, first=30)).loads() == {}


def test_the_last_load_stays_for_the_time_that_the_caller_allows() -> None:
    made = history(points(1, 2, 3, 4, 5))
    made.forget({MT}, NOON + 5 * MINUTE)
    assert made.loads() != {}
    made.forget({MT}, NOON + 6 * MINUTE)
    assert made.loads() == {}


def test_a_mount_target_that_is_gone_has_no_load() -> None:
    made = history(points(1, 2, 3, 4, 5))
    made.forget({"other"}, NOON)
    assert made.loads() == {}


@pytest.mark.parametrize(("lag", "source"), [(0, "measured"), (15, "measured"), (16, "oci")])
def test_measured_iops_win_unless_they_are_far_behind_the_estimate(lag: int, source: str) -> None:
    made = history(points(*[1.0] * 5))
    made.add(MT, "iops", "oci", points(*[2.0] * 5, first=1 + lag))
    assert [load.source for load in made.loads()[MT]] == [source]


@given(st.lists(st.dictionaries(st.integers(0, 60), st.floats(0, 1e9), min_size=1), max_size=20))
def test_mean_and_peak_lie_within_what_arrived(answers: list[dict[int, float]]) -> None:
    made = history(*({NOON + at * MINUTE: value for at, value in answer.items()} for answer in answers))
    seen = [value for answer in answers for value in answer.values()]
    for load in made.loads().get(MT, ()):
        assert min(seen) <= load.peak <= max(seen)
        assert load.mean <= load.peak * (1 + 1e-9)
