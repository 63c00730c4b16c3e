# SPDX-License-Identifier: Apache-2.0
"""Every metric of OCI Monitoring that the poller knows: the query, the owner of a stream, and the exported metric. Pure.

Names, dimensions, units and statistics: "File System Metrics", "File Storage with Lustre metrics" and "Block Volume Metrics
Reference" of the OCI documentation, read 2026-09-05. `MountTargetIOPS` is named in the white paper "OCI File Storage
Performance Characteristics" only and is asked for where a tenancy is found to have it. Units follow these pages where a page
does not contradict itself, and the charts where it does. Lustre and Block Volume publish amounts per interval. The sum over a
minute divided by 60 is a rate, for any number of streams and points of a resource.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from fss_exporter.catalogue import CATALOGUE, Declaration
from fss_exporter.oci import mql_writer
from fss_exporter.oci.iam import NAMESPACE

# Owner of a stream: `behind` is a file system behind one mount target, `ldap` a mount target with a connector, `service` a
# resource of another service.
Owner = Literal["mount_target", "file_system", "behind", "replication", "ldap", "tenancy", "lock_mode", "service"]

# Meaning of a missing point. `zero` metrics send zeros while idle, so the point is late. `silent` metrics send nothing
# without an event. A `state` is always sent.
Idle = Literal["zero", "silent", "state"]


@dataclass(frozen=True, slots=True)
class OciMetric:
    """One metric of OCI Monitoring."""

    name: str  # documented name. A query sends the spelling of the tenancy
    statistic: str  # MQL statistic over one minute
    owner: Owner  # kind of resource that a stream belongs to
    idle: Idle  # meaning of a minute without a datapoint
    gauge: Declaration | None = None  # exported metric that shows the newest complete minute
    counter: Declaration | None = None  # exported metric that adds up every minute
    # OCI dimensions that become the labels behind the owner's, in the catalogue's order
    dimensions: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)  # dimension values to ask for
    group_by: tuple[str, ...] | None = None  # dimensions to keep apart; None keeps all
    scale: float = 1.0  # factor from the documented unit to the gauge's
    per_minute: float = 1.0  # factor from a minute's value to the increase of the counter
    discovered_only: bool = False  # never asked for unless the tenancy is found to have it
    namespace: str = NAMESPACE  # namespace of the metric in OCI Monitoring
    service: str = ""  # storage service of the metric. Empty for OCI File Storage
    # shortest time between two queries, unless the configuration says another. 0: each poll
    interval_seconds: float = 0.0

    @property
    def split_by(self) -> str:
        """The dimension with the OCID for splitting a query. Empty if a metric never has many streams.

        The dimension is the mount target, or the file system if a file system owns the stream.
        """
        if self.owner in {"behind", "ldap"}:
            return "mountTargetId"
        return "resourceId" if self.owner in {"mount_target", "file_system", "service"} else ""

    def query(self, spelling: str, ids: tuple[str, ...] = ()) -> str:
        """Return the MQL query for one minute, with the tenancy's spelling of the name, for all OCIDs or for some."""
        where: dict[str, str | tuple[str, ...]] = {**self.where}
        if ids:
            where[self.split_by] = ids
        return mql_writer.query(spelling, 1, self.statistic, where=where, group_by=self.group_by)


HOUR: Final = 3600.0

MOST_STREAMS: Final = 2_000  # most metric streams in an answer of SummarizeMetricsData. Source: MetricData

MOST_POINTS: Final = 100_000  # most data points in an answer of SummarizeMetricsData. Source: MetricData


def _per_second(name: str, gauge: str, counter: str, *, discovered_only: bool = False) -> OciMetric:
    """Return a rate of a mount target, as a gauge and added up: a value per second holds for a minute."""
    shown, added = CATALOGUE[gauge], CATALOGUE[counter]
    return OciMetric(
        name, "mean", "mount_target", "zero", shown, added, per_minute=60.0, discovered_only=discovered_only
    )


def _behind(name: str, gauge: str, *dimensions: str, idle: Idle = "zero") -> OciMetric:
    """Return a figure of a file system behind a mount target."""
    return OciMetric(name, "mean", "behind", idle, gauge=CATALOGUE[gauge], dimensions=dimensions)


def _events(name: str, owner: Owner, counter: str, *dimensions: str) -> OciMetric:
    """Events of each minute, added up."""
    return OciMetric(name, "sum", owner, "silent", counter=CATALOGUE[counter], dimensions=dimensions)


def _gauge(name: str, owner: Owner, idle: Idle, gauge: str, statistic: str = "mean", **more: Any) -> OciMetric:
    return OciMetric(name, statistic, owner, idle, gauge=CATALOGUE[gauge], **more)


