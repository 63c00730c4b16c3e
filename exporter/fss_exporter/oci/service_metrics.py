"""Metrics and inventory figures of other storage services. Pure.

Names, dimensions and units: "File Storage with Lustre metrics" and "Block Volume Metrics Reference" of the OCI documentation,
read 2026-09-05. Both services publish amounts per interval. The sum over a minute divided by 60 is a rate, for any number
of streams and points of a resource.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci.oci_inventory import Inventory
from fss_exporter.oci.oci_metric import Idle, OciMetric

LUSTRE: Final = "oci_lustrefilesystem"
BLOCK: Final = "oci_blockstore"

Rows = Iterable[tuple[tuple[str, ...], float]]

NAMESPACES: Final[Mapping[str, str]] = {"lustre": LUSTRE, "block-volume": BLOCK}
"""Namespace of the metrics by service."""


def _metric(service: str, name: str, statistic: str, idle: Idle, *, gauge: str = "", **more: Any) -> OciMetric:
    """Return a metric of a service with one stream a resource. `gauge` is an exported name without the prefix
    `fss_service_`.
    """
    shown = CATALOGUE[f"fss_service_{gauge}"] if gauge else None
    more = {"group_by": ("resourceId",), "namespace": NAMESPACES[service], "service": service} | more
    return OciMetric(name, statistic, "service", idle, shown, **more)


def _rate(service: str, name: str, gauge: str, *, discovered_only: bool = False) -> OciMetric:
    """Return an amount per minute, as a rate per second."""
    return _metric(service, name, "sum", "zero", gauge=gauge, scale=1 / 60, discovered_only=discovered_only)


def _room(name: str, gauge: str) -> OciMetric:
    """Return a capacity of a Lustre file system, total and available."""
    split = {"dimensions": ("capacityType",), "group_by": ("resourceId", "capacityType")}
    return _metric("lustre", name, "mean", "state", gauge=gauge, **split)


_TABLE: Final = (
    _rate("lustre", "ReadThroughput", "read_bytes_per_second"),
    _rate("lustre", "WriteThroughput", "write_bytes_per_second"),
    _rate("lustre", "DataReadOperations", "read_operations_per_second"),
    _rate("lustre", "DataWriteOperations", "write_operations_per_second"),
    _rate("lustre", "MetadataOperations", "metadata_operations_per_second", discovered_only=True),
    _room("FileSystemCapacity", "space_bytes"),
    _room("FileSystemInodeCapacity", "inodes"),
    _rate("block-volume", "VolumeReadThroughput", "read_bytes_per_second"),
    _rate("block-volume", "VolumeWriteThroughput", "write_bytes_per_second"),
    _rate("block-volume", "VolumeReadOps", "read_operations_per_second"),
    _rate("block-volume", "VolumeWriteOps", "write_operations_per_second"),
    _metric("block-volume", "VolumeGuaranteedIOPS", "mean", "state", gauge="iops_limit"),
    _metric("block-volume", "VolumeGuaranteedThroughput", "mean", "state", gauge="bytes_per_second_limit", scale=1e6),
    _metric(
        "block-volume",
        "VolumeThrottledIOs",
        "sum",
        "silent",
        counter=CATALOGUE["fss_service_throttled_operations_total"],
    ),
)

DISCOVERED: Final = ("lustre",)
"""Services that the poller watches without configuration if the tenancy has resources of the service."""

SERVICE_METRICS: Final[Mapping[str, OciMetric]] = {metric.name: metric for metric in _TABLE}
"""Every metric of the other services, by documented name."""


def metrics_of(services: Iterable[str]) -> Mapping[str, OciMetric]:
    """Return metrics of the named services."""
    wanted = set(services)
    return {name: metric for name, metric in SERVICE_METRICS.items() if metric.service in wanted}


def service_rows(
    region: str, inventory: Inventory, measured: Mapping[str, frozenset[tuple[str, ...]]]
) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of the inventory figures, by exported name.

    Args:
        region: name of the region.
        inventory: resources of the region.
        measured: labels of ceilings that OCI publishes, by exported name. A published ceiling replaces the formula.
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
