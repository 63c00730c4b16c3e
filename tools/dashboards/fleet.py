"""fleet.json: which mount target, which ceiling, since when, which alert."""

from tools.dashboards.alerts import firing_alerts
from tools.dashboards.fleet_services import SERVICES
from tools.dashboards.frame import Section, dashboard, of_inventory
from tools.dashboards.panels import (
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
from tools.dashboards.tables import Column, table
from tools.dashboards.words import (
    BUDGET_STEPS,
    COVERAGE,
    DATA_AGE_STEPS,
    IN_REGION,
    MOUNT_TARGET,
    RESOURCE_WORDS,
    RESOURCES,
    STATE_WORDS,
    TO_CONSOLE,
    TO_DASHBOARD,
    TO_MOUNT_TARGET,
    WEEK_AGO,
    WITHOUT_POLLER,
    all_here,
    counted,
    covered_before,
    data_age,
    here,
    nearest_here,
    poll_age,
    to_client,
    with_network,
)

from fss_exporter.model.thresholds import WARNING_RATIO

# Alerts of agents have no region; they belong to every choice of regions.
_ALERTS = 'alertname=~"Fss.+", severity=~"critical|warning", tenancy=~"$tenancy|", region=~"$region|"'


def _firing(severity: str) -> str:
    alerts = f'ALERTS{{alertname=~"Fss.+", alertstate="firing", severity="{severity}", tenancy=~"$tenancy|", region=~"$region|"}}'
    return counted(alerts, "fss_agents:count")  # a series wherever the rules run


_FRESH = "mount_target:fss_utilisation:ratio"
_LAST = "mount_target:fss_utilisation:last"
_AT_LEAST = "mount_target:fss_utilisation:at_least"
_FULLEST = f"max by ({MOUNT_TARGET}) {here('mount_target:fss_utilisation:fullest')}"
"""The share of the fullest ceiling, of the mount targets of which fresh figures of OCI tell it."""
_UNKNOWN = f"({all_here()} unless on (region, mount_target_id) {_FULLEST})"
"""Mount targets whose load no fresh figure of OCI tells."""


def _utilisation(resource: str) -> str:
    return f'mount_target:fss_utilisation:ratio{{resource=~"{resource}", {IN_REGION}}}'


def _each(expr: str, *more: str) -> str:
    return f"max by ({', '.join((MOUNT_TARGET, *more))}) {here(expr)}"


_ROW = f"{MOUNT_TARGET}, network, address"
_JOINED = f"* on (network, address) group_left ({MOUNT_TARGET}) address:fss_mount_target:join"


def _by_address(expr: str) -> str:
    """Series of addresses that no poller knows, with the address for a name. Chosen regions hide them, because they have none.

    Other services have a row of their own, but agents alone do not tell them from mount targets at a glance.
    """
    elsewhere = "address:fss_mount_target:join or fss_client_service_info and on () mount_target:fss_mount_target:info"
    return (
        f'label_replace(({expr}) unless on (network, address) ({elsewhere}), "mount_target", "$1", "address", "(.+)")'
    )


_IOPS_OF_ADDRESS = "sum by (network, address) (address:fss_client_estimated_iops:rate5m)"
_STATED = 'max by (network, address, resource) (address:fss_client_utilisation:ratio{resource!="peak_iops"})'
_ADDRESSES = _by_address(_IOPS_OF_ADDRESS)

_OVER = f"count(max by (region, mount_target_id) {here(f'({_FRESH} or {_AT_LEAST})')} >= {WARNING_RATIO:g})"
_FULLEST_IF_KNOWN = (
    f"topk(1, {_FULLEST} >= {WARNING_RATIO:g})\nor on ()\n(topk(1, {_FULLEST}) unless on () count({_UNKNOWN}))"
)
_FULLEST_IN_GREY = f"unless on () ({_FULLEST} >= {WARNING_RATIO:g})\nand on () count({_UNKNOWN})"

_NOT_POLLED = f"max({poll_age(IN_REGION)} unless on (tenancy, region) poller:fss_polling:info)"
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
        Query(f"{_OVER}\nor\n(0 * count({_FULLEST}) unless on () count({_UNKNOWN}))", "mount targets"),
        Query(f"count({_UNKNOWN}) unless on () {_OVER}", "not known"),
        Query(
            f"count({_ADDRESSES}) unless on () mount_target:fss_mount_target:info",
            "not judged: no poller",
        ),
        steps=NOT_ZERO_STEPS,
        width=4,
    ),
    stat(
        "Fullest",
        "The highest share of any ceiling in use, and the mount target. Orange: plan a mount target or move load. Red: clients are slowed down. In "
        "grey: the last known figure, or what the clients prove at least, because fresh figures of OCI are missing.",
        Query(_FULLEST_IF_KNOWN, "{{mount_target}}"),
        Query(f"topk(1, {_each(_LAST)})\n{_FULLEST_IN_GREY}", "{{mount_target}}, last known"),
        Query(
            f"topk(1, {_each(_AT_LEAST)})\n{_FULLEST_IN_GREY}\nunless on () {here(_LAST)}",
            "{{mount_target}}, at least",
        ),
        Query(
            f"topk(1, {_by_address(_STATED)}) unless on () mount_target:fss_mount_target:info",
            "{{mount_target}}, at least",
        ),
        unit="percentunit",
        steps=CEILING_STEPS,
        width=4,
    ),
    stat(
        "Slowest",
        "Latency of the slowest kind of requests to one file system as share of its objective, as OCI measures it, and the mount target. 100 % is the objective.",
        Query(f"topk(1, {_each('fss_mount_target_latency_objective_ratio')})", "{{mount_target}}"),
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
    empty="No poller reports a mount target. The table below has what agents alone know.",
    width=10,
)


