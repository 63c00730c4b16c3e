"""The rounds of the loop `oci_inventory`. A round refreshes the inventory of each region that is due."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from fss_exporter.errors import FssError, SourceError
from fss_exporter.oci.account import Account, MonitoredRegion, each_region
from fss_exporter.oci.oci_inventory import Inventory

_BETWEEN_HINTS_SECONDS: Final = 120  # a poll that suspects changes makes an inventory come early, but not more often
_PROGRESS_SECONDS: Final = 10

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class InventoryLoop:
    """Refreshes inventories."""

    account: Account[Any]
    # OCIDs and display names of mount targets in the configuration. The first complete inventory of all regions warns of
    # each name that is not listed, because a limit or objective with a typing error has no effect. Empty afterwards.
    unseen: frozenset[str]
    _: KW_ONLY
    interval: float  # seconds between two inventories of a region
    clock: Callable[[], float]  # seconds that never go back
    _began: dict[str, float] = field(default_factory=dict, init=False)

    def run_round(self) -> None:
        """Refresh every region that is due.

        Raises:
            FssError: the last inventory of a region was incomplete, or there are no credentials.
            EndLoop: the exporter stops.
        """
        regions = self.account.regions()
        each_region([one for one in regions if self._is_due(one)] or (), self._refresh)
        incomplete = [one.name for one in regions if not all(one.inventory.state.succeeded.values())]
        if incomplete:
            raise SourceError(f"incomplete inventory: {', '.join(incomplete)}")
        inventories = [one.inventory.state.inventory for one in regions]
        if None not in inventories and all(one.inventory.listed.is_set() for one in regions):
            self._warn_of_unknown_targets(found for found in inventories if found)

    def _warn_of_unknown_targets(self, inventories: Iterable[Inventory]) -> None:
        unseen, self.unseen = self.unseen, frozenset()
        targets = [target for one in inventories for target in one.mount_targets.values()]
        for name in sorted(unseen.difference(*((target.id, target.name) for target in targets))):
            log.warning(
                "the configuration gives limits or objectives to mount target %s, which is not listed."
                " Correct the name, or see fss-exporter discover",
                name,
            )

    def _is_due(self, region: MonitoredRegion) -> bool:
        since = self.clock() - self._began.get(region.name, float("-inf"))
        hinted = region.poller.suspects_changes and since >= _BETWEEN_HINTS_SECONDS
        return hinted or since >= self.interval or not region.inventory.listed.is_set()

    def _refresh(self, region: MonitoredRegion) -> None:
        began = self._began[region.name] = self.clock()
        region.poller.suspects_changes = False
        inventory = region.inventory
        is_first = not inventory.listed.is_set()
        shown = began

        def progress() -> None:
            nonlocal shown
            if is_first and self.clock() - shown >= _PROGRESS_SECONDS:
                shown = self.clock()
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
                *(region.name, self.clock() - began, len(found.mount_targets), len(found.file_systems)),
            )
