"""Every metric of `oci_filestorage`.

Names, dimensions, units and statistics: "File System Metrics" of the OCI documentation, read 2026-09-05; `MountTargetIOPS` is named in the
white paper "OCI File Storage Performance Characteristics" only and is asked for where a tenancy is found to have it. Units
follow that page where it does not contradict itself, and the charts where it does.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.oci.oci_metric import Idle, OciMetric, Owner

_PER_MINUTE: Final = 60.0  # a rate per second, held for a minute


_SIZE: Final = ("size",)
_OPERATION: Final = ("operation",)


def _metric(
    name: str, statistic: str, owner: Owner, idle: Idle, *, gauge: str = "", counter: str = "", **more: Any
) -> OciMetric:
    """A row of the table; gauge and counter are exported names without the prefix `fss_`."""
    shown, added = (CATALOGUE[f"fss_{exported}"] if exported else None for exported in (gauge, counter))
    return OciMetric(name, statistic, owner, idle, shown, added, **more)


_TABLE: Final = (
    _metric(
        "MountTargetIOPS",
        "mean",
        "mount_target",
        "zero",
        gauge="mount_target_iops",
        counter="mount_target_io_operations_total",
        per_minute=_PER_MINUTE,
        discovered_only=True,
    ),
    _metric(
        "MountTargetReadThroughput",
        "mean",
        "mount_target",
        "zero",
        gauge="mount_target_read_bytes_per_second",
        counter="mount_target_read_bytes_total",
        per_minute=_PER_MINUTE,
    ),
    _metric(
        "MountTargetWriteThroughput",
        "mean",
        "mount_target",
        "zero",
        gauge="mount_target_write_bytes_per_second",
        counter="mount_target_written_bytes_total",
        per_minute=_PER_MINUTE,
    ),
    _metric("MountTargetConnections", "sum", "mount_target", "zero", gauge="mount_target_connections"),
    _metric(
        "MountTargetHealth",
        "mean",
        "mount_target",
        "silent",
        gauge="mount_target_success_ratio",
        where={"healthItem": "SuccessRate"},
        scale=0.01,
    ),
    _metric("FileSystemReadThroughput", "mean", "behind", "zero", gauge="file_system_read_bytes_per_second"),
    _metric("FileSystemWriteThroughput", "mean", "behind", "zero", gauge="file_system_write_bytes_per_second"),
    _metric(
        "FileSystemReadRequestsbySize",
        "mean",
        "behind",
        "zero",
        gauge="file_system_read_requests_per_second",
        dimensions=_SIZE,
    ),
    _metric(
        "FileSystemWriteRequestsbySize",
        "mean",
        "behind",
        "zero",
        gauge="file_system_write_requests_per_second",
        dimensions=_SIZE,
    ),
    _metric(
        "FileSystemReadAverageLatencybySize",
        "mean",
        "behind",
        "silent",
        gauge="file_system_read_latency_seconds",
        dimensions=_SIZE,
    ),
    _metric(
        "FileSystemWriteAverageLatencybySize",
        "mean",
        "behind",
        "silent",
        gauge="file_system_write_latency_seconds",
        dimensions=_SIZE,
    ),
    _metric(
        "MetadataRequestAverageLatency",
        "mean",
        "behind",
        "silent",
        gauge="file_system_metadata_latency_seconds",
        dimensions=_OPERATION,
    ),
    _metric(
        "MetadataIOPS",
        "mean",
        "behind",
        "zero",
        gauge="file_system_metadata_operations_per_second",
        dimensions=_OPERATION,
    ),
    _metric(
        "FileSystemUsage", "mean", "file_system", "state", gauge="file_system_used_bytes", group_by=("resourceId",)
    ),
    _metric(
        "UserSoftQuotaViolations", "sum", "file_system", "silent", counter="file_system_soft_quota_violations_total"
    ),
    _metric(
        "UserHardQuotaViolations", "sum", "file_system", "silent", counter="file_system_hard_quota_violations_total"
    ),
    _metric("snapshotsGovernanceMode", "mean", "tenancy", "state", gauge="governance_snapshots"),
    _metric("snapshotsComplianceMode", "mean", "tenancy", "state", gauge="compliance_snapshots"),
    _metric(
        "retentionLockDuration", "mean", "lock_mode", "state", gauge="snapshot_retention_lock_seconds", scale=86400.0
    ),
    _metric("ReplicationThroughput", "mean", "replication", "silent", gauge="replication_bytes_per_second"),
    _metric("ReplicationEgressThroughput", "sum", "replication", "silent", counter="replication_egress_bytes_total"),
    _metric(
        "ReplicationRecoveryPointAge", "mean", "replication", "state", gauge="replication_recovery_point_age_seconds"
    ),
    _metric(
        "KerberosErrors", "sum", "mount_target", "silent", counter="kerberos_errors_total", dimensions=("errorType",)
    ),
    _metric(
        "LdapRequestThroughput", "sum", "ldap", "silent", counter="ldap_requests_total", dimensions=("requestType",)
    ),
    _metric(
        "LdapRequestAverageLatency",
        "mean",
        "ldap",
        "silent",
        gauge="ldap_request_latency_seconds",
        dimensions=("requestType",),
    ),
    _metric(
        "LdapConnectionErrors",
        "sum",
        "ldap",
        "silent",
        counter="ldap_connection_errors_total",
        dimensions=("errorType",),
    ),
    _metric(
        "LdapRequestErrors",
        "sum",
        "ldap",
        "silent",
        counter="ldap_request_errors_total",
        dimensions=("requestType", "errorType"),
    ),
)

METRICS: Final[Mapping[str, OciMetric]] = MappingProxyType({metric.name: metric for metric in _TABLE})
"""Every metric by its documented name, in the order they are asked for."""


def is_success(error_type: str) -> bool:
    """Whether an error metric's event type is a success: OCI counts "Keytab Load Success" and "connection success" as well."""
    return "success" in error_type.lower()


class MetricNames:
    """The spellings of one region.

    Args:
        metrics: by documented name.
    """

    def __init__(self, metrics: Mapping[str, OciMetric] = METRICS) -> None:
        self._documented = {name.lower(): name for name in metrics}
        self._found: dict[str, list[str]] | None = None

    def learn(self, listed: Iterable[str]) -> None:
        """Take the names ListMetrics gave; the spelling in use stays in use while it is among them."""
        found: dict[str, list[str]] = {}
        for spelling in sorted(set(listed)):
            name = self._documented.get(spelling.lower())
            if name is not None:
                found.setdefault(name, []).append(spelling)
        for name, spellings in (self._found or {}).items():
            known = found.get(name, [])
            if spellings[0] in known:
                found[name] = [spellings[0], *(spelling for spelling in known if spelling != spellings[0])]
        self._found = found

    def spelling(self, metric: OciMetric) -> str | None:
        """What to ask for; None where the tenancy does not have the metric. Documented names stand until others are known."""
        if self._found is None:
            return None if metric.discovered_only else metric.name
        spellings = self._found.get(metric.name)
        return spellings[0] if spellings else None

    def fell_silent(self, metric: OciMetric) -> None:
        """The spelling in use brought nothing new: the next one, if there is one, has its turn."""
        spellings = (self._found or {}).get(metric.name, [])
        if len(spellings) > 1:
            spellings.append(spellings.pop(0))
