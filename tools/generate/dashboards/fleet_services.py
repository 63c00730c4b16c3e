"""Row of fleet.json: the services next to File Storage."""

from tools.generate.dashboards.frame import Section
from tools.generate.dashboards.panels import CEILING_STEPS, Query, graph
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import IN_REGION, RESOURCES, largest_now, nearest, with_name


def _throttled(at: str) -> str:
    counter = f"fss_service_throttled_operations_total{{{IN_REGION}}}"
    return f"max by (tenancy, region, service, resource_id) (rate({counter}[$__rate_interval]{at}))"


def _of_service(name: str) -> Query:
    used = f'service:fss_utilisation:ratio{{service="{name}", {IN_REGION}}}'
    nearest_ones = nearest(used, "region, resource_id, resource_kind")
    return Query(with_name(f"({nearest_ones})", "resource_id"), "{{name}}, {{resource_kind}}")


SERVICES = Section(
    "Other services",
    [
        graph(
            "Lustre: top $top",
            "Throughput of each file system of File Storage with Lustre as share of its ceiling, and how full it is. Above the orange "
            "line: a higher tier or more capacity.",
            _of_service("lustre"),
            unit="percentunit",
            steps=CEILING_STEPS,
            renames=RESOURCES,
            empty="No data. A poller asks for Lustre file systems only where oci.services says so.",
            width=8,
        ),
        graph(
            "Block volumes: top $top",
            "IOPS and throughput of each volume as share of the figures OCI guarantees. A volume that stays above the orange line needs more "
            "performance units or capacity.",
            _of_service("block-volume"),
            unit="percentunit",
            steps=CEILING_STEPS,
            renames=RESOURCES,
            empty="No data. A poller asks for block volumes only where oci.services says so.",
            width=8,
        ),
        graph(
            "Throttled volumes: top $top",
            "I/O operations per second that had to wait because the volume was at its guaranteed figures. An empty panel is good while the poller asks for block volumes.",
            Query(
                with_name(f"({largest_now(_throttled, 'region, resource_id')})", "resource_id"),
                "{{name}}",
            ),
            unit="iops",
            width=8,
        ),
        table(
            "Services as their clients see them",
            "Addresses that the agents know as another service, and the part of each ceiling that the clients with an agent use. The peak is the "
            "busiest second of one client.",
            Query("max by (network, address, service, kind) (fss_client_service_info)", "info"),
            Query(
                "max by (network, address) (address:fss_client_estimated_iops:rate5m and on (network, address) fss_client_service_info)",
                "iops",
            ),
            Query(
                'max by (network, address) (address_resource:fss_client_utilisation:ratio{resource="iops"})', "of_iops"
            ),
            Query(
                'max by (network, address) (address_resource:fss_client_utilisation:ratio{resource="peak_iops"})',
                "of_peak",
            ),
            Query(
                'max by (network, address) (address_resource:fss_client_utilisation:ratio{resource=~".*bandwidth"})',
                "of_bandwidth",
            ),
            columns={
                "address": Column("Address"),
                "service": Column("Service"),
                "kind": Column("Type"),
                "iops": Column("Estimated IOPS", unit="iops", width=130),
                "of_iops": Column("Share of IOPS", unit="percentunit", steps=CEILING_STEPS, width=130),
                "of_peak": Column("Share at the peak", unit="percentunit", steps=CEILING_STEPS, width=150),
                "of_bandwidth": Column("Share of bandwidth", unit="percentunit", steps=CEILING_STEPS, width=160),
            },
            sort_by="Share of bandwidth",
            height=6,
        ),
    ],
)
