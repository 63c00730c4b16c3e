"""mount-target.json: one mount target, who loads it and with what."""

from tools.dashboards.alerts import firing_alerts
from tools.dashboards.frame import Section, dashboard, query_variable
from tools.dashboards.mount_target_load import ADDRESS, PEAKS_AND_BANDWIDTH, THIS, ceiling_lines
from tools.dashboards.mount_target_requests import BEHIND, ERRORS, LATENCY
from tools.dashboards.operations import busiest_operations, cost_by_class
from tools.dashboards.panels import (
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
    TO_CLIENT,
    ceiling,
    client_iops,
    largest_now,
)

from fss_exporter.model.thresholds import WARNING_RATIO


def _now(title: str, description: str, expr: str, steps: Steps = CEILING_STEPS) -> Panel:
    return stat(title, description, Query(expr), unit="percentunit", steps=steps)


def _used(resource: str) -> str:
    return f'max(mount_target:fss_utilisation:ratio{{resource=~"{resource}", {THIS}}})'


_STATS = [
    _now(
        "IOPS",
        "Share of the IOPS ceiling in use, from the best source. No data: OCI publishes no ceiling for this shape.",
        _used("iops"),
    ),
    _now("Read", "Share of the ceiling of read bandwidth in use.", _used("read_bandwidth")),
    _now(
        "Write",
        "Share of the ceiling of write bandwidth in use. No data: OCI publishes no ceiling for this shape.",
        _used("write_bandwidth"),
    ),
    _now(
        "Connections",
        "Share of the connections in use, or of the encrypted ones where more. Above 100 % new mounts fail.",
        _used(".*connections"),
    ),
    _now(
        "Latency",
        "Latency of the slowest class of requests as share of its objective, as OCI measures it. No data: less than one request a second.",
        f"max(fss_mount_target_latency_objective_ratio{{{THIS}}})",
        OBJECTIVE_STEPS,
    ),
    _now(
        "Budget left",
        "Part of the error budget of 30 days that is not spent, for the objective with the least budget left. Below 0 % the objective is missed.",
        f"min(slo:fss_error_budget_left:ratio{{{THIS}}})",
        BUDGET_STEPS,
    ),
    stat(
        "Burn, 1 hour",
        "How fast the error budget was spent in the last hour: 1 spends it in exactly 30 days, 14.4 in two days and pages.",
        Query(f'max(slo:fss_error_budget_burn:ratio{{window="1h", {THIS}}})'),
        unit="none",
        steps=BURN_STEPS,
        decimals=1,
    ),
    _now(
        "Coverage",
        "Share of the IOPS that clients with an agent account for. Far below 100 %: the list of clients here is not complete.",
        f"max(mount_target:fss_client_coverage:ratio{{{THIS}}})",
        NEUTRAL_STEPS,
    ),
]


_MEASURED, _OCI, _FROM_CLIENTS = "measured", "estimated from OCI", "estimated from clients"
_BOUNDS = {source: (f"{source}, at least", f"{source}, at most") for source in (_OCI, _FROM_CLIENTS)}
_METADATA = f'class=~"metadata_.+", {ADDRESS}'


def _bound_from_clients(bound: str) -> str:
    """The estimate for metadata is exact, so READs and WRITEs alone have bounds."""
    return (
        f"sum(\nrate(fss_client_estimated_io_operations_{bound}_bound_total{{{ADDRESS}}}[$__rate_interval])"
        f"\nor rate(fss_client_estimated_io_operations_total{{{_METADATA}}}[$__rate_interval])"
        f"\nor address_class:fss_client_estimated_iops_{bound}_bound:rate5m{{{ADDRESS}}}"
        f"\nor address_class:fss_client_estimated_iops:rate5m{{{_METADATA}}}\n)"
    )


_IOPS = graph(
    "IOPS by source, against the ceiling",
    "I/O operations per second. Measured is the figure of OCI, where the tenancy has it. The estimates follow the cost table, and the band is "
    "the least and the most they can be. The estimate from OCI misses operations that OCI does not publish. The estimate from clients misses "
    "clients without an agent. Both can only be too low.",
    Query(f"max(fss_mount_target_iops{{{THIS}}})", _MEASURED),
    Query(f"max(fss_mount_target_estimated_iops{{{THIS}}})", _OCI),
    Query(f"max(fss_mount_target_estimated_iops_lower_bound{{{THIS}}})", _BOUNDS[_OCI][0]),
    Query(f"max(fss_mount_target_estimated_iops_upper_bound{{{THIS}}})", _BOUNDS[_OCI][1]),
    Query(f"max(mount_target:fss_client_estimated_iops:rate5m{{{THIS}}})", _FROM_CLIENTS),
    Query(_bound_from_clients("lower"), _BOUNDS[_FROM_CLIENTS][0]),
    Query(_bound_from_clients("upper"), _BOUNDS[_FROM_CLIENTS][1]),
    *ceiling("fss_mount_target_iops_limit", THIS, WARNING_RATIO),
    unit="iops",
    overrides=[
        line(_MEASURED, "blue"),
        line(_OCI, "purple"),
        line(_FROM_CLIENTS, "green"),
        *band(*_BOUNDS[_OCI], "purple"),
        *band(*_BOUNDS[_FROM_CLIENTS], "green"),
        *ceiling_lines(),
    ],
    width=12,
)


