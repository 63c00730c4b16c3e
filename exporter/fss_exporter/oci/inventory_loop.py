"""The rounds of the loop `oci_inventory`: refreshes the inventory of each region when it is due."""

import logging
from collections.abc import Callable
from typing import Any, Final

from fss_exporter.errors import FssError, SourceError
from fss_exporter.oci.account import Account, MonitoredRegion
from fss_exporter.oci.each_region import each_region
from fss_exporter.oci.unknown_targets import UnknownTargets

_BETWEEN_HINTS_SECONDS: Final = 120  # a poll that suspects changes makes an inventory come early, but not more often
_PROGRESS_SECONDS: Final = 10

log = logging.getLogger(__name__)


class InventoryLoop:
    """Refreshes inventories.

    Args:
        account: the regions.
        interval: seconds between two inventories of a region.
        clock: seconds that never go back.

    Attributes:
        unknown_targets: warns of names in the configuration, once all regions are listed; may be replaced.
    """

    def __init__(
        self, account: Account[Any], unknown_targets: UnknownTargets, *, interval: float, clock: Callable[[], float]
    ) -> None:
        self.unknown_targets = unknown_targets
        self._account = account
        self._interval = interval
        self._clock = clock
        self._began: dict[str, float] = {}

    def run_round(self) -> None:
        """Refresh every region that is due.

        Raises:
            FssError: the last inventory of a region was incomplete, or there are no credentials.
            EndLoop: the exporter stops.
        """
        regions = self._account.regions()
        each_region([one for one in regions if self._is_due(one)] or (), self._refresh)
        incomplete = [one.name for one in regions if not all(one.inventory.state.succeeded.values())]
        if incomplete:
            raise SourceError(f"incomplete inventory: {', '.join(incomplete)}")
        inventories = [one.inventory.state.inventory for one in regions]
        if None not in inventories and all(one.inventory.listed.is_set() for one in regions):
            self.unknown_targets.check(found for found in inventories if found)

    def _is_due(self, region: MonitoredRegion) -> bool:
        since = self._clock() - self._began.get(region.name, float("-inf"))
        hinted = region.poller.suspects_changes and since >= _BETWEEN_HINTS_SECONDS
        return hinted or since >= self._interval or not region.inventory.listed.is_set()

    def _refresh(self, region: MonitoredRegion) -> None:
        began = self._began[region.name] = self._clock()
        region.poller.suspects_changes = False
        inventory = region.inventory
        is_first = not inventory.listed.is_set()
        shown = began

        def progress() -> None:
            nonlocal shown
            if is_first and self._clock() - shown >= _PROGRESS_SECONDS:
                shown = self._clock()
                known = inventory.state.inventory
                found = f", {len(known.mount_targets)} mount targets found" if known else ""
                log.info(
                    "%s: first inventory: %d calls after %.0f s%s", region.name, inventory.calls, shown - began, found
                )

        try:
            inventory.run(progress, mount_targets_first=is_first)
        except FssError:  # reported by the inventory
            return
        finally:
            region.inventory_failures.end_round()
        if is_first and inventory.listed.is_set() and inventory.state.inventory is not None:
            found = inventory.state.inventory
            log.info(
                "%s: first inventory ended after %.0f s: %d mount targets, %d file systems",
                *(region.name, self._clock() - began, len(found.mount_targets), len(found.file_systems)),
            )
