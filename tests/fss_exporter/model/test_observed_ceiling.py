"""The observed ceiling: a hidden one is found within 3 %, and none is claimed where the load stood still for another reason."""

import math
from collections.abc import Callable, Sequence
from random import Random

import pytest

from fss_exporter.model.observed_ceiling import (
    KEPT_SECONDS,
    MINUTE,
    MOST_PLATEAUS,
    WINDOW_MINUTES,
    LoadMinute,
    LoadRecord,
    Plateau,
    Reason,
    bottlenecks,
    plateaus,
)

NOON = 1_795_867_200
SEEDS = range(5)
LATENCY = 0.004
NOISE = 0.03  # standard deviation of a figure, as a share of it


def server(ceiling: float, asked: float, clients: float = 64.0) -> tuple[float, float, float]:
    """Load, latency and requests in flight of a server that is asked for so much a second, by clients that wait for their replies.

    Above the ceiling the requests wait, until as many are in flight as all clients together allow.
    """
    share = asked / ceiling
    if share < 1:
        latency = LATENCY * (1 + share**4)
        return asked, latency, asked * latency
    in_flight = min(ceiling * LATENCY * (2 + 8 * (share - 1)), clients * ceiling * LATENCY)
    return ceiling, in_flight / ceiling, in_flight


def played(
    asked: Callable[[int], float], minutes: int, ceiling: float, chance: Random, *, first: int = 0
) -> list[LoadMinute]:
    """Minute means of a demand by second, with noise in each figure, and with six parts of each minute that ask differently."""
    made = []
    for minute in range(first, first + minutes):
        parts = [
            server(ceiling, max(1.0, asked(60 * minute + 10 * part)) * chance.uniform(0.97, 1.03)) for part in range(6)
        ]
        load = sum(part[0] for part in parts) / 6
        in_flight = sum(part[2] for part in parts) / 6
        noisy = load * chance.gauss(1, NOISE)
        latency = in_flight / load * chance.lognormvariate(0, 2 * NOISE)
        made.append(LoadMinute(NOON + (minute + 1) * MINUTE, noisy, latency, noisy * latency))
    return made


def taken(minutes: Sequence[LoadMinute], record: LoadRecord | None = None) -> tuple[LoadRecord, Reason]:
    """A record that looked at each minute when it came, as the poller does."""
    record = record or LoadRecord()
    reason: Reason = "too few minutes"
    window: dict[int, LoadMinute] = {}
    newest = 0
    for minute in minutes:
        newest = max(newest, minute.end)
        if record.matters(minute.load):
            window[minute.end] = minute
        window = {end: known for end, known in window.items() if end > newest - WINDOW_MINUTES * MINUTE}
        reason = record.add([window[end] for end in sorted(window)], newest)
    return record, record.reason(reason)


def growing(to: float, minutes: int = 60, *, begin: float = 0.3) -> Callable[[int], float]:
    """A demand that grows from a share to `to` for some minutes, stays for a while, and goes back."""

    def asked(second: int) -> float:
        at = second / 60 / minutes
        return begin + (to - begin) * (at if at < 1 else 1 if at < 1.3 else max(0.0, 2.3 - at))

    return asked


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hidden_ceiling_is_found_within_three_percent(seed: int) -> None:
    chance = Random(seed)
    ceiling = 10 ** chance.uniform(3, 9)
    demand = growing(chance.uniform(1.6, 3.0), chance.randint(40, 80))
    record, reason = taken(played(lambda second: ceiling * demand(second), 180, ceiling, chance))
    found = record.ceiling()
    assert found is not None, reason
    assert found.value == pytest.approx(ceiling, rel=0.03)
    assert found.minutes >= 15


