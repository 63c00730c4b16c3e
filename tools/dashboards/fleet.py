"""fleet.json: how close is every mount target to its ceiling."""

from tools.dashboards.fleet_services import OTHER_SERVICES, SERVICES
from tools.dashboards.frame import Section, dashboard
from tools.dashboards.panels import (
    CEILING_STEPS,
    NOT_ZERO_CRITICAL_STEPS,
    NOT_ZERO_STEPS,
    OBJECTIVE_STEPS,
    Json,
    Panel,
    Query,
    graph,
    stat,
    tally,
)
from tools.dashboards.tables import Column, table
from tools.dashboards.words import IMBALANCE_STEPS, IN_REGION, MOUNT_TARGET, TO_MOUNT_TARGET, data_age, nearest

from fss_exporter.model.thresholds import WARNING_RATIO

_OURS = 'alertname=~"Fss.+"'


def _utilisation(resource: str) -> str:
    return f'mount_target:fss_utilisation:ratio{{resource="{resource}", {IN_REGION}}}'


def _each(expr: str, *more: str) -> str:
    return f"max by ({', '.join((MOUNT_TARGET, *more))}) ({expr})"


_AT_A_GLANCE = Section(
    "At a glance",
    [
        tally(
            "Mount targets",
            "Mount targets in the inventory of the regions chosen above. Fewer than you own: a compartment is left out of the "
            "exporter's configuration or its policy is missing.",
            f"count(group by (mount_target_id) (fss_mount_target_info{{{IN_REGION}}}))",
        ),
        tally(
            f"At or above {100 * WARNING_RATIO:.0f} % of a ceiling",
            "Mount targets that use that much of their IOPS, read or write bandwidth or connections. They are at the top of "
            "the table below; open one to see who loads it.",
            f"count(max by (mount_target_id) (mount_target:fss_utilisation:ratio{{{IN_REGION}}}) >= {WARNING_RATIO:g})"
            " or vector(0)",
            steps=NOT_ZERO_STEPS,
        ),
        stat(
            "Nearest to a ceiling",
            "The highest share of any ceiling in use. Orange: plan a mount target or move load. Red: clients are being slowed down.",
            Query(f"max(mount_target:fss_utilisation:ratio{{{IN_REGION}}})"),
            unit="percentunit",
            steps=CEILING_STEPS,
        ),
        stat(
            "Worst latency of its objective",
            "The slowest kind of request (read, write, metadata) as share of its objective; 100 % is the objective. Objectives are "
            "set in the exporter's configuration.",
            Query(f"max(mount_target:fss_latency_objective:ratio{{{IN_REGION}}})"),
            unit="percentunit",
            steps=OBJECTIVE_STEPS,
        ),
        tally(
            "Critical alerts",
            "Firing alerts of this pack somebody must act on now. They are listed at the end of this dashboard.",
            f'count(ALERTS{{{_OURS}, alertstate="firing", severity="critical"}}) or vector(0)',
            steps=NOT_ZERO_CRITICAL_STEPS,
        ),
        tally(
            "Warnings",
            "Firing alerts of this pack to act on within the working day. They are listed at the end of this dashboard.",
            f'count(ALERTS{{{_OURS}, alertstate="firing", severity="warning"}}) or vector(0)',
            steps=NOT_ZERO_STEPS,
        ),
        data_age(IN_REGION, "Red: everything here is stale; see the dashboard FSS exporter."),
        stat(
            "API budget in use",
            "Requests to OCI as share of what the exporter allows itself. At 100 % polls take longer and data get older: raise "
            "the budget (the tenancy bears 10 a second) or leave out compartments.",
            Query(
                "max(sum by (job, instance) (rate(fss_oci_api_requests_total[$__rate_interval]))"
                " / on (job, instance) fss_oci_api_budget_requests_per_second)"
            ),
            unit="percentunit",
            steps=CEILING_STEPS,
        ),
    ],
)


