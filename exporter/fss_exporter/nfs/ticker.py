"""The loop that reads the client's counters at a regular interval."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from fss_exporter.background import Worker
from fss_exporter.errors import SourceError
from fss_exporter.log_once import LogOnce
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.superblocks import Reading

_LOG = logging.getLogger(__name__)

LARGEST_CPU_SHARE: Final = 0.015
"""Highest share of one core for ticking. On a host with very many mounts the agent ticks less often. With the rest of the work
of an idle exporter the share stays below 2 %.
"""

_FIRST_READING_SECONDS: Final = 2.0
"""Longest wait of a start for the first reading, seconds. The exporter answers even if a read hangs."""


@dataclass(eq=False, repr=False)
class Ticker:
    """Read and account for the counters at each interval.

    Hold `lock` to read any attribute, because the ticking thread changes the attributes.
    """

    read: Callable[[], Reading]  # reads the client. Raises SourceError
    interval_s: float  # seconds between two readings
    clock: Callable[[], float] = time.monotonic  # seconds that never go back
    cpu_clock: Callable[[], float] = time.thread_time  # CPU time of the calling thread, seconds
    accounts: Accounts = field(default_factory=Accounts)  # target of the readings
    wall_clock: Callable[[], float] = time.time  # epoch seconds
    lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    reading: Reading | None = field(default=None, init=False)  # the last one. None while the source cannot be read
    skipped: Counter[str] = field(default_factory=Counter, init=False)  # damaged records, by reason
    ticks: int = field(default=0, init=False)
    last_interval_s: float | None = field(default=None, init=False)  # between the last two ticks
    duration_s: float = field(default=0.0, init=False)  # of the last tick
    _cpu_s: tuple[float, ...] = field(default=(), init=False)
    _last_at: float | None = field(default=None, init=False)
    _log_once: LogOnce = field(default_factory=lambda: LogOnce(_LOG), init=False)
    _first_round: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        self.loop = Worker(
            "nfs",
            self._round,
            interval=lambda: self.wanted_interval_s,
            clock=self.clock,
            wall_clock=self.wall_clock,
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
            self._first_round.set()

    def _read_and_account(self) -> None:
        began, cpu_began = self.clock(), self.cpu_clock()
        try:
            reading = self.read()
        except SourceError as error:
            with self.lock:
                self.reading = None
                self.duration_s = self.clock() - began
            self._log_once.failed("source", f"no NFS counters: {error}", level=logging.ERROR)
            raise
        ended = self.clock()
        with self.lock:
            if self.reading is None:
                self._log_once.works("source", "NFS counters can be read again")
            self.accounts.apply(reading, began, until=ended)
            self.reading = reading
            self.skipped.update(reading.skipped)
            self.last_interval_s = None if self._last_at is None else began - self._last_at
            self.ticks += 1
            self._last_at = began
            self.duration_s = self.clock() - began
        self._cpu_s = (*self._cpu_s[-2:], self.cpu_clock() - cpu_began)

    @property
    def wanted_interval_s(self) -> float:
        """Return the seconds to the next tick: the configured interval, or longer if ticks take too much CPU.

        The median of the last three ticks counts. A single slow tick has set something up and does not predict the next tick.
        """
        usual = sorted(self._cpu_s)[(len(self._cpu_s) - 1) // 2] if self._cpu_s else 0.0
        return max(self.interval_s, usual / LARGEST_CPU_SHARE)
