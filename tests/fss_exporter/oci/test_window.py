"""Which minutes are asked for, and that each counts once."""

import pytest
from hypothesis import given, strategies as st
from tests.clock import NOON

from fss_exporter.oci.cloud_client import Scope
from fss_exporter.oci.ledger import FURTHEST_MINUTES, MINUTE, Minutes, newest_complete
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.metrics.answers import MetricSnapshot
from fss_exporter.oci.metrics.schedule import Schedule, Window, window

moments = st.floats(min_value=NOON, max_value=NOON + 86_400, allow_nan=False)
minutes = st.integers(min_value=-400, max_value=400).map(lambda at: NOON + at * MINUTE)


@pytest.mark.parametrize(
    ("now", "newest"),
    [(NOON, NOON), (NOON + 0.1, NOON), (NOON + 59.999, NOON), (NOON + 60, NOON + 60), (NOON - 0.001, NOON - 60)],
    ids=["on the minute", "just after", "just before the next", "on the next", "just before"],
)
def test_a_minute_is_complete_when_its_end_is_reached(now: float, newest: int) -> None:
    assert newest_complete(now) == newest


def asked(now: float, *answers: int, missing: int | None = None) -> tuple[int, int]:
    """First and newest minute of the window of a counter, in minutes after noon. Arguments are minutes after noon as well."""
    span = window(
        NOON + now * MINUTE,
        [NOON + at * MINUTE for at in answers],
        overlap_minutes=4,
        most_minutes=FURTHEST_MINUTES,
        missing=None if missing is None else NOON + missing * MINUTE,
    )
    return (span.start - NOON) // MINUTE, (span.newest - NOON) // MINUTE


@pytest.mark.parametrize(
    ("now", "answers", "first"),
    [
        (0.1, [], -14),
        (0.1, [-1], -4),
        (0.1, [-20], -23),
        (0.1, [-9_000], -179),
        (0.1, [50], -3),
    ],
    ids=["first", "steady", "after an outage", "after a long outage", "the clock went back"],
)
def test_the_window_reaches_from_the_last_answer_to_the_newest_complete_minute(
    now: float, answers: list[int], first: int
) -> None:
    assert asked(now, *answers) == (first, 0)


def test_a_missing_minute_is_asked_for_until_oci_has_answered_for_fifteen_minutes_without_it() -> None:
    assert asked(9, 0, 3, 8, missing=1) == (1, 9)
    assert asked(14, 0, 3, 13, missing=1) == (1, 14), "the first answer without the minute was at minute 3"
    assert asked(18, 3, 13, 17, missing=1) == (4, 18), "OCI has been asked for it since minute 3"
    assert asked(63, 0, 62, missing=1) == (1, 63), "an outage of an hour is no answer"


def test_answers_of_the_last_fifteen_minutes_and_one_before_are_remembered() -> None:
    here = Schedule(METRICS["MountTargetReadThroughput"], 0.0).scope(Scope("ocid1.tenancy.oc1..t"))
    for at in range(40):
        here.answered(1, Window(NOON, NOON + (at + 1) * MINUTE))
    assert list(here.answers) == [NOON + at * MINUTE for at in range(24, 40)]


def test_every_compartment_is_asked_for_late_series_every_five_minutes() -> None:
    schedule = Schedule(METRICS["MountTargetConnections"], 0.0, snapshot=MetricSnapshot(newest=NOON))
    scopes = [Scope(f"ocid1.compartment.oc1..{name}") for name in "ab"]
    asked_minutes: dict[Scope, list[int]] = {scope: [] for scope in scopes}
    for at in range(11):
        for scope in scopes:
            span = schedule.window(scope, NOON + at * MINUTE)
            schedule.scope(scope).answered(1, span)
            asked_minutes[scope].append(span.minutes)
    assert list(asked_minutes.values()) == [[15, 2, 2, 2, 2, 5, 2, 2, 2, 2, 5]] * 2


@given(moments, st.lists(minutes, max_size=3), st.one_of(st.none(), minutes), st.integers(min_value=1, max_value=60))
def test_windows_are_aligned_hold_the_newest_minute_and_are_bounded(
    now: float, answers: list[int], missing: int | None, overlap: int
) -> None:
    span = window(now, sorted(answers), overlap_minutes=overlap, most_minutes=FURTHEST_MINUTES, missing=missing)
    assert span.start % MINUTE == span.end % MINUTE == 0
    assert span.start <= newest_complete(now) < span.end
    assert span.minutes <= FURTHEST_MINUTES


@given(moments, st.lists(st.floats(min_value=0, max_value=7_000, allow_nan=False), min_size=2, max_size=12))
def test_polls_however_spaced_leave_no_minute_unasked(now: float, pauses: list[float]) -> None:
    asked_for: set[int] = set()
    answers: list[int] = []
    for pause in pauses:
        span = window(now, answers, overlap_minutes=4, most_minutes=FURTHEST_MINUTES)
        asked_for |= set(range(span.start, span.end, MINUTE))
        answers.append(newest_complete(now))
        now += pause
    assert asked_for == set(range(min(asked_for), max(asked_for) + MINUTE, MINUTE))


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
    assert taken.taken.bit_length() <= FURTHEST_MINUTES


@given(st.lists(st.integers(1, 60)), st.integers(-5, 70), st.integers(-5, 70))
def test_the_missing_minutes_are_those_that_are_not_taken(taken: list[int], since: int, until: int) -> None:
    minutes = Minutes(NOON)
    for minute in taken:
        minutes.take(NOON + minute * MINUTE)
    missing = [(minute - NOON) // MINUTE for minute in minutes.missing(NOON + until * MINUTE, NOON + since * MINUTE)]
    assert missing == [minute for minute in range(max(1, since + 1), until + 1) if minute not in taken]
