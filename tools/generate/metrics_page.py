"""docs/metrics.md from the catalogue: `make metrics`."""

from collections.abc import Iterable
from pathlib import Path

from fss_exporter.catalogue import (
    CLIENT,
    EXACT,
    EXPORTER,
    FILE_SYSTEMS,
    INVENTORY,
    MOUNT_TARGETS,
    OTHER_SERVICES,
    POLLER,
    PROCESSES,
    Declaration,
)

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"

# For what rules, dashboards and doctor read. A page with all of it would hide the metrics that a person queries.
_HEALTH = (
    "What rules, the exporter dashboard and `fss-exporter doctor` read of the health of an exporter. `# HELP` has the reasons, parts and "
    "outcomes."
)

ROOMS: tuple[tuple[str, str, tuple[Declaration, ...]], ...] = (
    (
        "Client",
        "From the agent. The label `class` is `read`, `write`, `metadata_read` (changes nothing) or `metadata_write`.",
        CLIENT,
    ),
    (
        "Client in exact mode",
        "With `--nfs.exact`, see [exact-mode.md](exact-mode.md). Durations leave out calls that keep a connection or a lease, such as NULL and RENEW.",
        EXACT,
    ),
    (
        "Client by process and batch job",
        "With `--nfs.exact.processes=N` and `--nfs.exact.jobs=N`, see [exact-mode.md](exact-mode.md#load-by-process). Processes outside of the first N are `other`, workers of the kernel are `kernel`, and write-back without a known author is `unknown writer`. A real process of such a name has (process) behind it. `unit` is the systemd unit of a process outside of pods. Use rate() or increase(), because a process that leaves the first N takes its counts along.",
        PROCESSES,
    ),
    ("Inventory", "From the listings of OCI.", INVENTORY),
    (
        "Mount targets",
        "From OCI Monitoring. Gauges have the newest complete minute, and counters take each minute once. A ceiling that is neither published nor configured has no series.",
        MOUNT_TARGETS,
    ),
    (
        "File systems, snapshots and replications",
        "As for mount targets. `size` and `operation` have the names of OCI.",
        FILE_SYSTEMS,
    ),
    (
        "Other storage services",
        "Lustre file systems and block volumes, see [services.md](services.md).",
        OTHER_SERVICES,
    ),
    ("The poller", _HEALTH, POLLER),
    (
        "The exporter about itself",
        "As for the poller. Agent and poller also have the `process_` metrics of `prometheus_client`, and the poller its `python_` metrics.",
        tuple(metric for metric in EXPORTER if metric.name.startswith("fss_")),
    ),
)

# The ten to begin with: each question, and the queries that answer it.
FIRST = (
    (
        "How close",
        (
            ("mount_target_resource:fss_utilisation:ratio", "share of each ceiling in use, by `resource` and `source`"),
            ("fss_mount_target_latency_objective_ratio", "latency as a multiple of its objective"),
            ("mount_target:fss_state:max", "one word for it all, from 0 (fine) to 5 (hanging)"),
        ),
    ),
    (
        "Who",
        (
            ("fss_client_address_estimated_io_operations_total", "load of each client, from its agent"),
            ("client:fss_client_estimated_iops:rate5m", "the same from node_exporter"),
            ("fss_client_operations_total", "what a client asks for, by mount and `operation`"),
            ("fss_client_address_state", "state of a mount target as one client sees it"),
            ("fss_client_process_io_operations_total", "load of each process, pod and unit, in exact mode"),
        ),
    ),
    (
        "What now",
        (
            (
                "mount_target:fss_mount_targets_needed:count",
                "mount targets for the load at `warning_ratio` of IOPS and bandwidth. Connections do not count",
            ),
            ("fss_coverage_expected - fss_coverage_seen", "what is not seen: above 0 the answers have gaps"),
        ),
    ),
)

