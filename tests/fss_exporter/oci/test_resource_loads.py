"""Mean and largest minute of five: nothing too early, nothing invented, and the last known value as long as wanted."""

import pytest
from hypothesis import given, strategies as st
from tests.clock import NOON

from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import FURTHEST_MINUTES, MINUTE
from fss_exporter.oci.minutes.figure_window import FigureWindow
from fss_exporter.oci.minutes.resource_loads import ESTIMATED_IOPS, ResourceLoad, resource_loads


def points(*values: float, first: int = 1) -> Points:
    """Points of consecutive minutes, from some minutes after noon on."""
    return {NOON + at * MINUTE: value for at, value in enumerate(values, first)}


def window(*answers: Points) -> FigureWindow:
    made = FigureWindow()
    for answer in answers:
        made.note("iops", answer)
    return made


def loads(made: FigureWindow, oldest: int = NOON) -> tuple[ResourceLoad, ...]:
    return resource_loads(made, oldest)


def test_there_is_no_load_before_five_minutes_are_known() -> None:
    made = window(points(100, 90, 80, 70))
    assert loads(made) == ()
    made.note("iops", points(60, first=5))
    assert loads(made) == (ResourceLoad("iops", "measured", NOON + 5 * MINUTE, 80.0, 100.0, 60.0),)


def test_the_load_is_of_the_newest_five_minutes() -> None:
    (load,) = loads(window(points(900, 900, 10, 20, 30, 40, 50)))
    assert (load.mean, load.peak, load.minute) == (30.0, 50.0, NOON + 7 * MINUTE)


def test_a_minute_that_never_comes_is_replaced_by_an_older_one_but_not_by_an_ancient_one() -> None:
    (load,) = loads(window(points(1, 2, 3), points(5, 6, 7, first=5)))
    assert (load.mean, load.minute) == ((2 + 3 + 5 + 6 + 7) / 5, NOON + 7 * MINUTE)
    assert loads(window(points(1, 2, 3, 4), points(9, first=30))) == ()


def test_the_last_load_stays_for_the_time_that_the_caller_allows() -> None:
    made = window(points(1, 2, 3, 4, 5))
    assert loads(made, NOON + 5 * MINUTE) != ()
    assert loads(made, NOON + 6 * MINUTE) == ()


def test_a_minute_that_is_older_than_the_window_replaces_no_newer_one() -> None:
    made = window(points(1, 2, 3, 4, 5), points(9, first=5 - FURTHEST_MINUTES))
    assert [load.mean for load in loads(made)] == [3.0]
    made.note("connections", points(9, first=5 + FURTHEST_MINUTES))
    assert made.value("iops", NOON + 5 * MINUTE) is None


@pytest.mark.parametrize(("lag", "source"), [(0, "measured"), (15, "measured"), (16, "oci")])
def test_measured_iops_win_unless_they_are_far_behind_the_estimate(lag: int, source: str) -> None:
    made = window(points(*[1.0] * 5))
    made.note(ESTIMATED_IOPS, points(*[2.0] * 5, first=1 + lag))
    assert [load.source for load in loads(made)] == [source]


@given(st.lists(st.dictionaries(st.integers(0, 60), st.floats(0, 1e9), min_size=1), max_size=20))
def test_mean_and_peak_lie_within_what_arrived(answers: list[dict[int, float]]) -> None:
    made = window(*({NOON + at * MINUTE: value for at, value in answer.items()} for answer in answers))
    seen = [value for answer in answers for value in answer.values()]
    for load in loads(made):
        assert min(seen) <= load.peak <= max(seen)
        assert load.mean <= load.peak * (1 + 1e-9)
