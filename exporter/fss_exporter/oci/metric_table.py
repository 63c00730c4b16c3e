"""Every metric of `oci_filestorage`.

Names, dimensions, units and statistics: "File System Metrics" of the OCI documentation, read 2026-09-05. `MountTargetIOPS` is named in the
white paper "OCI File Storage Performance Characteristics" only and is asked for where a tenancy is found to have it. Units
follow that page where it does not contradict itself, and the charts where it does.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.oci.oci_metric import Idle, OciMetric, Owner


def _per_second(name: str, gauge: str, counter: str, *, discovered_only: bool = False) -> OciMetric:
    """Return a rate of a mount target, as a gauge and added up: a value per second holds for a minute."""
    shown, added = CATALOGUE[f"fss_mount_target_{gauge}"], CATALOGUE[f"fss_mount_target_{counter}"]
    return OciMetric(
        name, "mean", "mount_target", "zero", shown, added, per_minute=60.0, discovered_only=discovered_only
    )


def _behind(name: str, gauge: str, *dimensions: str, idle: Idle = "zero") -> OciMetric:
    """Return a figure of a file system behind a mount target."""
    return OciMetric(name, "mean", "behind", idle, gauge=CATALOGUE[f"fss_file_system_{gauge}"], dimensions=dimensions)


def _events(name: str, owner: Owner, counter: str, *dimensions: str) -> OciMetric:
    """Events of each minute, added up."""
    return OciMetric(name, "sum", owner, "silent", counter=CATALOGUE[f"fss_{counter}"], dimensions=dimensions)


def _gauge(name: str, owner: Owner, idle: Idle, gauge: str, statistic: str = "mean", **more: Any) -> OciMetric:
    return OciMetric(name, statistic, owner, idle, gauge=CATALOGUE[f"fss_{gauge}"], **more)


_TABLE: Final = (
    _per_second("MountTargetIOPS", "iops", "io_operations_total", discovered_only=True),
    _per_second("MountTargetReadThroughput", "read_bytes_per_second", "read_bytes_total"),
    _per_second("MountTargetWriteThroughput", "write_bytes_per_second", "written_bytes_total"),
    _gauge("MountTargetConnections", "mount_target", "zero", "mount_target_connections", "sum"),
    _gauge(
        "MountTargetHealth",
        *("mount_target", "silent", "mount_target_success_ratio"),
        where={"healthItem": "SuccessRate"},
        scale=0.01,
    ),
    _behind("FileSystemReadThroughput", "read_bytes_per_second"),
    _behind("FileSystemWriteThroughput", "write_bytes_per_second"),
    _behind("FileSystemReadRequestsbySize", "read_requests_per_second", "size"),
    _behind("FileSystemWriteRequestsbySize", "write_requests_per_second", "size"),
    _behind("FileSystemReadAverageLatencybySize", "read_latency_seconds", "size", idle="silent"),
    _behind("FileSystemWriteAverageLatencybySize", "write_latency_seconds", "size", idle="silent"),
    _behind("MetadataRequestAverageLatency", "metadata_latency_seconds", "operation", idle="silent"),
    _behind("MetadataIOPS", "metadata_operations_per_second", "operation"),
    _gauge("FileSystemUsage", "file_system", "state", "file_system_used_bytes", group_by=("resourceId",)),
    _events("UserSoftQuotaViolations", "file_system", "file_system_soft_quota_violations_total"),
    _events("UserHardQuotaViolations", "file_system", "file_system_hard_quota_violations_total"),
    _gauge("snapshotsGovernanceMode", "tenancy", "state", "governance_snapshots"),
    _gauge("snapshotsComplianceMode", "tenancy", "state", "compliance_snapshots"),
    _gauge("retentionLockDuration", "lock_mode", "state", "snapshot_retention_lock_seconds", scale=86400.0),
    _gauge("ReplicationThroughput", "replication", "silent", "replication_bytes_per_second"),
    _events("ReplicationEgressThroughput", "replication", "replication_egress_bytes_total"),
    _gauge("ReplicationRecoveryPointAge", "replication", "state", "replication_recovery_point_age_seconds"),
    _events("KerberosErrors", "mount_target", "kerberos_errors_total", "errorType"),
    _events("LdapRequestThroughput", "ldap", "ldap_requests_total", "requestType"),
    _gauge("LdapRequestAverageLatency", "ldap", "silent", "ldap_request_latency_seconds", dimensions=("requestType",)),
    _events("LdapConnectionErrors", "ldap", "ldap_connection_errors_total", "errorType"),
    _events("LdapRequestErrors", "ldap", "ldap_request_errors_total", "requestType", "errorType"),
)

METRICS: Final[Mapping[str, OciMetric]] = {metric.name: metric for metric in _TABLE}
"""Every metric by its documented name, in the order of the queries."""


def is_success(error_type: str) -> bool:
    """Return whether the event type of an error metric is a success. OCI counts "Keytab Load Success" as well."""
    return "success" in error_type.lower()


class MetricNames:
    """The names of the metrics that the tenancy of one region has, in the spelling of the tenancy.

    The documentation and the service spell some names differently (`bySize`, `BySize`). So names are compared without regard to
    case and sent as ListMetrics gave them. ListMetrics remembers names for 90 days, so a metric can have two spellings. The
    spelling that last brought a new minute is asked first, and the next one when the first falls silent.
    """

    def __init__(self, metrics: Mapping[str, OciMetric] = METRICS) -> None:
        self._documented = {name.lower(): name for name in metrics}
        self._found: dict[str, list[str]] | None = None

    def learn(self, listed: Iterable[str]) -> None:
        """Take the names that ListMetrics gave. The spelling in use stays in use while ListMetrics has it."""
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
        """Return the name to query, or None where the tenancy does not have the metric.

        The documented name counts until ListMetrics has answered.
        """
        if self._found is None:
            return None if metric.discovered_only else metric.name
        spellings = self._found.get(metric.name)
        return spellings[0] if spellings else None

    def fell_silent(self, metric: OciMetric) -> None:
        """Move to the next spelling of a metric, because the spelling in use brought no new minute."""
        spellings = (self._found or {}).get(metric.name, [])
        if len(spellings) > 1:
            spellings.append(spellings.pop(0))