@pytest.mark.parametrize("seed", SEEDS)
def test_late_minutes_and_retries_change_nothing(seed: int) -> None:
    chance = Random(seed)
    demand = growing(2.5)
    minutes = played(lambda second: 50_000 * demand(second), 150, 50_000, chance)
    in_order, _ = taken(minutes)
    late = sorted(minutes, key=lambda minute: minute.end + MINUTE * chance.choice((0, 0, 0, 1, 2, 9, 14)))
    again = [each for minute in late for each in (minute, *chance.sample(minutes[:40], chance.choice((0, 1))))]
    shuffled, _ = taken(again)
    one, other = in_order.ceiling(), shuffled.ceiling()
    assert one is not None
    assert other is not None
    assert other.value == pytest.approx(50_000, rel=0.03)
    assert one.plateaus == other.plateaus
    assert abs(one.newest - other.newest) <= 5 * MINUTE


@pytest.mark.parametrize("seed", SEEDS)
def test_the_largest_plateau_of_weeks_has_count_width_and_date(seed: int) -> None:
    """Each weekday at noon for three weeks the demand grows above the ceiling."""
    chance = Random(seed)
    record = LoadRecord()
    demand = growing(2.2, 45)
    for day in range(15):
        first = day * 1440
        at_noon = lambda second, first=first: 50_000 * demand(second - 60 * first)  # noqa: E731
        record, _ = taken(played(at_noon, 110, 50_000, chance, first=first), record)
    found = record.ceiling()
    assert found is not None
    assert found.value == pytest.approx(50_000, rel=0.03)
    assert found.plateaus >= 12
    assert found.newest > NOON + 14 * 86_400
    assert found.minutes >= 12 * 15


def constant(_: int) -> float:
    return 0.7


