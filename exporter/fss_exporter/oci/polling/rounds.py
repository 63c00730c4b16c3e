# SPDX-License-Identifier: Apache-2.0
"""The rounds of the loops `oci` and `oci_inventory` over the regions of one account. A round polls every region and publishes
each region right after the poll, or refreshes each inventory that is due.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from fss_exporter.background import each_at_once
from fss_exporter.errors import CloudError, SourceError
from fss_exporter.log_once import LogOnce
from fss_exporter.oci.inventory.mount_target_settings import named_targets
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.polling.regions import AccountRegion
from fss_exporter.oci.snapshot import SnapshotBoard
from fss_exporter.settings import Settings

_POLL_SHARE: Final = 0.9  # largest part of the interval that a poll takes
_LEAST_POLL_SECONDS: Final = 30.0  # time for a poll, however short the interval
_BETWEEN_LOOKS_SECONDS: Final = 0.2  # while the first poll waits for the first inventory
_BETWEEN_HINTS_SECONDS: Final = 120  # a poll that suspects changes makes an inventory come early, but not more often
_BETWEEN_PROGRESS_SECONDS: Final = 10  # between two lines of log on the first inventory

log = logging.getLogger(__name__)


class PollRounds:
    """Polls every region of an account.

    Attributes:
        was_answered: whether OCI has answered in every region in one round.
        success: whether every region's last poll had an answer to everything.
        duration_seconds: time that the last round took, all regions together.

    Args:
        regions: returns the regions of the account, or raises FssError without credentials.
        board: place for the results.
        interval: seconds from the begin of one poll to the begin of the next.
        clock: seconds that never go back.
        pause: waits so many seconds. Raises EndLoop when the exporter stops.
    """

    def __init__(
        self,
        regions: Callable[[], Sequence[AccountRegion]],
        board: SnapshotBoard,
        *,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._regions = regions
        self._board = board
        self._interval = interval
        self._clock = clock
        self._pause = pause
        self.was_answered = False
        self.success = False
        self.duration_seconds = 0.0
        self._log_once = LogOnce(log)

    def go_on_from(self, earlier: "PollRounds") -> None:
        """Take over what is known of the rounds with earlier settings, until the first round ends."""
        self.was_answered = earlier.was_answered
        self.success, self.duration_seconds = earlier.success, earlier.duration_seconds

    def run_round(self) -> None:
        """Poll every region once.

        Raises:
            FssError: a region could not be polled, or not everything was answered.
            EndLoop: the exporter stops.
        """
        began, success = self._clock(), False
        try:
            each_at_once(self._regions(), self._poll)
            failed = [region.region for region in self._board.regions if not region.success]
            if failed:
                raise SourceError(f"incomplete poll: {', '.join(failed)}")
            success = True
        finally:
            self.success, self.duration_seconds = success, self._clock() - began
            polls = [region.poll for region in self._board.regions]
            self.was_answered |= bool(polls) and all(poll is not None and poll.has_answer for poll in polls)

    def _poll(self, region: AccountRegion) -> None:
        self._wait_for_inventory(region)
        poll = region.polls.poll(region.inventory.snapshot, max(_LEAST_POLL_SECONDS, _POLL_SHARE * self._interval))
        self._board.publish(region.name, poll=poll)

    def _wait_for_inventory(self, region: AccountRegion) -> None:
        """Let the first poll wait for the first listings, at most one interval."""
        for _ in range(int(_POLL_SHARE * self._interval / _BETWEEN_LOOKS_SECONDS)):
            if region.inventory.snapshot.scopes:
                return
            self._pause(_BETWEEN_LOOKS_SECONDS)
        message = f"{region.name}: no poll yet: the first inventory has not listed all resources"
        self._log_once.failed(region.name, message, level=logging.INFO)


class InventoryRounds:
    """Refreshes inventories. The first complete inventory of all regions checks the names of mount targets in the settings.

    Args:
        regions: returns the regions of the account, or raises FssError without credentials.
        settings: returns the settings, which may be replaced while the exporter runs.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        regions: Callable[[], Sequence[AccountRegion]],
        settings: Callable[[], Settings],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._regions = regions
        self._settings = settings
        self._clock = clock
        self._began: dict[str, float] = {}
        self._checked: Settings | None = None

    def run_round(self) -> None:
        """Refresh every region that is due.

        Raises:
            FssError: the last inventory of a region was incomplete, or there are no credentials.
            EndLoop: the exporter stops.
        """
        regions = self._regions()
        each_at_once([region for region in regions if self._is_due(region)], self._refresh)
        incomplete = [region.name for region in regions if not all(region.inventory.snapshot.succeeded.values())]
        if incomplete:
            raise SourceError(f"incomplete inventory: {', '.join(incomplete)}")
        settings = self._settings()
        if settings is not self._checked and all(region.inventory.listed.is_set() for region in regions):
            self._checked = settings
            snapshots = (region.inventory.snapshot for region in regions)
            listed = (snapshot.inventory for snapshot in snapshots if snapshot.inventory)
            _warn_of_unknown_targets(named_targets(settings), listed)

    def _is_due(self, region: AccountRegion) -> bool:
        since = self._clock() - self._began.get(region.name, float("-inf"))
        hinted = region.polls.suspects_changes.is_set() and since >= _BETWEEN_HINTS_SECONDS
        return hinted or since >= self._settings().oci.inventory_interval or not region.inventory.listed.is_set()

    def _refresh(self, region: AccountRegion) -> None:
        began = self._began[region.name] = self._clock()
        is_hinted = region.polls.suspects_changes.is_set()
        region.polls.suspects_changes.clear()
        inventory = region.inventory
        is_first = not inventory.listed.is_set()
        shown = began

        def progress() -> None:
            nonlocal shown
            if is_first and self._clock() - shown >= _BETWEEN_PROGRESS_SECONDS:
                shown = self._clock()
                listed = inventory.snapshot.inventory
                count = f", {len(listed.mount_targets)} mount targets found" if listed else ""
                log.info(
                    "%s: first inventory: %d calls after %.0f s%s", region.name, inventory.calls, shown - began, count
                )

        try:
            inventory.run(progress, mount_targets_first=is_first, everywhere=is_first or is_hinted)
        except CloudError:  # reported by the inventory
            return
        finally:
            region.inventory_failures.end_round()
        if is_first and inventory.listed.is_set() and inventory.snapshot.inventory is not None:
            listed = inventory.snapshot.inventory
            log.info(
                "%s: first inventory ended after %.0f s: %d mount targets, %d file systems",
                region.name,
                self._clock() - began,
                len(listed.mount_targets),
                len(listed.file_systems),
            )


def _warn_of_unknown_targets(named: frozenset[str], inventories: Iterable[Inventory]) -> None:
    """Warn of each name in the settings that is not listed, because a limit with a typing error has no effect."""
    targets = [
        target
        for inventory in inventories
        for target in (*inventory.mount_targets.values(), *inventory.other_mount_targets.values())
    ]
    for name in sorted(named.difference(*((target.id, target.name) for target in targets))):
        log.warning(
            "the configuration gives limits or objectives to mount target %s, which is not listed."
            " Correct the name, or see fss-exporter discover",
            name,
        )
