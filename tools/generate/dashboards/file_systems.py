"""file-systems.json: which file system loads its mount targets, how much it holds, how its copies and quotas are."""

from collections.abc import Callable
from functools import partial

from tools.generate.dashboards.alerts import firing_alerts
from tools.generate.dashboards.frame import Section, dashboard, query_variable
from tools.generate.dashboards.panels import NEUTRAL_STEPS, NOT_ZERO_STEPS, Json, Query, graph, stat, tally
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import (
    FILE_SYSTEM_IN_CONSOLE,
    IMBALANCE_STEPS,
    REPLICATION_STEPS,
    SIZES,
    TO_MOUNT_TARGET,
    largest_now,
    with_name,
)

_THESE = 'tenancy=~"$tenancy", region=~"$region", file_system_id=~"$file_system"'
_FILE_SYSTEM = "tenancy, region, file_system_id"
_REPLICATION = "tenancy, region, replication_id"
_KINDS = (("read", "READ"), ("write", "WRITE"))

# The rows of a table, with the display name of each file system.
_NAMES = Query(f'group by ({_FILE_SYSTEM}, name) (resource:fss_name:info{{file_system_id!="", {_THESE}}})', "info")


def _each(expr: str) -> str:
    return f"max by ({_FILE_SYSTEM}) ({expr})"


def _named(expr: str) -> str:
    return with_name(expr, "file_system_id")


# Each file system behind each mount target: what two pollers say of it counts once.
_EACH_PAIR = f"mount_target_id, {_FILE_SYSTEM}"


def _requests(metric: str, label: str) -> str:
    return f"sum by ({_FILE_SYSTEM}) (max by ({_EACH_PAIR}, {label}) ({metric}{{{_THESE}}}))"


def _bytes(kind: str, at: str = "") -> str:
    return f"sum by ({_FILE_SYSTEM}) (max by ({_EACH_PAIR}) (fss_file_system_{kind}_bytes_per_second{{{_THESE}}}{at}))"


def _busiest(expr: Callable[[str], str]) -> Query:
    return Query(_named(f"({largest_now(expr, 'region, file_system_id')})"), "{{name}}")


def _quota(kind: str) -> Query:
    def violations(at: str) -> str:
        counter = f"fss_file_system_{kind}_quota_violations_total{{{_THESE}}}"
        return f"sum by ({_FILE_SYSTEM}) (rate({counter}[$__rate_interval]{at}))"

    largest = largest_now(violations, "region, file_system_id", count=5)
    return Query(_named(f"({largest})"), f"{{{{name}}}}, {kind} quota")


def _recovery_point(at: str) -> str:
    """Age of the recovery point in intervals of the replication."""
    chosen = 'tenancy=~"$tenancy", region=~"$region"'
    return (
        f"max by ({_REPLICATION}) (fss_replication_recovery_point_age_seconds{{{chosen}}}{at})"
        f" / max by ({_REPLICATION}) (fss_replication_interval_seconds{{{chosen}}}{at})"
    )


_GROWTH = (
    f"(max by ({_FILE_SYSTEM}) (fss_file_system_metered_bytes{{{_THESE}}})"
    f" - max by ({_FILE_SYSTEM}) (fss_file_system_metered_bytes{{{_THESE}}} offset 1w))"
)

_STATS = [
    tally(
        "File systems",
        "File systems that the inventory of the poller lists.",
        f"count(group by (region, file_system_id) (fss_file_system_info{{{_THESE}}}))",
        width=6,
    ),
    stat(
        "Billed size",
        "The size that OCI bills for all of them, snapshots and metadata included.",
        Query(f"sum({_each(f'fss_file_system_metered_bytes{{{_THESE}}}')})"),
        unit="bytes",
        steps=NEUTRAL_STEPS,
        width=6,
    ),
    tally(
        "Late copies",
        "Replications whose newest complete copy is older than two intervals. A disaster would lose that much work.",
        f"count({_recovery_point('')} > 2) or 0 * count({_recovery_point('')})",
        steps=NOT_ZERO_STEPS,
        width=6,
    ),
    stat(
        "Imbalance",
        "The busiest mount target of a file system against the mean of its mount targets: 1 is even, 2 means that one of two does all the work.",
        Query(_named(f"topk(1, {_each(f'file_system:fss_utilisation_imbalance:ratio{{{_THESE}}}')})"), "{{name}}"),
        unit="none",
        decimals=1,
        steps=IMBALANCE_STEPS,
        width=6,
    ),
]

