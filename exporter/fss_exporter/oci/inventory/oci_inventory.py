# SPDX-License-Identifier: Apache-2.0
"""Frozen records of the resources in one region, and their join to an inventory. Pure.

Every record of a listed resource begins with six equal fields: OCID, display name (the OCID without a name), OCID of the
compartment, availability domain, lifecycle state, and tags (`selection.py` has their keys).
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeVar

from fss_exporter.oci.cloud_client import LimitedKind
from fss_exporter.oci.inventory.selection import TagFilter
from fss_exporter.shard import WHOLE, Shard

ACTIVE: Final = "ACTIVE"  # Lifecycle state of a usable resource
GONE: Final = frozenset({"DELETED", "FAILED", "TERMINATED"})  # Lifecycle states of resources that no longer exist
GONE_MOUNT_TARGET: Final = frozenset(
    {"DELETED"}
)  # A mount target that has FAILED can have clients, and an alert says so


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The fields of every listed resource."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    state: str
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MountTarget(Resource):
    """A mount target."""

    export_set_id: str = ""
    subnet_id: str = ""
    private_ip_id: str = ""  # OCID of its IPv4 address; empty where it has none
    ipv6_ids: tuple[str, ...] = ()  # OCIDs of its IPv6 addresses
    # billed and enforced throughput. None for some standard mount targets
    observed_throughput_gbps: int | None = None
    # the throughput after a pending change of the shape; None where the API reports none
    requested_throughput_gbps: int | None = None
    address: str = ""  # IP address, IPv4 first. Empty while unknown
    further_addresses: tuple[str, ...] = ()  # its other known addresses
    fqdn: str = ""  # host name. Empty while unknown, or without DNS label
    vcn_id: str = ""  # OCID of the network. Empty while unknown
    pending: bool = False  # whether address and host name are still to be looked up for the first time


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem(Resource):
    """A file system. `metered_bytes` is the billed size, refreshed hourly. A clone hydrates until all data are copied."""

    metered_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication(Resource):
    """A replication. Times are epoch seconds, None without a time from the API."""

    interval_seconds: float | None = None
    recovery_point: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector(Resource):
    """An outbound connector, in practice to an LDAP server."""

    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceResource(Resource):
    """A resource of another storage service."""

    service: str  # row of the model's table of services
    kind: str  # tier or performance level as that row has it; a kind the row does not have has no limits
    capacity_bytes: float  # capacity that was bought


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSet:
    """The exports of one mount target, and their network."""

    id: str
    vcn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A file system behind a mount target, at a path. Listings name the export set, `join` the mount target."""

    id: str
    path: str
    state: str
    file_system_id: str
    export_set_id: str
    mount_target_id: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Every resource in one region, by OCID, without deleted resources."""

    mount_targets: Mapping[str, MountTarget] = field(default_factory=dict)
    file_systems: Mapping[str, FileSystem] = field(default_factory=dict)
    exports: tuple[Export, ...] = ()
    replications: Mapping[str, Replication] = field(default_factory=dict)
    connectors: Mapping[str, Connector] = field(default_factory=dict)
    # names by OCID, the tenancy's own included; an OCID stands for itself where its name is not known
    compartments: Mapping[str, str] = field(default_factory=dict)
    service_resources: Mapping[str, ServiceResource] = field(default_factory=dict)
    availability_domains: tuple[str, ...] = ()  # names of the region's availability domains
    # resources of each limited kind by availability domain, and the service limits there, where they may be read
    counts: Mapping[LimitedKind, Mapping[str, int]] = field(default_factory=dict)
    service_limits: Mapping[LimitedKind, Mapping[str, float]] = field(default_factory=dict)
    shard: Shard = WHOLE  # shard of these resources. File systems behind the mount targets may belong to another
    # mount targets of other shards, because an address can repeat there
    other_mount_targets: Mapping[str, MountTarget] = field(default_factory=dict)
    # OCIDs that are listed and left out, because of their tags or because OCI calls them deleted or failed
    not_selected: AbstractSet[str] = frozenset()

    def of_shard(self, shard: Shard) -> "Inventory":
        """Return the part of a shard. Shards have no mount target, file system or service resource in common.

        What belongs to none of these, such as replications and counts of the whole tenancy, is in the first shard.
        """
        if shard.is_whole:
            return self
        targets = {key: target for key, target in self.mount_targets.items() if shard.holds(key)}
        exports = tuple(export for export in self.exports if export.mount_target_id in targets)
        behind = {export.file_system_id for export in exports}
        part = replace(
            self,
            mount_targets=MappingProxyType(targets),
            other_mount_targets=MappingProxyType(
                {key: target for key, target in self.mount_targets.items() if key not in targets}
            ),
            file_systems=MappingProxyType(
                {
                    key: file_system
                    for key, file_system in self.file_systems.items()
                    if key in behind or shard.holds(key)
                }
            ),
            exports=exports,
            service_resources=MappingProxyType(
                {key: resource for key, resource in self.service_resources.items() if shard.holds(key)}
            ),
            shard=shard,
        )
        if shard.is_first:
            return part
        return replace(part, replications={}, connectors={}, counts={}, service_limits={})

    @property
    def own_file_systems(self) -> tuple[FileSystem, ...]:
        """The file systems of the shard itself."""
        return tuple(file_system for file_system in self.file_systems.values() if self.shard.holds(file_system.id))

    @property
    def services(self) -> frozenset[str]:
        """Other storage services with at least one resource."""
        return frozenset(resource.service for resource in self.service_resources.values())

    def compartment(self, compartment_id: str) -> str:
        """Return the compartment's name, or the OCID of an unknown compartment."""
        return self.compartments.get(compartment_id, compartment_id)


