"""Recorded minutes against other ceilings: how many are too full, and how long requests wait."""

import pytest
from hypothesis import given, strategies as st

from fss_toolbox.sizing.placement import Amounts
from fss_toolbox.sizing.replay import Replay


def played(loads: list[float | None], ceiling: float = 100.0) -> Replay:
    replay = Replay(Amounts(ceiling, 100.0, None))
    for load in loads:
        replay.play(None if load is None else Amounts(load, 0.0, 5e9))
    return replay


def test_a_missing_minute_is_no_idle_minute() -> None:
    with_gap, without = played([150, None, None, 50]), played([150, 50])
    assert (with_gap.minutes, with_gap.missing) == (2, 2)
    assert with_gap.mean_wait_seconds == without.mean_wait_seconds
    assert played([150, None]).longest_wait_seconds == 30


def test_no_minute_has_no_mean() -> None:
    assert played([None]).mean_wait_seconds is None


def test_an_unknown_ceiling_or_figure_is_not_judged() -> None:
    replay = Replay(Amounts(None, 100.0, None))
    replay.play(Amounts(1e9, 90.0, 1e9))
    assert (replay.above_warning, replay.above_ceiling) == (1, 0)
    unknown = Replay(Amounts(100.0, 100.0, 100.0))
    unknown.play(Amounts(None, 10.0, 10.0))
    assert (unknown.above_warning, unknown.minutes) == (0, 1)


def test_what_a_minute_asks_too_much_waits_until_there_is_room() -> None:
    """50 above a ceiling of 100 wait for 30 s, two such minutes for 60 s, and two minutes at 50 empty the queue."""
    replay = played([150, 150, 50, 50, 50])
    assert replay.longest_wait_seconds == pytest.approx(60)
    assert replay.mean_wait_seconds == pytest.approx((30 + 60 + 30 + 0 + 0) / 5)
    assert (replay.above_warning, replay.above_ceiling) == (2, 2)


def test_the_bounds_are_above_80_and_above_100_per_cent() -> None:
    replay = played([80, 80.1, 98, 100, 100.1])
    assert (replay.above_warning, replay.above_ceiling, replay.at_ceiling) == (4, 1, 3)


@given(st.lists(st.floats(0, 1000), max_size=30), st.floats(50, 1000))
def test_more_ceiling_never_waits_longer(loads: list[float], ceiling: float) -> None:
    less, more = played([*loads], ceiling), played([*loads], ceiling * 1.5)
    assert more.longest_wait_seconds <= less.longest_wait_seconds
    assert more.above_ceiling <= less.above_ceiling
