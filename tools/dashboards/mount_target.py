"""mount-target.json: one mount target, who loads it and with what."""

from tools.dashboards.alerts import firing_alerts
from tools.dashboards.frame import Section, console_link, dashboard, query_variable
from tools.dashboards.mount_target_load import (
    ADDRESS,
    OBSERVED_LINE,
    PEAKS_AND_BANDWIDTH,
    THIS,
    ceiling_lines,
    observed_ceiling,
)
from tools.dashboards.mount_target_requests import BEHIND, ERRORS, LATENCY
from tools.dashboards.mount_target_shapes import SHAPES_TABLE, USD_PER_GB
from tools.dashboards.operations import busiest_operations, cost_by_class
from tools.dashboards.panels import (
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
    stat,
)
from tools.dashboards.tables import Column, table
from tools.dashboards.words import (
    BUDGET_STEPS,
    BURN_STEPS,
    COVERAGE,
    DATA_AGE_STEPS,
    WEEK_AGO,
    ceiling,
    covered_before,
    largest_now,
    to_client,
    with_network,
)

from fss_exporter.model.thresholds import WARNING_RATIO


def _now(title: str, description: str, expr: str, steps: Steps = CEILING_STEPS) -> Panel:
    return stat(title, description, Query(expr), unit="percentunit", steps=steps, width=4)


def _share(title: str, description: str, resource: str) -> Panel:
    """A share with its source; else in grey what is known in its place."""

    def of(kind: str) -> str:
        return f'max by (source) (mount_target:fss_utilisation:{kind}{{resource="{resource}", {THIS}}})'

    fresh, last, least = (of(kind) for kind in ("ratio", "last", "at_least"))
    return stat(
        title,
        f"{description} In grey: the last known share, or what the clients with an agent prove at least, because OCI tells nothing fresh.",
        Query(fresh, "{{source}}"),
        Query(f"max({last}) unless on () {fresh}", "last known"),
        Query(f"max({least}) unless on () {last}", "at least"),
        unit="percentunit",
        steps=CEILING_STEPS,
        width=4,
    )


_STATS = [
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
        "Data age",
        "Age of the newest minute of this mount target from OCI. One to three minutes is normal.",
        Query(f'max(mount_target:fss_utilisation_age:seconds{{resource!="connections", {THIS}}})'),
        unit="s",
        decimals=AGE_DECIMALS,
        steps=DATA_AGE_STEPS,
        width=4,
    ),
    stat(
        "Coverage",
        "Share of the IOPS that clients with an agent account for. Far below 100 %: the list of clients here is not complete. In grey: the best of a day, "
        "if it was much more. Agents are missing.",
        Query(f"max({COVERAGE}{{{THIS}}})", "now"),
        Query(f"max({covered_before(f'{{{THIS}}}')})", "was"),
        unit="percentunit",
        steps=NEUTRAL_STEPS,
        width=4,
    ),
]


_MEASURED, _OCI, _FROM_CLIENTS = "measured", "estimated from OCI", "estimated from clients"
_BOUNDS = {source: (f"{source}, at least", f"{source}, at most") for source in (_OCI, _FROM_CLIENTS)}
_METADATA = f'class=~"metadata_.+", {ADDRESS}'


def _bound_from_clients(bound: str) -> str:
    """The estimate for metadata is exact, so READs and WRITEs alone have bounds."""
    return (
        f"sum(\naddress_class:fss_client_estimated_iops_{bound}_bound:rate5m{{{ADDRESS}}}"
        f"\nor address_class:fss_client_estimated_iops:rate5m{{{_METADATA}}}\n)"
    )


_IOPS = graph(
    "IOPS by source, against the ceiling",
    "I/O operations per second. Measured is the figure of OCI, where the tenancy has it. The estimates follow the cost table, and the band is "
    "the least and the most they can be. The estimate from OCI misses operations that OCI does not publish. The estimate from clients misses "
    "clients without an agent. Both can only be too low. The observed ceiling is where the load stood still while latency rose.",
    Query(f"max(fss_mount_target_iops{{{THIS}}})", _MEASURED),
    Query(f"max(fss_mount_target_estimated_iops{{{THIS}}})", _OCI),
    Query(f"max(fss_mount_target_estimated_iops_lower_bound{{{THIS}}})", _BOUNDS[_OCI][0]),
    Query(f"max(fss_mount_target_estimated_iops_upper_bound{{{THIS}}})", _BOUNDS[_OCI][1]),
    Query(f"max(mount_target:fss_client_estimated_iops:rate5m{{{THIS}}})", _FROM_CLIENTS),
    Query(_bound_from_clients("lower"), _BOUNDS[_FROM_CLIENTS][0]),
    Query(_bound_from_clients("upper"), _BOUNDS[_FROM_CLIENTS][1]),
    Query(f"max(fss_mount_target_iops{{{THIS}}} offset 1w)", WEEK_AGO),
    *ceiling("fss_mount_target_iops_limit", THIS, WARNING_RATIO),
    observed_ceiling("iops"),
    unit="iops",
    overrides=[
        line(_MEASURED, "blue"),
        line(_OCI, "purple"),
        line(_FROM_CLIENTS, "light-blue"),
        line(WEEK_AGO, "text", dashed=True),
        *band(*_BOUNDS[_OCI], "purple"),
        *band(*_BOUNDS[_FROM_CLIENTS], "light-blue"),
        *ceiling_lines(),
        OBSERVED_LINE,
    ],
    width=10,
)


_IOPS_OF_CLIENTS = f"max by (network, instance, address) (client:fss_client_estimated_iops:top{{{ADDRESS}}})"
_WHO = [
    graph(
        "Clients that cost most: top $top",
        "Estimated IOPS of the clients that cost most now. One line far above the rest: talk to its owner. Many alike: spread "
        "them over mount targets.",
        Query(
            largest_now(
                lambda at: (
                    f"max by (network, instance, address) (client:fss_client_estimated_iops:top{{{ADDRESS}}}{at})"
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
                'query_result(group by (mount_target, mount_target_id) (mount_target:fss_mount_target:info{tenancy=~"$tenancy", region=~"$region"}))',
                description="The list shows display names and selects OCIDs, because names can repeat. Mount targets of a stopped poller stay for six hours.",
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
