"""Other storage services as rows: their metrics, and what the inventory says of their resources. Pure.

Names, dimensions and units: "File Storage with Lustre metrics" and "Block Volume Metrics Reference" of the OCI documentation, read
2026-09-05. Both publish amounts per interval; the sum over a minute, divided by 60, is a rate however many streams and
points a resource has within it.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci.oci_inventory import Inventory
from fss_exporter.oci.oci_metric import OciMetric

LUSTRE: Final = "oci_lustrefilesystem"
BLOCK: Final = "oci_blockstore"

Rows = Iterable[tuple[tuple[str, ...], float]]

_RATE: Final = 1 / 60


def _rate(name: str, gauge: str, namespace: str, service: str, *, discovered_only: bool = False) -> OciMetric:
    return OciMetric(
        name,
        "sum",
        "service",
        "zero",
        gauge=CATALOGUE[f"fss_service_{gauge}"],
        group_by=("resourceId",),
        scale=_RATE,
        discovered_only=discovered_only,
        namespace=namespace,
        service=service,
    )


def _room(name: str, gauge: str) -> OciMetric:
    return OciMetric(
        name,
        "mean",
        "service",
        "state",
        gauge=CATALOGUE[f"fss_service_{gauge}"],
        dimensions=("capacityType",),
        group_by=("resourceId", "capacityType"),
        namespace=LUSTRE,
        service="lustre",
    )


def _guaranteed(name: str, gauge: str, scale: float) -> OciMetric:
    return OciMetric(
        name,
        "mean",
        "service",
        "state",
        gauge=CATALOGUE[f"fss_service_{gauge}"],
        group_by=("resourceId",),
        scale=scale,
        namespace=BLOCK,
        service="block-volume",
    )


_TABLE: Final = (
    _rate("ReadThroughput", "read_bytes_per_second", LUSTRE, "lustre"),
    _rate("WriteThroughput", "write_bytes_per_second", LUSTRE, "lustre"),
    _rate("DataReadOperations", "read_operations_per_second", LUSTRE, "lustre"),
    _rate("DataWriteOperations", "write_operations_per_second", LUSTRE, "lustre"),
    _rate("MetadataOperations", "metadata_operations_per_second", LUSTRE, "lustre", discovered_only=True),
    _room("FileSystemCapacity", "space_bytes"),
    _room("FileSystemInodeCapacity", "inodes"),
    _rate("VolumeReadThroughput", "read_bytes_per_second", BLOCK, "block-volume"),
    _rate("VolumeWriteThroughput", "write_bytes_per_second", BLOCK, "block-volume"),
    _rate("VolumeReadOps", "read_operations_per_second", BLOCK, "block-volume"),
    _rate("VolumeWriteOps", "write_operations_per_second", BLOCK, "block-volume"),
    _guaranteed("VolumeGuaranteedIOPS", "iops_limit", 1.0),
    _guaranteed("VolumeGuaranteedThroughput", "bytes_per_second_limit", 1e6),
    OciMetric(
        "VolumeThrottledIOs",
        "sum",
        "service",
        "silent",
        counter=CATALOGUE["fss_service_throttled_operations_total"],
        group_by=("resourceId",),
        namespace=BLOCK,
        service="block-volume",
    ),
)

DISCOVERED: Final = ("lustre",)
"""Services that are watched where there is something of them, without being asked for."""

NAMESPACES: Final[Mapping[str, str]] = MappingProxyType({"lustre": LUSTRE, "block-volume": BLOCK})
"""Namespace of the metrics by service."""

SERVICE_METRICS: Final[Mapping[str, OciMetric]] = MappingProxyType({metric.name: metric for metric in _TABLE})
"""Every metric of the other services, by documented name."""


def metrics_of(services: Iterable[str]) -> Mapping[str, OciMetric]:
    """Metrics of the named services."""
    wanted = set(services)
    return {name: metric for name, metric in SERVICE_METRICS.items() if metric.service in wanted}


def service_rows(
    region: str, inventory: Inventory, measured: Mapping[str, frozenset[tuple[str, ...]]]
) -> Iterator[tuple[str, Rows]]:
    """What the inventory says, by exported name.

    Args:
        region: the region's name.
        inventory: what there is.
        measured: labels of the ceilings that OCI publishes itself, by exported name; they stand, and no formula beside them.
    """
    known = [((region, one.service, one.id, one.name), one) for one in inventory.service_resources.values()]
    if not known:
        return
    places = ((labels, one, inventory.compartment(one.compartment_id)) for labels, one in known)
    infos = [((*labels, place, one.availability_domain, one.kind, one.state), 1.0) for labels, one, place in places]
    yield "fss_service_resource_info", infos
    yield "fss_service_capacity_bytes", [(labels, one.capacity_bytes) for labels, one in known]
    ceilings = [(labels, SERVICES[one.service].ceilings(one.kind, one.capacity_bytes)) for labels, one in known]
    for name, values in (
        ("fss_service_iops_limit", [(labels, found.iops) for labels, found in ceilings]),
        ("fss_service_bytes_per_second_limit", [(labels, found.bytes_per_second) for labels, found in ceilings]),
    ):
        said = measured.get(name, frozenset())
        yield name, [(labels, value) for labels, value in values if value is not None and labels not in said]
