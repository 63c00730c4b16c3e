"""clients.json: which client loads the mount targets, and with what."""

from tools.generate.dashboards.alerts import firing_alerts
from tools.generate.dashboards.clients_latency import EXACT, SLOW
from tools.generate.dashboards.clients_mounts import MOUNTS, TOP_MOUNTS
from tools.generate.dashboards.colours import CLASS_COLOURS
from tools.generate.dashboards.frame import Section, dashboard, query_variable
from tools.generate.dashboards.operations import busiest_operations, cost_by_class, cost_by_operation
from tools.generate.dashboards.panels import NEUTRAL_STEPS, NOT_ZERO_STEPS, Json, Query, graph, line, stat, tally
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import (
    ALONE,
    BY_NAME,
    CHOSEN,
    RETRANSMISSION_STEPS,
    STATE_WORDS,
    client_iops,
    counted,
    largest_clients,
    largest_now,
    of_clients,
    once_a_mount,
    to_client,
    with_network,
)

_IOPS = client_iops(CHOSEN, ALONE)
_ALL_IOPS = of_clients(
    f"sum(address:fss_client_estimated_iops:rate5m{{{CHOSEN}}})",
    f"sum(max by (network, instance, address) (rate(fss_client_address_estimated_io_operations_total{{{ALONE}}}[$__rate_interval])))",
)
_RETRANSMISSIONS = f"client:fss_client_retransmissions:ratio_rate5m{{{CHOSEN}}}"
_ERRORS = f"client:fss_client_unexpected_errors:ratio_rate5m{{{CHOSEN}}}"
_AGENTS = f"fss_client_unanswered_seconds{{{CHOSEN}}}"
_KNOWN = f"({_AGENTS} or client:fss_client_estimated_iops:topk20_rate5m{{{CHOSEN}}})"

# Of clients whose faults the rules record. Without the rules no fault has a series.
_JUDGED = "and on (network, address) address:fss_clients:count"

_WAITING = f"client:fss_client_unanswered_seconds:max{{{CHOSEN}}}"


def _with_mount_target(expr: str) -> str:
    """Series of clients with the name of the mount target, where the address has exactly one."""
    addresses = "address:fss_mount_target:info or on (network, address) group by (network, address) (address:fss_client_estimated_iops:rate5m)"
    return f"(\n{expr}\n* on (network, address) group_left (region, mount_target_id, mount_target) ({addresses})\n)"


def _with_server(expr: str) -> str:
    """The same with the address for a name where the address has none."""
    return f'label_replace(label_replace({_with_mount_target(expr)}, "server", "$1", "address", "(.+)"), "server", "$1", "mount_target", "(.+)")'


_STATS = [
    tally(
        "Clients",
        "Clients with an agent that mount the chosen mount targets. A number below your number of clients: agents are missing.",
        counted(f"group by (instance) ({_KNOWN})", "fleet:fss_agents:count"),
        width=4,
    ),
    stat(
        "Sum of IOPS",
        "Estimated I/O operations per second of all chosen clients together.",
        Query(_ALL_IOPS),
        unit="iops",
        steps=NEUTRAL_STEPS,
        width=4,
    ),
    stat(
        "Peak second",
        "The highest estimated IOPS of one client within one second of the last minute. Compare with the ceiling of the mount target.",
        Query(f"max(fss_client_peak_estimated_iops{{{CHOSEN}}})"),
        unit="iops",
        steps=NEUTRAL_STEPS,
        width=4,
    ),
    stat(
        "Sent again",
        "Share of calls sent more than once, of the worst client. Above 1 %: the path of that client loses packets, or the mount target stalls.",
        Query(f"max({_RETRANSMISSIONS}) or 0 * count({_KNOWN} {_JUDGED})"),
        unit="percentunit",
        steps=RETRANSMISSION_STEPS,
        decimals=2,
        width=4,
    ),
    stat(
        "Errors",
        "Share of operations that failed though they do not fail in ordinary work, of the worst client. Stale handles, quota, permission, a full "
        "file system.",
        Query(f"max({_ERRORS}) or 0 * count({_AGENTS} {_JUDGED})"),
        unit="percentunit",
        steps=RETRANSMISSION_STEPS,
        decimals=2,
        width=4,
    ),
    tally(
        "Stalled",
        "Clients whose requests have waited five minutes or more without any reply. One client: look at the client. Most clients: look at the mount target or the network.",
        counted(f"group by (instance) ({_WAITING} >= 300)", f"{_KNOWN} {_JUDGED}"),
        steps=NOT_ZERO_STEPS,
        width=4,
    ),
]


