"""mount-target.json: one mount target, who loads it and with what."""

from tools.generate.dashboards.alerts import firing_alerts
from tools.generate.dashboards.colours import MEASURED, OF_CLIENTS, OF_OCI, SOURCE_COLOURS
from tools.generate.dashboards.frame import Section, console_link, dashboard, query_variable
from tools.generate.dashboards.mount_target_load import (
    ADDRESS,
    OBSERVED_LINE,
    PEAKS_AND_BANDWIDTH,
    THIS,
    ceiling_lines,
    observed_ceiling,
)
from tools.generate.dashboards.mount_target_requests import BEHIND, ERRORS, LATENCY
from tools.generate.dashboards.mount_target_shapes import SHAPES_TABLE, USD_PER_GB
from tools.generate.dashboards.operations import busiest_operations, cost_by_class
from tools.generate.dashboards.panels import (
    AGE_DECIMALS,
    CEILING_STEPS,
    NEUTRAL_STEPS,
    OBJECTIVE_STEPS,
    Json,
    Panel,
    Query,
    Steps,
    band,
    graph,
    line,
    lines,
    stat,
)
from tools.generate.dashboards.states import STATE, WORST
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import (
    BUDGET_STEPS,
    BURN_STEPS,
    COVERAGE,
    COVERED_BEFORE,
    DATA_AGE_STEPS,
    FAILED_STEPS,
    IN_REGION,
    WEEK_AGO,
    ceiling,
    largest_now,
    to_client,
    with_network,
)

from fss_exporter.model.thresholds import WARNING_RATIO


def _now(title: str, description: str, expr: str, steps: Steps, *, decimals: int = 0) -> Panel:
    return stat(title, description, Query(expr), unit="percentunit", steps=steps, decimals=decimals)


def _share(title: str, description: str, resource: str) -> Panel:
    """A share with its source; else in grey what is known in its place."""

    def of(record: str) -> str:
        return f'max by (source) (mount_target_resource:fss_{record}{{resource="{resource}", {THIS}}})'

    fresh, last, least = map(of, ("utilisation:ratio", "utilisation:last1h", "client_utilisation_lower_bound:ratio"))
    return stat(
        title,
        f"{description} In grey: the last known share, or what the clients with an agent cause at least, because OCI tells nothing fresh.",
        Query(fresh, "{{source}}"),
        Query(f"max({last}) unless on () {fresh}", "last known"),
        Query(f"max({least}) unless on () {last}", "at least"),
        unit="percentunit",
        steps=CEILING_STEPS,
    )


_STATS = [
    STATE,
    _now(
        "Failed",
        "Share of NFS requests that failed in the newest minute, as OCI counts them. The row Errors and connections has it over time.",
        f"1 - min(fss_mount_target_success_ratio{{{THIS}}})",
        FAILED_STEPS,
        decimals=1,
    ),
    _share(
        "IOPS",
        "Share of the IOPS ceiling in use, and the source: measured, or estimated from other figures of OCI. No data: OCI publishes no ceiling "
        "for this shape, or tells nothing.",
        "iops",
    ),
    _share("Read", "Share of the ceiling of read bandwidth in use.", "read_bandwidth"),
    _share(
        "Write",
        "Share of the ceiling of write bandwidth in use. No data: OCI publishes no ceiling for this shape, or tells nothing.",
        "write_bandwidth",
    ),
    _now(
        "Latency",
        "Latency of the slowest kind of requests to one file system as share of its objective, mean of five minutes, as OCI measures it. No data: no requests, or OCI tells nothing.",
        f"max(fss_mount_target_latency_objective_ratio{{{THIS}}})",
        OBJECTIVE_STEPS,
    ),
    stat(
        "Age",
        "Age of the newest minute of this mount target from OCI. One to three minutes is normal.",
        Query(
            f'max(mount_target_resource:fss_utilisation_age_seconds:min{{resource!="connections", {THIS}}})',
            "newest minute",
        ),
        unit="s",
        decimals=AGE_DECIMALS,
        steps=DATA_AGE_STEPS,
    ),
    stat(
        "Agents",
        "Coverage: the share of the IOPS that clients with an agent account for. Far below 100 %: the list of clients here is not complete. In grey: what it was in a "
        "day, if it was much more. Agents that were seen are gone.",
        Query(f"max({COVERAGE}{{{THIS}}})", "coverage"),
        Query(f"max({COVERED_BEFORE}{{{THIS}}})", "it was"),
        unit="percentunit",
        steps=NEUTRAL_STEPS,
    ),
]


