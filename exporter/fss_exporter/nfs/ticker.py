"""One thread that reads the client's counters at a steady pace."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

from fss_exporter.errors import SourceError
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.superblocks import Reading

log = logging.getLogger(__name__)

LARGEST_CPU_SHARE = 0.015
"""What ticking may take of one core: on a host with very many mounts the ticks get fewer instead. With the rest that an
idle exporter does it stays under 2 %."""


class Ticker:
    """Reads, accounts, waits.

    Hold `lock` while looking at any attribute: the ticking thread changes them.

    Args:
        read: one look at the client; raises SourceError.
        interval_s: seconds between two looks.
        clock: a monotonic clock, seconds.
        cpu_clock: CPU time of the calling thread, seconds.
        accounts: what the readings are added to.
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
        self._failing = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nfs-ticker", daemon=True)

    def start(self) -> None:
        """Take the first reading, so that the first scrape has an answer, and start ticking."""
        self.tick()
        self._thread.start()

    def stop(self) -> None:
        """Stop ticking; returns when the thread is gone, at most a second later."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def tick(self) -> None:
        """Take one reading and account for it. A source that cannot be read leaves the accounts as they are."""
        began, cpu_began = self._clock(), self._cpu_clock()
        try:
            reading = self._read()
        except SourceError as error:
            self._fail(error, began)
            return
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
        if self._failing:
            self._failing = False
            log.info("NFS counters can be read again")

    def _fail(self, error: SourceError, began: float) -> None:
        with self.lock:
            self.reading = None
            self.duration_s = self._clock() - began
        if not self._failing:
            self._failing = True
            log.error("no NFS counters: %s", error)

    @property
    def wanted_interval_s(self) -> float:
        """Time to the next tick: as asked for, or longer where ticks are too dear for that.

        The middle one of the last three counts: one dear tick between cheap ones has set something up and says nothing
        about the next.
        """
        usual = sorted(self._cpu_s)[(len(self._cpu_s) - 1) // 2] if self._cpu_s else 0.0
        return max(self._interval_s, usual / LARGEST_CPU_SHARE)

    def _run(self) -> None:
        next_at = self._clock()
        while True:
            next_at = max(next_at + self.wanted_interval_s, self._clock())
            if self._stopping.wait(max(0.0, next_at - self._clock())):
                return
            self.tick()
