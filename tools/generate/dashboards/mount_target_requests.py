"""Rows of mount-target.json: latency, errors and connections, file systems."""

from tools.generate.dashboards.colours import CLASS_COLOURS, MEASURED, SIZE_COLOURS, SOURCE_COLOURS
from tools.generate.dashboards.frame import Section
from tools.generate.dashboards.mount_target_load import ADDRESS, THIS, ceiling_lines
from tools.generate.dashboards.panels import OBJECTIVE_STEPS, Panel, Query, graph, line, lines
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import (
    CLASSES,
    FAILED_STEPS,
    SIZES,
    STATE_COLOURS,
    WEEK_AGO,
    ceiling,
    largest_now,
    with_name,
)

from fss_exporter.model.state import State
from fss_exporter.model.thresholds import WARNING_RATIO

_OBJECTIVE = line("^objective", "orange", dashed=True, regex=True, legend=False)

_SIZE_COLOURS = [line(size, colour, regex=True) for size, colour in SIZE_COLOURS.items()]


def _latency(kind: str, label: str, rate: str) -> Panel:
    value = f"max by (file_system_id, {label}) (fss_file_system_{kind}_latency_seconds{{{THIS}}})"
    weight = f"max by (file_system_id, {label}) ({rate}{{{THIS}}} > 0)"
    by_size = label == "size"
    objective = f'min by (size) (fss_mount_target_latency_objective_seconds{{kind="{kind}", {THIS}}})'
    return graph(
        f"{kind.capitalize()} latency by {label}",
        f"Mean {kind} latency as OCI measures it, weighted by the requests of the file systems behind this mount target. Dashed: the objective{' of the size in its colour' * by_size}. No "
        "line means no requests, or nothing from OCI. Above the objective near a ceiling: treat the ceiling. Above the objective far from a ceiling: the status page "
        "of OCI, clones that hydrate, the way to the clients.",
        Query(
            f"sum by ({label}) (\n  {value}\n  * {weight}\n)\n/ sum by ({label}) ({weight} and {value})",
            f"{{{{{label}}}}}",
        ),
        Query(objective, "objective, {{size}}" if by_size else "objective"),
        unit="s",
        overrides=[_OBJECTIVE, *(_SIZE_COLOURS if by_size else ())],
        renames=SIZES if by_size else (),
        width=8,
    )


_CLIENT_LATENCY = graph(
    "Latency as clients see it",
    "Mean time from call to reply over all clients with an agent, network included. Higher than the latency of OCI: the network, or clients in "
    "another availability domain.",
    Query(f"max by (class) (address_class:fss_client_rtt_seconds:mean5m{{{ADDRESS}}})", "{{class}}"),
    unit="s",
    renames=CLASSES,
    overrides=lines(CLASS_COLOURS),
)

_VERDICTS = graph(
    "Clients by the verdict of their agents",
    "How many clients are fine, slow, failing, hanging or not known, in the mean of five minutes. An agent calls a client slow if its requests take longer "
    "than their objective. Slow, failing or hanging clients spend the error budget.",
    Query(f'sum by (verdict) (address_verdict:fss_clients:mean5m{{verdict!="idle", {ADDRESS}}})', "{{verdict}}"),
    unit="none",
    decimals=1,
    stacked=True,
    overrides=[
        *(line(state.word, STATE_COLOURS[state]) for state in (State.FINE, State.SLOW, State.FAILING, State.HANGING)),
        line("unknown", STATE_COLOURS[State.NOT_KNOWN]),
    ],
)

_OCI_OBJECTIVE = graph(
    "Latency as share of its objective",
    "The slowest reads, writes and metadata operations as share of their objective, mean of five minutes, as OCI measures it, with their file "
    "system. From 80 % on a ticket, and above 100 % the error budget is spent.",
    Query(
        with_name(
            f"max by (tenancy, region, kind, size, file_system_id) (fss_mount_target_latency_objective_ratio{{{THIS}}})",
            "file_system_id",
        )
        + f'\nor\nmax by (kind, size) (fss_mount_target_latency_objective_ratio{{file_system_id="", {THIS}}})',
        "{{kind}} {{name}}",
    ),
    unit="percentunit",
    steps=OBJECTIVE_STEPS,
)


def _error_rate(counter: str, legend: str, by: str) -> Query:
    def errors(at: str) -> str:
        return f"sum by ({by}) (rate({counter}{{{THIS}}}[$__rate_interval]{at}))"

    return Query(largest_now(errors, by, count=4), legend)