_TABLE = table(
    "File systems: load, size and growth",
    "Requests and bytes of the newest minute, as OCI measures them, over all mount targets. Much more billed than used: old snapshots. "
    "Growth is that of the last week. The file system on top is the first to move to a mount target of its own.",
    _NAMES,
    Query(_requests("fss_file_system_read_requests_per_second", "size"), "reads"),
    Query(_requests("fss_file_system_write_requests_per_second", "size"), "writes"),
    Query(_requests("fss_file_system_metadata_operations_per_second", "operation"), "metadata"),
    Query(_bytes("read"), "read"),
    Query(_bytes("write"), "written"),
    Query(_each(f"fss_file_system_metered_bytes{{{_THESE}}}"), "metered"),
    Query(_each(f"fss_file_system_used_bytes{{{_THESE}}}"), "used"),
    Query(_GROWTH, "growth"),
    columns={
        "name": Column("File system", url=FILE_SYSTEM_IN_CONSOLE, least=110),
        "file_system_id": Column(None),
        "region": Column("Region", width=115),
        "reads": Column("READ", unit="reqps", width=90),
        "writes": Column("WRITE", unit="reqps", width=90),
        "metadata": Column("Metadata", unit="reqps", width=95),
        "read": Column("Bytes read", unit="Bps", width=100),
        "written": Column("Bytes written", unit="Bps", width=115),
        "metered": Column("Billed", unit="bytes", width=90),
        "used": Column("Used", unit="bytes", width=90),
        "growth": Column("Growth", unit="bytes", width=90),
    },
    sort_by="READ",
    height=9,
)

_SPREAD = table(
    "File systems behind several mount targets",
    "Imbalance is the busiest mount target against the mean: 1 is even, 2 with two mount targets means that one does all the work. Remount "
    "clients from the busy address to an idle one before you add another.",
    Query(_named(_each(f"file_system:fss_mount_targets:count{{{_THESE}}} > 1")), "count"),
    Query(_each(f"file_system:fss_utilisation_imbalance:ratio{{{_THESE}}}"), "imbalance"),
    Query(
        _each(
            f"file_system:fss_utilisation:sum{{{_THESE}}} and on (region, file_system_id) file_system:fss_mount_targets:count > 1"
        ),
        "sum",
    ),
    empty="None is known.",
    columns={
        "name": Column("File system", least=110),
        "count": Column("Mount targets", unit="none", width=115),
        "imbalance": Column("Imbalance", unit="none", steps=IMBALANCE_STEPS, decimals=1, width=95),
        "sum": Column("Sum of shares", unit="percentunit", width=115),
    },
    sort_by="Imbalance",
    width=12,
    height=8,
)

_EXPORTS = table(
    "Exports and their mount targets",
    "Every export of the chosen file systems, with its mount target. In another state than ACTIVE it cannot be mounted.",
    Query(
        _named(
            f"group by (mount_target_id, mount_target, {_FILE_SYSTEM}, export, state) (fss_export_info{{{_THESE}}})"
        ),
        "info",
    ),
    empty="None is known.",
    columns={
        "name": Column("File system", least=100),
        "export": Column("Export", width=110),
        "mount_target": Column("Mount target", url=TO_MOUNT_TARGET, width=110),
        "mount_target_id": Column(None),
        "state": Column("State", width=75),
    },
    sort_by="File system",
    ascending=True,
    width=12,
    height=8,
)


