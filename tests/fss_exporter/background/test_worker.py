import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.clock import Clock
from tests.processes import PATIENCE_S, wait_for

from fss_exporter.background import EndLoop, Event, Worker, at_once, stalled_loops
from fss_exporter.errors import SourceError, UsageError


def worker_of(run_round: Callable[[], None], clock: Clock, interval: float = 1.0) -> Worker:
    return Worker("nfs", run_round, interval=lambda: interval, clock=clock, wall_clock=lambda: 1e9 + clock.now)


class Round:
    """A round whose outcome a test chooses."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.runs = 0
        self.ran = threading.Event()

    def __call__(self) -> None:
        self.runs += 1
        self.ran.set()
        if self.error:
            raise self.error


def test_an_interval_that_cannot_be_computed_costs_rounds_and_ends_no_loop() -> None:
    run_round, intervals = Round(), [0.001]
    worker = Worker("nfs", run_round, interval=lambda: intervals[0])
    intervals.clear()
    worker.start()
    try:
        wait_for(lambda: worker.heartbeat.errors >= 3, "rounds without an interval")
        intervals.append(0.001)
        wait_for(lambda: worker.heartbeat.success, "a round with an interval")
    finally:
        worker.stop()


def test_a_log_that_fails_ends_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    run_round = Round()
    worker = worker_of(run_round, Clock(100.0))
    run_round.error = ValueError("each time")

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(worker._log_once, "failed", fail)
    worker.run_once()

    assert (worker.heartbeat.success, worker.heartbeat.errors) == (False, 1)


def test_a_round_without_error_is_a_success_with_its_time() -> None:
    clock = Clock(100.0)
    worker = worker_of(Round(), clock)

    worker.run_once()

    assert worker.heartbeat.success
    assert worker.heartbeat.last_success_timestamp == 1e9 + 100
    assert worker.heartbeat.errors == 0


@pytest.mark.parametrize("error", [ValueError("4301 digits"), KeyError("x"), RecursionError(), MemoryError()])
def test_an_unexpected_error_costs_one_round_and_is_counted(error: Exception) -> None:
    run_round, clock = Round(), Clock(100.0)
    worker = worker_of(run_round, clock)
    run_round.error = error

    worker.run_once()

    assert (worker.heartbeat.success, worker.heartbeat.errors) == (False, 1)
    run_round.error = None
    worker.run_once()
    assert (worker.heartbeat.success, worker.heartbeat.errors) == (True, 1)


def test_the_traceback_is_logged_once_and_then_the_recovery(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    run_round = Round()
    worker = worker_of(run_round, Clock(100.0))
    run_round.error = ValueError("a number of 4301 digits")

    worker.run_once()
    worker.run_once()
    run_round.error = None
    worker.run_once()

    first, recovery = caplog.records
    assert first.exc_info is not None
    assert "a number of 4301 digits" in caplog.text
    assert recovery.getMessage() == "nfs: works again after an unexpected error"


def test_a_source_that_cannot_be_read_is_no_unexpected_error() -> None:
    run_round, clock = Round(), Clock(100.0)
    worker = worker_of(run_round, clock)
    run_round.error = SourceError("no such file")
    clock.now += 60

    worker.run_once()

    assert (worker.heartbeat.success, worker.heartbeat.errors) == (False, 0)
    assert not worker.heartbeat.is_stalled(clock.now), "the loop itself is alive"


@pytest.mark.parametrize(("interval", "allowed"), [(1.0, 10.0), (60.0, 600.0), (0.1, 10.0)])
def test_a_loop_that_finishes_no_round_for_ten_intervals_is_stalled(interval: float, allowed: float) -> None:
    clock = Clock(100.0)
    worker = worker_of(Round(), clock, interval)
    worker.run_once()

    clock.now += allowed
    assert not worker.heartbeat.is_stalled(clock.now)
    clock.now += 0.1
    assert worker.heartbeat.is_stalled(clock.now)


def test_a_loop_whose_rounds_all_break_off_is_stalled_after_ten_intervals() -> None:
    run_round, clock = Round(), Clock(100.0)
    worker = worker_of(run_round, clock)
    run_round.error = ValueError("each time")

    for _ in range(12):
        clock.now += 1
        worker.run_once()

    assert worker.heartbeat.is_stalled(clock.now)


def test_the_thread_goes_on_after_an_unexpected_error() -> None:
    run_round = Round()
    run_round.error = ValueError("first")
    worker = Worker("nfs", run_round, interval=lambda: 0.001)
    worker.start()
    assert run_round.ran.wait(120)
    run_round.error = None
    run_round.ran.clear()

    assert run_round.ran.wait(120), "no round came after the one that broke off"
    worker.stop()


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_would_end_a_thread_costs_one_round(end: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
    run_round = Round()
    run_round.error = end()
    worker = Worker("nfs", run_round, interval=lambda: 0.001)
    worker.start()
    try:
        wait_for(lambda: worker.heartbeat.errors, "the round that breaks off")
        assert not worker.heartbeat.success
        wait_for(lambda: "nfs: unexpected error" in caplog.text, "the line in the log")
        run_round.error = None
        worker.wake()
        wait_for(lambda: worker.heartbeat.success, "the next round")
    finally:
        worker.stop()


def test_an_interval_of_a_thousand_years_is_no_error() -> None:
    run_round = Round()
    worker = Worker("oci", run_round, interval=lambda: 1000 * 365 * 86400.0)
    worker.start()
    try:
        wait_for(lambda: worker.heartbeat.success, "the first round")
        run_round.ran.clear()
        worker.wake()
        assert run_round.ran.wait(PATIENCE_S), "the pause ended the thread"
        assert worker.heartbeat.errors == 0
    finally:
        worker.stop()


def test_a_system_without_a_thread_for_a_loop_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    worker = worker_of(Round(), Clock(100.0))
    monkeypatch.setattr(threading.Thread, "start", refuse)

    with pytest.raises(UsageError, match=r"nfs: can't start new thread\. Raise the limit of threads"):
        worker.start()


def test_a_wall_clock_that_is_set_back_by_a_day_delays_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before glibc 2.30 the timeouts of locks follow the wall clock, so a step back makes each wait a day longer."""
    timed = threading.Condition.wait

    def wait_a_day_longer(self: Any, timeout: float | None = None) -> bool:
        return timed(self, None if timeout is None else timeout + 86_400)

    run_round = Round()
    worker = Worker("nfs", run_round, interval=lambda: 0.001)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Condition, "wait", wait_a_day_longer)
        worker.start()
        deadline = time.monotonic() + PATIENCE_S
        while run_round.runs < 3 and time.monotonic() < deadline:
            time.sleep(0.001)
        worker.stop()

    assert run_round.runs >= 3