_BOUNDS = {source: (f"{source}, least", f"{source}, most") for source in (OF_OCI, OF_CLIENTS)}


def _bound_from_clients(bound: str) -> str:
    return f"sum(address_class:fss_client_estimated_iops_{bound}_bound:rate5m{{{ADDRESS}}})"


_IOPS = graph(
    "IOPS by source, against the ceiling",
    "I/O operations per second. Measured is the figure of OCI, where the tenancy has it. The estimates follow the cost table, and the band is "
    "the least and the most that the operations of the source can cost. The estimate from OCI misses operations that OCI does not publish. The "
    "estimate from clients misses clients without an agent. So the load can lie above a band, and never below it. The observed ceiling is where the load stood still while latency rose. "
    "Without a line for the ceiling none is known, so the 80 % alert does not watch the IOPS: read it in Oracle's paper and set limits.shapes.hpmt-20.iops.",
    Query(f"max(fss_mount_target_iops{{{THIS}}})", MEASURED),
    Query(f"max(fss_mount_target_estimated_iops{{{THIS}}})", OF_OCI),
    Query(f"max(fss_mount_target_estimated_iops_lower_bound{{{THIS}}})", _BOUNDS[OF_OCI][0]),
    Query(f"max(fss_mount_target_estimated_iops_upper_bound{{{THIS}}})", _BOUNDS[OF_OCI][1]),
    Query(f"max(mount_target:fss_client_estimated_iops:rate5m{{{THIS}}})", OF_CLIENTS),
    Query(_bound_from_clients("lower"), _BOUNDS[OF_CLIENTS][0]),
    Query(_bound_from_clients("upper"), _BOUNDS[OF_CLIENTS][1]),
    Query(f"max(fss_mount_target_iops{{{THIS}}} offset 1w)", WEEK_AGO),
    *ceiling("fss_mount_target_iops_limit", THIS, WARNING_RATIO),
    observed_ceiling("iops"),
    unit="iops",
    overrides=[
        *lines(SOURCE_COLOURS),
        line(WEEK_AGO, "text", dashed=True),
        *(mark for source, bounds in _BOUNDS.items() for mark in band(*bounds, SOURCE_COLOURS[source])),
        *ceiling_lines(),
        OBSERVED_LINE,
    ],
    width=10,
)


_IOPS_OF_CLIENTS = f"max by (network, instance, address) (client:fss_client_estimated_iops:topk20_rate5m{{{ADDRESS}}})"
_WHO = [
    graph(
        "Clients that cost most: top $top",
        "Estimated IOPS of the clients that cost most now. One line far above the rest: talk to its owner. Many alike: spread "
        "them over mount targets.",
        Query(
            largest_now(
                lambda at: (
                    f"max by (network, instance, address) (client:fss_client_estimated_iops:topk20_rate5m{{{ADDRESS}}}{at})"
                ),
                "network, instance, address",
            ),
            "{{instance}}",
        ),
        unit="iops",
        width=8,
    ),
    table(
        "Top clients now",
        "The clients that cost most now. Click one for its mounts, operations and options.",
        Query(with_network(f"topk($top, {_IOPS_OF_CLIENTS})"), "iops"),
        columns={
            "instance": Column("Client", url=to_client(), least=120),
            "of_network": Column(None),
            "address": Column(None),
            "iops": Column("Estimated IOPS", unit="iops", width=130),
        },
        sort_by="Estimated IOPS",
        width=8,
        height=9,
    ),
    cost_by_class("Cost by class", f"address_class:fss_client_estimated_iops:rate5m{{{ADDRESS}}}", width=8),
]


def _by_objective(operator: str, selector: str) -> str:
    """A row for each objective and who sees it: OCI, or the clients."""
    of_address = selector.replace(THIS, ADDRESS)
    return f"{operator} by (objective, source) ({selector} or {of_address})"


