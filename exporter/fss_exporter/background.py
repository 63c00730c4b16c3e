# SPDX-License-Identifier: Apache-2.0
"""The background loop of the exporter: a guarded thread with a heartbeat.

Every loop (ticker, poller, publisher, watcher of the web configuration, exact mode) runs in a `Worker`. An unexpected
error costs one round, never the thread. The loop's `Heartbeat` records the result for `/metrics`, the health check, the
status page and `doctor`.
"""

import logging
import os
import select
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from fss_exporter.errors import FssError, SourceError, UsageError
from fss_exporter.log_once import LogOnce

# A loop without a finished round in this number of intervals is stalled: the loop hangs, died, or fails each time.
MISSED_INTERVALS = 10

SHORTEST_STALL_SECONDS = 10.0  # no loop is called stalled sooner: a busy machine can delay a thread by seconds

_LONGEST_POLL_MILLISECONDS = (1 << 31) - 1  # poll(2) takes an int

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Heartbeat(NamedTuple):
    """The result of a background loop's last round."""

    collector: str  # name of the loop, the `collector` label of the metrics
    interval_seconds: float  # time from one round to the next
    # monotonic seconds of the last finished round, or of the start of the loop. A round with a known failure
    # (`FssError`) counts as finished. A round with an unexpected error does not
    finished_at: float
    # Unix seconds of the last round without any error. None before the first
    last_success_timestamp: float | None = None
    success: bool = False  # whether the last round had no error
    errors: int = 0  # rounds with an unexpected error since the start
    duration_seconds: float = 0.0  # time that the last finished round took
    is_starting: bool = True  # whether the first round has not ended, so that nothing has succeeded or failed
    is_off: bool = False  # whether the settings switch the work of the loop off, so that nothing succeeds or fails
    # seconds by which the interval is longer than asked, because the rounds take much CPU. None for a loop without such a limit
    slowed_seconds: float | None = None

    def is_stalled(self, now: float) -> bool:
        """Whether the loop has missed ten intervals at `now` (monotonic seconds)."""
        allowed = max(MISSED_INTERVALS * self.interval_seconds, SHORTEST_STALL_SECONDS)
        return now - self.finished_at > allowed

    def stall(self, now: float) -> str:
        """Return a part of a sentence if the loop is stalled at `now` (monotonic seconds), else nothing."""
        silence = now - self.finished_at
        return f"loop {self.collector} is stalled: no round ended for {silence:.0f} s" if self.is_stalled(now) else ""


class EndLoop(Exception):
    """Raise in a round to end the loop without an error."""


class Event:
    """A `threading.Event` whose `wait` ignores the wall clock.

    Before glibc 2.30 (Oracle Linux 8) Python waits for locks by the wall clock. A clock set back by a day would stop a loop
    for a day.
    """

    def __init__(self) -> None:
        descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, descriptor)
        self._descriptor = descriptor

    def fileno(self) -> int:
        """Return the descriptor, readable while the event is set."""
        return self._descriptor

    def set(self) -> None:
        """End all waits until `clear`."""
        os.eventfd_write(self._descriptor, 1)

    def clear(self) -> None:
        """Let the next `wait` wait."""
        with suppress(BlockingIOError):  # the event is not set
            os.eventfd_read(self._descriptor)

    def wait(self, seconds: float) -> bool:
        """Wait until the event is set, at most 24 days. Return whether the event is set."""
        poll = select.poll()  # threads that wait at once need one each
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(min(max(seconds, 0.0) * 1000, _LONGEST_POLL_MILLISECONDS)))  # below 0 poll waits for ever