_CEILINGS = table(
    "Mount targets against their ceilings",
    "Shares of each mount target's own ceiling, the nearest first. An empty field has no published ceiling or no data, "
    "which is not zero. Click a name for that mount target. The forecast is the busiest hour in four days if it goes on "
    "growing as it does; it needs two days of history. Needed is how many mount targets of this shape would "
    "carry the last hour's load at the warning line.",
    Query(_each(f"fss_mount_target_info{{{IN_REGION}}}", "address", "shape"), "info"),
    Query(_each(_utilisation("iops")), "iops"),
    Query(_each(_utilisation("read_bandwidth")), "read"),
    Query(_each(_utilisation("write_bandwidth")), "write"),
    Query(_each(f"mount_target:fss_latency_objective:ratio{{{IN_REGION}}}"), "latency"),
    Query(_each(_utilisation("connections")), "connections"),
    Query(_each(f"mount_target:fss_utilisation:max{{{IN_REGION}}}"), "max"),
    Query(_each(f'mount_target:fss_utilisation:forecast4d{{resource!="connections", {IN_REGION}}}'), "forecast"),
    Query(_each(f"mount_target:fss_mount_targets_needed:count{{{IN_REGION}}}"), "needed"),
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET),
        "mount_target_id": Column(None),
        "region": Column("Region", width=130),
        "shape": Column("Shape", width=90),
        "address": Column("Address", width=110),
        "max": Column("Nearest", unit="percentunit", steps=CEILING_STEPS, width=90),
        "iops": Column("IOPS", unit="percentunit", steps=CEILING_STEPS, bar=True),
        "read": Column("Read", unit="percentunit", steps=CEILING_STEPS, bar=True),
        "write": Column("Write", unit="percentunit", steps=CEILING_STEPS, bar=True),
        "latency": Column("Latency of objective", unit="percentunit", steps=OBJECTIVE_STEPS, bar=True),
        "connections": Column("Connections", unit="percentunit", steps=CEILING_STEPS, width=110),
        "forecast": Column("In 4 days", unit="percentunit", steps=CEILING_STEPS, width=90),
        "needed": Column("Needed", unit="none", width=80),
    },
    sort_by="Nearest",
    height=12,
)


_SOURCES = table(
    "Where each IOPS figure comes from",
    "IOPS of a mount target by source, never mixed. Measured is MountTargetIOPS, where the tenancy has it. Estimated from OCI "
    "leaves out operations OCI does not publish; estimated from clients leaves out clients that are not scraped. Used "
    "is what shares and alerts are reckoned with: measured, else the larger estimate. Coverage far below 100 % means that "
    "agents are missing on some clients.",
    Query(_each(f"mount_target:fss_iops:best{{{IN_REGION}}}", "source"), "best"),
    Query(_each(f"mount_target:fss_iops:measured{{{IN_REGION}}}"), "measured"),
    Query(_each(f"fss_mount_target_estimated_iops_lower_bound{{{IN_REGION}}}"), "lower"),
    Query(_each(f"mount_target:fss_estimated_iops:oci{{{IN_REGION}}}"), "oci"),
    Query(_each(f"fss_mount_target_estimated_iops_upper_bound{{{IN_REGION}}}"), "upper"),
    Query(_each(f"mount_target:fss_client_estimated_iops:rate5m{{{IN_REGION}}}"), "clients"),
    Query(_each(f"mount_target:fss_client_coverage:ratio{{{IN_REGION}}}"), "coverage"),
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET),
        "mount_target_id": Column(None),
        "best": Column("Used", unit="iops"),
        "source": Column("Source", width=110),
        "measured": Column("Measured", unit="iops"),
        "lower": Column("From OCI, at least", unit="iops"),
        "oci": Column("Estimated from OCI", unit="iops"),
        "upper": Column("From OCI, at most", unit="iops"),
        "clients": Column("Estimated from clients", unit="iops"),
        "coverage": Column("Coverage", unit="percentunit", width=100),
    },
    sort_by="Used",
)


def _nearest(title: str, what: str, resource: str) -> Panel:
    return graph(
        title,
        f"{what} as share of the ceiling: the ten mount targets that came nearest in the time shown. A line that stays above the "
        "orange one needs another mount target or less load; a short spike does not.",
        Query(nearest(_utilisation(resource), "region, mount_target_id"), "{{mount_target}}"),
        unit="percentunit",
        steps=CEILING_STEPS,
    )