def _latency(kind: str, name: str) -> list[Query]:
    def value(at: str) -> str:
        return f"max by ({_FILE_SYSTEM}, size) (fss_file_system_{kind}_latency_seconds{{{_THESE}}}{at})"

    return [
        Query(
            _named(f"({largest_now(value, 'region, file_system_id, size', count=5)})"),
            f"{name} {{{{name}}}}, {{{{size}}}}",
        )
    ]


_QUOTA_SOFT = table(
    "Soft quotas that writes pass",
    "File systems with writes over a soft quota within the last hour. The writes work until the grace time of the quota ends.",
    Query(_named(f"({_each(f'increase(fss_file_system_soft_quota_violations_total{{{_THESE}}}[1h])')} > 0)"), "writes"),
    empty="None is known.",
    columns={
        "name": Column("File system", least=110),
        "region": Column("Region", width=120),
        "writes": Column("Writes", unit="none", width=90),
    },
    sort_by="Writes",
    width=12,
    height=8,
)


def file_systems() -> Json:
    """The dashboard."""
    alerts = firing_alerts(
        "Alerts of file systems",
        "Firing alerts of file systems, replications and polls: without a poll nothing here is known.",
        'alertname=~"Fss(FileSystem|Replication|Oci).+", tenancy=~"$tenancy", region=~"$region"',
    )
    return dashboard(
        uid="fss-file-systems",
        title="FSS file systems",
        description="Load, size, growth, copies and quotas of OCI File Storage file systems. Needs the files of rules/.",
        variables=[
            query_variable(
                "file_system",
                "File system",
                'query_result(group by (name, file_system_id) (resource:fss_name:info{tenancy=~"$tenancy", region=~"$region", file_system_id!=""}))',
                description="The list shows display names, with a place behind those that repeat, and selects OCIDs.",
                regex='/name="(?<text>[^"]+)|file_system_id="(?<value>[^"]+)/g',
            )
        ],
        alerts='alertname=~"Fss(FileSystem|Replication).+"',
        sections=[
            Section(
                "",
                [
                    *_STATS,
                    alerts,
                    graph(
                        "Requests: top $top",
                        "Requests per second of each file system, as OCI measures them: READ, WRITE and metadata together.",
                        _busiest(
                            lambda at: _each(f"file_system:fss_file_system_requests_per_second:sum{{{_THESE}}}{at}")
                        ),
                        unit="reqps",
                        width=10,
                    ),
                    _TABLE,
                ],
            ),
            Section(
                "Throughput and latency",
                [
                    *(
                        graph(
                            f"Bytes {done} a second: top $top",
                            f"Bytes {done} per second of each file system over all mount targets, as OCI measures them.",
                            _busiest(partial(_bytes, kind)),
                            unit="Bps",
                        )
                        for kind, done in (("read", "read"), ("write", "written"))
                    ),
                    *(
                        graph(
                            f"{kind.capitalize()} latency by size: top 5",
                            f"Mean {kind} latency by size of the requests, as OCI measures it. No line means no requests, or nothing from OCI.",
                            *_latency(kind, name),
                            unit="s",
                            renames=SIZES,
                        )
                        for kind, name in _KINDS
                    ),
                ],
            ),
            Section("Mount targets and exports", [_SPREAD, _EXPORTS]),
            Section(
                "Copies and quotas",
                [
                    graph(
                        "Recovery points in intervals: top $top",
                        "Age of the last complete copy of each replication, in replication intervals. 1 is normal. Above 2 the copy falls behind, "
                        "and a disaster would lose that much work.",
                        Query(
                            with_name(f"({largest_now(_recovery_point, 'region, replication_id')})", "replication_id"),
                            "{{name}}",
                        ),
                        unit="none",
                        decimals=1,
                        steps=REPLICATION_STEPS,
                        width=24,
                    ),
                    graph(
                        "Writes over quota: top 5",
                        "Write requests per second over the quota of a user. Over the hard quota they fail. Over the soft quota they will.",
                        _quota("hard"),
                        _quota("soft"),
                        unit="reqps",
                        decimals=2,
                        height=8,
                    ),
                    _QUOTA_SOFT,
                ],
            ),
        ],
    )