class Worker:
    """Run rounds of work in a new thread, one round each interval.

    Args:
        collector: name of the loop, the `collector` label of the metrics.
        run_round: one round. An `FssError` means a failed source, already logged. Any other exception is unexpected.
        interval: returns the seconds from the start of one round to the start of the next.
        of: what the loop works for, if there are several alike. It stands behind the name, as in `oci/acme`.
        clock: monotonic seconds.
        wall_clock: Unix seconds.
        is_on: whether the settings ask for the work. Rounds without it do nothing, and are no success.
        slowed: returns the seconds by which the interval is longer than asked. None if the interval has no limit of CPU.
    """

    def __init__(
        self,
        collector: str,
        run_round: Callable[[], None],
        *,
        interval: Callable[[], float],
        of: str = "",
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        is_on: Callable[[], bool] = lambda: True,
        slowed: Callable[[], float] | None = None,
    ) -> None:
        self.collector = collector = f"{collector}/{of}" if of else collector
        self._run_round = run_round
        self._interval = interval
        self._is_on = is_on
        self._slowed = slowed
        self._is_stopping = False
        self._woken = Event()
        self._clock = clock
        self._wall_clock = wall_clock
        self._log_once = LogOnce(_log, clock=clock)
        self._heartbeat = Heartbeat(
            collector, interval(), clock(), is_off=not is_on(), slowed_seconds=None if slowed is None else slowed()
        )
        self._thread = threading.Thread(target=self._loop, name=f"fss-{collector}", daemon=True)

    @property
    def heartbeat(self) -> Heartbeat:
        """Result of the last round. Any thread can read the heartbeat, because each round replaces the whole record."""
        return self._heartbeat

    def start(self) -> None:
        """Start the rounds.

        Raises:
            UsageError: the system allows no further thread.
        """
        self._heartbeat = self._heartbeat._replace(finished_at=self._clock())
        try:
            self._thread.start()
        except RuntimeError as error:
            raise UsageError(
                f"{self.collector}: {error}. Raise the limit of threads (TasksMax= in the unit, pids.max of the cgroup)"
            ) from error

    def stop(self, timeout_seconds: float = 0.8) -> None:
        """End the loop. Return when the thread has ended, or after `timeout_seconds`."""
        self._is_stopping = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(timeout_seconds)

    def wake(self) -> None:
        """Start the next round now, because the input has changed."""
        self._woken.set()

    def run_once(self) -> None:
        """Run one round and record the result.

        Raises:
            EndLoop: the round ended the loop.
        """
        began = self._clock()
        if not self._is_on():
            self._heartbeat = self._heartbeat._replace(finished_at=began, success=False, is_starting=False, is_off=True)
            return
        try:
            self._run_round()
        except EndLoop:
            raise
        except FssError:
            self._record(began, success=False)
        except Exception as error:  # noqa: BLE001  # the guard of every loop: any error costs this round only
            self._break_off(error)
        else:
            if not self._heartbeat.success:
                self._log_once.works("round", f"{self.collector}: works again after an unexpected error")
            self._record(began, success=True)

    def _break_off(self, error: BaseException) -> None:
        errors = self._heartbeat.errors + 1
        self._heartbeat = self._heartbeat._replace(success=False, errors=errors, is_starting=False, is_off=False)
        with suppress(Exception):  # a log that fails ends no loop
            self._log_once.failed("round", f"{self.collector}: unexpected error", level=logging.ERROR, error=error)

    def _record(self, began: float, *, success: bool) -> None:
        before, now = self._heartbeat, self._clock()
        self._heartbeat = before._replace(
            interval_seconds=self._interval(),
            finished_at=now,
            last_success_timestamp=self._wall_clock() if success else before.last_success_timestamp,
            success=success,
            duration_seconds=now - began,
            is_starting=False,
            is_off=False,
            slowed_seconds=None if self._slowed is None else self._slowed(),
        )

    def _loop(self) -> None:
        while not self._is_stopping:
            began = self._clock()
            try:
                self.run_once()
            except EndLoop:
                return
            except BaseException as error:  # noqa: BLE001  # SystemExit would end the thread without a word
                self._break_off(error)
            # The interval that the round recorded, because asking for it can fail.
            self._pause(began + self._heartbeat.interval_seconds - self._clock())

    def _pause(self, seconds: float) -> None:
        """Wait, at most until somebody wakes the loop."""
        if self._woken.wait(seconds):
            self._woken.clear()


def stalled_loops(loops: Iterable[Worker], now: float) -> tuple[str, ...]:
    """Return a part of a sentence for each loop that is stalled at `now` (monotonic seconds). Empty if all loops run."""
    return tuple(stall for loop in loops if (stall := loop.heartbeat.stall(now)))


def within(seconds: float, work: Callable[[], _T], what: str) -> _T:
    """Return the result of `work`, which runs in a thread of its own. A thread that hangs in the kernel is left behind.

    Raises:
        SourceError: `what`, a noun, has not ended within `seconds`.
    """
    results: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  # raised again by the caller
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    for error in errors:
        raise error
    if not results:
        raise SourceError(f"{what} has not ended after {seconds:.0f} s")
    return results[0]


class OneWithin:
    """Run work in threads of their own, one at a time, for files whose system may not answer.

    Args:
        seconds: that a piece of work may take. A thread that hangs is left behind, and nothing more runs until it ends.
        what: the work, a noun.
    """

    def __init__(self, seconds: float, what: str) -> None:
        self._seconds = seconds
        self._what = what
        self._turn = threading.Lock()

    def run(self, work: Callable[[], _T]) -> _T:
        """Return the result of the work.

        Raises:
            SourceError: the work has not ended in time, or earlier work still hangs.
        """
        if self._turn.locked():
            raise SourceError(f"{self._what} still has not ended")

        def in_turn() -> _T:
            with self._turn:
                return work()

        return within(self._seconds, in_turn, self._what)


def at_once(works: Sequence[Callable[[], None]], seconds: float = threading.TIMEOUT_MAX) -> list[Callable[[], None]]:
    """Run functions in threads of their own until all have ended or `seconds` are over. Return those that have not ended."""
    threads = []
    for work in works:
        thread = threading.Thread(target=work, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system allows no further thread
            work()
        else:
            threads.append((work, thread))
    until = time.monotonic() + seconds
    for _, thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return [work for work, thread in threads if thread.is_alive()]


def each_at_once(items: Iterable[_T], work: Callable[[_T], None]) -> None:
    """Run the work for each item in a thread of its own, so that a slow one does not delay the others.

    Raises:
        Exception: the first error, after the work for all items has ended.
    """
    errors: list[BaseException] = []

    def guarded(item: _T) -> None:
        try:
            work(item)
        except BaseException as error:  # noqa: BLE001  # raised again in the thread of the caller
            errors.append(error)

    at_once([partial(guarded, item) for item in items])
    if errors:
        raise errors[0]