_TABLE: Final = (
    _per_second(
        "MountTargetIOPS", "fss_mount_target_iops", "fss_mount_target_io_operations_total", discovered_only=True
    ),
    _per_second(
        "MountTargetReadThroughput", "fss_mount_target_read_bytes_per_second", "fss_mount_target_read_bytes_total"
    ),
    _per_second(
        "MountTargetWriteThroughput", "fss_mount_target_write_bytes_per_second", "fss_mount_target_written_bytes_total"
    ),
    _gauge("MountTargetConnections", "mount_target", "zero", "fss_mount_target_connections", "sum"),
    _gauge(
        "MountTargetHealth",
        "mount_target",
        "silent",
        "fss_mount_target_success_ratio",
        where={"healthItem": "SuccessRate"},
        scale=0.01,
    ),
    _behind("FileSystemReadThroughput", "fss_file_system_read_bytes_per_second"),
    _behind("FileSystemWriteThroughput", "fss_file_system_write_bytes_per_second"),
    _behind("FileSystemReadRequestsbySize", "fss_file_system_read_requests_per_second", "size"),
    _behind("FileSystemWriteRequestsbySize", "fss_file_system_write_requests_per_second", "size"),
    _behind("FileSystemReadAverageLatencybySize", "fss_file_system_read_latency_seconds", "size", idle="silent"),
    _behind("FileSystemWriteAverageLatencybySize", "fss_file_system_write_latency_seconds", "size", idle="silent"),
    _behind("MetadataRequestAverageLatency", "fss_file_system_metadata_latency_seconds", "operation", idle="silent"),
    _behind("MetadataIOPS", "fss_file_system_metadata_operations_per_second", "operation"),
    _gauge(
        "FileSystemUsage",
        "file_system",
        "state",
        "fss_file_system_used_bytes",
        group_by=("resourceId",),
        interval_seconds=HOUR,
    ),
    _events("UserSoftQuotaViolations", "file_system", "fss_file_system_soft_quota_violations_total"),
    _events("UserHardQuotaViolations", "file_system", "fss_file_system_hard_quota_violations_total"),
    _gauge("snapshotsGovernanceMode", "tenancy", "state", "fss_governance_snapshots", interval_seconds=HOUR),
    _gauge("snapshotsComplianceMode", "tenancy", "state", "fss_compliance_snapshots", interval_seconds=HOUR),
    _gauge(
        "retentionLockDuration",
        "lock_mode",
        "state",
        "fss_snapshot_retention_lock_seconds",
        scale=86400.0,
        interval_seconds=HOUR,
    ),
    _gauge("ReplicationThroughput", "replication", "silent", "fss_replication_bytes_per_second"),
    _events("ReplicationEgressThroughput", "replication", "fss_replication_egress_bytes_total"),
    _gauge("ReplicationRecoveryPointAge", "replication", "state", "fss_replication_recovery_point_age_seconds"),
    _events("KerberosErrors", "mount_target", "fss_kerberos_errors_total", "errorType"),
    _events("LdapRequestThroughput", "ldap", "fss_ldap_requests_total", "requestType"),
    _gauge(
        "LdapRequestAverageLatency", "ldap", "silent", "fss_ldap_request_latency_seconds", dimensions=("requestType",)
    ),
    _events("LdapConnectionErrors", "ldap", "fss_ldap_connection_errors_total", "errorType"),
    _events("LdapRequestErrors", "ldap", "fss_ldap_request_errors_total", "requestType", "errorType"),
)

# Every metric by its documented name, in the order of the queries.
METRICS: Final[Mapping[str, OciMetric]] = {metric.name: metric for metric in _TABLE}


def is_success(error_type: str) -> bool:
    """Return whether the event type of an error metric is a success. OCI counts "Keytab Load Success" as well."""
    return "success" in error_type.lower()


LUSTRE: Final = "oci_lustrefilesystem"
BLOCK: Final = "oci_blockstore"


NAMESPACES: Final[Mapping[str, str]] = {"lustre": LUSTRE, "block-volume": BLOCK}  # namespace of the metrics by service


def _metric(service: str, name: str, statistic: str, idle: Idle, *, gauge: str = "", **more: Any) -> OciMetric:
    """Return a metric with one stream a resource. `gauge` is an exported name."""
    shown = CATALOGUE[gauge] if gauge else None
    more = {"group_by": ("resourceId",), "namespace": NAMESPACES[service], "service": service} | more
    return OciMetric(name, statistic, "service", idle, shown, **more)