# Metrics with the same labels that stand in one row, and what they mean together.
TOGETHER: dict[tuple[str, ...], str] = {
    (
        "fss_client_iops_limit",
        "fss_client_read_bytes_per_second_limit",
        "fss_client_write_bytes_per_second_limit",
        "fss_client_bytes_per_second_limit",
    ): "Ceilings of the service of an address. The last one is of both directions together, where the service has only one.",
    (
        "fss_client_estimated_io_operations_lower_bound_total",
        "fss_client_estimated_io_operations_upper_bound_total",
    ): "Least and most mount-target I/O operations that the READs and WRITEs and their bytes can cost.",
    (
        "fss_client_read_bytes_total",
        "fss_client_written_bytes_total",
    ): "Payload bytes of READ replies and of WRITE replies.",
    (
        "fss_nfs_sent_bytes_total",
        "fss_nfs_received_bytes_total",
    ): "Bytes of all calls of this host with retransmissions, and of all replies, with headers.",
    (
        "fss_client_objective_operations_per_second",
        "fss_client_objective_bytes_per_second",
    ): "Operations and payload bytes a second that one client was seen to reach at the service of an address: objectives, not ceilings.",
    (
        "fss_client_process_io_operations_total",
        "fss_client_process_operations_total",
    ): "Mount-target I/O operations and NFS calls that a process caused. The first is absent where the service publishes no cost.",
    (
        "fss_client_job_io_operations_total",
        "fss_client_job_operations_total",
    ): "The same of a batch job.",
    (
        "fss_client_invisible_operations_total",
        "fss_client_invisible_io_operations_total",
    ): "READs and WRITEs on mounts of other mount namespaces, which no visible mount names, and their cost. Part of no other metric.",
    (
        "fss_mount_target_iops_limit",
        "fss_mount_target_read_bytes_per_second_limit",
        "fss_mount_target_write_bytes_per_second_limit",
        "fss_mount_target_connections_limit",
        "fss_mount_target_encrypted_connections_limit",
    ): "Ceilings in force. OCI does not publish how many encrypted connections there are.",
    (
        "fss_mount_target_observed_iops_limit",
        "fss_mount_target_observed_read_bytes_per_second_limit",
        "fss_mount_target_observed_write_bytes_per_second_limit",
    ): "Observed ceilings: the largest load of six weeks that stood still while latency rose and more requests were in flight.",
    (
        "fss_mount_target_observed_limit_duration_seconds",
        "fss_mount_target_observed_limit_timestamp_seconds",
    ): "Length of the plateaus of an observed ceiling, and the end of the newest one.",
    (
        "fss_mount_target_iops",
        "fss_mount_target_io_operations_total",
    ): "Measured mount-target I/O operations. Only in tenancies that have the metric.",
    (
        "fss_mount_target_estimated_iops_lower_bound",
        "fss_mount_target_estimated_iops_upper_bound",
    ): "Least and most mount-target I/O operations per second that sizes and throughput allow, of published procedures.",
    (
        "fss_mount_target_read_bytes_per_second",
        "fss_mount_target_read_bytes_total",
        "fss_mount_target_write_bytes_per_second",
        "fss_mount_target_written_bytes_total",
    ): "Bytes read and written through the mount target.",
    (
        "fss_ldap_requests_total",
        "fss_ldap_request_latency_seconds",
    ): "LDAP requests, and their mean latency.",
    (
        "fss_file_system_read_bytes_per_second",
        "fss_file_system_write_bytes_per_second",
    ): "Bytes read from and written to a file system through one mount target per second.",
    (
        "fss_file_system_read_requests_per_second",
        "fss_file_system_write_requests_per_second",
    ): "READ and WRITE requests per second by size bucket.",
    (
        "fss_file_system_read_latency_seconds",
        "fss_file_system_write_latency_seconds",
    ): "Mean latency of READ and WRITE requests by size bucket. Absent without requests.",
    (
        "fss_file_system_soft_quota_violations_total",
        "fss_file_system_hard_quota_violations_total",
    ): "Write requests over a soft and over a hard quota. ListQuotaRules names the users.",
    (
        "fss_governance_snapshots",
        "fss_compliance_snapshots",
    ): "Snapshots with a lock that users can change (governance mode), and with a lock that becomes permanent (compliance mode).",
    (
        "fss_service_read_bytes_per_second",
        "fss_service_write_bytes_per_second",
        "fss_service_read_operations_per_second",
        "fss_service_write_operations_per_second",
        "fss_service_metadata_operations_per_second",
    ): "Bytes and operations per second as the service counts them. The unit of operations of Lustre is uncertain.",
    (
        "fss_service_space_bytes",
        "fss_service_inodes",
    ): "Space and inodes of a file system, total and available.",
    (
        "fss_service_iops_limit",
        "fss_service_bytes_per_second_limit",
    ): "Ceilings of reads and writes together: what OCI guarantees, else the published formula of kind and capacity.",
}