def steps(second: int) -> float:
    """Three batches of constant rate, one after another."""
    return (0.35, 0.7, 0.5)[second // 3600 % 3]


def stopped_growing(second: int) -> float:
    return min(0.8, 0.3 + second / 60 / 120)


def night(second: int) -> float:
    """A day that falls to a night, which is still."""
    return max(0.05, 0.9 - second / 60 / 60)


def swing(second: int) -> float:
    return 0.6 + 0.3 * math.sin(second / 3600)


NO_CEILING = {demand.__name__: demand for demand in (constant, steps, stopped_growing, night, swing)}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("demand", NO_CEILING.values(), ids=NO_CEILING)
def test_no_ceiling_is_claimed_where_the_load_stands_still_by_itself(seed: int, demand: Callable[[int], float]) -> None:
    record, reason = taken(played(lambda second: 50_000 * demand(second), 240, 50_000, Random(seed)))
    assert record.ceiling() is None
    assert reason in ("too few minutes", "the load moved", "latency did not rise")


@pytest.mark.parametrize("seed", SEEDS)
def test_no_ceiling_is_claimed_for_a_batch_whose_latency_is_noisy_and_has_spikes(seed: int) -> None:
    """Each minute mean of the latency is off by 15 %, and five of a hundred are three times as long."""
    chance = Random(seed)
    record, reason = taken(
        [
            LoadMinute(minute.end, minute.load, latency, latency * minute.load)
            for minute in played(lambda _: 30_000.0, 240, 50_000, chance)
            for latency in (LATENCY * chance.lognormvariate(0, 0.15) * (3 if chance.random() < 0.05 else 1),)
        ]
    )
    assert (record.ceiling(), reason) == (None, "latency did not rise")


@pytest.mark.parametrize("seed", SEEDS)
def test_no_ceiling_is_claimed_for_a_client_that_is_its_own_bottleneck(seed: int) -> None:
    """Its network carries no more, however many of its processes wait. The server is as fast as ever."""
    chance = Random(seed)
    minutes = [
        LoadMinute(
            NOON + MINUTE * at, 1.2e8 * chance.gauss(1, 0.01), LATENCY * chance.gauss(1, 0.05), 8 * (1 + at / 20)
        )
        for at in range(180)
    ]
    record, reason = taken(minutes)
    assert (record.ceiling(), reason) == (None, "latency did not rise")


@pytest.mark.parametrize("seed", SEEDS)
def test_no_ceiling_is_claimed_for_one_thread_that_waits_for_a_slower_server(seed: int) -> None:
    """It has one request in flight, so that it asks for less while latency is higher."""
    chance = Random(seed)
    minutes = []
    for at in range(180):
        latency = LATENCY * (1 + at / 90) * chance.gauss(1, 0.03)
        minutes.append(LoadMinute(NOON + MINUTE * at, 1 / latency, latency, 1.0))
    assert taken(minutes)[0].ceiling() is None


def test_a_plateau_below_what_was_served_at_another_time_is_no_ceiling() -> None:
    """At night the server is slow for another reason while a job of constant rate runs. At noon it served three times as much."""
    chance = Random(1)
    record, _ = taken(played(lambda _: 30_000.0, 60, 50_000, chance))
    slow = [
        LoadMinute(NOON + (600 + at) * MINUTE, 10_000, latency, 10_000 * latency)
        for at in range(60)
        for latency in (LATENCY * (1 + at / 10),)
    ]
    record, _ = taken(slow, record)
    assert record.ceiling() is None
    later, reason = taken(
        played(lambda _: 40_000.0, 60, 50_000, chance, first=2000), LoadRecord(plateaus=[*plateaus(slow)[0]])
    )
    assert (later.ceiling(), reason) == (None, "more was served")


def test_a_ceiling_that_was_raised_is_found_at_its_new_height() -> None:
    chance, demand = Random(2), growing(2.5)
    record, _ = taken(played(lambda second: 50_000 * demand(second), 150, 50_000, chance))
    after = lambda second: 80_000 * demand(second - 60 * 3000)  # noqa: E731
    record, _ = taken(played(after, 150, 80_000, chance, first=3000), record)
    found = record.ceiling()
    assert found is not None
    assert found.value == pytest.approx(80_000, rel=0.03)
    assert found.plateaus == 1


def test_what_is_kept_is_bounded_and_ends_after_six_weeks() -> None:
    chance, demand, record = Random(3), growing(2.2, 45), LoadRecord()
    for day in range(60):
        first = day * 1440
        at_noon = lambda second, first=first: 50_000 * demand(second - 60 * first)  # noqa: E731
        record, _ = taken(played(at_noon, 110, 50_000, chance, first=first), record)
    assert len(record.plateaus) == MOST_PLATEAUS
    assert len(record.served) <= 7
    assert min(plateau.ended for plateau in record.plateaus) > NOON + 60 * 86_400 - KEPT_SECONDS - 86_400
    record.add((), NOON + 200 * 86_400)
    assert (record.plateaus, record.served, record.ceiling()) == ([], {}, None)


def test_a_minute_that_is_missing_and_a_restart_do_not_make_two_plateaus_of_one() -> None:
    chance, demand = Random(4), growing(2.5)
    minutes = played(lambda second: 50_000 * demand(second), 150, 50_000, chance)
    record, _ = taken([minute for at, minute in enumerate(minutes) if at % 9 and at not in (60, 61, 62)])
    found = record.ceiling()
    assert found is not None
    assert found.plateaus == 1


def test_of_two_resources_that_stand_still_together_the_one_nearer_to_its_stated_ceiling_is_the_bottleneck() -> None:
    """READs of 32 KiB at 30,000 IOPS carry 491 MB/s, which stands still as well."""
    records = {
        "iops": LoadRecord(plateaus=[Plateau(30_000, NOON, NOON + 1800)]),
        "read": LoadRecord(plateaus=[Plateau(491e6, NOON + 60, NOON + 1740), Plateau(700e6, NOON + 9000, NOON + 9900)]),
        "unstated": LoadRecord(plateaus=[Plateau(5, NOON, NOON + 1800)]),
    }
    bottlenecks(records, {"iops": 50_000, "read": 1e9, "unstated": None})
    heights = {name: [plateau.height for plateau in record.plateaus] for name, record in records.items()}
    assert heights == {"iops": [30_000], "read": [700e6], "unstated": []}


def test_few_minutes_say_so() -> None:
    assert taken(())[1] == "too few minutes"
    assert taken(played(lambda _: 90_000.0, 14, 50_000, Random(5)))[1] == "too few minutes"
