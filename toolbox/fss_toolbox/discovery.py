# SPDX-License-Identifier: Apache-2.0
"""Make one inventory for a command, and convert the inventory to rows of a table or `http_sd` targets.

`http_sd`: https://prometheus.io/docs/prometheus/latest/http_sd/. Labels that begin with `__meta_` exist for relabelling only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fss_exporter.addresses import used_once
from fss_exporter.model.limits import NFS_PORT, Limits, shape_of
from fss_exporter.oci.inventory.inventory_refresh import InventoryRefresh
from fss_exporter.oci.inventory.mount_target_settings import limits_of
from fss_exporter.oci.inventory.oci_inventory import ACTIVE, Inventory, MountTarget
from fss_exporter.oci.rows.inventory_rows import Places, places_of
from fss_exporter.settings import Settings
from fss_toolbox.tables import Progress


@dataclass(frozen=True, slots=True)
class DiscoveredMountTarget:
    """One mount target."""

    tenancy: str  # name of the account, else OCID of the tenancy
    region: str  # the region's name
    target: MountTarget  # the mount target, with the addresses that the settings state
    places: Places  # where clients reach it
    compartment: str  # name of its compartment
    shape: str  # name of its shape
    limits: Limits  # its limits
    exports: Mapping[str, str]  # path to name of the file system behind it


def refresh_with_progress(refresh: InventoryRefresh, progress: Progress) -> None:
    """Make one inventory, and show listings and address lookups as phases. For errors see `InventoryRefresh.run`."""
    region, shown = refresh.client.region, False
    progress.phase(f"{region}: listing resources")

    def step() -> None:
        nonlocal shown
        if refresh.snapshot.inventory is not None and not shown:
            shown, count = True, refresh.look_ups(len(refresh.snapshot.inventory.mount_targets))
            progress.phase(f"{region}: looking up addresses of {count} mount targets", count)
        progress.step()

    refresh.run(step)


def mount_targets_of(
    tenancy: str, region: str, inventory: Inventory, settings: Settings
) -> list[DiscoveredMountTarget]:
    """Return every mount target of a region, by name."""
    paths: dict[str, dict[str, str]] = {}
    for export in inventory.exports:
        system = inventory.file_systems[export.file_system_id]
        paths.setdefault(export.mount_target_id, {})[export.path] = system.name
    return [
        DiscoveredMountTarget(
            tenancy,
            region,
            _as_stated(target, settings),
            places_of(region, target, settings),
            inventory.compartment(target.compartment_id),
            shape_of(target.observed_throughput_gbps).name,
            limits_of(target, settings),
            dict(sorted(paths.get(target.id, {}).items())),
        )
        for target in sorted(
            inventory.mount_targets.values(), key=lambda mount_target: (mount_target.name, mount_target.id)
        )
    ]


def _as_stated(target: MountTarget, settings: Settings) -> MountTarget:
    stated = settings.addresses.get(target.id)
    return replace(target, address=stated, further_addresses=()) if stated else target


def http_sd(mount_targets: Iterable[DiscoveredMountTarget]) -> list[dict[str, Any]]:
    """Return every active mount target with an address as a target on its NFS port."""
    return [
        {
            "targets": [_endpoint(row.target.address)],
            "labels": {
                "__meta_fss_tenancy": row.tenancy,
                "__meta_fss_region": row.region,
                "__meta_fss_mount_target": row.target.name,
                "__meta_fss_mount_target_id": row.target.id,
                "__meta_fss_compartment": row.compartment,
                "__meta_fss_availability_domain": row.target.availability_domain,
                "__meta_fss_fqdn": row.target.fqdn,
                "__meta_fss_shape": row.shape,
                "__meta_fss_network": row.places[0].network,
                "__meta_fss_address": row.target.address,
            },
        }
        for row in mount_targets
        if row.target.address and row.target.state == ACTIVE
    ]


def _endpoint(address: str) -> str:
    return f"[{address}]:{NFS_PORT}" if ":" in address else f"{address}:{NFS_PORT}"


def sharing_an_address(mount_targets: Sequence[DiscoveredMountTarget]) -> list[DiscoveredMountTarget]:
    """Return the mount targets that share an address in one network. Their clients look alike."""
    joined = used_once(place for row in mount_targets for place in row.places)
    return [row for row in mount_targets if row.target.address and not joined.issuperset(row.places)]
