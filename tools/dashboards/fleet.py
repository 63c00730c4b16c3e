"""fleet.json: which mount target, which ceiling, since when, which alert."""

from tools.dashboards.alerts import IDENTITY, firing_alerts
from tools.dashboards.fleet_services import FILE_SYSTEMS, SERVICES
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
from tools.dashboards.words import (
    BUDGET_STEPS,
    CLASSES,
    DATA_AGE_STEPS,
    IMBALANCE_STEPS,
    IN_REGION,
    MOUNT_TARGET,
    RESOURCE_WORDS,
    RESOURCES,
    TO_MOUNT_TARGET,
    counted,
    data_age,
    named,
    nearest,
)

from fss_exporter.model.thresholds import WARNING_RATIO

# Alerts of agents have no region; they belong to every choice of regions.
_ALERTS = 'alertname=~"Fss.+", severity=~"critical|warning", region=~"$region|"'


def _firing(severity: str) -> str:
    alerts = f'ALERTS{{alertname=~"Fss.+", alertstate="firing", severity="{severity}", region=~"$region|"}}'
    return counted(f"group by ({IDENTITY}) ({alerts})", "last_over_time(job:fss_exporters:count[1h])")


def _utilisation(resource: str) -> str:
    return f'mount_target:fss_utilisation:ratio{{resource=~"{resource}", {IN_REGION}}}'


def _each(expr: str, *more: str) -> str:
    return f"max by ({', '.join((MOUNT_TARGET, *more))}) ({expr})"


_BUSIEST = f"max by (mount_target_id) (mount_target:fss_utilisation:ratio{{{IN_REGION}}})"

_STATS = [
    tally(
        "Critical alerts",
        "Firing alerts that page. The table below lists them first.",
        _firing("critical"),
        steps=NOT_ZERO_CRITICAL_STEPS,
        width=4,
    ),
    tally(
        "Warnings",
        "Firing alerts to act on within the working day. The table below lists them.",
        _firing("warning"),
        steps=NOT_ZERO_STEPS,
        width=4,
    ),
    tally(
        f"At {100 * WARNING_RATIO:.0f} % or more",
        f"Mount targets that use {100 * WARNING_RATIO:.0f} % or more of any ceiling. They are the first rows of the table of ceilings.",
        counted(f"{_BUSIEST} >= {WARNING_RATIO:g}", _BUSIEST),
        steps=NOT_ZERO_STEPS,
        width=4,
    ),
    stat(
        "Nearest ceiling",
        "The highest share of any ceiling in use. Orange: plan a mount target or move load. Red: clients are slowed down.",
        Query(f"max(mount_target:fss_utilisation:ratio{{{IN_REGION}}})"),
        unit="percentunit",
        steps=CEILING_STEPS,
        width=4,
    ),
    stat(
        "Slowest requests",
        "Latency of the slowest class of requests as share of its objective. The configuration of the exporter sets the objectives.",
        Query(f"max(fss_mount_target_latency_objective_ratio{{{IN_REGION}}})"),
        unit="percentunit",
        steps=OBJECTIVE_STEPS,
        width=4,
    ),
    stat(
        "Age of the data",
        "Age of the newest minute of any mount target metric, in the region where it is oldest. One to three minutes is normal. "
        "Red: every figure of OCI on this dashboard is old. See the dashboard FSS exporter.",
        Query(data_age(IN_REGION)),
        unit="s",
        steps=DATA_AGE_STEPS,
        width=4,
    ),
]


_NEAREST = graph(
    "Nearest ceiling of each: ten highest",
    "The highest share of the ceilings of IOPS, read and write bandwidth, for the ten mount targets that came nearest in the time shown. "
    "A line that stays above the orange one needs another mount target or less load. A short spike does not.",
    Query(nearest(f"mount_target:fss_utilisation:max{{{IN_REGION}}}", "region, mount_target_id"), "{{mount_target}}"),
    unit="percentunit",
    steps=CEILING_STEPS,
    width=12,
)


