"""fleet.json: which mount target, which ceiling, since when, which alert."""

from tools.generate.dashboards.alert_figures import WHAT_OF_IT
from tools.generate.dashboards.alerts import firing_alerts
from tools.generate.dashboards.fleet_rows import (
    ADDRESSES,
    AT_LEAST,
    FULLEST,
    LAST,
    MOUNT_TARGETS,
    OF_CLIENTS,
    STATED,
    by_address,
    each,
)
from tools.generate.dashboards.fleet_services import SERVICES
from tools.generate.dashboards.frame import Section, dashboard, of_inventory
from tools.generate.dashboards.panels import (
    AGE_DECIMALS,
    CEILING_STEPS,
    NOT_ZERO_STEPS,
    OBJECTIVE_STEPS,
    Json,
    Panel,
    Query,
    graph,
    line,
    stat,
    tally,
)
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import (
    BUDGET_STEPS,
    COVERAGE,
    DATA_AGE_STEPS,
    IN_REGION,
    MOUNT_TARGET,
    RESOURCES,
    TO_CONSOLE,
    TO_MOUNT_TARGET,
    WEEK_AGO,
    WITHOUT_POLLER,
    all_here,
    counted,
    data_age,
    here,
    nearest_here,
    poll_age,
)

from fss_exporter.model.thresholds import WARNING_RATIO

# Alerts of agents have no region; they belong to every choice of regions.
_ALERTS = 'alertname=~"Fss.+", severity=~"critical|warning", tenancy=~"$tenancy|", region=~"$region|"'


def _firing(severity: str) -> str:
    alerts = f'ALERTS{{alertname=~"Fss.+", alertstate="firing", severity="{severity}", tenancy=~"$tenancy|", region=~"$region|"}}'
    return counted(
        f"group without ({WHAT_OF_IT}) ({alerts})", "fleet:fss_agents:count"
    )  # a series wherever the rules run


_FRESH = "mount_target_resource:fss_utilisation:ratio"

# Mount targets whose load no fresh figure of OCI tells.
_UNKNOWN = f"({all_here()} unless on (region, mount_target_id) {FULLEST})"


def _utilisation(resource: str) -> str:
    return f'mount_target_resource:fss_utilisation:ratio{{resource=~"{resource}", {IN_REGION}}}'


_OVER = f"count(max by (region, mount_target_id) {here(f'({_FRESH} or {OF_CLIENTS})')} >= {WARNING_RATIO:g})"
_FULLEST_IF_KNOWN = (
    f"topk(1, {FULLEST} >= {WARNING_RATIO:g})\nor on ()\n(topk(1, {FULLEST}) unless on () count({_UNKNOWN}))"
)
_FULLEST_IN_GREY = f"unless on () ({FULLEST} >= {WARNING_RATIO:g})\nand on () count({_UNKNOWN})"

# Without the rules nothing says who polls.
_NOT_POLLED = (
    f"max({poll_age(IN_REGION)} unless on (tenancy, region) poller:fss_polling:info and on () fleet:fss_agents:count)"
)
_DATA_AGE = (
    f'label_replace({_NOT_POLLED}, "said", "not polled", "", "")\n'
    f'or on ()\nlabel_replace({data_age(IN_REGION)}, "said", "newest minute", "", "")'
)