_ADDRESS_OF = "* on (tenancy, region, mount_target_id) group_left (network, address) mount_target:fss_mount_target:info"
_SHARE_KNOWN = (
    f"max by (region, mount_target_id, resource) ({_LAST} or on (tenancy, region, mount_target_id) {_AT_LEAST})"
)
_STATES = _each("mount_target:fss_state:worst", "tenancy")
_OF_ADDRESSES = (
    f"(address:fss_state:worst or {_IOPS_OF_ADDRESS} * 0)\n+ on (network, address) group_left (resource)\n"
    f"topk by (network, address) (1, clamp_max({_STATED}, 1.5) / 2 or {_IOPS_OF_ADDRESS} / 1e9)"
)
_RANK = (
    f"max by ({_ROW}) ({_STATES} {_ADDRESS_OF})\n+ on (region, mount_target_id) group_left (resource)\n"
    f"topk by (region, mount_target_id) (1, clamp_max({_SHARE_KNOWN}, 1.5) / 2 or 0 * max by (region, mount_target_id) (mount_target:fss_state:worst))\n"
    f"or\n{_by_address(_OF_ADDRESSES)}"
)
"""Rows in the order of urgency: the worst state first, then the largest share that is known, then the IOPS of an address."""


def _with_way(expr: str, dashboard: str, variable: str, label: str) -> str:
    """Rows with the dashboard that a click leads to, and what it chooses there."""
    chosen = f'label_replace({expr}, "chosen", "$1", "{label}", "(.+)")'
    return (
        f'label_replace(label_replace({chosen}, "dashboard", "{dashboard}", "", ""), "variable", "{variable}", "", "")'
    )


_ROWS = f"group by ({_ROW}) ({all_here()} {_ADDRESS_OF})"
_WAYS = "\nor\n".join(
    (
        _with_way(_ROWS, "fss-mount-target", "mount_target", "mount_target_id"),
        _with_way(f"0 * {_ADDRESSES}", "fss-clients", "address", "address"),
    )
)


def _said(expr: str, words: str, by: str = MOUNT_TARGET, into: str = "known") -> str:
    """Whole numbers as a text in the label `into`."""
    return f'label_replace(count_values by ({by}) ("{into}", round({expr})), "{into}", "{words}", "{into}", "(.+)")'