def test_an_event_can_be_set_before_and_during_a_wait() -> None:
    event = Event()
    assert not event.wait(0)
    assert not event.wait(-1)

    event.set()
    event.set()
    assert event.wait(3600)
    event.clear()
    assert not event.wait(0)

    waiting = [threading.Thread(target=event.wait, args=(3600,)) for _ in range(3)]
    for thread in waiting:
        thread.start()
    event.set()
    for thread in waiting:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_a_thread_that_died_leaves_a_heartbeat_that_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(100.0)
    worker = worker_of(Round(), clock)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(worker, "_pause", end_thread)
    worker.start()
    worker._thread.join(PATIENCE_S)

    clock.now += 11

    assert worker.heartbeat.is_stalled(clock.now)


def end_thread(_: float) -> None:
    raise SystemExit


def test_a_round_that_raises_end_loop_ends_the_loop_without_an_error() -> None:
    run_round = Round()
    run_round.error = EndLoop()
    worker = worker_of(run_round, Clock(100.0))

    worker.start()
    worker._thread.join(120)

    assert not worker._thread.is_alive()
    assert worker.heartbeat.errors == 0


@pytest.mark.parametrize("jump_s", [86_400.0, -86_400.0], ids=["sleep of a day", "clock set back by a day"])
def test_a_wall_clock_that_jumps_stalls_no_loop(jump_s: float) -> None:
    """While a host sleeps, the monotonic clock of Linux stands still."""
    clock, wall = Clock(100.0), Clock(1e9)
    worker = Worker("nfs", Round(), interval=lambda: 1.0, clock=clock, wall_clock=wall)
    worker.run_once()

    clock.now += 1
    wall.now += jump_s
    assert not worker.heartbeat.is_stalled(clock.now)

    worker.run_once()
    assert worker.heartbeat.last_success_timestamp == 1e9 + jump_s


def test_a_process_that_was_stopped_for_an_hour_is_stalled_until_the_next_round() -> None:
    """After SIGSTOP and SIGCONT the monotonic clock has gone on."""
    clock = Clock(100.0)
    worker = worker_of(Round(), clock)
    worker.run_once()

    clock.now += 3600
    assert worker.heartbeat.is_stalled(clock.now)

    worker.run_once()
    assert not worker.heartbeat.is_stalled(clock.now)


def test_a_stalled_loop_is_named_with_its_silence() -> None:
    clock = Clock(100.0)
    stalled, running = worker_of(Round(), clock), worker_of(Round(), clock, interval=60.0)

    clock.now += 42

    assert stalled_loops([stalled, running], clock.now) == ("loop nfs is stalled: no round ended for 42 s",)


def test_functions_at_once_wait_for_each_other_and_none_waits_longer_than_allowed() -> None:
    together, never = threading.Barrier(3), threading.Event()

    def meet() -> None:
        together.wait(PATIENCE_S)

    def hang() -> None:
        never.wait(PATIENCE_S)

    at_once([meet] * 3, PATIENCE_S)
    assert not together.broken
    began = time.monotonic()
    at_once([hang], 0.01)

    assert time.monotonic() - began < PATIENCE_S
    never.set()
