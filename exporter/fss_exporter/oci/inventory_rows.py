"""The inventory as rows of the catalogue. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from fss_exporter.addresses import NetworkAddress, used_once
from fss_exporter.model.limits import shape_of
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci.mount_target_settings import latency_objectives_of, limits_of, slo_objectives_of
from fss_exporter.oci.oci_inventory import Connector, FileSystem, Inventory, MountTarget, Replication
from fss_exporter.settings import LimitOverrides, Settings

Rows = Iterable[tuple[tuple[str, ...], float | None]]
"""Label values and a number each. A row without a number is left out."""

_INFO: Final = 1.0


def inventory_rows(
    region: str, inventory: Inventory, places: Mapping[str, NetworkAddress], settings: Settings
) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of every inventory metric, by exported name. `places` are those of `joined_places`."""
    yield from _infos(region, inventory, places)
    yield from _figures(region, inventory)
    yield from _limits_and_objectives(region, inventory, settings)
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


def _limits_and_objectives(region: str, inventory: Inventory, settings: Settings) -> Iterator[tuple[str, Rows]]:
    targets = [((region, target.id, target.name), target) for target in inventory.mount_targets.values()]
    limits = [(labels, limits_of(target, settings)) for labels, target in targets]
    for what in LimitOverrides.model_fields:  # the ceilings of mount targets
        yield f"fss_mount_target_{what}_limit", [(labels, getattr(one, what)) for labels, one in limits]
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

    def placed(one: MountTarget | FileSystem | Replication | Connector) -> tuple[str, ...]:
        return region, one.id, one.name, inventory.compartment(one.compartment_id), one.availability_domain

    def mounted(one: MountTarget) -> tuple[str, ...]:
        return *places[one.id], one.fqdn, shape_of(one.observed_throughput_gbps).name, one.state

    looked_up = {key: one for key, one in targets.items() if not one.pending}  # so that no label changes a moment later
    yield "fss_mount_target_info", [((*placed(one), *mounted(one)), _INFO) for one in looked_up.values()]
    pending = [
        ((region, one.id, one.name, shape_of(one.requested_throughput_gbps).name), _INFO)
        for one in targets.values()
        if one.requested_throughput_gbps is not None
        and shape_of(one.requested_throughput_gbps) != shape_of(one.observed_throughput_gbps)
    ]
    yield "fss_mount_target_pending_shape_info", pending
    yield "fss_file_system_info", [((*placed(one), one.state), _INFO) for one in inventory.own_file_systems]
    yield "fss_replication_info", [((*placed(one), one.state), _INFO) for one in inventory.replications.values()]
    connectors = inventory.connectors.values()
    yield "fss_outbound_connector_info", [((*placed(one), one.type, one.state), _INFO) for one in connectors]
    exports = {
        (
            *(region, one.mount_target_id, targets[one.mount_target_id].name),
            *(one.file_system_id, systems[one.file_system_id].name),
            *(one.path, *places[one.mount_target_id], one.state),
        )
        for one in inventory.exports
        if one.mount_target_id in looked_up
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
    yield "fss_oci_inventory_resources", [((region, kind), len(found)) for kind, found in kinds.items()]
    systems = inventory.own_file_systems
    yield "fss_file_system_metered_bytes", [((region, one.id, one.name), one.metered_bytes) for one in systems]
    replications = [((region, one.id, one.name), one) for one in inventory.replications.values()]
    yield "fss_replication_interval_seconds", [(labels, one.interval_seconds) for labels, one in replications]
    points = [(labels, one.recovery_point) for labels, one in replications]
    yield "fss_replication_recovery_point_timestamp_seconds", points


def service_rows(
    region: str, inventory: Inventory, measured: Mapping[str, frozenset[tuple[str, ...]]]
) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of the inventory figures, by exported name.

    A ceiling that OCI publishes (`measured`, labels by exported name) replaces the formula.
    """
    known = [((region, one.service, one.id, one.name), one) for one in inventory.service_resources.values()]
    if not known:
        return
    infos = [
        ((*labels, inventory.compartment(one.compartment_id), one.availability_domain, one.kind, one.state), _INFO)
        for labels, one in known
    ]
    yield "fss_service_resource_info", infos
    yield "fss_service_capacity_bytes", [(labels, one.capacity_bytes) for labels, one in known]
    ceilings = [(labels, SERVICES[one.service].ceilings(one.kind, one.capacity_bytes)) for labels, one in known]
    for name, values in (
        ("fss_service_iops_limit", [(labels, found.iops) for labels, found in ceilings]),
        ("fss_service_bytes_per_second_limit", [(labels, found.bytes_per_second) for labels, found in ceilings]),
    ):
        published = measured.get(name, frozenset())
        yield name, [(labels, value) for labels, value in values if labels not in published]
