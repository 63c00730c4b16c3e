# SPDX-License-Identifier: Apache-2.0
"""The inventory as rows of the catalogue. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import Final, NamedTuple

from fss_exporter.addresses import NetworkAddress, used_once
from fss_exporter.model.limits import Limits, shape_of
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci.cloud_client import LIMITED_KINDS
from fss_exporter.oci.inventory.mount_target_settings import latency_objectives_of, limits_of, slo_objectives_of
from fss_exporter.oci.inventory.oci_inventory import (
    Connector,
    FileSystem,
    Inventory,
    MountTarget,
    Replication,
    Resource,
)
from fss_exporter.oci.inventory.selection import tag_of
from fss_exporter.setting_types import tag_label
from fss_exporter.settings import LimitOverrides, Settings


class Rows(NamedTuple):
    """The rows of one metric."""

    metric: str  # exported name
    labels: tuple[str, ...]  # names of the label values, in their order. The tenancy stands before them on a page
    rows: Iterable[
        tuple[tuple[str, ...], float | None]
    ]  # label values and a number each. Without a number it is left out
    tags: tuple[str, ...] = ()  # names of further label values behind these


BY_REGION: Final = ("region",)
BY_MOUNT_TARGET: Final = ("region", "mount_target_id", "mount_target")
_BY_FILE_SYSTEM: Final = ("region", "file_system_id", "file_system")
_BY_REPLICATION: Final = ("region", "replication_id", "replication")
_BY_SERVICE: Final = ("region", "service", "resource_id", "resource")
_PLACE: Final = ("compartment", "availability_domain")

_INFO: Final = 1.0

# Ceilings of a resource of another service, by exported name.
SERVICE_LIMITS: Final[Mapping[str, Callable[[Limits], float | None]]] = {
    "fss_service_iops_limit": lambda ceilings: ceilings.iops,
    "fss_service_bytes_per_second_limit": lambda ceilings: ceilings.bytes_per_second,
}

# Where clients reach a mount target: the address that names it, and its other addresses.
Places = tuple[NetworkAddress, ...]


def inventory_rows(
    region: str,
    inventory: Inventory,
    places: Mapping[str, Places],
    settings: Settings,
    observed: Mapping[str, Mapping[str, float]],
) -> Iterator[Rows]:
    """Yield the rows of every inventory metric. `places` are those of `joined_places`.

    `observed` are the observed ceilings by field of `Limits`, by OCID of the mount target.
    """
    yield from _infos(region, inventory, places)
    yield from _tags(region, inventory, settings.oci.tags_as_labels)
    yield from _figures(region, inventory)
    yield from _limits_and_objectives(region, inventory, settings, observed)
    by_domain = (*BY_REGION, "availability_domain")
    for kind in LIMITED_KINDS:
        counts, most = inventory.counts.get(kind, {}), inventory.service_limits.get(kind, {})
        yield Rows(f"fss_oci_{kind}", by_domain, [((region, domain), number) for domain, number in counts.items()])
        yield Rows(f"fss_oci_{kind}_limit", by_domain, [((region, domain), limit) for domain, limit in most.items()])
    targets = inventory.mount_targets.values()
    shared = sum(1 for target in targets if target.address and not all(place.address for place in places[target.id]))
    yield Rows("fss_oci_ambiguous_addresses", BY_REGION, [((region,), shared)])


def places_of(region: str, target: MountTarget, settings: Settings) -> Places:
    """Return where clients reach a mount target. The address is empty if it is not known, or if its network is not.

    Where the configuration tells VCNs apart, a mount target without a known VCN could be in any of them. An address that the
    operator states stands alone.
    """
    oci, stated = settings.oci, settings.addresses.get(target.id)
    addresses = (stated,) if stated else (target.address, *target.further_addresses)
    network, is_unknown = oci.networks.get(target.vcn_id, oci.network or region), oci.networks and not target.vcn_id
    return tuple(NetworkAddress(network, "" if is_unknown else address) for address in addresses)


def joined_places(inventories: Iterable[tuple[str, Inventory, Settings]]) -> Mapping[str, Places]:
    """Return the places of each mount target for joins, by OCID, from inventories with their region and settings.

    The address is empty if two mount targets share the place, in one region or in two, in one tenancy or in two.
    """
    places = {
        target.id: places_of(region, target, settings)
        for region, inventory, settings in inventories
        for target in (*inventory.mount_targets.values(), *inventory.other_mount_targets.values())
    }
    joined = used_once(place for several in places.values() for place in several)
    return {
        ocid: tuple(place if place in joined else place._replace(address="") for place in several)
        for ocid, several in places.items()
    }


def _limits_and_objectives(
    region: str, inventory: Inventory, settings: Settings, observed: Mapping[str, Mapping[str, float]]
) -> Iterator[Rows]:
    targets = [((region, target.id, target.name), target) for target in inventory.mount_targets.values()]
    limits = [(labels, limits_of(target, settings, observed.get(target.id, {}))) for labels, target in targets]
    yield Rows("fss_oci_warning_ratio", BY_REGION, [((region,), settings.warning_ratio)])
    for what in LimitOverrides.model_fields:  # the ceilings of mount targets
        ceilings = [(labels, getattr(limit, what)) for labels, limit in limits]
        yield Rows(f"fss_mount_target_{what}_limit", BY_MOUNT_TARGET, ceilings)
    latencies = [
        ((*labels, *which), seconds)
        for labels, target in targets
        for which, seconds in latency_objectives_of(target, settings).items()
    ]
    yield Rows("fss_mount_target_latency_objective_seconds", (*BY_MOUNT_TARGET, "kind", "size"), latencies)
    shares = [
        ((*labels, slo), share)
        for labels, target in targets
        for slo, share in slo_objectives_of(target, settings).items()
    ]
    yield Rows("fss_mount_target_slo_objective_ratio", (*BY_MOUNT_TARGET, "objective"), shares)


def _infos(region: str, inventory: Inventory, places: Mapping[str, Places]) -> Iterator[Rows]:
    targets, systems = inventory.mount_targets, inventory.file_systems

    def placed(resource: MountTarget | FileSystem | Replication | Connector) -> tuple[str, ...]:
        compartment = inventory.compartment(resource.compartment_id)
        return region, resource.id, resource.name, compartment, resource.availability_domain

    def mounted(target: MountTarget) -> tuple[str, ...]:
        return *places[target.id][0], target.fqdn, shape_of(target.observed_throughput_gbps).name, target.state

    # The others come later, so that no label changes a moment after its first scrape.
    looked_up = {key: target for key, target in targets.items() if not target.pending}
    yield Rows(
        "fss_mount_target_info",
        (*BY_MOUNT_TARGET, *_PLACE, *NetworkAddress._fields, "fqdn", "shape", "state"),
        [((*placed(target), *mounted(target)), _INFO) for target in looked_up.values()],
    )
    addresses = [
        ((region, target.id, target.name, *place), _INFO)
        for target in looked_up.values()
        for place in places[target.id]
        if place.address
    ]
    yield Rows("fss_mount_target_address_info", (*BY_MOUNT_TARGET, *NetworkAddress._fields), addresses)
    pending = [
        ((region, target.id, target.name, shape_of(target.requested_throughput_gbps).name), _INFO)
        for target in targets.values()
        if target.requested_throughput_gbps is not None
        and shape_of(target.requested_throughput_gbps) != shape_of(target.observed_throughput_gbps)
    ]
    yield Rows("fss_mount_target_pending_shape_info", (*BY_MOUNT_TARGET, "pending_shape"), pending)
    yield Rows(
        "fss_file_system_info",
        (*_BY_FILE_SYSTEM, *_PLACE, "state"),
        [((*placed(file_system), file_system.state), _INFO) for file_system in inventory.own_file_systems],
    )
    yield Rows(
        "fss_replication_info",
        (*_BY_REPLICATION, *_PLACE, "state"),
        [((*placed(replication), replication.state), _INFO) for replication in inventory.replications.values()],
    )
    connectors = inventory.connectors.values()
    yield Rows(
        "fss_outbound_connector_info",
        (*BY_REGION, "outbound_connector_id", "outbound_connector", *_PLACE, "connector_type", "state"),
        [((*placed(connector), connector.type, connector.state), _INFO) for connector in connectors],
    )
    exports = {
        (
            region,
            export.mount_target_id,
            targets[export.mount_target_id].name,
            export.file_system_id,
            systems[export.file_system_id].name,
            export.path,
            *places[export.mount_target_id][0],
            export.state,
        )
        for export in inventory.exports
        if export.mount_target_id in looked_up
    }
    yield Rows(
        "fss_export_info",
        (*BY_MOUNT_TARGET, "file_system_id", "file_system", "export", *NetworkAddress._fields, "state"),
        [(labels, _INFO) for labels in sorted(exports)],
    )


def _tags(region: str, inventory: Inventory, keys: Sequence[str]) -> Iterator[Rows]:
    """Yield the chosen tags of each resource that has one of them."""
    kinds: tuple[tuple[str, tuple[str, ...], Iterable[Resource]], ...] = (
        ("fss_mount_target_tags_info", BY_MOUNT_TARGET, inventory.mount_targets.values()),
        ("fss_file_system_tags_info", _BY_FILE_SYSTEM, inventory.own_file_systems),
    )
    for metric, names, resources in kinds if keys else ():
        tagged = [(resource, [tag_of(resource.tags, key) or "" for key in keys]) for resource in resources]
        rows = [((region, resource.id, resource.name, *values), _INFO) for resource, values in tagged if any(values)]
        yield Rows(metric, names, rows, tuple(map(tag_label, keys)))


def _figures(region: str, inventory: Inventory) -> Iterator[Rows]:
    kinds = {
        "mount_target": inventory.mount_targets,
        "file_system": inventory.own_file_systems,
        "export": inventory.exports,
        "replication": inventory.replications,
        "outbound_connector": inventory.connectors,
    }
    resources = [((region, kind), len(of_kind)) for kind, of_kind in kinds.items()]
    yield Rows("fss_oci_inventory_resources", (*BY_REGION, "kind"), resources)
    systems = inventory.own_file_systems
    yield Rows(
        "fss_file_system_metered_bytes",
        _BY_FILE_SYSTEM,
        [((region, system.id, system.name), system.metered_bytes) for system in systems],
    )
    replications = [
        ((region, replication.id, replication.name), replication) for replication in inventory.replications.values()
    ]
    yield Rows(
        "fss_replication_interval_seconds",
        _BY_REPLICATION,
        [(labels, replication.interval_seconds) for labels, replication in replications],
    )
    points = [(labels, replication.recovery_point) for labels, replication in replications]
    yield Rows("fss_replication_recovery_point_timestamp_seconds", _BY_REPLICATION, points)


def service_rows(region: str, inventory: Inventory, published: Mapping[str, AbstractSet[str]]) -> Iterator[Rows]:
    """Yield the rows of the inventory figures of other services.

    A ceiling that OCI publishes (`published`, OCIDs by exported name) replaces the formula.
    """
    placed_resources = [
        ((region, resource.service, resource.id, resource.name), resource)
        for resource in inventory.service_resources.values()
    ]
    if not placed_resources:
        return
    infos = [
        (
            (
                *labels,
                inventory.compartment(resource.compartment_id),
                resource.availability_domain,
                resource.kind,
                resource.state,
            ),
            _INFO,
        )
        for labels, resource in placed_resources
    ]
    yield Rows("fss_service_resource_info", (*_BY_SERVICE, *_PLACE, "kind", "state"), infos)
    capacities = [(labels, resource.capacity_bytes) for labels, resource in placed_resources]
    yield Rows("fss_service_capacity_bytes", _BY_SERVICE, capacities)
    for name, value_of in SERVICE_LIMITS.items():
        own = published.get(name, ())
        yield Rows(
            name,
            _BY_SERVICE,
            [
                (labels, value_of(SERVICES[resource.service].ceilings(resource.kind, resource.capacity_bytes)))
                for labels, resource in placed_resources
                if resource.id not in own
            ],
        )