_CEILINGS = table(
    "Mount targets against their ceilings",
    "Shares of the ceilings of each mount target, the nearest first. A dash means no published ceiling or no data, never zero. Click a name "
    "for the clients and operations of that mount target. Budget left is the part of the error budget of 30 days that is not spent. "
    "In 14 days is a forecast from the busiest minutes of two weeks. Needed is how many mount targets of this shape would carry the last "
    "hour at the warning line.",
    Query(f"topk by ({MOUNT_TARGET}) (1, mount_target:fss_utilisation:ratio{{{IN_REGION}}})", "nearest"),
    Query(_each(_utilisation("iops")), "iops"),
    Query(_each(_utilisation("read_bandwidth")), "read"),
    Query(_each(_utilisation("write_bandwidth")), "write"),
    Query(_each(_utilisation(".*connections")), "connections"),
    Query(
        named(f"max by (region, mount_target_id) (fss_mount_target_latency_objective_ratio{{{IN_REGION}}})"),
        "latency",
    ),
    Query(named(f"min by (region, mount_target_id) (slo:fss_error_budget_left:ratio{{{IN_REGION}}})"), "budget"),
    Query(_each(f'mount_target:fss_utilisation:forecast14d{{resource!~".*connections", {IN_REGION}}}'), "forecast"),
    Query(_each(f"mount_target:fss_mount_targets_needed:count{{{IN_REGION}}}"), "needed"),
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET),
        "mount_target_id": Column(None),
        "region": Column("Region", width=130),
        "nearest": Column("Nearest", unit="percentunit", steps=CEILING_STEPS, width=90),
        "resource": Column("Ceiling", words=RESOURCE_WORDS, width=130),
        "iops": Column("IOPS", unit="percentunit", steps=CEILING_STEPS, width=80),
        "read": Column("Read", unit="percentunit", steps=CEILING_STEPS, width=80),
        "write": Column("Write", unit="percentunit", steps=CEILING_STEPS, width=80),
        "connections": Column("Connections", unit="percentunit", steps=CEILING_STEPS, width=110),
        "latency": Column("Latency", unit="percentunit", steps=OBJECTIVE_STEPS, width=90),
        "budget": Column("Budget left", unit="percentunit", steps=BUDGET_STEPS, width=110),
        "forecast": Column("In 14 days", unit="percentunit", steps=CEILING_STEPS, width=100),
        "needed": Column("Needed", unit="none", width=90),
    },
    sort_by="Nearest",
    height=9,
)


_SOURCES = table(
    "Where each IOPS figure comes from",
    "IOPS of a mount target by source, never mixed. Measured is MountTargetIOPS, where the tenancy has it. The estimate from OCI leaves out "
    "operations that OCI does not publish. The estimate from clients leaves out clients without an agent. Coverage far below 100 % means that agents are missing on some clients.",
    Query(_each(f"fss_mount_target_iops{{{IN_REGION}}}"), "measured"),
    Query(_each(f"fss_mount_target_estimated_iops{{{IN_REGION}}}"), "oci"),
    Query(_each(f"mount_target:fss_client_estimated_iops:rate5m{{{IN_REGION}}}"), "clients"),
    Query(_each(f"mount_target:fss_client_coverage:ratio{{{IN_REGION}}}"), "coverage"),
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET),
        "mount_target_id": Column(None),
        "measured": Column("Measured", unit="iops", width=130),
        "oci": Column("Estimate from OCI", unit="iops", width=150),
        "clients": Column("Estimate from clients", unit="iops", width=170),
        "coverage": Column("Coverage", unit="percentunit", width=100),
    },
    sort_by="Estimate from OCI",
    height=8,
)


def _nearest(title: str, what: str, resource: str) -> Panel:
    return graph(
        title,
        f"{what} as share of the ceiling, for the ten mount targets that came nearest in the time shown.",
        Query(nearest(_utilisation(resource), "region, mount_target_id"), "{{mount_target}}"),
        unit="percentunit",
        steps=CEILING_STEPS,
    )


