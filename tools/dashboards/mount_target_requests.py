"""Of mount-target.json: what is asked for, by whom, how long it takes and of which file system."""

from tools.dashboards.frame import Section
from tools.dashboards.panels import Panel, Query, graph, line
from tools.dashboards.tables import Column, table
from tools.dashboards.words import nearest

from fss_exporter.model.operations import NFS3_OPERATIONS
from fss_exporter.model.transfers import read_io_operations

THIS = 'mount_target_id="$mount_target"'
ADDRESS = 'address="$address"'

_RENAME = NFS3_OPERATIONS["RENAME"].io_operations
_LARGE_READ = read_io_operations(1 << 20)


_OPERATIONS = [
    graph(
        "Operations by what they cost",
        "Estimated IOPS of the scraped clients by NFS operation. This is what uses up the ceiling: calm the widest area first. "
        "Much GETATTR, ACCESS or LOOKUP: caching (actimeo, fewer listings). Much READ or WRITE at small sizes: larger I/O. OTHER "
        "are operations that are new to a mount; they get their names after five minutes.",
        Query(
            f"sum by (operation) (address_operation:fss_client_estimated_iops:rate5m{{{ADDRESS}}}) > 0",
            "{{operation}}",
        ),
        unit="iops",
        stacked=True,
    ),
    graph(
        "Operations by how many there are",
        "NFS operations per second of the scraped clients. Compare with the panel beside it: what is frequent need not "
        f"be what costs. A RENAME costs as much as {_RENAME} GETATTRs, a READ of 1 MiB as much as {_LARGE_READ}.",
        Query(
            f"sum by (operation) (rate(fss_client_operations_total{{{ADDRESS}}}[$__rate_interval])) > 0",
            "{{operation}}",
        ),
        unit="ops",
        stacked=True,
    ),
]


def _latency(kind: str, label: str, rate: str) -> Panel:
    value = f"max by (file_system_id, {label}) (fss_file_system_{kind}_latency_seconds{{{THIS}}})"
    weight = f"max by (file_system_id, {label}) ({rate}{{{THIS}}} > 0)"
    by_size = label == "size"
    objective = f'max by (size) (fss_latency_objective_seconds{{kind="{kind}"}})'
    return graph(
        f"{kind.capitalize()} latency by {label} against its objective",
        f"Mean {kind} latency as OCI measures it, weighted by requests over the file systems behind this mount target; dashed: the "
        "objective. No line means no such requests. Above the objective near the ceiling: treat the ceiling. Above it "
        "far from the ceiling: OCI's status page, clones that are hydrating, the way to the clients.",
        Query(
            f"sum by ({label}) (\n  {value}\n  * {weight}\n)\n/ sum by ({label}) ({weight} and {value})",
            f"{{{{{label}}}}}",
        ),
        Query(objective, "objective, {{size}}" if by_size else "objective"),
        unit="s",
        overrides=[line("^objective", "orange", dashed=True, regex=True)],
        width=8,
    )


_CLIENT_LATENCY = graph(
    "Latency as clients see it",
    "Mean time from call to reply over all scraped clients, network included; dashed: the objective of the size they use. "
    "Higher than OCI's own latency above: the network, or clients in another availability domain.",
    Query(f"max by (kind) (address_kind:fss_client_rtt_seconds:mean5m{{{ADDRESS}}})", "{{kind}}"),
    Query(
        f"max by (kind) (address_kind:fss_client_latency_objective_seconds:max{{{ADDRESS}}})",
        "objective, {{kind}}",
    ),
    unit="s",
    overrides=[line("^objective", "orange", dashed=True, regex=True)],
    width=8,
)


_CONNECTIONS = graph(
    "Client connections",
    "Client connections in each minute. With nconnect one client holds several. A steady climb without new clients: "
    "mounts that are never unmounted.",
    Query(f"max(fss_mount_target_connections{{{THIS}}})", "connections"),
    unit="none",
    width=8,
)


