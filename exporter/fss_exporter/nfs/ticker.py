"""The loop that reads the client's counters at a steady pace."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from fss_exporter.background import Worker
from fss_exporter.errors import SourceError
from fss_exporter.log_once import LogOnce
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.superblocks import Reading

_LOG = logging.getLogger(__name__)

LARGEST_CPU_SHARE: Final = 0.015
"""What ticking may take of one core: on a host with very many mounts the ticks get fewer instead. With the rest of the work of
an idle exporter it stays under 2 %."""

_FIRST_READING_SECONDS: Final = 2.0
"""How long a start waits for the first reading. A read that hangs must not keep the exporter from answering."""


class Ticker:
    """Reads, accounts, waits.

    Hold `lock` while looking at any attribute: the ticking thread changes them.

    Args:
        read: one look at the client; raises SourceError.
        interval_s: seconds between two looks.
        clock: a monotonic clock, seconds.
        cpu_clock: CPU time of the calling thread, seconds.
        accounts: what the readings are added to.

    Attributes:
        loop: the background loop, for its heartbeat.
        reading: the last reading; None while the source cannot be read.
        skipped: records that could not be read, by reason.
        last_interval_s: seconds between the last two ticks; None before the second.
        duration_s: seconds that the last tick took.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        interval_s: float,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
        accounts: Accounts | None = None,
    ) -> None:
        self.lock = threading.Lock()
        self.accounts = accounts or Accounts()
        self.reading: Reading | None = None
        self.skipped: Counter[str] = Counter()
        self.ticks = 0
        self.last_interval_s: float | None = None
        self.duration_s = 0.0
        self._read = read
        self._interval_s = interval_s
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._cpu_s: tuple[float, ...] = ()
        self._last_at: float | None = None
        self._log_once = LogOnce(_LOG)
        self._first_round = threading.Event()
        self.loop = Worker("nfs", self._round, interval=lambda: self.wanted_interval_s)

    def start(self) -> None:
        """Start ticking. Returns after the first reading, so that the first scrape has an answer, or when that takes long."""
        self.loop.start()
        if not self._first_round.wait(_FIRST_READING_SECONDS):
            _LOG.warning("the first reading of the NFS counters takes long; the exporter starts without it")

    def stop(self) -> None:
        """Stop ticking; returns when the thread is gone, at most a second later."""
        self.loop.stop()

    @property
    def is_ready(self) -> bool:
        """Whether the first reading has ended, well or not."""
        return self._first_round.is_set()

    def tick(self) -> None:
        """Take one reading and account for it. A source that cannot be read leaves the accounts as they are."""
        self.loop.run_once()

    def _round(self) -> None:
        try:
            self._read_and_account()
        finally:
            self._first_round.set()

    def _read_and_account(self) -> None:
        began, cpu_began = self._clock(), self._cpu_clock()
        try:
            reading = self._read()
        except SourceError as error:
            with self.lock:
                self.reading = None
                self.duration_s = self._clock() - began
            self._log_once.failed("source", f"no NFS counters: {error}", level=logging.ERROR)
            raise
        ended = self._clock()
        with self.lock:
            self.accounts.apply(reading, began, until=ended)
            self.reading = reading
            self.skipped.update(reading.skipped)
            self.last_interval_s = None if self._last_at is None else began - self._last_at
            self.ticks += 1
            self._last_at = began
            self.duration_s = self._clock() - began
        self._cpu_s = (*self._cpu_s[-2:], self._cpu_clock() - cpu_began)
        self._log_once.works("source", "NFS counters can be read again")

    @property
    def wanted_interval_s(self) -> float:
        """Time to the next tick: as asked for, or longer where ticks take too much CPU for that.

        The middle one of the last three ticks counts: one slow tick between fast ones has set something up and says nothing
        about the next.
        """
        usual = sorted(self._cpu_s)[(len(self._cpu_s) - 1) // 2] if self._cpu_s else 0.0
        return max(self._interval_s, usual / LARGEST_CPU_SHARE)