_STATS = [
    tally(
        "Critical alerts",
        "Firing alerts that page. The table below lists them first.",
        _firing("critical"),
        steps=((None, "text"), (1, "red")),
        width=4,
    ),
    tally(
        "Warnings",
        "Firing alerts to act on within the working day. The table below lists them.",
        _firing("warning"),
        steps=((None, "text"), (1, "orange")),
        width=4,
    ),
    tally(
        f"Over {100 * WARNING_RATIO:.0f} %",
        f"Mount targets that use {100 * WARNING_RATIO:.0f} % or more of any ceiling. 0 is shown only while the load of every mount target is "
        "known. In grey: how many mount targets have no fresh figure, or how many addresses the agents see while no poller tells of mount targets.",
        Query(f"{_OVER}\nor\n(0 * count({FULLEST}) unless on () count({_UNKNOWN}))", "mount targets"),
        Query(f"count({_UNKNOWN}) unless on () {_OVER}", "not known"),
        Query(
            f"count({ADDRESSES}) unless on () mount_target:fss_mount_target:info",
            "not judged: no poller",
        ),
        steps=NOT_ZERO_STEPS,
        width=4,
    ),
    stat(
        "Fullest",
        "The highest share of any ceiling in use, and the mount target. Orange: plan a mount target or move load. Red: clients are slowed down. In "
        "grey: the last known figure, or what the clients with an agent cause, because fresh figures of OCI are missing.",
        Query(_FULLEST_IF_KNOWN, "{{mount_target}}"),
        Query(f"topk(1, {each(LAST)})\n{_FULLEST_IN_GREY}", "{{mount_target}}, last known"),
        Query(
            f"topk(1, {each(AT_LEAST)})\n{_FULLEST_IN_GREY}\nunless on () {here(LAST)}",
            "{{mount_target}}, at least",
        ),
        Query(
            f"topk(1, {by_address(STATED)}) unless on () mount_target:fss_mount_target:info",
            "{{mount_target}}, about",
        ),
        unit="percentunit",
        steps=CEILING_STEPS,
        width=4,
    ),
    stat(
        "Slowest",
        "Latency of the slowest kind of requests to one file system as share of its objective, as OCI measures it, and the mount target. 100 % is the objective.",
        Query(f"topk(1, {each('fss_mount_target_latency_objective_ratio')})", "{{mount_target}}"),
        WITHOUT_POLLER,
        unit="percentunit",
        steps=OBJECTIVE_STEPS,
        width=4,
    ),
    stat(
        "Data age",
        "Age of the newest minute of any mount target metric, in the region where it is oldest. One to three minutes is normal. "
        "Red: no figure of OCI on this dashboard is fresh. Not polled: a region has had no poll for eight minutes, so look at its poller. See the "
        "dashboard FSS exporter.",
        Query(_DATA_AGE, "{{said}}"),
        WITHOUT_POLLER,
        unit="s",
        decimals=AGE_DECIMALS,
        steps=DATA_AGE_STEPS,
        width=4,
    ),
]


_NEAREST = graph(
    "Fullest mount targets: top $top",
    "The highest share of the ceilings of IOPS, read and write bandwidth, for the mount targets that came nearest in the time shown. No line: "
    "nothing fresh is known. "
    "A line that stays above the orange one needs another mount target or less load. A short spike does not.",
    Query(
        nearest_here(f"mount_target:fss_utilisation:max{{{IN_REGION}}}", "region, mount_target_id"), "{{mount_target}}"
    ),
    unit="percentunit",
    steps=CEILING_STEPS,
    empty="No data. The firing alerts say which part is missing.",
    width=10,
)


_DETAILS = table(
    "All ceilings of each mount target",
    "Shares of the ceilings of each mount target. A dash means no published ceiling or no fresh data, never zero. Week ago is the fullest of them at this time. Budget left is the part of the "
    "error budget of 30 days that is not spent. In 14 days is a forecast from the busiest minutes of two weeks.",
    Query(each(_utilisation("iops")), "iops"),
    Query(each(_utilisation("read_bandwidth")), "read"),
    Query(each(_utilisation("write_bandwidth")), "write"),
    Query(each('mount_target_resource:fss_utilisation:ratio{resource="connections"}'), "connections"),
    Query(
        each('mount_target_resource:fss_client_utilisation_lower_bound:ratio{resource="encrypted_connections"}'),
        "encrypted",
    ),
    Query(each("mount_target_resource:fss_utilisation:ratio offset 1w"), "week"),
    Query(f"min by ({MOUNT_TARGET}) {here('slo:fss_error_budget_left:ratio')}", "budget"),
    Query(each('mount_target_resource:fss_utilisation:forecast14d{resource!~".*connections"}'), "forecast"),
    Query(f'label_replace({all_here()}, "console", "open", "", "")', "info"),
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET, least=100),
        "mount_target_id": Column(None),
        "region": Column("Region", width=115),
        "iops": Column("IOPS", unit="percentunit", steps=CEILING_STEPS, width=75),
        "read": Column("Read", unit="percentunit", steps=CEILING_STEPS, width=75),
        "write": Column("Write", unit="percentunit", steps=CEILING_STEPS, width=75),
        "connections": Column("Connections", unit="percentunit", steps=CEILING_STEPS, width=110),
        "encrypted": Column("Encrypted, least", unit="percentunit", width=135),
        "week": Column("Week ago", unit="percentunit", width=82),
        "budget": Column("Budget left", unit="percentunit", steps=BUDGET_STEPS, width=100),
        "forecast": Column("In 14 days", unit="percentunit", steps=CEILING_STEPS, width=95),
        "console": Column("OCI console", url=TO_CONSOLE, width=105),
    },
    sort_by="IOPS",
    height=9,
)


