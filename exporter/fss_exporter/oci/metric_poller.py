"""The rounds of the loop `oci`. A round polls every region and publishes each region right after the poll."""

import logging
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from fss_exporter.errors import SourceError
from fss_exporter.oci.account import Account, MonitoredRegion, each_region
from fss_exporter.oci.snapshot import SnapshotBoard

_SHARE: Final = 0.9  # of the interval that a poll may take
_LEAST_SECONDS: Final = 30.0  # that a poll may take, however short the interval
_LOOK_SECONDS: Final = 0.2

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class MetricPoller:
    """Polls every region of an account."""

    account: Account[Any]  # the regions
    board: SnapshotBoard  # gets the results
    _: KW_ONLY
    interval: float  # seconds from the begin of one poll to the begin of the next
    clock: Callable[[], float] = time.monotonic  # seconds that never go back
    pause: Callable[[float], None] = time.sleep  # waits so many seconds; raises EndLoop when the exporter stops
    polled: bool = field(default=False, init=False)  # whether a round has ended, well or not
    success: bool = field(default=False, init=False)  # whether every region's last poll had an answer to everything
    duration_seconds: float = field(default=0.0, init=False)  # of the last round, all regions together

    def run_round(self) -> None:
        """Poll every region once.

        Raises:
            FssError: a region could not be polled, or not everything was answered.
            EndLoop: the exporter stops.
        """
        began, success = self.clock(), False
        try:
            each_region(self.account.regions(), self._poll)
            failed = [one.region for one in self.board.regions if not one.success]
            if failed:
                raise SourceError(f"incomplete poll: {', '.join(failed)}")
            success = True
        finally:
            self.success, self.duration_seconds, self.polled = success, self.clock() - began, True

    def _poll(self, region: MonitoredRegion) -> None:
        self._wait_for_inventory(region)
        poll = region.poller.poll(region.inventory.state, max(_LEAST_SECONDS, _SHARE * self.interval))
        self.board.publish_poll(region.name, poll)

    def _wait_for_inventory(self, region: MonitoredRegion) -> None:
        """Let the first poll wait for the first listings, at most one interval."""
        for _ in range(int(_SHARE * self.interval / _LOOK_SECONDS)):
            if region.inventory.listed.is_set():
                return
            self.pause(_LOOK_SECONDS)
        log.info("%s: no poll yet: the first inventory has not listed all resources", region.name)
