"""mount-target.json: everything about one mount target."""

from tools.dashboards.frame import Section, dashboard, query_variable
from tools.dashboards.mount_target_requests import ADDRESS, BEHIND, LATENCY, THIS, WHAT_COSTS, WHO
from tools.dashboards.panels import (
    CEILING_STEPS,
    NEUTRAL_STEPS,
    OBJECTIVE_STEPS,
    Json,
    Panel,
    Query,
    band,
    graph,
    line,
    stat,
    tally,
)
from tools.dashboards.words import SUCCESS_STEPS, ceiling

from fss_exporter.model.thresholds import WARNING_RATIO

_CEILING_LINES = [
    line("ceiling", "red", dashed=True),
    line(f"{100 * WARNING_RATIO:.0f} % of the ceiling", "orange", dashed=True),
]


def _now(title: str, description: str, expr: str, *, objective: bool = False) -> Panel:
    steps = OBJECTIVE_STEPS if objective else CEILING_STEPS
    return stat(title, description, Query(expr), unit="percentunit", steps=steps)


_AT_A_GLANCE = Section(
    "At a glance",
    [
        _now(
            "IOPS",
            "Share of the IOPS ceiling in use, from the best source there is. Empty: no ceiling is published for this shape.",
            f'max(mount_target:fss_utilisation:ratio{{resource="iops", {THIS}}})',
        ),
        _now(
            "Read bandwidth",
            "Share of the read bandwidth in use.",
            f'max(mount_target:fss_utilisation:ratio{{resource="read_bandwidth", {THIS}}})',
        ),
        _now(
            "Write bandwidth",
            "Share of the write bandwidth in use. Empty: no ceiling is published for this shape.",
            f'max(mount_target:fss_utilisation:ratio{{resource="write_bandwidth", {THIS}}})',
        ),
        _now(
            "Latency of objective",
            "The slowest kind of request as share of its objective; 100 % is the objective.",
            f"max(mount_target:fss_latency_objective:ratio{{{THIS}}})",
            objective=True,
        ),
        _now(
            "Connections",
            "Share of the connections in use. Above 100 % new mounts fail.",
            f'max(mount_target:fss_utilisation:ratio{{resource="connections", {THIS}}})',
        ),
        stat(
            "Successful requests",
            "Share of NFS requests that succeeded in the newest minute. Below 99 %: see OCI's status page and the clients' errors.",
            Query(f"min(fss_mount_target_success_ratio{{{THIS}}})"),
            unit="percentunit",
            steps=SUCCESS_STEPS,
        ),
        stat(
            "Seen by clients",
            "Share of the measured IOPS that scraped clients account for. Far below 100 %: agents are missing on some clients.",
            Query(f"max(mount_target:fss_client_coverage:ratio{{{THIS}}})"),
            unit="percentunit",
            steps=NEUTRAL_STEPS,
        ),
        tally(
            "Mount targets needed",
            "How many mount targets of this shape would carry the busiest minute of the last hour at the warning line. More "
            "than one: spread the clients over so many, if the load can be calmed no other way; it costs the cache.",
            f"max(mount_target:fss_mount_targets_needed:count{{{THIS}}})",
            steps=((None, "green"), (2, "orange")),
        ),
    ],
)


