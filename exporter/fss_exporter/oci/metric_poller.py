"""The rounds of the loop `oci`: polls every region and publishes each as soon as it is polled."""

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from fss_exporter.errors import SourceError
from fss_exporter.oci.account import Account, MonitoredRegion
from fss_exporter.oci.each_region import each_region
from fss_exporter.oci.snapshot import SnapshotBoard

_SHARE: Final = 0.9  # of the interval that a poll may take
_LEAST_SECONDS: Final = 30.0  # that a poll may take, however short the interval
_LOOK_SECONDS: Final = 0.2

log = logging.getLogger(__name__)


class MetricPoller:
    """Polls every region of an account.

    Args:
        account: the regions.
        board: gets the results.
        interval: seconds from the begin of one poll to the begin of the next.
        clock: seconds that never go back.
        pause: waits so many seconds; raises EndLoop when the exporter stops.

    Attributes:
        polled: whether a round has ended, well or not.
        success: whether every region's last poll had an answer to everything.
        duration_seconds: of the last round, all regions together.
    """

    def __init__(
        self,
        account: Account[Any],
        board: SnapshotBoard,
        *,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.polled = False
        self.success = False
        self.duration_seconds = 0.0
        self._account = account
        self._board = board
        self._interval = interval
        self._clock = clock
        self._pause = pause

    def run_round(self) -> None:
        """Poll every region once.

        Raises:
            FssError: a region could not be polled, or not everything was answered.
            EndLoop: the exporter stops.
        """
        began, success = self._clock(), False
        try:
            each_region(self._account.regions(), self._poll)
            failed = [one.region for one in self._board.regions if not one.success]
            if failed:
                raise SourceError(f"incomplete poll: {', '.join(failed)}")
            success = True
        finally:
            self.success, self.duration_seconds, self.polled = success, self._clock() - began, True

    def _poll(self, region: MonitoredRegion) -> None:
        self._wait_for_inventory(region)
        poll = region.poller.poll(region.inventory.state, max(_LEAST_SECONDS, _SHARE * self._interval))
        self._board.publish_poll(region.name, poll)

    def _wait_for_inventory(self, region: MonitoredRegion) -> None:
        """The first poll comes right after the first listings, and waits for them one interval at most."""
        for _ in range(int(_SHARE * self._interval / _LOOK_SECONDS)):
            if region.inventory.listed.is_set():
                return
            self._pause(_LOOK_SECONDS)
        log.info("%s: no poll yet: the first inventory has not listed all resources", region.name)