_SHARE = 'resource!="connections"'
_MINUTES_OLD = f"{_each(f'mount_target:fss_utilisation_age:seconds{{{_SHARE}}}')} / 60"
_WAS = f"{_said(f'100 * {_each(_LAST)}', 'was $1 %')}\n* on ({MOUNT_TARGET}) group_left (age) {_said(_MINUTES_OLD, '$1 min', into='age')}"
_SOURCE = f"group by ({MOUNT_TARGET}, source) {here(f'mount_target:fss_utilisation:ratio{{{_SHARE}}}')} and on (region, mount_target_id) {_FULLEST}"
_TOLD = f'label_replace(label_replace({_SOURCE}, "known", "measured", "source", "measured"), "known", "estimated", "source", "oci")'
_PROVEN = "\nor on (mount_target)\n".join(
    (
        f"{_said(f'100 * {_each(_AT_LEAST)}', 'at least $1 %')} unless on (region, mount_target_id) {_LAST}",
        _said(f"100 * max by (mount_target) ({_by_address(_STATED)})", "at least $1 %", "mount_target"),
        _said(_ADDRESSES, "at least $1 IOPS", "mount_target"),
    )
)
_KNOWLEDGE = (
    f"group by ({MOUNT_TARGET}, known) (topk by ({MOUNT_TARGET}) (1, {_TOLD}))",
    f'group by ({MOUNT_TARGET}, known) (label_join({_WAS}, "known", ", ", "known", "age")) unless on (region, mount_target_id) {_FULLEST}',
    f"group by ({MOUNT_TARGET}, known) (topk by ({MOUNT_TARGET}) (1, {_PROVEN}))",
)
"""Where the share of now comes from, or else what was known last, or else what the clients prove. One of them for each row."""

_TOP_CLIENTS = "client:fss_client_estimated_iops:top"
_TOP_OPERATIONS = "address_operation:fss_client_estimated_iops:rate5m"
_BY_ROW = f"topk by ({MOUNT_TARGET}) (1, sum by ({MOUNT_TARGET}, {{}}) (\n{{}}\n))"


def _first(series: str, labels: str) -> str:
    """The first client or operation of each row."""
    return _BY_ROW.format(labels, f"{series} {_JOINED}\nor\n{_by_address(series)}")


_TOP_CLIENT = _first(_TOP_CLIENTS, "network, address, instance")
_TOP_CLIENT = f'label_replace(label_replace({with_network(_TOP_CLIENT)}, "shown_client", "$1", "instance", "(.+)"), "client", "$1", "instance", "(.+)")'
_NOBODY = f"0 * {_ROWS} unless on (network, address) {_TOP_CLIENTS}"
_NO_CLIENT = f'label_replace(label_replace({with_network(_NOBODY)}, "shown_client", "no agent", "", ""), "client", "All", "", "")'
"""A mount target without any client that has an agent leads to all of its clients."""


