# SPDX-License-Identifier: Apache-2.0
"""The loop that reads the client's counters at a regular interval."""

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from fss_exporter.background import Worker
from fss_exporter.cpu_pace import CpuPace
from fss_exporter.errors import SourceError
from fss_exporter.log_once import LogOnce
from fss_exporter.nfs.accounts import LONGEST_PAUSE_SECONDS, Accounts
from fss_exporter.nfs.superblocks import Reading

_LOG = logging.getLogger(__name__)

# Highest share of one core for ticking. On a host with very many mounts the agent ticks less often. With the rest of the work
# of an idle exporter the share stays below 2 %.
LARGEST_CPU_SHARE: Final = 0.015

# Most readings, and most superblocks of them all, that wait to be accounted for together. They hold some 1 MiB.
_MOST_WAITING: Final = 10
_MOST_WAITING_SUPERBLOCKS: Final = 100

# Longest wait of a start for the first reading, seconds. The exporter answers even if a read hangs.
_FIRST_READING_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class TickResults:
    """The results of the ticks so far. Each tick replaces the whole record."""

    reading: Reading | None = None  # the last reading. None while the source cannot be read
    skipped: Mapping[str, int] = field(default_factory=dict)  # number of damaged records by reason
    ticks: int = 0  # ticks with a reading
    began_at: float | None = None  # begin of the last tick with a reading, seconds of the clock
    interval_s: float | None = None  # time between the last two ticks


class Ticker:
    """Read the counters at each interval, and account for them. `results` and `accounts` belong together: hold `lock` to read both.

    Readings of a small host may wait for each other, and for whoever asks for the accounts: then the same code runs ten times in a row,
    which takes half the CPU of running it each second, when the caches of the processor have lost it. To let the texts of the kernel wait
    unparsed as well, or thirty readings and not ten, saved nothing that could be measured (1 and 10 mounts, December 2026).

    Args:
        read: reads the client. Raises SourceError.
        interval_s: seconds between two readings.
        clock: seconds that never go back.
        cpu_clock: CPU time of the calling thread, seconds.
        accounts: target of the readings.
        wall_clock: epoch seconds.
        waits: whether readings may wait. They may not if accounting for a reading looks at more than the reading.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        interval_s: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        cpu_clock: Callable[[], float] = time.thread_time,
        accounts: Accounts | None = None,
        wall_clock: Callable[[], float] = time.time,
        waits: bool = False,
    ) -> None:
        self.lock = threading.RLock()
        self._accounts = accounts or Accounts()
        self._most_waiting = _MOST_WAITING if waits else 1
        self._waiting: deque[tuple[Reading, float, float]] = deque()  # readings with their begin and end
        self.results = TickResults()
        self._read = read
        self._pace = CpuPace(interval_s, LARGEST_CPU_SHARE)
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._log_once = LogOnce(_LOG)
        self._first_round = threading.Event()
        self.loop = Worker(
            "nfs",
            self._round,
            interval=lambda: self.wanted_interval_s,
            clock=clock,
            wall_clock=wall_clock,
            slowed=lambda: self._pace.slowed_s,
        )

    def start(self) -> None:
        """Start ticking. Return after the first reading, for the first scrape, or after a limited wait."""
        self.loop.start()
        if not self._first_round.wait(_FIRST_READING_SECONDS):
            _LOG.warning("the first reading of the NFS counters takes long. The exporter starts without it")

    def stop(self) -> None:
        """Stop ticking. Return when the thread has ended, at most a second later."""
        self.loop.stop()

    @property
    def accounts(self) -> Accounts:
        """The accounts with every reading."""
        with self.lock:
            self._account()
        return self._accounts

    @property
    def present(self) -> TickResults:
        """The results, without a reading that is no longer of now because the next one hangs."""
        results = self.results
        late_s = 0.0 if results.began_at is None else self._clock() - results.began_at - self.wanted_interval_s
        return results if late_s <= LONGEST_PAUSE_SECONDS else replace(results, reading=None)

    @property
    def is_ready(self) -> bool:
        """Whether the first reading has ended, well or not."""
        return self._first_round.is_set()

    def tick(self) -> None:
        """Take one reading and account for the counters. An unreadable source leaves the accounts unchanged."""
        self.loop.run_once()

    def _round(self) -> None:
        try:
            self._read_and_account()
        finally:
            if not self.is_ready:
                self._first_round.set()

    def _read_and_account(self) -> None:
        began, cpu_began = self._clock(), self._cpu_clock()
        try:
            reading = self._read()
        except SourceError as error:
            with self.lock:
                self.results = replace(self.results, reading=None)
            self._log_once.failed("source", f"no NFS counters: {error}", level=logging.ERROR)
            raise
        ended = self._clock()
        with self.lock:
            before = self.results
            if before.reading is None:
                self._log_once.works("source", "NFS counters can be read again")
            self._waiting.append((reading, began, ended))
            most = min(self._most_waiting, _MOST_WAITING_SUPERBLOCKS // max(1, len(reading.superblocks)))
            if len(self._waiting) >= most:
                self._account()
            self.results = TickResults(
                reading,
                Counter(before.skipped) + Counter(reading.skipped) if reading.skipped else before.skipped,
                before.ticks + 1,
                began,
                None if before.began_at is None else began - before.began_at,
            )
        self._pace.add(self._cpu_clock() - cpu_began)

    def _account(self) -> None:
        while self._waiting:
            reading, began, ended = self._waiting.popleft()
            self._accounts.apply(reading, began, until=ended, interval_s=self.wanted_interval_s)

    @property
    def wanted_interval_s(self) -> float:
        """Return the seconds to the next tick: the configured interval, or longer if ticks take too much CPU."""
        return self._pace.interval_s