def _rate(service: str, name: str, gauge: str, *, discovered_only: bool = False) -> OciMetric:
    """Return an amount per minute, as a rate per second."""
    return _metric(service, name, "sum", "zero", gauge=gauge, scale=1 / 60, discovered_only=discovered_only)


def _room(name: str, gauge: str) -> OciMetric:
    """Return a capacity of a Lustre file system, total and available."""
    split = {"dimensions": ("capacityType",), "group_by": ("resourceId", "capacityType")}
    return _metric("lustre", name, "mean", "state", gauge=gauge, **split)


_SERVICE_TABLE: Final = (
    _rate("lustre", "ReadThroughput", "fss_service_read_bytes_per_second"),
    _rate("lustre", "WriteThroughput", "fss_service_write_bytes_per_second"),
    _rate("lustre", "DataReadOperations", "fss_service_read_operations_per_second"),
    _rate("lustre", "DataWriteOperations", "fss_service_write_operations_per_second"),
    _rate("lustre", "MetadataOperations", "fss_service_metadata_operations_per_second", discovered_only=True),
    _room("FileSystemCapacity", "fss_service_space_bytes"),
    _room("FileSystemInodeCapacity", "fss_service_inodes"),
    _rate("block-volume", "VolumeReadThroughput", "fss_service_read_bytes_per_second"),
    _rate("block-volume", "VolumeWriteThroughput", "fss_service_write_bytes_per_second"),
    _rate("block-volume", "VolumeReadOps", "fss_service_read_operations_per_second"),
    _rate("block-volume", "VolumeWriteOps", "fss_service_write_operations_per_second"),
    _metric("block-volume", "VolumeGuaranteedIOPS", "mean", "state", gauge="fss_service_iops_limit"),
    _metric(
        "block-volume",
        "VolumeGuaranteedThroughput",
        "mean",
        "state",
        gauge="fss_service_bytes_per_second_limit",
        scale=1e6,
    ),
    _metric(
        "block-volume",
        "VolumeThrottledIOs",
        "sum",
        "silent",
        counter=CATALOGUE["fss_service_throttled_operations_total"],
    ),
)

# Services that the poller watches without configuration if the tenancy has resources of the service.
DISCOVERED: Final = ("lustre",)

# Every metric of the other services, by documented name.
SERVICE_METRICS: Final[Mapping[str, OciMetric]] = {metric.name: metric for metric in _SERVICE_TABLE}


def metrics_of(services: Iterable[str]) -> Mapping[str, OciMetric]:
    """Return metrics of the named services."""
    wanted = set(services)
    return {name: metric for name, metric in SERVICE_METRICS.items() if metric.service in wanted}


class MetricNames:
    """The names of the metrics that the tenancy of one region has, in the spelling of the tenancy.

    The documentation and the service spell some names differently (`bySize`, `BySize`). So names are compared without regard to
    case and sent as ListMetrics gave them. ListMetrics remembers names for 90 days, so a metric can have two spellings. The
    spelling that last brought a new minute is asked first, and the next one when the first falls silent.
    """

    def __init__(self, metrics: Mapping[str, OciMetric] = METRICS) -> None:
        self._documented = {name.lower(): name for name in metrics}
        self._listed: dict[str, list[str]] = {}
        self._is_whole = False

    def learn(self, listed: Iterable[str], *, is_whole: bool = True) -> None:
        """Take the names that ListMetrics gave. The spelling in use stays in use while ListMetrics has it.

        After a listing that is not whole, the names of earlier listings stay.
        """
        kept = [] if is_whole else [spelling for spellings in self._listed.values() for spelling in spellings]
        by_name: dict[str, list[str]] = {}
        for spelling in sorted({*listed, *kept}):
            name = self._documented.get(spelling.lower())
            if name is not None:
                by_name.setdefault(name, []).append(spelling)
        for name, spellings in by_name.items():
            first = self._listed.get(name, [""])[0]
            spellings.sort(key=lambda spelling: spelling != first)
        self._listed, self._is_whole = by_name, is_whole

    def spelling(self, metric: OciMetric) -> str | None:
        """Return the name to query, or None where the tenancy does not have the metric.

        The documented name counts until ListMetrics has answered everywhere.
        """
        if spellings := self._listed.get(metric.name):
            return spellings[0]
        return None if self._is_whole or metric.discovered_only else metric.name

    def fell_silent(self, metric: OciMetric) -> None:
        """Move to the next spelling of a metric, because the spelling in use brought no new minute."""
        spellings = self._listed.get(metric.name, [])
        if len(spellings) > 1:
            spellings.append(spellings.pop(0))
