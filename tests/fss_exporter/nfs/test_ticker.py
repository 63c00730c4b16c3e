"""The pace of the ticks, and their end."""

import threading
import time
from copy import deepcopy
from pathlib import Path

import pytest
from tests.fss_exporter.nfs.drawn_hosts import DrawnHost
from tests.fss_exporter.nfs.records import mountinfo, mountstats
from tests.processes import NEVER_S, PROMPT_S, wait_for

from fss_exporter.nfs.accounts import Accounts, EstimatedCosts, Tick, TickCosts
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import MountstatsParser, parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.nfs.ticker import LARGEST_CPU_SHARE, Ticker

ROOT = Path(__file__).parents[3]
EMPTY = Reading((), frozenset(), (), frozenset())


def test_the_first_reading_is_there_before_start_returns() -> None:
    ticker = Ticker(lambda: EMPTY, NEVER_S)
    ticker.start()
    try:
        assert ticker.results.ticks == 1
    finally:
        ticker.stop()


def test_it_ticks_on_by_itself_in_one_thread() -> None:
    threads: set[str] = set()

    def read() -> Reading:
        threads.add(threading.current_thread().name)
        return EMPTY

    ticker = Ticker(read, 0.001)
    ticker.start()
    try:
        wait_for(lambda: ticker.results.ticks >= 5, "five ticks")
    finally:
        ticker.stop()
    assert threads == {"fss-nfs"}


def test_it_stops_at_once_and_stays_stopped() -> None:
    ticker = Ticker(lambda: EMPTY, NEVER_S)
    ticker.start()
    began = time.monotonic()
    ticker.stop()

    assert time.monotonic() - began < PROMPT_S
    assert "fss-nfs" not in {thread.name for thread in threading.enumerate()}


def test_stopping_what_never_started_is_no_error() -> None:
    Ticker(lambda: EMPTY, 1.0).stop()


class _Costs(EstimatedCosts):
    """Counts the readings that are accounted for."""

    readings = 0

    def tick_costs(self, tick: Tick) -> TickCosts:
        self.readings += 1
        return super().tick_costs(tick)


@pytest.mark.parametrize("seed", range(5))
def test_readings_that_wait_count_as_those_that_do_not(seed: int) -> None:
    def looks(*, waits: bool) -> tuple[list[object], list[int]]:
        parser, costs, counted = MountstatsParser(), _Costs(), []
        seen: list[object] = []
        now = [0.0]
        ticker = Ticker(
            lambda: join(parser.parse(second.mountstats), parse_mountinfo(second.mountinfo)),
            1.0,
            lambda: now[0],
            accounts=Accounts(costs),
            waits=waits,
        )
        for second in DrawnHost(seed).seconds(60):
            now[0] = second.at
            ticker.tick()
            counted.append(costs.readings)
            if second.is_looked_at:
                told = ticker.accounts
                seen.append(
                    deepcopy(
                        (
                            told.mounts,
                            told.wire,
                            told.addresses,
                            told.peaks.highest(),
                            told.unanswered.waits(),
                            told.states.now,
                        )
                    )
                )
        return seen, counted

    (waited, late), (told, at_once) = looks(waits=True), looks(waits=False)
    assert waited == told
    assert at_once == list(range(1, 61))
    assert any(number < readings for number, readings in zip(late, at_once, strict=True))
    assert all(number > readings - 10 for number, readings in zip(late, at_once, strict=True))


def test_the_reasons_of_skipped_records_add_up() -> None:
    ticker = Ticker(lambda: Reading((), frozenset(), ("truncated", "truncated", "malformed_age"), frozenset()), 1.0)
    ticker.tick()
    ticker.tick()

    assert ticker.results.skipped == {"truncated": 4, "malformed_age": 2}


def ticker_of(*cpu_s: float) -> Ticker:
    """A ticker whose ticks take these CPU times."""
    readings = iter([moment for number, took in enumerate(cpu_s) for moment in (number * 100.0, number * 100.0 + took)])
    return Ticker(lambda: EMPTY, 1.0, cpu_clock=lambda: next(readings))


def test_dear_ticks_make_the_ticks_fewer_instead_of_taking_more_of_the_host() -> None:
    ticker = ticker_of(0.2, 0.3, 0.2, 0.0001, 0.0001)
    for _ in range(3):
        ticker.tick()
    assert ticker.wanted_interval_s == pytest.approx(0.2 / LARGEST_CPU_SHARE)

    ticker.tick()
    ticker.tick()
    assert ticker.wanted_interval_s == 1.0


@pytest.mark.parametrize(
    ("asked_s", "cpu_s"), [(1.0, 60 * LARGEST_CPU_SHARE), (60.0, 0.0)], ids=["many mounts", "asked"]
)
def test_a_host_whose_ticks_are_a_minute_apart_is_judged(asked_s: float, cpu_s: float) -> None:
    now = [0.0]
    cpu = iter([moment for number in range(20) for moment in (number * 100.0, number * 100.0 + cpu_s)])
    last, mounts = parse_mountstats(mountstats({})), parse_mountinfo(mountinfo())
    ticker = Ticker(lambda: join(last, mounts), asked_s, lambda: now[0], cpu_clock=lambda: next(cpu))
    while now[0] < 600:
        ticker.tick()
        now[0] += ticker.wanted_interval_s

    (address,) = ticker.accounts.addresses.values()
    assert sum(address.seconds.values()) == pytest.approx(now[0] - ticker.wanted_interval_s)


def test_the_first_ticks_of_a_large_host_do_not_set_the_pause_to_the_next() -> None:
    ticker = ticker_of(0.8, 0.001, 0.001)

    ticker.tick()
    assert ticker.wanted_interval_s == 1.0
    ticker.tick()
    assert ticker.wanted_interval_s == 1.0
    ticker.tick()
    assert ticker.wanted_interval_s == 1.0


def test_a_single_dear_tick_between_cheap_ones_does_not_slow_the_others() -> None:
    ticker = ticker_of(0.0001, 0.0001, 0.5, 0.0001, 0.5)
    for _ in range(4):
        ticker.tick()
    assert ticker.wanted_interval_s == 1.0

    ticker.tick()
    assert ticker.wanted_interval_s == pytest.approx(0.5 / LARGEST_CPU_SHARE)
