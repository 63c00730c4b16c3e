"""Every metric of `oci_filestorage`: what is asked, whose it is, and what it becomes.

Names, dimensions, units and statistics: "File System Metrics" of the OCI documentation, read 2026-09-05; `MountTargetIOPS` is named in the
white paper "OCI File Storage Performance Characteristics" only and is asked for where a tenancy is found to have it. Units
follow that page where it does not contradict itself, and the charts where it does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from fss_exporter.catalogue import CATALOGUE, Metric
from fss_exporter.oci import mql
from fss_exporter.oci.iam import NAMESPACE

Owner = Literal["mount_target", "file_system", "behind", "replication", "ldap", "tenancy", "lock_mode", "neighbour"]
"""Whose a stream is: `behind` is a file system behind one mount target, `ldap` a mount target with a connector, `neighbour` a
resource of another service."""

Idle = Literal["zero", "silent", "state"]
"""What no point means: `zero` metrics send zeros while idle, so a missing point is a late one; `silent` ones send
nothing while there is nothing to report; a `state` is sent always."""

_OWN_DIMENSION: Final = MappingProxyType(
    {"mount_target": "resourceId", "file_system": "resourceId", "neighbour": "resourceId"}
)
_PER_MINUTE: Final = 60.0  # a rate per second, held for a minute


@dataclass(frozen=True, slots=True)
class OciMetric:
    """One metric of OCI Monitoring.

    Attributes:
        name: as documented; what is sent is the spelling the tenancy has.
        statistic: MQL statistic over one minute.
        unit: as documented.
        owner: whose a stream is.
        idle: what no point means.
        gauge: exported metric that shows the newest complete minute.
        counter: exported metric that adds up every minute.
        dimensions: OCI dimensions that become the labels behind the owner's, in the catalogue's order.
        where: dimension values to ask for.
        group_by: dimensions to keep apart; None keeps all.
        scale: factor from the documented unit to the gauge's.
        per_minute: factor from a minute's value to what the counter adds.
        discovered_only: never asked for unless the tenancy is found to have it.
        namespace: where it is.
        service: the neighbouring service it is of; empty for OCI File Storage.
    """

    name: str
    statistic: str
    unit: str
    owner: Owner
    idle: Idle
    gauge: Metric | None = None
    counter: Metric | None = None
    dimensions: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    group_by: tuple[str, ...] | None = None
    scale: float = 1.0
    per_minute: float = 1.0
    discovered_only: bool = False
    namespace: str = NAMESPACE
    service: str = ""

    @property
    def split_by(self) -> str:
        """The dimension with the OCID a query can be split by; empty where there are never many streams.

        It is that of the mount target, or of the file system where that is the owner.
        """
        return "mountTargetId" if self.owner in {"behind", "ldap"} else _OWN_DIMENSION.get(self.owner, "")

    def query(self, spelling: str, ids: tuple[str, ...] = ()) -> str:
        """The MQL query for one minute.

        Args:
            spelling: the metric's name as the tenancy spells it.
            ids: where it is split, the OCIDs of this part.
        """
        where: dict[str, str | tuple[str, ...]] = {**self.where}
        if ids:
            where[self.split_by] = ids
        return str(mql.query(spelling, 1, self.statistic, where=where, group_by=self.group_by))


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
        "MountTargetConnections",
        "sum",
        "count",
        "mount_target",
        "zero",
        gauge=_exported("mount_target_connections"),
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
    OciMetric(
        "snapshotsGovernanceMode",
        "mean",
        "count",
        "tenancy",
        "state",
        gauge=_exported("governance_snapshots"),
    ),
    OciMetric(
        "snapshotsComplianceMode",
        "mean",
        "count",
        "tenancy",
        "state",
        gauge=_exported("compliance_snapshots"),
    ),
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

MOST_STREAMS: Final = 2_000
"""Metric streams one answer of SummarizeMetricsData may hold. Documented at MetricData."""

MOST_POINTS: Final = 100_000
"""Data points one answer of SummarizeMetricsData may hold. Documented at MetricData."""

__all__ = ["METRICS", "MOST_POINTS", "MOST_STREAMS", "NAMESPACE", "Idle", "OciMetric", "Owner", "is_success"]


def is_success(error_type: str) -> bool:
    """Whether an error metric's event type is a success: OCI counts "Keytab Load Success" and "connection success" as well."""
    return "success" in error_type.lower()
