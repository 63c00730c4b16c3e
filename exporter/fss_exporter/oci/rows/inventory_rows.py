# SPDX-License-Identifier: Apache-2.0
"""The inventory as rows of the catalogue. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from fss_exporter.addresses import NetworkAddress, used_once
from fss_exporter.model.limits import shape_of
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci.inventory.mount_target_settings import latency_objectives_of, limits_of, slo_objectives_of
from fss_exporter.oci.inventory.oci_inventory import Connector, FileSystem, Inventory, MountTarget, Replication
from fss_exporter.settings import LimitOverrides, Settings

# Label values and a number each. A row without a number is left out.
Rows = Iterable[tuple[tuple[str, ...], float | None]]

_INFO: Final = 1.0


def inventory_rows(
    region: str,
    inventory: Inventory,
    places: Mapping[str, NetworkAddress],
    settings: Settings,
    observed: Mapping[str, Mapping[str, float]],
) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of every inventory metric, by exported name. `places` are those of `joined_places`.

    `observed` are the observed ceilings by field of `Limits`, by OCID of the mount target.
    """
    yield from _infos(region, inventory, places)
    yield from _figures(region, inventory)
    yield from _limits_and_objectives(region, inventory, settings, observed)
    counts, most = inventory.mount_target_counts, inventory.mount_target_limits
    yield "fss_oci_mount_targets", [((region, domain), number) for domain, number in counts.items()]
    yield "fss_oci_mount_targets_limit", [((region, domain), limit) for domain, limit in most.items()]
    targets = inventory.mount_targets.values()
    shared = sum(1 for target in targets if target.address and not places[target.id].address)
    yield "fss_oci_ambiguous_addresses", [((region,), shared)]


def place_of(region: str, target: MountTarget, settings: Settings) -> NetworkAddress:
    """Return where clients reach a mount target. The address is empty if it is not known, or if its network is not.

    Where the configuration tells VCNs apart, a mount target without a known VCN could be in any of them.
    """
    oci, address = settings.oci, settings.addresses.get(target.id, target.address)
    network = oci.networks.get(target.vcn_id, oci.network or region)
    return NetworkAddress(network, "" if oci.networks and not target.vcn_id else address)


def joined_places(inventories: Iterable[tuple[str, Inventory, Settings]]) -> Mapping[str, NetworkAddress]:
    """Return the place of each mount target for joins, by OCID, from inventories with their region and settings.

    The address is empty if two mount targets share the place, in one region or in two, in one tenancy or in two.
    """
    places = {
        target.id: place_of(region, target, settings)
        for region, inventory, settings in inventories
        for target in (*inventory.mount_targets.values(), *inventory.other_mount_targets.values())
    }
    joined = used_once(places.values())
    return {ocid: place if place in joined else place._replace(address="") for ocid, place in places.items()}


def _limits_and_objectives(
    region: str, inventory: Inventory, settings: Settings, observed: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, Rows]]:
    targets = [((region, target.id, target.name), target) for target in inventory.mount_targets.values()]
    limits = [(labels, limits_of(target, settings, observed.get(target.id, {}))) for labels, target in targets]
    yield "fss_oci_warning_ratio", [((region,), settings.warning_ratio)]
    for what in LimitOverrides.model_fields:  # the ceilings of mount targets
        yield f"fss_mount_target_{what}_limit", [(labels, getattr(limit, what)) for labels, limit in limits]
    latencies = [
        ((*labels, *which), seconds)
        for labels, target in targets
        for which, seconds in latency_objectives_of(target, settings).items()
    ]
    yield "fss_mount_target_latency_objective_seconds", latencies
    shares = [
        ((*labels, slo), share)
        for labels, target in targets
        for slo, share in slo_objectives_of(target, settings).items()
    ]
    yield "fss_mount_target_slo_objective_ratio", shares


def _infos(region: str, inventory: Inventory, places: Mapping[str, NetworkAddress]) -> Iterator[tuple[str, Rows]]:
    targets, systems = inventory.mount_targets, inventory.file_systems

    def placed(resource: MountTarget | FileSystem | Replication | Connector) -> tuple[str, ...]:
        compartment = inventory.compartment(resource.compartment_id)
        return region, resource.id, resource.name, compartment, resource.availability_domain

    def mounted(target: MountTarget) -> tuple[str, ...]:
        return *places[target.id], target.fqdn, shape_of(target.observed_throughput_gbps).name, target.state

    # The others come later, so that no label changes a moment after its first scrape.
    looked_up = {key: target for key, target in targets.items() if not target.pending}
    yield "fss_mount_target_info", [((*placed(target), *mounted(target)), _INFO) for target in looked_up.values()]
    pending = [
        ((region, target.id, target.name, shape_of(target.requested_throughput_gbps).name), _INFO)
        for target in targets.values()
        if target.requested_throughput_gbps is not None
        and shape_of(target.requested_throughput_gbps) != shape_of(target.observed_throughput_gbps)
    ]
    yield "fss_mount_target_pending_shape_info", pending
    yield (
        "fss_file_system_info",
        [((*placed(file_system), file_system.state), _INFO) for file_system in inventory.own_file_systems],
    )
    yield (
        "fss_replication_info",
        [((*placed(replication), replication.state), _INFO) for replication in inventory.replications.values()],
    )
    connectors = inventory.connectors.values()
    yield (
        "fss_outbound_connector_info",
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
            *places[export.mount_target_id],
            export.state,
        )
        for export in inventory.exports
        if export.mount_target_id in looked_up
    }
    yield "fss_export_info", [(labels, _INFO) for labels in sorted(exports)]


def _figures(region: str, inventory: Inventory) -> Iterator[tuple[str, Rows]]:
    kinds = {
        "mount_target": inventory.mount_targets,
        "file_system": inventory.own_file_systems,
        "export": inventory.exports,
        "replication": inventory.replications,
        "outbound_connector": inventory.connectors,
    }
    yield "fss_oci_inventory_resources", [((region, kind), len(resources)) for kind, resources in kinds.items()]
    systems = inventory.own_file_systems
    yield (
        "fss_file_system_metered_bytes",
        [((region, system.id, system.name), system.metered_bytes) for system in systems],
    )
    replications = [
        ((region, replication.id, replication.name), replication) for replication in inventory.replications.values()
    ]
    yield (
        "fss_replication_interval_seconds",
        [(labels, replication.interval_seconds) for labels, replication in replications],
    )
    points = [(labels, replication.recovery_point) for labels, replication in replications]
    yield "fss_replication_recovery_point_timestamp_seconds", points


def service_rows(
    region: str, inventory: Inventory, measured: Mapping[str, frozenset[tuple[str, ...]]]
) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of the inventory figures, by exported name.

    A ceiling that OCI publishes (`measured`, labels by exported name) replaces the formula.
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
    yield "fss_service_resource_info", infos
    yield "fss_service_capacity_bytes", [(labels, resource.capacity_bytes) for labels, resource in placed_resources]
    ceilings = [
        (labels, SERVICES[resource.service].ceilings(resource.kind, resource.capacity_bytes))
        for labels, resource in placed_resources
    ]
    for name, values in (
        ("fss_service_iops_limit", [(labels, ceiling.iops) for labels, ceiling in ceilings]),
        ("fss_service_bytes_per_second_limit", [(labels, ceiling.bytes_per_second) for labels, ceiling in ceilings]),
    ):
        published = measured.get(name, frozenset())
        yield name, [(labels, value) for labels, value in values if labels not in published]
