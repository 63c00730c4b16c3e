"""Of fleet.json: what the mount targets' file systems have besides load, and the other storage services."""

from tools.dashboards.frame import Section
from tools.dashboards.panels import CEILING_STEPS, Query, graph
from tools.dashboards.tables import Column, table
from tools.dashboards.words import IN_REGION, REPLICATION_STEPS, nearest

_REPLICATION = "region, replication_id, replication"
SERVICES = Section(
    "Replication, space and quota",
    [
        graph(
            "Recovery point age in intervals",
            "Age of the last complete copy of each replication, in units of its interval. 1 is normal; above 2 it falls behind, and a "
            "disaster would lose that much work.",
            Query(
                f"max by ({_REPLICATION}) (fss_replication_recovery_point_age_seconds{{{IN_REGION}}})\n"
                f"/ max by ({_REPLICATION}) (fss_replication_interval_seconds{{{IN_REGION}}})",
                "{{replication}}",
            ),
            unit="none",
            steps=REPLICATION_STEPS,
            width=8,
        ),
        graph(
            "Space used: ten largest",
            "Space used by file system. OCI File Storage has no size limit; a steep line is a bill or a runaway job.",
            Query(
                f"topk(10, max by (region, file_system_id, file_system) (fss_file_system_used_bytes{{{IN_REGION}}}))",
                "{{file_system}}",
            ),
            unit="bytes",
            width=8,
        ),
        graph(
            "Writes over quota",
            "Write requests over a user's quota per second: over the hard one they fail, over the soft one they will.",
            Query(
                "sum by (region, file_system_id, file_system)"
                f" (rate(fss_file_system_hard_quota_violations_total{{{IN_REGION}}}[$__rate_interval]))",
                "{{file_system}}, hard",
            ),
            Query(
                "sum by (region, file_system_id, file_system)"
                f" (rate(fss_file_system_soft_quota_violations_total{{{IN_REGION}}}[$__rate_interval]))",
                "{{file_system}}, soft",
            ),
            unit="reqps",
            width=8,
        ),
        table(
            "Billed size by file system",
            "What OCI bills, snapshots and metadata included, against the space in use. Much more billed than used: old snapshots.",
            Query(
                f"max by (region, file_system_id, file_system) (fss_file_system_metered_bytes{{{IN_REGION}}})",
                "metered",
            ),
            Query(f"max by (region, file_system_id, file_system) (fss_file_system_used_bytes{{{IN_REGION}}})", "used"),
            columns={
                "file_system": Column("File system"),
                "region": Column("Region"),
                "metered": Column("Billed", unit="bytes"),
                "used": Column("Used", unit="bytes"),
            },
            sort_by="Billed",
            height=8,
        ),
    ],
)


OTHER_SERVICES = Section(
    "Other storage services",
    [
        graph(
            "Lustre: shares of tier and room",
            "Throughput of each file system of File Storage with Lustre as share of tier times capacity, reads and writes together, and "
            "how full it is. Above the orange line: a higher tier or more capacity. Empty: not polled (oci.services).",
            Query(
                f'service:fss_utilisation:ratio{{service="lustre", {IN_REGION}}}',
                "{{resource}}, {{resource_kind}}",
            ),
            unit="percentunit",
            steps=CEILING_STEPS,
            width=8,
        ),
        graph(
            "Block volumes: ten nearest to what is guaranteed",
            "IOPS and throughput of each volume as share of what OCI guarantees it. A volume that stays above the orange line needs "
            "more performance units or capacity. Empty: not polled (oci.services).",
            Query(
                nearest(
                    f'service:fss_utilisation:ratio{{service="block-volume", {IN_REGION}}}',
                    "region, resource_id, resource_kind",
                ),
                "{{resource}}, {{resource_kind}}",
            ),
            unit="percentunit",
            steps=CEILING_STEPS,
            width=8,
        ),
        graph(
            "Block volumes: throttled operations",
            "I/O operations per second that had to wait because their volume was at its guaranteed figures. Nothing is good.",
            Query(
                "max by (region, service, resource_id, resource)"
                f" (rate(fss_service_throttled_operations_total{{{IN_REGION}}}[$__rate_interval]))",
                "{{resource}}",
            ),
            unit="iops",
            width=8,
        ),
        table(
            "Services as their clients see them",
            "Addresses the agents know as another service (by name, or by services in their configuration), and what the scraped "
            "clients use of each ceiling; the peak is the busiest second of one client. Clients without an agent come on top.",
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
                "iops": Column("IOPS", unit="iops"),
                "of_iops": Column("of the IOPS", unit="percentunit", steps=CEILING_STEPS),
                "of_peak": Column("Peak", unit="percentunit", steps=CEILING_STEPS),
                "of_bandwidth": Column("of the bandwidth", unit="percentunit", steps=CEILING_STEPS),
            },
            sort_by="of the bandwidth",
            height=8,
        ),
    ],
)