ERRORS = Section(
    "Errors and connections",
    [
        graph(
            "Failed requests",
            "Share of NFS requests that failed, as OCI counts them. Above 1 % for some minutes: the status page of OCI, and the errors of the clients.",
            Query(f"1 - min(fss_mount_target_success_ratio{{{THIS}}})", "failed"),
            unit="percentunit",
            steps=FAILED_STEPS,
            decimals=2,
            width=8,
        ),
        graph(
            "Kerberos and LDAP errors",
            "Errors per second by type. Any line above zero: users have no name or no access. Look at clocks, keytab and the outbound "
            "connector.",
            _error_rate("fss_kerberos_errors_total", "Kerberos, {{error_type}}", "error_type"),
            _error_rate("fss_ldap_connection_errors_total", "LDAP connection, {{error_type}}", "error_type"),
            _error_rate(
                "fss_ldap_request_errors_total", "LDAP {{request_type}}, {{error_type}}", "request_type, error_type"
            ),
            unit="reqps",
            decimals=2,
            width=8,
        ),
        graph(
            "Client connections",
            "Client connections in each minute. With nconnect one client holds several. A steady climb without new clients: mounts that are never "
            "unmounted.",
            Query(f"max(fss_mount_target_connections{{{THIS}}})", "connections"),
            Query(f"max(fss_mount_target_connections{{{THIS}}} offset 1w)", WEEK_AGO),
            *ceiling("fss_mount_target_connections_limit", THIS, WARNING_RATIO),
            overrides=[
                line("connections", SOURCE_COLOURS[MEASURED]),
                line(WEEK_AGO, "text", dashed=True),
                *ceiling_lines(),
            ],
            unit="short",
            width=8,
        ),
    ],
)


_EACH = "by (tenancy, region, file_system_id)"


def _requests(metric: str, label: str) -> str:
    return f"sum {_EACH} (max by (tenancy, region, file_system_id, {label}) ({metric}{{{THIS}}}))"


BEHIND = Section(
    "File systems and exports",
    [
        table(
            "File systems behind this mount target",
            "Load by file system in the newest minute, as OCI measures it. The file system on top is the first to move to a mount target of its own.",
            Query(
                f"group {_EACH[:-1]}, name) (resource:fss_name:info and on (region, file_system_id) fss_export_info{{{THIS}}})",
                "info",
            ),
            Query(_requests("fss_file_system_read_requests_per_second", "size"), "reads"),
            Query(_requests("fss_file_system_write_requests_per_second", "size"), "writes"),
            Query(_requests("fss_file_system_metadata_operations_per_second", "operation"), "metadata"),
            Query(f"max {_EACH} (fss_file_system_read_bytes_per_second{{{THIS}}})", "read"),
            Query(f"max {_EACH} (fss_file_system_write_bytes_per_second{{{THIS}}})", "written"),
            Query(
                f"max {_EACH} (fss_file_system_used_bytes and on (region, file_system_id) fss_export_info{{{THIS}}})",
                "used",
            ),
            columns={
                "name": Column("File system", least=100),
                "reads": Column("READ", unit="reqps", width=85),
                "writes": Column("WRITE", unit="reqps", width=85),
                "metadata": Column("Metadata", unit="reqps", width=88),
                "read": Column("Bytes read", unit="Bps", width=95),
                "written": Column("Bytes written", unit="Bps", width=110),
                "used": Column("Used", unit="bytes", width=85),
            },
            sort_by="READ",
            width=16,
            height=8,
        ),
        table(
            "Exports that cannot be mounted",
            "Exports of this mount target in another state than ACTIVE. An empty table is good while a poller answers.",
            Query(
                with_name(
                    f'group by (tenancy, region, file_system_id, export, state) (fss_export_info{{state!="ACTIVE", {THIS}}})',
                    "file_system_id",
                ),
                "info",
            ),
            empty="None is known.",
            columns={
                "export": Column("Export", least=90),
                "name": Column("File system", width=100),
                "state": Column("State", width=80),
            },
            sort_by="Export",
            ascending=True,
            width=8,
            height=8,
        ),
    ],
)


LATENCY = Section(
    "Latency",
    [
        _latency("read", "size", "fss_file_system_read_requests_per_second"),
        _latency("write", "size", "fss_file_system_write_requests_per_second"),
        _latency("metadata", "operation", "fss_file_system_metadata_operations_per_second"),
        _CLIENT_LATENCY,
        _OCI_OBJECTIVE,
        _VERDICTS,
    ],
)