_CLASS_LATENCY = f"fss_mount_target_latency_objective_ratio{{{IN_REGION}}}"
_LATENCY = graph(
    "Latency of its objective: ten slowest",
    "Mean latency by class of requests as share of its objective, as OCI measures it. Above 100 % with a busy mount target: treat the "
    "ceiling first. Above 100 % with an idle one: look at the status page of OCI.",
    Query(
        named(f"({nearest(_CLASS_LATENCY, 'region, mount_target_id, class')})"),
        "{{mount_target}}, {{class}}",
    ),
    unit="percentunit",
    steps=OBJECTIVE_STEPS,
    renames=CLASSES,
)


_FILE_SYSTEM = "region, file_system_id, file_system"
_SPREAD = table(
    "File systems behind several mount targets",
    "Imbalance is the busiest mount target against the mean: 1 is even, 2 with two mount targets means that one does all the work. Remount "
    "clients from the busy address to an idle one before you add another.",
    Query(f"max by ({_FILE_SYSTEM}) (file_system:fss_mount_targets:count{{{IN_REGION}}} > 1)", "count"),
    Query(f"max by ({_FILE_SYSTEM}) (file_system:fss_utilisation_imbalance:ratio{{{IN_REGION}}})", "imbalance"),
    Query(
        f"max by ({_FILE_SYSTEM}) (file_system:fss_utilisation:sum{{{IN_REGION}}}"
        " and on (region, file_system_id) file_system:fss_mount_targets:count > 1)",
        "sum",
    ),
    columns={
        "file_system": Column("File system"),
        "count": Column("Mount targets", unit="none", width=120),
        "imbalance": Column("Imbalance", unit="none", steps=IMBALANCE_STEPS, decimals=1, width=110),
        "sum": Column("Sum of shares", unit="percentunit", width=120),
    },
    sort_by="Imbalance",
    width=12,
    height=9,
)


_GROWTH = graph(
    "Busiest minutes of each week: ten highest",
    "The busiest minutes of the last seven days, by mount target and ceiling. The growth from week to week makes the forecast. Choose a month "
    "above. A line that climbs towards the orange one is a reason to plan now.",
    Query(
        nearest(
            f'mount_target:fss_utilisation:busiest7d{{resource!~".*connections", {IN_REGION}}}',
            "region, mount_target_id, resource",
        ),
        "{{mount_target}}, {{resource}}",
    ),
    unit="percentunit",
    steps=CEILING_STEPS,
    renames=RESOURCES,
)


_ROOM = table(
    "Room for more mount targets",
    "How many mount targets each availability domain has, and the service limit of the tenancy. At the limit ask OCI for more before you need them.",
    Query(f"max by (region, availability_domain) (fss_oci_mount_targets{{{IN_REGION}}})", "count"),
    Query(f"max by (region, availability_domain) (fss_oci_mount_targets_limit{{{IN_REGION}}})", "limit"),
    columns={
        "availability_domain": Column("Availability domain"),
        "region": Column("Region"),
        "count": Column("Mount targets", unit="none", width=130),
        "limit": Column("Limit", unit="none", width=100),
    },
    sort_by="Mount targets",
    height=6,
)


def fleet() -> Json:
    """The dashboard."""
    alerts = firing_alerts(
        "Firing alerts", "Critical alerts and warnings of the chosen regions.", _ALERTS, width=12, height=9
    )
    return dashboard(
        uid="fss-fleet",
        title="FSS fleet",
        description="How close every OCI File Storage mount target is to its ceiling. Needs the rules of rules/.",
        alerts='alertname=~"Fss(Region|MountTarget|Replication|FileSystem).+"',
        sections=[
            Section("", [*_STATS, alerts, _NEAREST, _CEILINGS]),
            Section(
                "Each ceiling over time",
                [
                    _nearest("IOPS: ten nearest to the ceiling", "I/O operations per second", "iops"),
                    _nearest("Read bandwidth: ten nearest", "Bytes read per second", "read_bandwidth"),
                    _nearest("Write bandwidth: ten nearest", "Bytes written per second", "write_bandwidth"),
                    _LATENCY,
                ],
            ),
            Section("Where the figures come from", [_SOURCES]),
            Section("Spread and growth", [_SPREAD, _GROWTH, _ROOM]),
            FILE_SYSTEMS,
            SERVICES,
        ],
    )