_ERRORS = graph(
    "Kerberos and LDAP errors",
    "Errors per second by type; the success events OCI publishes under the same names are left out. Any line: users "
    "cannot be told apart or get no access. Look at clocks, keytab and the outbound connector.",
    Query(
        f"sum by (error_type) (rate(fss_kerberos_errors_total{{{THIS}}}[$__rate_interval]))",
        "Kerberos, {{error_type}}",
    ),
    Query(
        f"sum by (error_type) (rate(fss_ldap_connection_errors_total{{{THIS}}}[$__rate_interval]))",
        "LDAP connection, {{error_type}}",
    ),
    Query(
        f"sum by (request_type, error_type) (rate(fss_ldap_request_errors_total{{{THIS}}}[$__rate_interval]))",
        "LDAP {{request_type}}, {{error_type}}",
    ),
    Query(
        f"sum by (request_type) (rate(fss_ldap_requests_total{{{THIS}}}[$__rate_interval]))",
        "LDAP {{request_type}}, all requests",
    ),
    unit="reqps",
    width=8,
)


_EACH = "by (file_system_id, file_system)"
_FILE_SYSTEMS = [
    table(
        "File systems behind this mount target",
        "Which file system the load belongs to, newest minute as OCI measures it. The one on top is the first to move to a "
        "mount target of its own.",
        Query(
            f"sum {_EACH} (max without (instance, job) (fss_file_system_read_requests_per_second{{{THIS}}}))",
            "reads",
        ),
        Query(
            f"sum {_EACH} (max without (instance, job) (fss_file_system_write_requests_per_second{{{THIS}}}))",
            "writes",
        ),
        Query(
            f"sum {_EACH} (max without (instance, job) (fss_file_system_metadata_operations_per_second{{{THIS}}}))",
            "metadata",
        ),
        Query(f"max {_EACH} (fss_file_system_read_bytes_per_second{{{THIS}}})", "read"),
        Query(f"max {_EACH} (fss_file_system_write_bytes_per_second{{{THIS}}})", "written"),
        Query(
            f"max {_EACH} (fss_file_system_used_bytes and on (region, file_system_id) fss_export_info{{{THIS}}})",
            "used",
        ),
        columns={
            "file_system": Column("File system"),
            "reads": Column("READs", unit="ops"),
            "writes": Column("WRITEs", unit="ops"),
            "metadata": Column("Metadata (published)", unit="ops"),
            "read": Column("Read", unit="Bps"),
            "written": Column("Written", unit="Bps"),
            "used": Column("Used", unit="bytes"),
        },
        sort_by="READs",
        width=16,
        height=8,
    ),
    table(
        "Exports",
        "What clients mount from here. An export in another state than ACTIVE cannot be mounted.",
        Query(f"group by (file_system, export, state) (fss_export_info{{{THIS}}})", "info"),
        columns={
            "export": Column("Export"),
            "file_system": Column("File system"),
            "state": Column("State", width=100),
        },
        width=8,
        height=8,
    ),
]


_EVERY_CLIENT = f"client:fss_client_estimated_iops:rate5m{{{THIS}}}"
_CLIENTS = [
    graph(
        "Clients that cost most",
        "Estimated IOPS of the ten clients that cost most in the time shown. One line far above the rest: talk to its owner. Many "
        "alike: spread them over mount targets.",
        Query(nearest(_EVERY_CLIENT, "instance, mount_target_id"), "{{instance}}"),
        unit="iops",
        width=16,
    ),
    table(
        "Top clients now",
        "The ten clients that cost most now. Click one to see its mounts, operations and options.",
        Query(f"topk(10, sum by (instance, address) ({_EVERY_CLIENT}))", "iops"),
        columns={
            "instance": Column(
                "Client",
                url="/d/fss-clients?var-address=${__data.fields.address}&var-client=${__data.fields.instance}"
                "&${datasource:queryparam}&${__url_time_range}",
            ),
            "address": Column(None),
            "iops": Column("IOPS", unit="iops", width=110),
        },
        sort_by="IOPS",
        width=8,
        height=9,
    ),
]


WHAT_COSTS = Section("What costs", _OPERATIONS)
WHO = Section("Who", _CLIENTS)
LATENCY = Section(
    "Latency",
    [
        _latency("read", "size", "fss_file_system_read_requests_per_second"),
        _latency("write", "size", "fss_file_system_write_requests_per_second"),
        _latency("metadata", "operation", "fss_file_system_metadata_operations_per_second"),
        _CLIENT_LATENCY,
        _CONNECTIONS,
        _ERRORS,
    ],
)
BEHIND = Section("Behind it", _FILE_SYSTEMS)