_Listed = TypeVar("_Listed", bound=Resource | Export | ExportSet)
_Record = TypeVar("_Record", bound=Resource)


def join(
    listed: Sequence[Resource | Export | ExportSet],
    tags: TagFilter,
    *,
    compartments: Mapping[str, str],
    availability_domains: Sequence[str] = (),
    service_limits: Mapping[LimitedKind, Mapping[str, float]] = MappingProxyType({}),
) -> Inventory:
    """Return the inventory of a region from the records of all listings, over all compartments and availability domains.

    `compartments` has names by OCID, `service_limits` the limits by kind and availability domain.

    If tags select resources, file systems and exports follow their mount targets. Replications and connectors need the tags
    themselves.
    """

    def every(kind: type[_Listed]) -> list[_Listed]:
        # A resource that moves to another compartment or page meanwhile is listed twice.
        return list({record.id: record for record in listed if isinstance(record, kind)}.values())

    vcn_ids = {export_set.id: export_set.vcn_id for export_set in every(ExportSet)}
    alive = [target for target in every(MountTarget) if target.state not in GONE_MOUNT_TARGET]
    targets = {
        target.id: replace(target, vcn_id=vcn_ids.get(target.export_set_id, ""))
        for target in alive
        if tags.includes(target.tags)
    }
    exports = _joined_exports(every(Export), targets.values())
    systems = _selected_file_systems(every(FileSystem), {export.file_system_id for export in exports}, tags)
    replications, services = _included(every(Replication), tags), _included(every(ServiceResource), tags)

    def count(kept: Iterable[Resource]) -> Mapping[str, int]:
        counted = Counter(resource.availability_domain for resource in kept)
        return MappingProxyType({**dict.fromkeys(availability_domains, 0), **counted})

    return Inventory(
        mount_targets=MappingProxyType(targets),
        file_systems=MappingProxyType(systems),
        exports=tuple(export for export in exports if export.file_system_id in systems),
        replications=replications,
        connectors=_included(every(Connector), tags),
        compartments=MappingProxyType(dict(compartments)),
        service_resources=services,
        availability_domains=tuple(availability_domains),
        counts={
            "mount_targets": count(alive),
            "file_systems": count(system for system in every(FileSystem) if system.state not in GONE),
        },
        service_limits=service_limits,
        not_selected=frozenset(record.id for record in listed if isinstance(record, Resource))
        - (targets.keys() | systems.keys() | replications.keys() | services.keys()),
    )


def _selected_file_systems(
    systems: Iterable[FileSystem], exported: Container[str], tags: TagFilter
) -> dict[str, FileSystem]:
    """Return file systems by OCID that tags include, or that a selected mount target exports and tags do not exclude."""
    return {
        system.id: system
        for system in systems
        if system.state not in GONE
        and (tags.includes(system.tags) or (system.id in exported and not tags.excludes(system.tags)))
    }


def _joined_exports(exports: Iterable[Export], targets: Iterable[MountTarget]) -> list[Export]:
    """Return the exports of the mount targets, joined by the export set."""
    target_of = {target.export_set_id: target.id for target in targets}
    return [
        replace(export, mount_target_id=target_of[export.export_set_id])
        for export in exports
        if export.state not in GONE and export.export_set_id in target_of
    ]


def _included(records: Iterable[_Record], tags: TagFilter) -> Mapping[str, _Record]:
    return MappingProxyType(
        {record.id: record for record in records if record.state not in GONE and tags.includes(record.tags)}
    )