_SLO = Section(
    "Error budget",
    [
        table(
            "Objectives and their budgets",
            "Each objective of this mount target: the part of the error budget of 30 days that is left, and how fast it is being spent. A burn of 14.4 "
            "over one hour pages. A burn of 3 over six hours is a ticket.",
            Query(_by_objective("min", f"slo:fss_error_budget_left:ratio{{{THIS}}}"), "left"),
            *(
                Query(_by_objective("max", f'slo:fss_error_budget_burn:ratio{{window="{window}", {THIS}}}'), window)
                for window in ("10m", "1h", "6h")
            ),
            columns={
                "objective": Column("Objective", least=110),
                "source": Column("Seen by", width=100),
                "left": Column("Budget left", unit="percentunit", steps=BUDGET_STEPS, width=110),
                "10m": Column("Burn, 10 min", unit="none", decimals=1, width=115),
                "1h": Column("1 hour", unit="none", decimals=1, steps=BURN_STEPS, width=90),
                "6h": Column("6 hours", unit="none", decimals=1, width=90),
            },
            sort_by="Budget left",
            ascending=True,
        ),
        graph(
            "Burn of the error budget by window",
            "How fast the budget of the worst objective is spent: 1 spends it in exactly 30 days. The short window shows that the trouble goes on, "
            "the long one that it matters.",
            Query(
                f"max by (objective, window) (slo:fss_error_budget_burn:ratio{{{THIS}}} or slo:fss_error_budget_burn:ratio{{{ADDRESS}}})",
                "{{objective}}, {{window}}",
            ),
            unit="none",
            decimals=1,
            steps=BURN_STEPS,
            width=24,
        ),
    ],
)


def _of_mount_target(name: str, label: str, description: str) -> Json:
    """A hidden variable with the address or network of the mount target. A link from FSS clients sets `address`, perhaps to All."""
    return query_variable(
        name,
        label.capitalize(),
        f'query_result(group by ({label}) (mount_target:fss_mount_target:info{{mount_target_id="$mount_target"}}))',
        description=description,
        multi=False,
        hidden=True,
        regex=f'/{label}="(?<value>[^"]+)/',
    )


_KEY = "tenancy, region, mount_target_id"

# Mount targets by state, and within a state by the share of the fullest ceiling. Those without a state are listed last.
_URGENCY = (
    f"{WORST}{{{IN_REGION}}} + on ({_KEY}) group_left () clamp_max(max by ({_KEY}) (mount_target:fss_fullest_ceiling:max), 1.5) / 2"
    f" or on ({_KEY}) {WORST}{{{IN_REGION}}} or on ({_KEY}) 0 * mount_target:fss_mount_target:info{{{IN_REGION}}}"
)


def mount_target() -> Json:
    """The dashboard."""
    alerts = firing_alerts(
        "Alerts of this mount target",
        "Every firing alert, and those of polls: without a poll nothing of OCI is known here.",
        f'alertname=~"Fss.+", {THIS}',
        'alertname=~"FssOci.+|FssMonitoringBlind", tenancy=~"$tenancy|", region=~"$region|"',
    )
    return dashboard(
        uid="fss-mount-target",
        title="FSS mount target",
        description="One OCI File Storage mount target: load against ceilings, what costs it, who causes it. Needs the files of rules/.",
        variables=[
            query_variable(
                "mount_target",
                "Mount target",
                f"query_result(sort_desc(max by (mount_target, mount_target_id) ({_URGENCY})))",
                description="The worst state comes first, then the fullest. The list shows display names and selects OCIDs, because names can repeat. "
                "Mount targets of a stopped poller stay for six hours.",
                is_sorted=False,
                multi=False,
                regex='/mount_target="(?<text>[^"]+)|mount_target_id="(?<value>[^"]+)/g',
            ),
            _of_mount_target(
                "mount_address", "address", "The address that clients mount; joins them to the mount target."
            )
            | {"skipUrlSync": True},
            _of_mount_target("mount_network", "network", "The network of the address, because two networks can use it.")
            | {"skipUrlSync": True},
            _of_mount_target("mount_region", "region", "The region in which the console of OCI opens the mount target.")
            | {"skipUrlSync": True},
            _of_mount_target(
                "address", "address", "Hidden. The link to FSS clients opens the clients of this mount target."
            ),
            _of_mount_target(
                "network", "network", "Hidden. The link to FSS clients opens the clients of this network."
            ),
            USD_PER_GB,
        ],
        links=[console_link("https://cloud.oracle.com/fss/mount-targets/${mount_target}?region=${mount_region}")],
        alerts=f'alertname=~"Fss.+", {THIS}',
        sections=[
            Section("", [*_STATS, alerts, _IOPS, *_WHO]),
            Section(
                "Operations by cost, and the shape for the load",
                [
                    busiest_operations(
                        f"address_operation:fss_client_estimated_iops:rate5m{{{ADDRESS}}}",
                        f"address_operation:fss_client_operations:rate5m{{{ADDRESS}}}",
                        width=24,
                        height=10,
                    ),
                    SHAPES_TABLE,
                ],
            ),
            PEAKS_AND_BANDWIDTH,
            LATENCY,
            _SLO,
            ERRORS,
            BEHIND,
        ],
    )
