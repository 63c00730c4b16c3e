"""mount-target.json: everything about one mount target."""

from tools.dashboards.frame import Section, dashboard, datasource_variable, query_variable
from tools.dashboards.panels import (
    CEILING_STEPS,
    NEUTRAL_STEPS,
    OBJECTIVE_STEPS,
    Column,
    Json,
    Panel,
    Query,
    band,
    graph,
    line,
    stat,
    table,
)
from tools.dashboards.words import SUCCESS_STEPS, ceiling, nearest, region_variable

from fss_exporter.model.operations import NFS3_OPERATIONS
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.model.transfers import read_io_operations

_RENAME = NFS3_OPERATIONS["RENAME"].io_operations
_LARGE_READ = read_io_operations(1 << 20)
_THIS = 'mount_target_id="$mount_target"'
_ADDRESS = 'address="$address"'
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
            f'max(mount_target:fss_utilisation:ratio{{resource="iops", {_THIS}}})',
        ),
        _now(
            "Read bandwidth",
            "Share of the read bandwidth in use.",
            f'max(mount_target:fss_utilisation:ratio{{resource="read_bandwidth", {_THIS}}})',
        ),
        _now(
            "Write bandwidth",
            "Share of the write bandwidth in use. Empty: no ceiling is published for this shape.",
            f'max(mount_target:fss_utilisation:ratio{{resource="write_bandwidth", {_THIS}}})',
        ),
        _now(
            "Latency of objective",
            "The slowest kind of request as share of its objective; 100 % is the objective.",
            f"max(mount_target:fss_latency_objective:ratio{{{_THIS}}})",
            objective=True,
        ),
        _now(
            "Connections",
            "Share of the connections in use. Above 100 % new mounts fail.",
            f'max(mount_target:fss_utilisation:ratio{{resource="connections", {_THIS}}})',
        ),
        stat(
            "Successful requests",
            "Share of NFS requests that succeeded in the newest minute. Below 99 %: see OCI's status page and the clients' errors.",
            Query(f"min(fss_mount_target_success_ratio{{{_THIS}}})"),
            unit="percentunit",
            steps=SUCCESS_STEPS,
        ),
        stat(
            "Seen by clients",
            "Share of the measured IOPS that scraped clients account for. Far below 100 %: agents are missing on some clients.",
            Query(f"max(mount_target:fss_client_coverage:ratio{{{_THIS}}})"),
            unit="percentunit",
            steps=NEUTRAL_STEPS,
        ),
        stat(
            "Mount targets needed",
            "How many mount targets of this shape would carry the busiest minute of the last hour at the warning line. More "
            "than one: spread the clients over so many, if the load can be calmed no other way; it costs the cache.",
            Query(f"max(mount_target:fss_mount_targets_needed:count{{{_THIS}}})"),
            unit="none",
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
    Query(f"max(fss_mount_target_iops{{{_THIS}}})", _MEASURED),
    Query(f"max(fss_mount_target_estimated_iops{{{_THIS}}})", _OCI),
    Query(f"max(fss_mount_target_estimated_iops_lower_bound{{{_THIS}}})", _BOUNDS[_OCI][0]),
    Query(f"max(fss_mount_target_estimated_iops_upper_bound{{{_THIS}}})", _BOUNDS[_OCI][1]),
    Query(f"max(mount_target:fss_client_estimated_iops:rate5m{{{_THIS}}})", _FROM_CLIENTS),
    Query(f"max(address:fss_client_estimated_iops_lower_bound:rate5m{{{_ADDRESS}}})", _BOUNDS[_FROM_CLIENTS][0]),
    Query(f"max(address:fss_client_estimated_iops_upper_bound:rate5m{{{_ADDRESS}}})", _BOUNDS[_FROM_CLIENTS][1]),
    *ceiling("fss_mount_target_iops_limit", _THIS, WARNING_RATIO),
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
        f'max(mount_target:fss_client_peak_utilisation:ratio{{peak="one_client", {_THIS}}})',
        "busiest client's peak",
    ),
    Query(
        f'max(mount_target:fss_client_peak_utilisation:ratio{{peak="all_clients", {_THIS}}})',
        "sum of all clients' peaks",
    ),
    Query(f'max(mount_target:fss_utilisation:ratio{{resource="iops", {_THIS}}})', "mean"),
    unit="percentunit",
    steps=CEILING_STEPS,
    width=8,
    height=11,
)


def _bandwidth(kind: str, advice: str) -> Panel:
    return graph(
        f"{kind.capitalize()} bandwidth against the ceiling",
        f"Bytes {'read' if kind == 'read' else 'written'} per second through this mount target, mean of each minute, as OCI measures it. {advice}",
        Query(f"max(fss_mount_target_{kind}_bytes_per_second{{{_THIS}}})", kind),
        *ceiling(f"fss_mount_target_{kind}_bytes_per_second_limit", _THIS, WARNING_RATIO),
        unit="Bps",
        overrides=[line(kind, "blue"), *_CEILING_LINES],
    )