def _counted_iops(at: str) -> str:
    return f"rate(fss_client_address_estimated_io_operations_total{{{ALONE}}}[$__rate_interval]{at})"


_TOP = graph(
    "Clients by estimated IOPS: top $top",
    "The clients that cost most now, each on each mount target. One far above the rest: open the row about operations with that client.",
    Query(
        _with_server(
            largest_clients(
                f"client:fss_client_estimated_iops:topk20_rate5m{{{CHOSEN}}}",
                _counted_iops,
                "network, instance, address",
            )
        ),
        "{{instance}} {{server}}",
    ),
    unit="iops",
    width=10,
)


def _of_client(expr: str) -> str:
    """One series for each client and address, with the name of the mount target, or a dash for another service."""
    named = _with_mount_target(f"max by (network, instance, address) ({expr})")
    return with_network(f'label_replace({named}, "mount_target", "-", "mount_target", "")')


_COSTLIEST = f"topk(50, {_IOPS})"
_STATE = f"max by (network, instance, address) (fss_client_address_state{{{CHOSEN}}})"
_STATES = f"({_STATE} > 0 or {_STATE} and on (network, instance, address) {_COSTLIEST})"
_NOW = table(
    "Top clients now",
    "The fifty clients that cost most now, and all with a fault, the worst state first. A host calls a stated ceiling near where its own load alone brings it near. A dash means no fault. Waiting is the time since the last reply to a client with "
    "open requests. Click a client to choose it for all panels of this dashboard.",
    Query(_of_client(_STATES), "state"),
    Query(_of_client(_COSTLIEST), "iops"),
    Query(
        _of_client(f"fss_client_peak_estimated_iops{{{CHOSEN}}} and on (network, instance, address) {_COSTLIEST}"),
        "peak",
    ),
    Query(_of_client(_RETRANSMISSIONS), "retransmissions"),
    Query(_of_client(_ERRORS), "errors"),
    Query(_of_client(_WAITING), "waiting"),
    columns={
        "instance": Column("Client", url=to_client(), least=125),
        "state": Column("State", unit="none", words=STATE_WORDS, width=82),
        "mount_target": Column("Mount target", width=130),
        "address": Column("Address", width=115),
        "of_network": Column(None),
        "iops": Column("Estimated IOPS", unit="iops", width=130),
        "peak": Column("Peak second", unit="iops", width=115),
        "retransmissions": Column("Sent again", unit="percentunit", steps=RETRANSMISSION_STEPS, decimals=2, width=100),
        "errors": Column("Errors", unit="percentunit", steps=RETRANSMISSION_STEPS, decimals=2, width=85),
        "waiting": Column("Waiting", unit="s", width=85),
    },
    sort_by=("State", "Estimated IOPS"),
    height=9,
)


def _mean_size(kind: str, done: str) -> Query:
    counted = f"rate(fss_client_{done}_bytes_total{{{ALONE}}}[$__rate_interval])"
    requests = f'rate(fss_client_requests_total{{class="{kind}", {ALONE}}}[$__rate_interval])'
    return Query(
        of_clients(
            f"sum(address:fss_client_{done}_bytes:rate5m{{{CHOSEN}}})"
            f' / (sum(address_class:fss_client_requests:rate5m{{class="{kind}", {CHOSEN}}}) > 0)',
            f"sum({counted}) / (sum({requests}) > 0)",
        ),
        kind,
    )


_HOSTS = 'instance=~"$client"'


def _on_the_wire(direction: str) -> Query:
    """The counter is of a host, and not of an address."""
    alone = f"{_HOSTS}, {BY_NAME}"
    return Query(
        of_clients(
            f"fleet:fss_nfs_{direction}_bytes:rate5m{{{_HOSTS}}}",
            f"sum(max by (instance) (rate(fss_nfs_{direction}_bytes_total{{{alone}}}[$__rate_interval])))",
        ),
        direction,
    )


def _locks(at: str) -> str:
    counted = f"rate(fss_client_estimated_lock_io_operations_total{{{ALONE}}}[$__rate_interval]{at})"
    return f"(max by (network, address) (address:fss_client_lock_iops:rate5m{{{CHOSEN}}}{at}) or sum by (network, address) ({once_a_mount(counted)}))"


_COST_BY_CLASS = of_clients(
    f"sum by (class) (address_class:fss_client_estimated_iops:rate5m{{{CHOSEN}}})",
    f"sum by (class) ({once_a_mount(f'rate(fss_client_estimated_io_operations_total{{{ALONE}}}[$__rate_interval])', 'class')})",
)