_SOURCES = table(
    "Sources of the IOPS of each mount target",
    "IOPS of a mount target by source, never mixed. Measured is MountTargetIOPS, where the tenancy has it. The estimate from OCI leaves out "
    "operations that OCI does not publish. The estimate from clients leaves out clients without an agent. Coverage "
    "far below 100 % means that agents are missing on some clients.",
    Query(each("fss_mount_target_iops"), "measured"),
    Query(each("fss_mount_target_estimated_iops"), "oci"),
    Query(each("mount_target:fss_client_estimated_iops:rate5m"), "clients"),
    Query(each(COVERAGE), "coverage"),
    Query(each('mount_target_resource:fss_utilisation_age_seconds:min{resource="iops"}'), "age"),
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET, least=100),
        "mount_target_id": Column(None),
        "measured": Column("Measured", unit="iops", width=130),
        "oci": Column("Estimate from OCI", unit="iops", width=150),
        "clients": Column("Estimate from clients", unit="iops", width=170),
        "coverage": Column("Coverage", unit="percentunit", width=100),
        "age": Column("Age", unit="s", decimals=AGE_DECIMALS, width=100),
    },
    sort_by="Measured",
    height=8,
)


def _nearest(title: str, what: str, resource: str) -> Panel:
    return graph(
        title,
        f"{what} as share of the ceiling, for the mount targets that came nearest in the time shown. Dashed in grey: a week ago, the first of them.",
        Query(nearest_here(_utilisation(resource), "region, mount_target_id"), "{{mount_target}}"),
        Query(f"topk(1, max by (region) ({here(f'{_utilisation(resource)} offset 1w')}))", WEEK_AGO),
        unit="percentunit",
        steps=CEILING_STEPS,
        overrides=[line(WEEK_AGO, "text", dashed=True)],
    )


_KIND_LATENCY = f"fss_mount_target_latency_objective_ratio{{{IN_REGION}}}"
_LATENCY = graph(
    "Latency as share of its objective: top $top",
    "The slowest reads, writes and metadata operations as share of their objective, mean of five minutes, as OCI measures it. Above 100 % with a "
    "busy mount target: treat the ceiling first. Above 100 % with an idle one: look at the status page of OCI.",
    Query(
        f"max by ({MOUNT_TARGET}, kind) ({nearest_here(_KIND_LATENCY, 'region, mount_target_id, kind')})",
        "{{mount_target}}, {{kind}}",
    ),
    unit="percentunit",
    steps=OBJECTIVE_STEPS,
)


_GROWTH = graph(
    "Busiest minutes of each week: top $top",
    "The busiest minutes of the last seven days, by mount target and ceiling. The growth from week to week makes the forecast. Choose a month "
    "above. A line that climbs towards the orange one is a reason to plan now.",
    Query(
        nearest_here(
            f'mount_target_resource:fss_utilisation:p99_7d{{resource!~".*connections", {IN_REGION}}}',
            "region, mount_target_id, resource",
        ),
        "{{mount_target}}, {{resource}}",
    ),
    unit="percentunit",
    steps=CEILING_STEPS,
    renames=RESOURCES,
)


