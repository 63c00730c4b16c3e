"""File systems behind mount targets, and their replications."""

from fss_exporter.catalogue.metric import Metric
from fss_exporter.catalogue.mount_targets import MOUNT_TARGET

FILE_SYSTEM = ("region", "file_system_id", "file_system")
BEHIND = (*MOUNT_TARGET, "file_system_id", "file_system")
REPLICATION = ("region", "replication_id", "replication")

FILE_SYSTEMS: tuple[Metric, ...] = (
    Metric(
        "fss_file_system_read_bytes_per_second",
        "gauge",
        BEHIND,
        "bytes_per_second",
        "Bytes read from a file system through one mount target per second, mean of the newest complete minute.",
        "FileSystemReadThroughput, mean",
    ),
    Metric(
        "fss_file_system_write_bytes_per_second",
        "gauge",
        BEHIND,
        "bytes_per_second",
        "Bytes written to a file system through one mount target per second, mean of the newest complete minute.",
        "FileSystemWriteThroughput, mean",
    ),
    Metric(
        "fss_file_system_read_requests_per_second",
        "gauge",
        (*BEHIND, "size"),
        "operations_per_second",
        "READ requests per second by size bucket, mean of the newest complete minute.",
        "FileSystemReadRequestsbySize, mean",
    ),
    Metric(
        "fss_file_system_write_requests_per_second",
        "gauge",
        (*BEHIND, "size"),
        "operations_per_second",
        "WRITE requests per second by size bucket, mean of the newest complete minute.",
        "FileSystemWriteRequestsbySize, mean",
    ),
    Metric(
        "fss_file_system_read_latency_seconds",
        "gauge",
        (*BEHIND, "size"),
        "seconds",
        "Mean latency of READ requests by size bucket, newest complete minute. Absent without requests.",
        "FileSystemReadAverageLatencybySize, mean",
    ),
    Metric(
        "fss_file_system_write_latency_seconds",
        "gauge",
        (*BEHIND, "size"),
        "seconds",
        "Mean latency of WRITE requests by size bucket, newest complete minute. Absent without requests.",
        "FileSystemWriteAverageLatencybySize, mean",
    ),
    Metric(
        "fss_file_system_metadata_latency_seconds",
        "gauge",
        (*BEHIND, "operation"),
        "seconds",
        "Mean latency of metadata requests by operation as OCI names it, newest complete minute. Absent "
        "without requests.",
        "MetadataRequestAverageLatency, mean",
    ),
    Metric(
        "fss_file_system_metadata_operations_per_second",
        "gauge",
        (*BEHIND, "operation"),
        "operations_per_second",
        "Metadata operations per second by operation as OCI names it, mean of the newest complete minute. OCI publishes "
        "four procedures only.",
        "MetadataIOPS, mean",
    ),
    Metric(
        "fss_file_system_used_bytes",
        "gauge",
        FILE_SYSTEM,
        "bytes",
        "Space used by a file system in the newest complete minute.",
        "FileSystemUsage, mean",
    ),
    Metric(
        "fss_file_system_soft_quota_violations_total",
        "counter",
        FILE_SYSTEM,
        "requests",
        "Write requests over a soft quota since the exporter started. Each minute is counted once. ListQuotaRules names the users.",
        "UserSoftQuotaViolations, sum",
    ),
    Metric(
        "fss_file_system_hard_quota_violations_total",
        "counter",
        FILE_SYSTEM,
        "requests",
        "Write requests over a hard quota since the exporter started. Each minute is counted once. ListQuotaRules names the users.",
        "UserHardQuotaViolations, sum",
    ),
    Metric(
        "fss_governance_snapshots",
        "gauge",
        ("region", "tenancy_id"),
        "snapshots",
        "Snapshots locked in governance mode. Users can change the lock.",
        "snapshotsGovernanceMode, mean",
        diagnostic=True,
    ),
    Metric(
        "fss_compliance_snapshots",
        "gauge",
        ("region", "tenancy_id"),
        "snapshots",
        "Snapshots locked in compliance mode. The lock becomes permanent after the cool-off.",
        "snapshotsComplianceMode, mean",
        diagnostic=True,
    ),
    Metric(
        "fss_snapshot_retention_lock_seconds",
        "gauge",
        ("region", "lock_mode"),
        "seconds",
        "Duration of snapshot retention locks by lock mode.",
        "retentionLockDuration (days), mean",
        diagnostic=True,
    ),
    Metric(
        "fss_replication_bytes_per_second",
        "gauge",
        (*REPLICATION, "side"),
        "bytes_per_second",
        "Bytes replicated per second: leaving at the source, applied at the target. Mean of the newest complete minute.",
        "ReplicationThroughput, mean",
        diagnostic=True,
    ),
    Metric(
        "fss_replication_egress_bytes_total",
        "counter",
        (*REPLICATION, "side"),
        "bytes",
        "Bytes copied out of the region since the exporter started. Each minute is counted once.",
        "ReplicationEgressThroughput, sum",
        diagnostic=True,
    ),
    Metric(
        "fss_replication_recovery_point_age_seconds",
        "gauge",
        (*REPLICATION, "side"),
        "seconds",
        "Age of the last snapshot that was applied completely at the target.",
        "ReplicationRecoveryPointAge, mean",
    ),
)
