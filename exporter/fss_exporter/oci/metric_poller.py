"""The thread that polls. It publishes whole snapshots; whoever scrapes reads the last one and waits for nobody."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from fss_exporter.errors import FssError
from fss_exporter.oci.call_budget import Stopped
from fss_exporter.oci.self_metrics import SelfMetrics
from fss_exporter.oci.snapshot import RegionSnapshot, Snapshot

_LEAST_SECONDS: Final = 15.0  # what a region may take, however many there are
_STOP_SECONDS: Final = 0.8

log = logging.getLogger(__name__)


class Region(Protocol):
    """What the poller needs of a region."""

    region: str

    def poll(self, seconds: float) -> RegionSnapshot:
        """Ask everything once, in so many seconds."""

    def work(self, until: float) -> RegionSnapshot | None:
        """Use the time up to a reading of the clock; what changed by it, if anything did."""


class Poller:
    """Polls every region in turn, over and over.

    Args:
        connect: reads the credentials and gives the regions; tried again at each poll until it works.
        interval: seconds from the begin of one poll to the next.
        clock: seconds that never go back.
        stopping: set when the poller is to stop; the budget waits on it as well.
        ledger: counters of what was done.
    """

    def __init__(
        self,
        connect: Callable[[], Sequence[Region]],
        *,
        interval: float,
        clock: Callable[[], float],
        stopping: threading.Event,
        ledger: SelfMetrics,
    ) -> None:
        self.snapshot = Snapshot()
        self.success = False
        self.polled = False
        self.duration_seconds = 0.0
        self._connect = connect
        self._regions: Sequence[Region] = ()
        self._interval = interval
        self._clock = clock
        self._stopping = stopping
        self._ledger = ledger
        self._polling = threading.Lock()
        self._refused_credentials = ""
        self._thread: threading.Thread | None = None
        ledger.add("fss_oci_polls_refused_total", amount=0)

    def start(self) -> None:
        """Poll from now on, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="oci-poller", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Poll no more. A call that is under way is not waited for longer than a moment; its answer is dropped."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def poll_once(self) -> bool:
        """Poll every region once and publish each; False if a poll is under way, which is left alone.

        Raises:
            Stopped: the poller is to stop.
        """
        if not self._polling.acquire(blocking=False):
            self._ledger.add("fss_oci_polls_refused_total")
            log.warning("the poll before is still under way; this one is left out")
            return False
        try:
            self._poll()
        finally:
            self._polling.release()
        return True

    def work(self, until: float) -> None:
        """Let the regions use the time up to a reading of the clock.

        Raises:
            Stopped: the poller is to stop.
        """
        for region in self._regions:
            fresh = region.work(until)
            if fresh is not None:
                self.snapshot = self.snapshot.with_region(fresh)

    def _poll(self) -> None:
        began = self._clock()
        success = self._connected()
        for region in self._regions:
            share = max(_LEAST_SECONDS, 0.9 * self._interval / len(self._regions))
            try:
                fresh = region.poll(share)
            except Stopped:
                raise
            except Exception:  # a mistake of ours in one region does not cost the others
                log.exception("%s: the poll broke off", region.region)
                success = False
                continue
            if self._stopping.is_set():
                raise Stopped
            self.snapshot = self.snapshot.with_region(fresh)
            success = success and fresh.success
        self.success, self.duration_seconds, self.polled = success, self._clock() - began, True

    def _connected(self) -> bool:
        if self._regions:
            return True
        try:
            self._regions = self._connect()
        except FssError as error:
            if str(error) != self._refused_credentials:
                self._refused_credentials = str(error)
                log.error("cannot poll OCI, will try again: %s", error)  # noqa: TRY400  # the operator's, not ours
            return False
        return True

    def _run(self) -> None:
        due = self._clock()
        try:
            while not self._stopping.is_set():
                self.poll_once()
                due = max(due + self._interval, self._clock())
                self.work(due)
                self._stopping.wait(max(0.0, due - self._clock()))
        except Stopped:
            pass