_OPERATIONS = [
    graph(
        "Operations by what they cost",
        "Estimated IOPS of the scraped clients by NFS operation. This is what uses up the ceiling: calm the widest area first. "
        "Much GETATTR, ACCESS or LOOKUP: caching (actimeo, fewer listings). Much READ or WRITE at small sizes: larger I/O. OTHER "
        "are operations that are new to a mount; they get their names after five minutes.",
        Query(
            f"sum by (operation) (address_operation:fss_client_estimated_iops:rate5m{{{_ADDRESS}}}) > 0",
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
            f"sum by (operation) (rate(fss_client_operations_total{{{_ADDRESS}}}[$__rate_interval])) > 0",
            "{{operation}}",
        ),
        unit="ops",
        stacked=True,
    ),
]


def _latency(kind: str, label: str, rate: str) -> Panel:
    value = f"max by (file_system_id, {label}) (fss_file_system_{kind}_latency_seconds{{{_THIS}}})"
    weight = f"max by (file_system_id, {label}) ({rate}{{{_THIS}}} > 0)"
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
    Query(f"max by (kind) (address_kind:fss_client_rtt_seconds:mean5m{{{_ADDRESS}}})", "{{kind}}"),
    Query(
        f"max by (kind) (address_kind:fss_client_latency_objective_seconds:max{{{_ADDRESS}}})",
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
    Query(f"max(fss_mount_target_connections{{{_THIS}}})", "connections"),
    unit="none",
    width=8,
)


_ERRORS = graph(
    "Kerberos and LDAP errors",
    "Errors per second by type; the success events OCI publishes under the same names are left out. Any line: users "
    "cannot be told apart or get no access. Look at clocks, keytab and the outbound connector.",
    Query(
        f"sum by (error_type) (rate(fss_kerberos_errors_total{{{_THIS}}}[$__rate_interval]))",
        "Kerberos, {{error_type}}",
    ),
    Query(
        f"sum by (error_type) (rate(fss_ldap_connection_errors_total{{{_THIS}}}[$__rate_interval]))",
        "LDAP connection, {{error_type}}",
    ),
    Query(
        f"sum by (request_type, error_type) (rate(fss_ldap_request_errors_total{{{_THIS}}}[$__rate_interval]))",
        "LDAP {{request_type}}, {{error_type}}",
    ),
    Query(
        f"sum by (request_type) (rate(fss_ldap_requests_total{{{_THIS}}}[$__rate_interval]))",
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
            f"sum {_EACH} (max without (instance, job) (fss_file_system_read_requests_per_second{{{_THIS}}}))",
            "reads",
        ),
        Query(
            f"sum {_EACH} (max without (instance, job) (fss_file_system_write_requests_per_second{{{_THIS}}}))",
            "writes",
        ),
        Query(
            f"sum {_EACH} (max without (instance, job) (fss_file_system_metadata_operations_per_second{{{_THIS}}}))",
            "metadata",
        ),
        Query(f"max {_EACH} (fss_file_system_read_bytes_per_second{{{_THIS}}})", "read"),
        Query(f"max {_EACH} (fss_file_system_write_bytes_per_second{{{_THIS}}})", "written"),
        Query(
            f"max {_EACH} (fss_file_system_used_bytes and on (region, file_system_id) fss_export_info{{{_THIS}}})",
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
        Query(f"group by (file_system, export, state) (fss_export_info{{{_THIS}}})", "info"),
        columns={
            "export": Column("Export"),
            "file_system": Column("File system"),
            "state": Column("State", width=100),
        },
        width=8,
        height=8,
    ),
]


_EVERY_CLIENT = f"client:fss_client_estimated_iops:rate5m{{{_THIS}}}"
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


def mount_target() -> Json:
    """The dashboard."""
    return dashboard(
        uid="fss-mount-target",
        title="FSS mount target",
        description="One OCI File Storage mount target: load against ceilings, what costs it, who causes it. Needs rules/recording.yml.",
        variables=[
            datasource_variable(),
            region_variable(),
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
        alerts=_THIS,
        sections=[
            _AT_A_GLANCE,
            Section("How close", [_IOPS, _PEAKS]),
            Section(
                "Bandwidth",
                [
                    _bandwidth(
                        "read", "Near the ceiling: spread readers over mount targets, or a shape with more bandwidth."
                    ),
                    _bandwidth("write", "Near the ceiling: spread writers over mount targets."),
                ],
            ),
            Section("What costs", _OPERATIONS),
            Section("Who", _CLIENTS),
            Section(
                "Latency",
                [
                    _latency("read", "size", "fss_file_system_read_requests_per_second"),
                    _latency("write", "size", "fss_file_system_write_requests_per_second"),
                    _latency("metadata", "operation", "fss_file_system_metadata_operations_per_second"),
                    _CLIENT_LATENCY,
                    _CONNECTIONS,
                    _ERRORS,
                ],
            ),
            Section("Behind it", _FILE_SYSTEMS),
        ],
    )