_CEILINGS = table(
    "Mount targets: how close, who, what now",
    "The worst state first, of what OCI tells and what the clients feel. Fullest is the share of the fullest ceiling, while OCI tells it. Known says the source, or in its "
    "place the last share with its age, or what the clients with an agent prove at least. Neither is a verdict. Coverage is the share of the load that the clients with "
    "an agent explain. Was is its best of a day, if it was much more: agents are missing. Top client and top operation cost most. Needed is how many mount targets "
    "of this shape carry the last hour below the warning line. Without a poller the rows are addresses, with the state by their clients and the ceilings that the "
    "configuration of the agents states. Click a name for more.",
    Query(f"sort_desc(\n{_RANK}\n)", "info"),
    Query(_WAYS, "info"),
    Query(f"{_each('mount_target:fss_state:worst')}\nor\n{_by_address('address:fss_state:worst')}", "state"),
    Query(_FULLEST, "now"),
    *(Query(knowledge, "info") for knowledge in _KNOWLEDGE),
    Query(_each(COVERAGE), "coverage"),
    Query(_each(covered_before()), "covered"),
    Query(_TOP_CLIENT, "info"),
    Query(_NO_CLIENT, "info"),
    Query(_first(_TOP_OPERATIONS, "operation"), "info"),
    Query(_each("mount_target:fss_mount_targets_needed:count"), "needed"),
    columns={
        "mount_target": Column("Mount target", url=TO_DASHBOARD, least=100),
        "state": Column("State", unit="none", words=STATE_WORDS, width=82),
        "now": Column("Fullest", unit="percentunit", steps=CEILING_STEPS, width=75),
        "resource": Column("Ceiling", words=RESOURCE_WORDS, width=118, is_optional=True),
        "known": Column("Known", width=142, is_optional=True),
        "coverage": Column("Coverage", unit="percentunit", width=85),
        "covered": Column("Was", unit="percentunit", steps=((None, "orange"),), width=60),
        "shown_client": Column("Top client", url=to_client("client"), width=125),
        "operation": Column("Top operation", width=112, is_optional=True),
        "needed": Column("Needed", unit="none", width=72),
        "of_network": Column(None),
        "address": Column(None),
        "client": Column(None),
        "dashboard": Column(None),
        "variable": Column(None),
        "chosen": Column(None),
    },
    height=9,
)


_DETAILS = table(
    "All ceilings of each mount target",
    "Shares of the ceilings of each mount target. A dash means no published ceiling or no fresh data, never zero. Week ago is the fullest of them at this time. Budget left is the part of the "
    "error budget of 30 days that is not spent. In 14 days is a forecast from the busiest minutes of two weeks.",
    Query(_each(_utilisation("iops")), "iops"),
    Query(_each(_utilisation("read_bandwidth")), "read"),
    Query(_each(_utilisation("write_bandwidth")), "write"),
    Query(_each('mount_target:fss_utilisation:ratio{resource="connections"}'), "connections"),
    Query(_each('mount_target:fss_utilisation:at_least{resource="encrypted_connections"}'), "encrypted"),
    Query(_each("mount_target:fss_utilisation:ratio offset 1w"), "week"),
    Query(f"min by ({MOUNT_TARGET}) {here('slo:fss_error_budget_left:ratio')}", "budget"),
    Query(_each('mount_target:fss_utilisation:forecast14d{resource!~".*connections"}'), "forecast"),
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
    "operations that OCI does not publish. The estimate from clients leaves out clients without an agent, so that it is a lower bound. Coverage "
    "far below 100 % means that agents are missing on some clients.",
    Query(_each("fss_mount_target_iops"), "measured"),
    Query(_each("fss_mount_target_estimated_iops"), "oci"),
    Query(_each("mount_target:fss_client_estimated_iops:rate5m"), "clients"),
    Query(_each(COVERAGE), "coverage"),
    Query(_each('mount_target:fss_utilisation_age:seconds{resource="iops"}'), "age"),
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
            f'mount_target:fss_utilisation:busiest7d{{resource!~".*connections", {IN_REGION}}}',
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
    Query(_each("mount_target:fss_client_peak_utilisation:ratio >= 0.95"), "peak"),
    empty="No agent reports one.",
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


_NO_CEILING = table(
    "Mount targets without a known IOPS ceiling",
    "OCI publishes no IOPS ceiling for these shapes. State one under limits in the configuration of the poller to get a share.",
    Query(
        f"group by ({MOUNT_TARGET}, shape) ({here('mount_target:fss_mount_target:info')}"
        " unless on (region, mount_target_id) fss_mount_target_iops_limit and on () group(fss_mount_target_iops_limit))",
        "info",
    ),
    empty="No poller reports one.",
    columns={
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET, least=100),
        "mount_target_id": Column(None),
        "region": Column("Region", width=120),
        "shape": Column("Shape", width=90),
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
            Section("", [*_STATS, alerts, _NEAREST, _CEILINGS]),
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
