"""Namespaces `oci_lustrefilesystem` and `oci_blockstore`.

Names, dimensions and units: "File Storage with Lustre metrics" and "Block Volume Metrics Reference", read 2026-09-05; amounts are
per interval.
"""

from collections.abc import Callable, Iterator
from functools import partial
from zlib import crc32

from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.namespaces import Namespace, Row, Stream, Value
from fss_exporter.demo.region.tenancy import LustreFileSystem, Volume
from fss_exporter.demo.region.traffic import MIB, wave
from fss_exporter.model.service import Ceilings
from fss_exporter.model.services import BLOCK_VOLUME

_SECONDS = 60.0
_INODES = 2.0e9


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
