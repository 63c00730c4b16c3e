"""Make the inventory of a region from the records of the listings. Tags select resources, and export sets join exports
to mount targets. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from fss_exporter.oci.oci_inventory import GONE, Inventory, ListedResources, Resource
from fss_exporter.oci.selection import TagFilter

_Record = TypeVar("_Record", bound=Resource)


def join(
    listed: ListedResources,
    tags: TagFilter,
    *,
    compartments: Mapping[str, str],
    availability_domains: Sequence[str] = (),
    mount_target_limits: Mapping[str, float] = MappingProxyType({}),
) -> Inventory:
    """Return the inventory.

    If tags select resources, file systems and exports follow their mount targets. Replications and connectors need the tags
    themselves.

    Args:
        listed: records of all listings.
        tags: selection of resources.
        compartments: names by OCID.
        availability_domains: availability domains of the region.
        mount_target_limits: service limit by availability domain.
    """
    vcn_ids = {one.id: one.vcn_id for one in listed.export_sets}
    targets = {
        key: replace(one, vcn_id=vcn_ids.get(one.export_set_id, ""))
        for key, one in _included(listed.mount_targets, tags).items()
    }
    target_of = {one.export_set_id: one.id for one in targets.values()}
    exports = [
        replace(one, mount_target_id=target_of[one.export_set_id])
        for one in listed.exports
        if one.state not in GONE and one.export_set_id in target_of
    ]
    behind = {one.file_system_id for one in exports}
    systems = {
        one.id: one
        for one in listed.file_systems
        if one.state not in GONE and (tags.includes(one.tags) or (one.id in behind and not tags.excludes(one.tags)))
    }
    alive = [one.availability_domain for one in listed.mount_targets if one.state not in GONE]
    return Inventory(
        mount_targets=MappingProxyType(targets),
        file_systems=MappingProxyType(systems),
        exports=tuple(one for one in exports if one.file_system_id in systems),
        replications=_included(listed.replications, tags),
        connectors=_included(listed.connectors, tags),
        compartments=MappingProxyType(dict(compartments)),
        service_resources=_included(listed.service_resources, tags),
        availability_domains=tuple(availability_domains),
        mount_target_counts=MappingProxyType({**dict.fromkeys(availability_domains, 0), **Counter(alive)}),
        mount_target_limits=mount_target_limits,
    )


def _included(records: Iterable[_Record], tags: TagFilter) -> Mapping[str, _Record]:
    return MappingProxyType({one.id: one for one in records if one.state not in GONE and tags.includes(one.tags)})