_WHAT = Section(
    "Operations, sizes and locks by their cost",
    [
        cost_by_class("Cost by class, chosen clients", _COST_BY_CLASS, width=12),
        busiest_operations(
            of_clients(
                f"sum by (operation) (address_operation:fss_client_estimated_iops:rate5m{{{CHOSEN}}})",
                cost_by_operation(ALONE),
            ),
            of_clients(
                f"sum by (operation) (address_operation:fss_client_operations:rate5m{{{CHOSEN}}})",
                f"sum by (operation) ({once_a_mount(f'rate(fss_client_operations_total{{{ALONE}}}[$__rate_interval])', 'operation')})",
            ),
            width=12,
            height=9,
        ),
        graph(
            "Mean I/O size",
            "Mean payload of a READ and of a WRITE, over the chosen clients. Costs rise by the 32 KiB, so a size far below 32 KiB pays for more than "
            "it moves: buffer, or use larger blocks.",
            _mean_size("read", "read"),
            _mean_size("write", "written"),
            unit="bytes",
            overrides=[line(kind, CLASS_COLOURS[kind]) for kind in ("read", "write")],
            width=8,
        ),
        graph(
            "File locks: top $top",
            "The operation table of the kernel has no locks. This estimate counts four I/O operations for each POSIX lock. High: an application that "
            "locks in a loop. local_lock=all keeps locks on the client, if only one client uses the file.",
            Query(
                largest_now(_locks, "network, address"),
                "{{address}}",
            ),
            unit="iops",
            width=8,
        ),
        graph(
            "Bytes on the wire",
            "Bytes that the chosen clients send to all addresses and receive for NFS, headers and retransmissions included. Near the network bandwidth "
            "of a client: the client is the limit, not the mount target.",
            _on_the_wire("sent"),
            _on_the_wire("received"),
            unit="Bps",
            width=8,
        ),
        TOP_MOUNTS,
    ],
)


def clients() -> Json:
    """The dashboard."""
    alerts = firing_alerts(
        "Alerts of clients",
        "Firing alerts of the chosen mount targets.",
        'alertname=~"Fss.+", network=~"$network", address=~"$address", address!=""',
        'alertname=~"FssClient(NetworkHigh|MountMissing)", instance=~"$client"',  # of a host, not of an address
    )
    return dashboard(
        uid="fss-clients",
        title="FSS clients",
        description="Which clients, mounts and operations load the mount targets. Needs the rules of rules/.",
        variables=[
            query_variable(
                "network",
                "Network",
                'query_result(group by (network) (address:fss_mount_target:info{tenancy=~"$tenancy", region=~"$region"})'
                " or group by (network) (address:fss_clients:count or address:fss_client_estimated_iops:rate5m)"
                " unless on (network) (address:fss_mount_target:info"
                ' unless address:fss_mount_target:info{tenancy=~"$tenancy", region=~"$region"}))',
                description="Networks in which an address is one server. By default a network is a region.",
                regex='/network="(?<value>[^"]*)"/',
                all_value=None,
            ),
            query_variable(
                "address",
                "Mount target",
                'query_result(group by (mount_target, address) (address:fss_mount_target:info{network=~"$network"})'
                " or on (address) group by (address)"
                ' (address:fss_clients:count{network=~"$network"} or address:fss_client_estimated_iops:rate5m{network=~"$network"}))',
                description="Shown by display name where the inventory has the address, else by address.",
                regex='/mount_target="(?<text>[^"]+)|address="(?<value>[^"]+)/g',
            ),
            query_variable(
                "client",
                "Client",
                'query_result(group by (instance) (fss_client_unanswered_seconds{network=~"$network", address=~"$address"}'
                ' or client:fss_client_estimated_iops:topk20_rate5m{network=~"$network", address=~"$address"}'
                ' or client:fss_client_unanswered_seconds:max{network=~"$network", address=~"$address"}))',
                description="Clients with an agent that mount the chosen mount targets.",
                regex='/instance="(?<value>.+)"/',
            ),
            query_variable(
                "mount_target",
                "Mount target by OCID",
                'label_values(address:fss_mount_target:info{network=~"$network", address=~"$address"}, mount_target_id)',
                description="Hidden. The link to FSS mount target opens the chosen mount target.",
                multi=False,
                hidden=True,
            ),
        ],
        alerts='alertname=~"FssClient.+", network=~"$network", address=~"$address", address!=""',
        sections=[Section("", [*_STATS, alerts, _TOP, _NOW]), _WHAT, SLOW, EXACT, MOUNTS],
    )