_PEAKS = table(
    "Single clients that fill a ceiling for a second",
    "One client reaches the IOPS ceiling of its mount target within a second, though the mean is low: spread its work over time.",
    Query(each("mount_target:fss_client_peak_utilisation:ratio >= 0.95"), "peak"),
    empty="None is known.",
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET, least=100),
        "mount_target_id": Column(None),
        "region": Column(None),
        "peak": Column("Highest second", unit="percentunit", width=130),
    },
    sort_by="Highest second",
    width=12,
    height=7,
)


_WITHOUT_IOPS_CEILING = 'unless on (region, mount_target_id) mount_target_resource:fss_limit:min{resource="iops"}'
_NO_CEILING = table(
    "Mount targets without a known IOPS ceiling",
    "The 80 % alert does not watch their IOPS. Read the ceiling in Oracle's paper and set limits.shapes.hpmt-20.iops, or that of another shape, "
    "in the configuration of the poller. Or take the observed ceiling with limits: observed.",
    Query(
        f"group by ({MOUNT_TARGET}, shape) ({here('mount_target:fss_mount_target:info')} {_WITHOUT_IOPS_CEILING})",
        "info",
    ),
    Query(
        f"max by ({MOUNT_TARGET}) ({here('fss_mount_target_observed_iops_limit')} {_WITHOUT_IOPS_CEILING})",
        "observed",
    ),
    empty="None is known.",
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET, least=100),
        "mount_target_id": Column(None),
        "region": Column("Region", width=120),
        "shape": Column("Shape", width=90),
        "observed": Column("Observed", unit="iops", width=110),
    },
    sort_by="Mount target",
    ascending=True,
    width=12,
    height=7,
)


_ROOM = table(
    "Room for more mount targets",
    "How many mount targets each availability domain has, and the service limit of the tenancy. At the limit ask OCI for more before you need them.",
    Query(f"max by (region, availability_domain) (fss_oci_mount_targets{{{IN_REGION}}})", "count"),
    Query(f"max by (region, availability_domain) (fss_oci_mount_targets_limit{{{IN_REGION}}})", "limit"),
    Query(
        f"max by (region, availability_domain) (fss_oci_mount_targets{{{IN_REGION}}})"
        " / on (region, availability_domain) min by (region, availability_domain) (fss_oci_mount_targets_limit)",
        "share",
    ),
    columns={
        "availability_domain": Column("Availability domain"),
        "region": Column("Region"),
        "count": Column("Mount targets", unit="none", width=130),
        "limit": Column("Limit", unit="none", width=100),
        "share": Column("Share", unit="percentunit", steps=((None, "text"), (1, "orange")), width=90),
    },
    sort_by="Mount targets",
    height=6,
)


def fleet() -> Json:
    """The dashboard."""
    alerts = firing_alerts("Firing alerts", "Critical alerts and warnings of the chosen regions.", _ALERTS)
    return dashboard(
        uid="fss-fleet",
        title="FSS fleet",
        description="How close every OCI File Storage mount target is to its ceiling. Needs the files of rules/.",
        variables=[of_inventory("compartment", "Compartment"), of_inventory("shape", "Shape")],
        alerts='alertname=~"Fss(Region|MountTarget|Replication|FileSystem).+"',
        sections=[
            Section("", [*_STATS, alerts, _NEAREST, MOUNT_TARGETS]),
            Section("All ceilings", [_DETAILS]),
            Section(
                "Each ceiling over time",
                [
                    _nearest("Share of IOPS: top $top", "I/O operations per second", "iops"),
                    _nearest("Share of read bandwidth: top $top", "Bytes read per second", "read_bandwidth"),
                    _nearest("Share of write bandwidth: top $top", "Bytes written per second", "write_bandwidth"),
                    _LATENCY,
                ],
            ),
            Section("Sources of the figures", [_SOURCES, _NO_CEILING, _PEAKS]),
            Section("Growth and room", [_GROWTH, _ROOM]),
            SERVICES,
        ],
    )