_MEASURED, _OCI, _FROM_CLIENTS = "measured", "estimated from OCI", "estimated from clients"
_BOUNDS = {source: (f"{source}, at least", f"{source}, at most") for source in (_OCI, _FROM_CLIENTS)}
_IOPS = graph(
    "IOPS by source, against the ceiling",
    "Mount-target I/O operations per second. Measured is OCI's own figure, where the tenancy has it. The estimates follow the "
    "cost table; the band is the least and most they can be. From OCI misses operations OCI does not publish, "
    "from clients misses clients that are not scraped; so both can only be too low. Above the orange line: see below which "
    "operations and clients cost most.",
    Query(f"max(fss_mount_target_iops{{{THIS}}})", _MEASURED),
    Query(f"max(fss_mount_target_estimated_iops{{{THIS}}})", _OCI),
    Query(f"max(fss_mount_target_estimated_iops_lower_bound{{{THIS}}})", _BOUNDS[_OCI][0]),
    Query(f"max(fss_mount_target_estimated_iops_upper_bound{{{THIS}}})", _BOUNDS[_OCI][1]),
    Query(f"max(mount_target:fss_client_estimated_iops:rate5m{{{THIS}}})", _FROM_CLIENTS),
    Query(f"max(address:fss_client_estimated_iops_lower_bound:rate5m{{{ADDRESS}}})", _BOUNDS[_FROM_CLIENTS][0]),
    Query(f"max(address:fss_client_estimated_iops_upper_bound:rate5m{{{ADDRESS}}})", _BOUNDS[_FROM_CLIENTS][1]),
    *ceiling("fss_mount_target_iops_limit", THIS, WARNING_RATIO),
    unit="iops",
    overrides=[
        line(_MEASURED, "blue"),
        line(_OCI, "purple"),
        line(_FROM_CLIENTS, "green"),
        *band(*_BOUNDS[_OCI], "purple"),
        *band(*_BOUNDS[_FROM_CLIENTS], "green"),
        *_CEILING_LINES,
    ],
    width=16,
    height=11,
)


_PEAKS = graph(
    "Busiest second against the minute's mean",
    "Ceilings hold for every second. The highest second of any one client is the least this mount target had to serve at once; "
    "the sum over clients is the most, if all peaks fell together. Peaks at the ceiling over a low mean: jobs "
    "that start together, or one greedy client; see the dashboard FSS clients.",
    Query(
        f'max(mount_target:fss_client_peak_utilisation:ratio{{peak="one_client", {THIS}}})',
        "busiest client's peak",
    ),
    Query(
        f'max(mount_target:fss_client_peak_utilisation:ratio{{peak="all_clients", {THIS}}})',
        "sum of all clients' peaks",
    ),
    Query(f'max(mount_target:fss_utilisation:ratio{{resource="iops", {THIS}}})', "mean"),
    unit="percentunit",
    steps=CEILING_STEPS,
    width=8,
    height=11,
)


def _bandwidth(kind: str, advice: str) -> Panel:
    return graph(
        f"{kind.capitalize()} bandwidth against the ceiling",
        f"Bytes {'read' if kind == 'read' else 'written'} per second through this mount target, mean of each minute, as OCI measures it. {advice}",
        Query(f"max(fss_mount_target_{kind}_bytes_per_second{{{THIS}}})", kind),
        *ceiling(f"fss_mount_target_{kind}_bytes_per_second_limit", THIS, WARNING_RATIO),
        unit="Bps",
        overrides=[line(kind, "blue"), *_CEILING_LINES],
    )


_BANDWIDTH = Section(
    "Bandwidth",
    [
        _bandwidth("read", "Near the ceiling: spread readers over mount targets, or a shape with more bandwidth."),
        _bandwidth("write", "Near the ceiling: spread writers over mount targets."),
    ],
)


def mount_target() -> Json:
    """The dashboard."""
    return dashboard(
        uid="fss-mount-target",
        title="FSS mount target",
        description="One OCI File Storage mount target: load against ceilings, what costs it, who causes it. Needs rules/recording.yml.",
        variables=[
            query_variable(
                "mount_target",
                "Mount target",
                'query_result(group by (mount_target, mount_target_id) (fss_mount_target_info{region=~"$region"}))',
                description="Shown by display name, kept by OCID: names need not be unique.",
                multi=False,
                regex='/mount_target="(?<text>[^"]+)|mount_target_id="(?<value>[^"]+)/g',
            ),
            query_variable(
                "address",
                "Address",
                'label_values(fss_mount_target_info{mount_target_id="$mount_target"}, address)',
                description="What clients mount; joins them to the mount target.",
                multi=False,
                hidden=True,
            ),
        ],
        alerts=THIS,
        sections=[
            _AT_A_GLANCE,
            Section("How close", [_IOPS, _PEAKS]),
            _BANDWIDTH,
            WHAT_COSTS,
            WHO,
            LATENCY,
            BEHIND,
        ],
    )
