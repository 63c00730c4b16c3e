"""Namespace `oci_filestorage`: its 26 documented metrics, and `MountTargetIOPS` where a tenancy has it.

Names, dimensions, units and default statistics: documentation "File System Metrics", read 2026-09-05. The page does not
print the raw values of `operation`, `errorType` and `requestType`; those here are its chart labels, so nobody may rely
on them. `MountTargetIOPS` is named in the white paper "OCI File Storage Performance Characteristics" only.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Literal

from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.identity_metrics import IDENTITY_ROWS
from fss_exporter.demo.region.namespaces import Namespace, Row, Stream, Value
from fss_exporter.demo.region.tenancy import FileSystem, Link, MountTarget, Replication
from fss_exporter.demo.region.traffic import PUBLISHED_OPERATIONS, SIZE_BUCKETS, Traffic, chance

Direction = Literal["read", "write"]
PairValue = Callable[[Activity, MountTarget, list[Link]], Value]

_IDLE_SECONDS = {
    ("read", "0B_to_8KiB"): 0.0006,
    ("read", "8KiB_to_64KiB"): 0.0011,
    ("read", "64KiB_to_1MiB"): 0.0065,
    ("write", "0B_to_8KiB"): 0.0012,
    ("write", "8KiB_to_64KiB"): 0.0021,
    ("write", "64KiB_to_1MiB"): 0.0110,
    ("metadata", ""): 0.0009,
}
# Latency without a queue, seconds: plausible for one availability domain, from no document.


def _pairs(activity: Activity) -> Iterator[tuple[FileSystem, MountTarget, list[Link]]]:
    """Each file system behind each mount target once, with all exports that join the two."""
    for mount_target in activity.mount_targets.values():
        links = sorted(activity.links_of[mount_target.id], key=lambda link: link.file_system_id)
        for file_system_id, joined in groupby(links, key=lambda link: link.file_system_id):
            yield activity.file_systems[file_system_id], mount_target, list(joined)


def _rate(activity: Activity, links: list[Link], of: Callable[[Traffic], float], digits: int | None) -> Value:
    averages = [(link, of(link.traffic)) for link in links]

    def value(minute: int) -> float:
        total = sum(average * activity.served(link, minute) for link, average in averages if average)
        return float(round(total, digits))

    return value


def _constant(value: float) -> Value:
    return lambda _minute: value


def _per_pair(activity: Activity, dimensions: dict[str, str], value: PairValue) -> Iterator[Stream]:
    for file_system, mount_target, links in _pairs(activity):
        labels = {"resourceId": file_system.id, "mountTargetId": mount_target.id, **dimensions}
        yield Stream(file_system.compartment_id, file_system.id, labels, value(activity, mount_target, links))


def _pair_rate(
    of: Callable[[Traffic], float], digits: int | None, activity: Activity, _: MountTarget, links: list[Link]
) -> Value:
    return _rate(activity, links, of, digits)


def _pair_latency(
    of: Callable[[Traffic], float], idle: float, activity: Activity, mount_target: MountTarget, links: list[Link]
) -> Value:
    """Grows as the mount target fills; silent while nothing of the kind is asked, documented: "File System Metrics"."""
    asked = _rate(activity, links, of, 2)

    def value(minute: int) -> float | None:
        if not asked(minute):
            return None
        pressure = activity.service(mount_target.id, minute).pressure
        return round(idle * (1 + 2 * pressure**4 + 20 * max(0.0, pressure - 1)), 6)

    return value


def _moved(direction: Direction, traffic: Traffic) -> float:
    return traffic.read_bytes if direction == "read" else traffic.written_bytes


def _asked(direction: Direction, bucket: str, traffic: Traffic) -> float:
    return (traffic.reads_by_bucket if direction == "read" else traffic.writes_by_bucket)[bucket]


def _called(operation: str, traffic: Traffic) -> float:
    return traffic.operations.get(operation, 0.0)


def _file_system_bytes(direction: Direction, activity: Activity) -> Iterator[Stream]:
    dimensions = {"throughput": f"{direction.title()}Throughput"}
    yield from _per_pair(activity, dimensions, partial(_pair_rate, partial(_moved, direction), None))


def _requests_by_size(direction: Direction, activity: Activity) -> Iterator[Stream]:
    for bucket in SIZE_BUCKETS:
        value = partial(_pair_rate, partial(_asked, direction, bucket), 2)
        yield from _per_pair(activity, {"size": bucket}, value)


def _latency_by_size(direction: Direction, activity: Activity) -> Iterator[Stream]:
    for bucket in SIZE_BUCKETS:
        value = partial(_pair_latency, partial(_asked, direction, bucket), _IDLE_SECONDS[direction, bucket])
        yield from _per_pair(activity, {"size": bucket}, value)


def _metadata_rate(activity: Activity) -> Iterator[Stream]:
    for operation in PUBLISHED_OPERATIONS:
        yield from _per_pair(activity, {"operation": operation}, partial(_pair_rate, partial(_called, operation), 2))


def _metadata_latency(activity: Activity) -> Iterator[Stream]:
    for operation in PUBLISHED_OPERATIONS:
        value = partial(_pair_latency, partial(_called, operation), _IDLE_SECONDS["metadata", ""])
        yield from _per_pair(activity, {"operation": operation}, value)


def _usage(activity: Activity) -> Iterator[Stream]:
    """The same number behind each mount target, for `mountTargetId` is among its documented dimensions."""
    for file_system, mount_target, _ in _pairs(activity):
        labels = {"resourceId": file_system.id, "mountTargetId": mount_target.id}
        yield Stream(file_system.compartment_id, file_system.id, labels, _constant(float(file_system.used_bytes)))


def _quota_violations(kind: int, activity: Activity) -> Iterator[Stream]:
    for file_system in activity.file_systems.values():
        if file_system.quota_rules:
            labels = {"resourceId": file_system.id, "resourceName": file_system.name, "resourceType": "filesystem"}
            seed = len(file_system.id) + kind

            def violations(minute: int, seed: int = seed) -> float:
                return float(int(chance(seed, minute) * 1.2) * 3) if kind == 0 else 0.0

            yield Stream(file_system.compartment_id, file_system.id, labels, violations)


def _snapshot_locks(count: float, activity: Activity) -> Iterator[Stream]:
    tenancy = activity.tenancy
    yield Stream(tenancy.id, tenancy.id, {"tenantId": tenancy.id}, _constant(count))


def _retention(activity: Activity) -> Iterator[Stream]:
    tenancy = activity.tenancy
    yield Stream(tenancy.id, tenancy.id, {"lockMode": "GOVERNANCE"}, _constant(30.0))


def _replication(value: Callable[[Replication, int], float], activity: Activity) -> Iterator[Stream]:
    for replication in activity.tenancy.replications:
        labels = {"resourceId": replication.id, "resourceName": replication.name, "resourceType": "replication"}
        yield Stream(replication.compartment_id, replication.id, labels, partial(value, replication))


def _replicated(replication: Replication, minute: int) -> float:
    return float(round(replication.bytes_per_second * (0.9 + 0.2 * chance(replication.interval_minutes, minute))))


def recovery_point_age(replication: Replication, minute: int) -> float:
    """Seconds since the last applied snapshot: a saw-tooth of one to two intervals."""
    return 60.0 * (replication.interval_minutes + minute % replication.interval_minutes)


def _mount_target_rate(
    of: Callable[[Traffic], float], dimensions: dict[str, str], activity: Activity
) -> Iterator[Stream]:
    for mount_target in activity.mount_targets.values():
        value = _rate(activity, activity.links_of[mount_target.id], of, None)
        yield Stream(mount_target.compartment_id, mount_target.id, {"resourceId": mount_target.id, **dimensions}, value)


def _iops(activity: Activity) -> Iterator[Stream]:
    if activity.tenancy.publishes_iops:
        yield from _mount_target_rate(lambda traffic: traffic.io_operations, {"resourceType": "mounttarget"}, activity)


def _connections(activity: Activity) -> Iterator[Stream]:
    for mount_target in activity.mount_targets.values():
        average = mount_target.connections

        def connected(minute: int, average: int = average) -> float:
            return float(round(average * (0.97 + 0.06 * chance(average, minute))))

        yield Stream(mount_target.compartment_id, mount_target.id, {"resourceId": mount_target.id}, connected)


def _health(activity: Activity) -> Iterator[Stream]:
    for mount_target in activity.mount_targets.values():
        for item, share in (("SuccessRate", mount_target.health), ("ErrorRate", round(100 - mount_target.health, 6))):
            labels = {"resourceId": mount_target.id, "healthItem": item}
            yield Stream(mount_target.compartment_id, mount_target.id, labels, _constant(share))


_PAIR = ("resourceId", "mountTargetId")
_NAMED = ("resourceId", "resourceName", "resourceType")

ROWS = (
    Row(
        "FileSystemReadThroughput",
        "bytes",
        "Read Throughput",
        (*_PAIR, "throughput"),
        partial(_file_system_bytes, "read"),
    ),
    Row(
        "FileSystemWriteThroughput",
        "bytes",
        "Write Throughput",
        (*_PAIR, "throughput"),
        partial(_file_system_bytes, "write"),
    ),
    Row(
        "FileSystemReadRequestsbySize",
        "operation",
        "Read Requests",
        (*_PAIR, "size"),
        partial(_requests_by_size, "read"),
    ),
    Row(
        "FileSystemWriteRequestsbySize",
        "operation",
        "Write Requests",
        (*_PAIR, "size"),
        partial(_requests_by_size, "write"),
    ),
    Row(
        "FileSystemReadAverageLatencybySize",
        "second",
        "Read Latency",
        (*_PAIR, "size"),
        partial(_latency_by_size, "read"),
    ),
    Row(
        "FileSystemWriteAverageLatencybySize",
        "second",
        "Write Latency",
        (*_PAIR, "size"),
        partial(_latency_by_size, "write"),
    ),
    Row("MetadataRequestAverageLatency", "second", "Metadata Latency", (*_PAIR, "operation"), _metadata_latency),
    Row("MetadataIOPS", "operation", "Metadata IOPs", (*_PAIR, "operation"), _metadata_rate),
    Row("FileSystemUsage", "bytes", "Usage", _PAIR, _usage),
    Row("UserSoftQuotaViolations", "count", "Soft Quota Violations", _NAMED, partial(_quota_violations, 0)),
    Row("UserHardQuotaViolations", "count", "Hard Quota Violations", _NAMED, partial(_quota_violations, 1)),
    Row(
        "snapshotsGovernanceMode", "count", "Snapshots in Governance Mode", ("tenantId",), partial(_snapshot_locks, 4.0)
    ),
    Row(
        "snapshotsComplianceMode", "count", "Snapshots in Compliance Mode", ("tenantId",), partial(_snapshot_locks, 0.0)
    ),
    Row("retentionLockDuration", "days", "Retention Lock Duration", ("lockMode",), _retention),
    Row("ReplicationThroughput", "bytes", "Replication Throughput", _NAMED, partial(_replication, _replicated)),
    Row(
        "ReplicationEgressThroughput",
        "bytes",
        "Replication Egress Bytes",
        _NAMED,
        partial(_replication, lambda replication, minute: 60 * _replicated(replication, minute)),
    ),
    Row(
        "ReplicationRecoveryPointAge",
        "time",
        "Replication Recovery Point Age",
        _NAMED,
        partial(_replication, recovery_point_age),
    ),
    Row(
        "MountTargetReadThroughput",
        "bytes",
        "Read Throughput",
        ("resourceId", "throughput"),
        partial(_mount_target_rate, partial(_moved, "read"), {"throughput": "ReadThroughput"}),
    ),
    Row(
        "MountTargetWriteThroughput",
        "bytes",
        "Write Throughput",
        ("resourceId", "throughput"),
        partial(_mount_target_rate, partial(_moved, "write"), {"throughput": "WriteThroughput"}),
    ),
    Row("MountTargetConnections", "count", "Connections", ("resourceId",), _connections),
    Row("MountTargetHealth", "percent", "Health", ("resourceId", "healthItem"), _health),
    *IDENTITY_ROWS,
    Row("MountTargetIOPS", "operation", "IOPS", ("resourceId", "resourceType"), _iops),
)

FILESTORAGE = Namespace("oci_filestorage", ROWS)
