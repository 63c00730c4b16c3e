"""Mount targets that the configuration names and no inventory lists: a limit or objective with a typing error has no effect."""

import logging
from collections.abc import Iterable

from fss_exporter.oci.oci_inventory import Inventory

log = logging.getLogger(__name__)


class UnknownTargets:
    """Warns once of each name that is no display name and no OCID of a listed mount target.

    Args:
        names: OCIDs and display names in `limits`, `latency_objectives` and `slo_objectives`.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._unseen = frozenset(names)

    def check(self, inventories: Iterable[Inventory]) -> None:
        """Compare the names with the complete inventories of all regions. Only the first comparison writes to the log."""
        unseen, self._unseen = self._unseen, frozenset()
        if not unseen:
            return
        targets = [target for one in inventories for target in one.mount_targets.values()]
        for name in sorted(unseen.difference(*((target.id, target.name) for target in targets))):
            log.warning(
                "the configuration gives limits or objectives to mount target %s, which is not listed;"
                " correct the name, or see fss-exporter discover",
                name,
            )