# Labels that come together, by the name that the tables have for them.
LABELS_OF = {
    "mount": ("network", "address", "server", "export", "service"),
    "mount target": ("tenancy", "region", "mount_target_id", "mount_target"),
    "file system": ("file_system_id", "file_system"),
    "resource": ("tenancy", "region", "service", "resource_id", "resource"),
    "process": ("network", "address", "process", "pod_namespace", "pod_name", "unit"),
    "address": ("network", "address"),
    "region": ("tenancy", "region"),
}


def page() -> str:
    """The whole page."""
    rooms = "\n".join(f"## {title}\n\n{about}\n\n{_table(rows)}" for title, about, rows in _rooms())
    groups = "\n".join(f"- *{name}*: {_coded(labels)}" for name, labels in LABELS_OF.items())
    return (
        "# Metrics\n\n"
        "For operators who write queries and alerts. A missing series is a missing figure, never zero. A counter (`_total`) begins at 0 "
        "with the exporter. `# HELP` of each metric on `/metrics` names its source. `make metrics` writes this page from the catalogue.\n\n"
        f"## The ten to begin with\n\n{_first()}\nNames with colons are recorded by the [rules](../rules/README.md).\n\n"
        f"## Labels\n\nLabels that come together have one name:\n\n{groups}\n\n{rooms}"
    )


def _first() -> str:
    rows = (f"| {question} | `{query}` | {meaning} |\n" for question, queries in FIRST for query, meaning in queries)
    return f"| question | query | answer |\n|---|---|---|\n{''.join(rows)}"


def _rooms() -> Iterable[tuple[str, str, Iterable[str]]]:
    for title, about, metrics in ROOMS:
        healthy = metrics is POLLER or metrics[0] in EXPORTER
        yield title, about, (map(_brief, metrics) if healthy else _rows(metrics))


def _table(rows: Iterable[str]) -> str:
    return f"| metric | labels | meaning |\n|---|---|---|\n{''.join(rows)}"


def _rows(metrics: Iterable[Declaration]) -> Iterable[str]:
    """A row of each metric, or of those that stand together."""
    group_of = {name: group for group in TOGETHER for name in group}
    for metric in metrics:
        group = group_of.get(metric.name)
        if group is None:
            yield _row(_name(metric), metric, f"{metric.help} {metric.detail}".rstrip())
        elif metric.name == group[0]:
            yield _row(" ".join(f"`{name}`" for name in group), metric, TOGETHER[group])


def _brief(metric: Declaration) -> str:
    first, _, _ = metric.help.partition(". ")
    return _row(_name(metric), metric, f"{first.removesuffix('.')}.")


def _row(names: str, metric: Declaration, meaning: str) -> str:
    return f"| {names} | {_labels(metric.labels)} | {_cell(meaning)} |\n"


def _name(metric: Declaration) -> str:
    """The name, with the type where the name does not say it."""
    return f"`{metric.name}` (histogram)" if metric.kind == "histogram" else f"`{metric.name}`"


def _labels(labels: tuple[str, ...]) -> str:
    """The labels, with the name of each group that is there as a whole in the place of its labels."""
    shown: list[str] = []
    rest = labels
    for name, group in LABELS_OF.items():
        if set(group) <= set(rest):
            shown.append(f"*{name}*")
            rest = tuple(label for label in rest if label not in group)
    return " ".join((*shown, _coded(rest))).strip()


def _coded(labels: tuple[str, ...]) -> str:
    return " ".join(f"`{label}`" for label in labels)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
