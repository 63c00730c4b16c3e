"""Namespaces `oci_lustrefilesystem` and `oci_blockstore`, and the two lists that tell what there is.

Names, dimensions and units: "File Storage with Lustre metrics" and "Block Volume Metrics Reference", read 2026-09-05; amounts are
per interval. Lists: APIs 20250228 (Lustre) and 20160918 (Core Services) of SDK 2.189.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.bodies import rfc3339
from fss_exporter.demo.region.namespaces import Namespace, Row, Stream, Value
from fss_exporter.demo.region.tenancy import CREATED, LustreFileSystem, Volume
from fss_exporter.demo.region.traffic import MIB, wave
from fss_exporter.demo.region.wire import Answer, Call, Operation, Page, paged
from fss_exporter.model.services import BLOCK_VOLUME, Ceilings

Body = dict[str, Any]

_SECONDS = 60.0
_INODES = 2.0e9


class Listed(Page):
    """Query of the lists."""

    compartment_id: str
    availability_domain: str | None = None
    lifecycle_state: str | None = None
    display_name: str | None = None
    id: str | None = None
    sort_by: str | None = None
    sort_order: str | None = None


def _shared(resource: LustreFileSystem | Volume, state: str) -> Body:
    return {
        "id": resource.id,
        "displayName": resource.name,
        "compartmentId": resource.compartment_id,
        "availabilityDomain": resource.availability_domain,
        "lifecycleState": state,
        "timeCreated": rfc3339(CREATED),
        "freeformTags": {},
        "definedTags": {},
        "systemTags": {},
    }


def _lustre(one: LustreFileSystem) -> Body:
    """LustreFileSystemSummary."""
    return _shared(one, "ACTIVE") | {
        "timeUpdated": rfc3339(CREATED),
        "timeBillingCycleEnd": rfc3339(CREATED),
        "fileSystemName": "lustrefs",
        "fileSystemDescription": "",
        "capacityInGBs": one.capacity_gb,
        "performanceTier": f"MBPS_PER_TB_{one.tier}",
        "managementServiceAddress": "10.80.3.60",
        "lnet": "tcp",
        "majorVersion": "2.15",
        "subnetId": one.subnet_id,
        "nsgIds": [],
        "rootSquashConfiguration": {"identitySquash": "NONE", "squashUid": 65534, "squashGid": 65534},
    }


def _volume(one: Volume) -> Body:
    """Volume, and BootVolume, which has the same attributes here."""
    return _shared(one, "AVAILABLE") | {
        "sizeInGBs": one.size_gb,
        "sizeInMBs": one.size_gb * 1024,
        "vpusPerGB": one.vpus_per_gb,
        "isHydrated": True,
    }


@dataclass(frozen=True)
class Neighbours:
    """The parts of the Lustre and Block Volume APIs that an inventory needs.

    Args:
        activity: what there is, and what is gone.
        largest_page: most items a page has.
    """

    activity: Activity
    largest_page: int

    def operations(self) -> tuple[Operation, ...]:
        """What it serves."""
        return (
            Operation("ListLustreFileSystems", "GET", "/20250228/lustreFileSystems", self.list_lustre, Listed),
            Operation("ListVolumes", "GET", "/20160918/volumes", self.list_volumes, Listed),
            Operation("ListBootVolumes", "GET", "/20160918/bootVolumes", self.list_boot_volumes, Listed),
        )

    def _listed(self, call: Call, resources: Iterable[Any], body: Callable[[Any], Body]) -> Answer:
        query: Listed = call.query
        if query.compartment_id not in self.activity.tenancy.compartment_ids:
            raise refusal.not_authorized_or_not_found("compartment")
        found = [
            body(one)
            for one in resources
            if one.compartment_id == query.compartment_id and self.activity.lives(one.id)
            if query.availability_domain in (None, one.availability_domain)
        ]
        return paged(found, query, self.largest_page)

    def list_lustre(self, call: Call) -> Answer:
        """ListLustreFileSystems; the page is wrapped, as in the newer APIs."""
        answer = self._listed(call, self.activity.tenancy.lustre_file_systems, _lustre)
        return Answer({"items": answer.body}, headers=answer.headers)

    def list_volumes(self, call: Call) -> Answer:
        """ListVolumes."""
        return self._listed(call, (one for one in self.activity.tenancy.volumes if not one.boot), _volume)

    def list_boot_volumes(self, call: Call) -> Answer:
        """ListBootVolumes."""
        return self._listed(call, (one for one in self.activity.tenancy.volumes if one.boot), _volume)


def _swung(resource_id: str, per_second: float) -> Value:
    """An amount per interval that swings as all traffic of the region does."""
    return lambda minute: float(round(per_second * _SECONDS * wave(crc32(resource_id.encode()), minute)))


def _constant(value: float) -> Value:
    return lambda _: value


def _lustre_streams(value: Callable[[LustreFileSystem], Value], activity: Activity) -> Iterator[Stream]:
    for one in activity.tenancy.lustre_file_systems:
        labels = {"resourceId": one.id, "resourceName": one.name}
        yield Stream(one.compartment_id, one.id, labels, value(one))


def _lustre_rate(of: Callable[[LustreFileSystem], float]) -> Callable[[LustreFileSystem], Value]:
    return lambda one: _swung(one.id, of(one))


def _room(total: Callable[[LustreFileSystem], float], activity: Activity) -> Iterator[Stream]:
    for one in activity.tenancy.lustre_file_systems:
        for kind, share in (("total", 1.0), ("available", 1.0 - one.used_share)):
            labels = {"resourceId": one.id, "resourceName": one.name, "capacityType": kind}
            yield Stream(one.compartment_id, one.id, labels, _constant(round(total(one) * share)))


_LUSTRE = ("resourceId", "resourceName")
_ROOM = (*_LUSTRE, "capacityType")

LUSTRE = Namespace(
    "oci_lustrefilesystem",
    (
        Row(
            "ReadThroughput",
            "bytes",
            "Read Throughput",
            _LUSTRE,
            partial(_lustre_streams, _lustre_rate(lambda one: one.read_bytes)),
        ),
        Row(
            "WriteThroughput",
            "bytes",
            "Write Throughput",
            _LUSTRE,
            partial(_lustre_streams, _lustre_rate(lambda one: one.written_bytes)),
        ),
        Row(
            "DataReadOperations",
            "operations",
            "Data Read Operations",
            _LUSTRE,
            partial(_lustre_streams, _lustre_rate(lambda one: one.read_bytes / (4 * MIB))),
        ),
        Row(
            "DataWriteOperations",
            "operations",
            "Data Write Operations",
            _LUSTRE,
            partial(_lustre_streams, _lustre_rate(lambda one: one.written_bytes / (4 * MIB))),
        ),
        Row(
            "MetadataOperations",
            "operations",
            "Metadata Operations",
            _LUSTRE,
            partial(_lustre_streams, _lustre_rate(lambda _: 900.0)),
        ),
        Row("FileSystemCapacity", "bytes", "Capacity", _ROOM, partial(_room, lambda one: one.capacity_gb * 1e9)),
        Row("FileSystemInodeCapacity", "count", "Inodes", _ROOM, partial(_room, lambda _: _INODES)),
    ),
)


def _guaranteed(one: Volume) -> Ceilings:
    return BLOCK_VOLUME.ceilings(f"vpu-{one.vpus_per_gb}", one.size_gb * 1e9)


def _served(one: Volume) -> tuple[float, float]:
    """Operations per second that are asked, and the share of them that the volume serves."""
    asked, most = one.reads + one.writes, _guaranteed(one)
    limits = (most.iops or asked, (most.bytes_per_second or asked * one.operation_bytes) / one.operation_bytes)
    return asked, min(1.0, *(limit / asked for limit in limits)) if asked else 1.0


def _volume_streams(value: Callable[[Volume], Value], activity: Activity) -> Iterator[Stream]:
    for one in activity.tenancy.volumes:
        labels = {"resourceId": one.id, "attachmentId": one.id.replace("volume", "volumeattachment")}
        yield Stream(one.compartment_id, one.id, labels, value(one))


def _promised(value: Callable[[Volume], float | None], activity: Activity) -> Iterator[Stream]:
    for one in activity.tenancy.volumes:
        figure = value(one)
        if figure is not None:
            yield Stream(one.compartment_id, one.id, {"resourceId": one.id}, _constant(figure))


def _volume_rate(of: Callable[[Volume], float]) -> Callable[[Volume], Value]:
    return lambda one: _swung(one.id, of(one) * _served(one)[1])


def _throttled(one: Volume) -> Value:
    asked, share = _served(one)
    return _swung(one.id, asked * (1 - share))


def _megabytes(one: Volume) -> float | None:
    promised = _guaranteed(one).bytes_per_second
    return None if promised is None else promised / 1e6


_ATTACHED = ("attachmentId", "resourceId")

BLOCK = Namespace(
    "oci_blockstore",
    (
        Row(
            "VolumeReadThroughput",
            "bytes",
            "Volume Read Throughput",
            _ATTACHED,
            partial(_volume_streams, _volume_rate(lambda one: one.reads * one.operation_bytes)),
        ),
        Row(
            "VolumeWriteThroughput",
            "bytes",
            "Volume Write Throughput",
            _ATTACHED,
            partial(_volume_streams, _volume_rate(lambda one: one.writes * one.operation_bytes)),
        ),
        Row(
            "VolumeReadOps",
            "count",
            "Volume Read Operations",
            _ATTACHED,
            partial(_volume_streams, _volume_rate(lambda one: one.reads)),
        ),
        Row(
            "VolumeWriteOps",
            "count",
            "Volume Write Operations",
            _ATTACHED,
            partial(_volume_streams, _volume_rate(lambda one: one.writes)),
        ),
        Row("VolumeThrottledIOs", "sum", "Volume Throttled IOs", _ATTACHED, partial(_volume_streams, _throttled)),
        Row(
            "VolumeGuaranteedIOPS",
            "count",
            "Volume Guaranteed IOPS",
            ("resourceId",),
            partial(_promised, lambda one: _guaranteed(one).iops),
        ),
        Row(
            "VolumeGuaranteedThroughput",
            "MB",
            "Volume Guaranteed Throughput",
            ("resourceId",),
            partial(_promised, _megabytes),
        ),
    ),
)
