"""Every metric of `oci_filestorage`.

Names, dimensions, units and statistics: "File System Metrics" of the OCI documentation, read 2026-09-05; `MountTargetIOPS` is named in the
white paper "OCI File Storage Performance Characteristics" only and is asked for where a tenancy is found to have it. Units
follow that page where it does not contradict itself, and the charts where it does.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fss_exporter.catalogue import CATALOGUE, Metric
from fss_exporter.oci.oci_metric import OciMetric

_PER_MINUTE: Final = 60.0  # a rate per second, held for a minute


def _exported(name: str) -> Metric:
    return CATALOGUE[f"fss_{name}"]


_TABLE: Final = (
    OciMetric(
        "MountTargetIOPS",
        "mean",
        "operation",
        "mount_target",
        "zero",
        gauge=_exported("mount_target_iops"),
        counter=_exported("mount_target_io_operations_total"),
        per_minute=_PER_MINUTE,
        discovered_only=True,
    ),
    OciMetric(
        "MountTargetReadThroughput",
        "mean",
        "bytes",
        "mount_target",
        "zero",
        gauge=_exported("mount_target_read_bytes_per_second"),
        counter=_exported("mount_target_read_bytes_total"),
        per_minute=_PER_MINUTE,
    ),
    OciMetric(
        "MountTargetWriteThroughput",
        "mean",
        "bytes",
        "mount_target",
        "zero",
        gauge=_exported("mount_target_write_bytes_per_second"),
        counter=_exported("mount_target_written_bytes_total"),
        per_minute=_PER_MINUTE,
    ),
    OciMetric(
        "MountTargetConnections", "sum", "count", "mount_target", "zero", gauge=_exported("mount_target_connections")
    ),
    OciMetric(
        "MountTargetHealth",
        "mean",
        "percent",
        "mount_target",
        "silent",
        gauge=_exported("mount_target_success_ratio"),
        where={"healthItem": "SuccessRate"},
        scale=0.01,
    ),
    OciMetric(
        "FileSystemReadThroughput",
        "mean",
        "bytes",
        "behind",
        "zero",
        gauge=_exported("file_system_read_bytes_per_second"),
    ),
    OciMetric(
        "FileSystemWriteThroughput",
        "mean",
        "bytes",
        "behind",
        "zero",
        gauge=_exported("file_system_write_bytes_per_second"),
    ),
    OciMetric(
        "FileSystemReadRequestsbySize",
        "mean",
        "operation",
        "behind",
        "zero",
        gauge=_exported("file_system_read_requests_per_second"),
        dimensions=("size",),
    ),
    OciMetric(
        "FileSystemWriteRequestsbySize",
        "mean",
        "operation",
        "behind",
        "zero",
        gauge=_exported("file_system_write_requests_per_second"),
        dimensions=("size",),
    ),
    OciMetric(
        "FileSystemReadAverageLatencybySize",
        "mean",
        "second",
        "behind",
        "silent",
        gauge=_exported("file_system_read_latency_seconds"),
        dimensions=("size",),
    ),
    OciMetric(
        "FileSystemWriteAverageLatencybySize",
        "mean",
        "second",
        "behind",
        "silent",
        gauge=_exported("file_system_write_latency_seconds"),
        dimensions=("size",),
    ),
    OciMetric(
        "MetadataRequestAverageLatency",
        "mean",
        "second",
        "behind",
        "silent",
        gauge=_exported("file_system_metadata_latency_seconds"),
        dimensions=("operation",),
    ),
    OciMetric(
        "MetadataIOPS",
        "mean",
        "operation",
        "behind",
        "zero",
        gauge=_exported("file_system_metadata_operations_per_second"),
        dimensions=("operation",),
    ),
    OciMetric(
        "FileSystemUsage",
        "mean",
        "bytes",
        "file_system",
        "state",
        gauge=_exported("file_system_used_bytes"),
        group_by=("resourceId",),
    ),
    OciMetric(
        "UserSoftQuotaViolations",
        "sum",
        "count",
        "file_system",
        "silent",
        counter=_exported("file_system_soft_quota_violations_total"),
    ),
    OciMetric(
        "UserHardQuotaViolations",
        "sum",
        "count",
        "file_system",
        "silent",
        counter=_exported("file_system_hard_quota_violations_total"),
    ),
    OciMetric("snapshotsGovernanceMode", "mean", "count", "tenancy", "state", gauge=_exported("governance_snapshots")),
    OciMetric("snapshotsComplianceMode", "mean", "count", "tenancy", "state", gauge=_exported("compliance_snapshots")),
    OciMetric(
        "retentionLockDuration",
        "mean",
        "days",
        "lock_mode",
        "state",
        gauge=_exported("snapshot_retention_lock_seconds"),
        scale=86_400.0,
    ),
    OciMetric(
        "ReplicationThroughput",
        "mean",
        "bytes",
        "replication",
        "silent",
        gauge=_exported("replication_bytes_per_second"),
    ),
    OciMetric(
        "ReplicationEgressThroughput",
        "sum",
        "bytes",
        "replication",
        "silent",
        counter=_exported("replication_egress_bytes_total"),
    ),
    OciMetric(
        "ReplicationRecoveryPointAge",
        "mean",
        "time",
        "replication",
        "state",
        gauge=_exported("replication_recovery_point_age_seconds"),
    ),
    OciMetric(
        "KerberosErrors",
        "sum",
        "count",
        "mount_target",
        "silent",
        counter=_exported("kerberos_errors_total"),
        dimensions=("errorType",),
    ),
    OciMetric(
        "LdapRequestThroughput",
        "sum",
        "count",
        "ldap",
        "silent",
        counter=_exported("ldap_requests_total"),
        dimensions=("requestType",),
    ),
    OciMetric(
        "LdapRequestAverageLatency",
        "mean",
        "seconds",
        "ldap",
        "silent",
        gauge=_exported("ldap_request_latency_seconds"),
        dimensions=("requestType",),
    ),
    OciMetric(
        "LdapConnectionErrors",
        "sum",
        "count",
        "ldap",
        "silent",
        counter=_exported("ldap_connection_errors_total"),
        dimensions=("errorType",),
    ),
    OciMetric(
        "LdapRequestErrors",
        "sum",
        "count",
        "ldap",
        "silent",
        counter=_exported("ldap_request_errors_total"),
        dimensions=("requestType", "errorType"),
    ),
)

METRICS: Final[Mapping[str, OciMetric]] = MappingProxyType({metric.name: metric for metric in _TABLE})
"""Every metric by its documented name, in the order they are asked for."""


def is_success(error_type: str) -> bool:
    """Whether an error metric's event type is a success: OCI counts "Keytab Load Success" and "connection success" as well."""
    return "success" in error_type.lower()
