"""Rows of fleet.json: replication, space and quota of file systems, and the services next to File Storage."""

from tools.dashboards.frame import Section
from tools.dashboards.panels import CEILING_STEPS, Query, graph
from tools.dashboards.tables import Column, table
from tools.dashboards.words import IN_REGION, REPLICATION_STEPS, RESOURCES, largest_now, nearest

_REPLICATION = "region, replication_id, replication"
_FILE_SYSTEM = "region, file_system_id, file_system"


def _quota(kind: str) -> Query:
    def violations(at: str) -> str:
        counter = f"fss_file_system_{kind}_quota_violations_total{{{IN_REGION}}}"
        return f"sum by ({_FILE_SYSTEM}) (rate({counter}[$__rate_interval]{at}))"

    return Query(largest_now(violations, "region, file_system_id", count=5), f"{{{{file_system}}}}, {kind} quota")


def _recovery_point(at: str) -> str:
    """Age of the recovery point in intervals of the replication."""
    return (
        f"max by ({_REPLICATION}) (fss_replication_recovery_point_age_seconds{{{IN_REGION}}}{at})"
        f" / max by ({_REPLICATION}) (fss_replication_interval_seconds{{{IN_REGION}}}{at})"
    )


def _throttled(at: str) -> str:
    counter = f"fss_service_throttled_operations_total{{{IN_REGION}}}"
    return f"max by (region, service, resource_id, resource) (rate({counter}[$__rate_interval]{at}))"


FILE_SYSTEMS = Section(
    "Replication, space and quota",
    [
        graph(
            "Recovery points in intervals: ten oldest",
            "Age of the last complete copy of each replication, in replication intervals. 1 is normal. Above 2 the copy falls behind, "
            "and a disaster would lose that much work.",
            Query(
                largest_now(_recovery_point, "region, replication_id"),
                "{{replication}}",
            ),
            unit="none",
            decimals=1,
            steps=REPLICATION_STEPS,
            width=8,
        ),
        graph(
            "Writes over quota: ten most",
            "Write requests per second over the quota of a user. Over the hard quota they fail. Over the soft quota they will.",
            _quota("hard"),
            _quota("soft"),
            unit="reqps",
            width=8,
        ),
        table(
            "Billed size by file system",
            "The size that OCI bills, snapshots and metadata included, against the space in use. Much more billed than used: old snapshots.",
            Query(f"max by ({_FILE_SYSTEM}) (fss_file_system_metered_bytes{{{IN_REGION}}})", "metered"),
            Query(f"max by ({_FILE_SYSTEM}) (fss_file_system_used_bytes{{{IN_REGION}}})", "used"),
            columns={
                "file_system": Column("File system"),
                "metered": Column("Billed", unit="bytes", width=110),
                "used": Column("Used", unit="bytes", width=110),
            },
            sort_by="Billed",
            width=8,
            height=9,
        ),
    ],
)


SERVICES = Section(
    "Other services",
    [
        graph(
            "Lustre: ten nearest to a ceiling",
            "Throughput of each file system of File Storage with Lustre as share of its ceiling, and how full it is. Above the orange "
            "line: a higher tier or more capacity.",
            Query(
                nearest(
                    f'service:fss_utilisation:ratio{{service="lustre", {IN_REGION}}}',
                    "region, resource_id, resource_kind",
                ),
                "{{resource}}, {{resource_kind}}",
            ),
            unit="percentunit",
            steps=CEILING_STEPS,
            renames=RESOURCES,
            empty="No data. Choose whether the poller asks for Lustre file systems: oci.services.",
            width=8,
        ),
        graph(
            "Block volumes: ten nearest to the guarantee",
            "IOPS and throughput of each volume as share of the figures OCI guarantees. A volume that stays above the orange line needs more "
            "performance units or capacity.",
            Query(
                nearest(
                    f'service:fss_utilisation:ratio{{service="block-volume", {IN_REGION}}}',
                    "region, resource_id, resource_kind",
                ),
                "{{resource}}, {{resource_kind}}",
            ),
            unit="percentunit",
            steps=CEILING_STEPS,
            renames=RESOURCES,
            empty="No data. Choose whether the poller asks for block volumes: oci.services.",
            width=8,
        ),
        graph(
            "Block volumes: ten most throttled",
            "I/O operations per second that had to wait because the volume was at its guaranteed figures. An empty panel is good.",
            Query(
                largest_now(_throttled, "region, resource_id"),
                "{{resource}}",
            ),
            unit="iops",
            width=8,
        ),
        table(
            "Services as their clients see them",
            "Addresses that the agents know as another service, and the part of each ceiling that the clients with an agent use. The peak is the "
            "busiest second of one client.",
            Query("max by (address, service, kind) (fss_client_service_info)", "info"),
            Query(
                "max by (address) (address:fss_client_estimated_iops:rate5m and on (address) fss_client_service_info)",
                "iops",
            ),
            Query('max by (address) (address:fss_client_utilisation:ratio{resource="iops"})', "of_iops"),
            Query('max by (address) (address:fss_client_utilisation:ratio{resource="peak_iops"})', "of_peak"),
            Query('max by (address) (address:fss_client_utilisation:ratio{resource=~".*bandwidth"})', "of_bandwidth"),
            columns={
                "address": Column("Address"),
                "service": Column("Service"),
                "kind": Column("Type"),
                "iops": Column("IOPS", unit="iops", width=120),
                "of_iops": Column("Share of IOPS", unit="percentunit", steps=CEILING_STEPS, width=130),
                "of_peak": Column("Share at the peak", unit="percentunit", steps=CEILING_STEPS, width=150),
                "of_bandwidth": Column("Share of bandwidth", unit="percentunit", steps=CEILING_STEPS, width=160),
            },
            sort_by="Share of bandwidth",
            height=6,
        ),
    ],
)
