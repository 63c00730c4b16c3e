"""Which minutes are asked for, and that each counts once."""

import pytest
from hypothesis import given, strategies as st
from tests.clock import NOON

from fss_exporter.oci.query_extent import GAUGE_MOST_MINUTES, LATE_MINUTES, gauge_minutes, window
from fss_exporter.oci.series_store import FURTHEST_MINUTES, MINUTE, Minutes, newest_complete

moments = st.floats(min_value=NOON, max_value=NOON + 86_400, allow_nan=False)
minutes = st.integers(min_value=-400, max_value=400).map(lambda at: NOON + at * MINUTE)


@pytest.mark.parametrize(
    ("now", "newest"),
    [(NOON, NOON), (NOON + 0.1, NOON), (NOON + 59.999, NOON), (NOON + 60, NOON + 60), (NOON - 0.001, NOON - 60)],
    ids=["on the minute", "just after", "just before the next", "on the next", "just before"],
)
def test_a_minute_is_complete_when_its_end_is_reached(now: float, newest: int) -> None:
    assert newest_complete(now) == newest


@pytest.mark.parametrize(
    ("now", "answered", "start", "end"),
    [
        (NOON + 5, None, NOON - 4 * MINUTE, NOON + MINUTE),
        (NOON + 5, NOON, NOON - 4 * MINUTE, NOON + MINUTE),
        (NOON + 5, NOON - 20 * MINUTE, NOON - 24 * MINUTE, NOON + MINUTE),
        (NOON + 5, NOON - 9_000 * MINUTE, NOON - (FURTHEST_MINUTES - 1) * MINUTE, NOON + MINUTE),
        (NOON + 5, NOON + 50 * MINUTE, NOON - 4 * MINUTE, NOON + MINUTE),
    ],
    ids=["first", "steady", "after an outage", "after a long outage", "the clock went back"],
)
def test_the_window_reaches_from_the_last_answer_to_the_newest_complete_minute(
    now: float, answered: int | None, start: int, end: int
) -> None:
    found = window(now, overlap_minutes=5, answered=answered)
    assert (found.start, found.end) == (start, end)


@given(moments, st.one_of(st.none(), minutes), st.integers(min_value=1, max_value=60))
def test_windows_are_aligned_hold_the_newest_minute_and_are_bounded(
    now: float, answered: int | None, overlap: int
) -> None:
    found = window(now, overlap_minutes=overlap, answered=answered)
    assert found.start % MINUTE == found.end % MINUTE == 0
    assert found.start <= newest_complete(now) < found.end
    assert overlap <= found.minutes <= FURTHEST_MINUTES or overlap > FURTHEST_MINUTES


@given(moments, st.lists(st.floats(min_value=0, max_value=7_000, allow_nan=False), min_size=2, max_size=12))
def test_polls_however_spaced_leave_no_minute_unasked(now: float, pauses: list[float]) -> None:
    asked: set[int] = set()
    answered = None
    for pause in pauses:
        found = window(now, overlap_minutes=15, answered=answered)
        asked |= set(range(found.start, found.end, MINUTE))
        answered = newest_complete(now)
        now += pause
    assert asked == set(range(min(asked), max(asked) + MINUTE, MINUTE))


@pytest.mark.parametrize(
    ("newest", "slowest", "thorough", "expected"),
    [
        (None, None, False, GAUGE_MOST_MINUTES),
        (NOON, None, False, GAUGE_MOST_MINUTES),
        (NOON, NOON, False, 2),
        (NOON - MINUTE, NOON - MINUTE, False, 2),
        (NOON, NOON - 3 * MINUTE, False, 4),
        (NOON, NOON, True, LATE_MINUTES),
        (NOON - 3 * MINUTE, NOON - 3 * MINUTE, True, 3 + LATE_MINUTES),
        (NOON, NOON - 500 * MINUTE, False, GAUGE_MOST_MINUTES),
    ],
    ids=["never seen", "gone stale", "fresh", "a minute on", "one late", "looking for new", "all late", "one silent"],
)
def test_a_gauge_is_looked_for_as_far_back_as_its_slowest_series(
    newest: int | None, slowest: int | None, thorough: bool, expected: int
) -> None:
    assert gauge_minutes(NOON + 30, newest=newest, slowest=slowest, thorough=thorough) == expected


@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=20))
def test_the_newest_point_of_every_known_series_is_inside_the_window(lateness: list[list[int]]) -> None:
    """Whatever each of three series is late by, poll after poll."""
    seen: dict[int, int] = {}
    for poll, late in enumerate(lateness):
        now = NOON + poll * MINUTE + 30
        there = {at: max(seen.get(at, 0), newest_complete(now) - behind * MINUTE) for at, behind in enumerate(late)}
        newest, slowest = max(seen.values(), default=None), min(seen.values(), default=None)
        back = gauge_minutes(now, newest=newest, slowest=slowest, thorough=False)
        found = window(now, overlap_minutes=back, answered=None)
        assert all(found.start <= minute < found.end for minute in there.values())
        seen = there


@given(st.lists(minutes, max_size=60))
def test_each_minute_behind_the_start_is_taken_exactly_once_unless_it_is_hours_late(offered: list[int]) -> None:
    taken, accepted = Minutes(NOON), {NOON}
    for minute in offered:
        is_new = minute not in accepted and minute > max(NOON, max(accepted) - FURTHEST_MINUTES * MINUTE)
        assert taken.take(minute) is is_new
        if is_new:
            accepted.add(minute)


def test_memory_of_minutes_does_not_grow_with_uptime() -> None:
    taken = Minutes(NOON)
    for at in range(1, 10_000):
        assert taken.take(NOON + at * MINUTE)
    assert taken._taken.bit_length() <= FURTHEST_MINUTES