_WHO = [
    graph(
        "Clients that cost most",
        "Estimated IOPS of the ten clients that cost most in the time shown. One line far above the rest: talk to its owner. Many alike: spread "
        "them over mount targets.",
        Query(largest_now(lambda at: client_iops(ADDRESS, at), "instance, address"), "{{instance}}"),
        unit="iops",
        width=8,
    ),
    table(
        "Top clients now",
        "The ten clients that cost most now. Click one for its mounts, operations and options.",
        Query(f"topk(10, {client_iops(ADDRESS)})", "iops"),
        columns={
            "instance": Column("Client", url=TO_CLIENT),
            "address": Column(None),
            "iops": Column("IOPS", unit="iops", width=110),
        },
        sort_by="IOPS",
        width=8,
        height=9,
    ),
    cost_by_class(
        "Cost by class of operations",
        f"rate(fss_client_estimated_io_operations_total{{{ADDRESS}}}[$__rate_interval])"
        f"\nor address_class:fss_client_estimated_iops:rate5m{{{ADDRESS}}}",
        width=8,
    ),
]


def _by_objective(operator: str, selector: str) -> str:
    """A row for each objective; an objective for all requests has no class."""
    return f"{operator} by (objective, source) ({selector})"


_SLO = Section(
    "Error budget",
    [
        table(
            "Objectives and their budgets",
            "Each objective of this mount target: the part of the error budget of 30 days that is left, and how fast it is being spent. A burn of 14.4 "
            "over one hour pages. A burn of 3 over a day is a ticket.",
            Query(_by_objective("min", f"slo:fss_error_budget_left:ratio{{{THIS}}}"), "left"),
            *(
                Query(_by_objective("max", f'slo:fss_error_budget_burn:ratio{{window="{window}", {THIS}}}'), window)
                for window in ("1h", "1d")
            ),
            columns={
                "objective": Column("Objective", width=110),
                "source": Column("Seen by", width=100),
                "left": Column("Budget left", unit="percentunit", steps=BUDGET_STEPS, width=110),
                "1h": Column("Burn, 1 hour", unit="none", decimals=1, steps=BURN_STEPS, width=120),
                "1d": Column("1 day", unit="none", decimals=1, width=90),
            },
            sort_by="Budget left",
            ascending=True,
        ),
        graph(
            "Burn of the error budget by window",
            "How fast the budget of the worst objective is spent: 1 spends it in exactly 30 days. The short window shows that the trouble goes on, "
            "the long one that it matters.",
            Query(
                f'max by (objective, window) (slo:fss_error_budget_burn:ratio{{window=~"10m|1h|1d", {THIS}}})',
                "{{objective}}, {{window}}",
            ),
            unit="none",
            decimals=1,
            steps=BURN_STEPS,
            width=24,
        ),
    ],
)


def _address(name: str, description: str) -> Json:
    """A hidden variable with the address of the mount target. A link from FSS clients sets `address`, perhaps to All."""
    series = "(fss_mount_target_info{of_this} or address:fss_mount_target:join{of_this})"
    query = series.replace("of_this", 'mount_target_id="$mount_target"')
    return query_variable(
        name,
        "Address",
        f"query_result(group by (address) {query})",
        description=description,
        multi=False,
        hidden=True,
        regex='/address="(?<value>[^"]+)/',
    )


def mount_target() -> Json:
    """The dashboard."""
    alerts = firing_alerts(
        "Alerts of this mount target",
        "Every firing alert, notes included.",
        f'alertname=~"Fss.+", {THIS}',
        width=12,
        height=9,
    )
    return dashboard(
        uid="fss-mount-target",
        title="FSS mount target",
        description="One OCI File Storage mount target: load against ceilings, what costs it, who causes it. Needs the rules of rules/.",
        variables=[
            query_variable(
                "mount_target",
                "Mount target",
                'query_result(group by (mount_target, mount_target_id) (fss_mount_target_info{region=~"$region"}'
                ' or on (mount_target_id) address:fss_mount_target:join{region=~"$region"}))',
                description="The list shows display names and selects OCIDs, because names can repeat. Mount targets of a stopped poller stay for days.",
                multi=False,
                regex='/mount_target="(?<text>[^"]+)|mount_target_id="(?<value>[^"]+)/g',
            ),
            _address("mount_address", "The address that clients mount; joins them to the mount target.")
            | {"skipUrlSync": True},
            _address("address", "Hidden. The link to FSS clients opens the clients of this mount target."),
        ],
        alerts=f'alertname=~"Fss.+", {THIS}',
        sections=[
            Section("", [*_STATS, alerts, _IOPS, *_WHO]),
            Section("What costs", [busiest_operations(ADDRESS, width=24, height=10)]),
            PEAKS_AND_BANDWIDTH,
            LATENCY,
            _SLO,
            ERRORS,
            BEHIND,
        ],
    )