_LATENCY = graph(
    "Latency of its objective: ten slowest",
    "Mean latency by kind of request as share of its objective, as OCI measures it, weighted by requests. Above 100 % with "
    "a busy mount target: treat the ceiling first. Above 100 % with an idle one: look at OCI's status page.",
    Query(
        nearest(f"mount_target:fss_latency_objective:ratio{{{IN_REGION}}}", "region, mount_target_id, kind"),
        "{{mount_target}}, {{kind}}",
    ),
    unit="percentunit",
    steps=OBJECTIVE_STEPS,
)


_SPREAD = table(
    "File systems behind several mount targets",
    "Imbalance is the busiest mount target's share against their mean: 1 is even, 2 with two mount targets means one of them "
    "does all the work. Remount clients from the busy address to an idle one before adding another. If the sum "
    "is far below 100 %, one mount target would do and would cache again.",
    Query(
        f"max by (region, file_system_id, file_system) (file_system:fss_mount_targets:count{{{IN_REGION}}} > 1)",
        "count",
    ),
    Query(
        f"max by (region, file_system_id, file_system) (file_system:fss_utilisation_imbalance:ratio{{{IN_REGION}}})",
        "imbalance",
    ),
    Query(
        f"max by (region, file_system_id, file_system) (file_system:fss_utilisation:sum{{{IN_REGION}}}"
        f" and on (region, file_system_id) file_system:fss_mount_targets:count > 1)",
        "sum",
    ),
    columns={
        "file_system": Column("File system"),
        "count": Column("Mount targets", unit="none", width=120),
        "imbalance": Column("Imbalance", unit="none", steps=IMBALANCE_STEPS, width=110),
        "sum": Column("Sum of shares", unit="percentunit", width=120),
    },
    sort_by="Imbalance",
    width=12,
    height=9,
)


_GROWTH = graph(
    "Busiest hour of each day: ten highest",
    "The busiest hour of the last 24, by mount target and resource; its slope makes the forecast in the table. Choose a week "
    "above. A line that climbs towards the orange one is a reason to plan now.",
    Query(
        nearest(
            f'mount_target:fss_utilisation:busiest_hour1d{{resource!="connections", {IN_REGION}}}',
            "region, mount_target_id, resource",
        ),
        "{{mount_target}}, {{resource}}",
    ),
    unit="percentunit",
    steps=CEILING_STEPS,
)


_ALERTS = Section(
    "Alerts",
    [
        table(
            "Firing alerts",
            "Every firing alert of this pack. The runbook has one heading for each name: "
            "https://github.com/fss-exporter/fss-exporter/blob/main/docs/runbook.md. Empty is good.",
            Query(
                "max by (alertname, severity, mount_target, mount_target_id, address, instance, resource)"
                f' (ALERTS{{{_OURS}, alertstate="firing"}})',
                "firing",
            ),
            columns={
                "alertname": Column("Alert"),
                "severity": Column("Severity", width=100),
                "mount_target": Column("Mount target", url=TO_MOUNT_TARGET),
                "mount_target_id": Column(None),
                "address": Column("Address", width=130),
                "instance": Column("Client or exporter"),
                "resource": Column("Resource", width=140),
            },
            height=8,
        )
    ],
)


def fleet() -> Json:
    """The dashboard."""
    return dashboard(
        uid="fss-fleet",
        title="FSS fleet",
        description="How close every OCI File Storage mount target is to its ceiling. Needs rules/recording.yml and rules/alerts.yml.",
        alerts='alertname=~"FssMountTarget.+|FssReplication.+|FssFileSystem.+|Fss(Read|Write|Metadata)Latency.+"',
        sections=[
            _AT_A_GLANCE,
            Section("How close", [_CEILINGS, _SOURCES]),
            Section(
                "The nearest over time",
                [
                    _nearest("IOPS: ten nearest to the ceiling", "Mount-target I/O operations per second", "iops"),
                    _nearest("Read bandwidth: ten nearest to the ceiling", "Bytes read per second", "read_bandwidth"),
                    _nearest(
                        "Write bandwidth: ten nearest to the ceiling", "Bytes written per second", "write_bandwidth"
                    ),
                    _LATENCY,
                ],
            ),
            Section("Spread and growth", [_SPREAD, _GROWTH]),
            SERVICES,
            OTHER_SERVICES,
            _ALERTS,
        ],
    )
