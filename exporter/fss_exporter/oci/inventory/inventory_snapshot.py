# SPDX-License-Identifier: Apache-2.0
"""What the last inventory of a region listed, as a frozen record."""

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, field

from fss_exporter.oci.cloud_client import Scope
from fss_exporter.oci.inventory.oci_inventory import Inventory


@dataclass(frozen=True, slots=True)
class InventorySnapshot:
    """The resources that the last inventory listed."""

    inventory: Inventory | None = None  # None until all listings were made once
    scopes: tuple[Scope, ...] = ()  # compartments that metrics are asked of
    is_whole: bool = True  # whether all was listed. A first inventory that takes long is shown in parts
    calls: int = 0  # of the last inventory
    # by API operation, whether every call of the last inventory was answered
    succeeded: Mapping[str, bool] = field(default_factory=dict)
    refused: AbstractSet[str] = frozenset()  # API operations that OCI refused for a permission in the last inventory
    optional: AbstractSet[str] = frozenset()  # API operations that may be refused, because polls can do without
    compartments_expected: int = 0  # selected compartments, unknown names included
    compartments_seen: int = 0  # compartments whose listings were all answered in the last inventory
    listed_at: float | None = None  # epoch seconds of the oldest listing in use; None before the first
    # epoch seconds at which the last inventory ended without a failed call; None before the first
    succeeded_at: float | None = None
    failed_calls: Mapping[tuple[str, str], int] = field(default_factory=dict)  # number by API operation and reason
    broken_rows: Mapping[str, int] = field(default_factory=dict)  # of the last listings, by API operation
