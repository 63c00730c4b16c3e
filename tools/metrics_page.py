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

PAGE = Path(__file__).parent.parent / "docs" / "metrics.md"

ROOMS: tuple[tuple[str, str, tuple[Declaration, ...]], ...] = (
    (
        "Client",
        "From the agent, which reads `/proc/1/mountstats` of its host at every tick. The label `class` is `read`, `write`, `metadata_read` (changes nothing) or `metadata_write`.",
        CLIENT,
    ),
    (
        "Client in exact mode",
        "With `--nfs.exact`, from hist triggers of the kernel in tracefs. [exact-mode.md](exact-mode.md) says when to use it. Durations leave out calls that keep a connection or a lease, such as NULL, RENEW and SEQUENCE. Their edges are powers of two of a microsecond.",
        EXACT,
    ),
    (
        "Client by process and batch job",
        "With `--nfs.exact.processes=N` and `--nfs.exact.jobs=N`, see [exact-mode.md](exact-mode.md#load-by-process). Processes outside of the first N are `other`, workers of the kernel are `kernel`, and write-back without a known author is `unknown writer`. A real process of such a name has (process) behind it. `pod_name` has the uid where the name is not known, and `unit` the systemd unit of a process outside of pods. Use rate() or increase(), because a process or job that leaves the first N takes its counts along.",
        PROCESSES,
    ),
    ("Inventory", "From the listings of OCI, by the poller.", INVENTORY),
    (
        "Mount targets",
        "From OCI Monitoring, by the poller. Gauges have the newest complete minute of OCI, and counters take each minute once, however late. A ceiling that is neither published nor configured has no series.",
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
    ("The poller", "What the poller does for each region, and what OCI answers.", POLLER),
    (
        "The exporter about itself",
        "What agent and poller say about their own health. `prometheus_client` adds its `process_` metrics (processor, memory, open files, start), and its `python_` metrics on a poller.",
        tuple(metric for metric in EXPORTER if metric.name.startswith("fss_")),
    ),
)

# The ten to begin with: each question, and the queries that answer it.
FIRST = (
    (
        "How close",
        (
            ("mount_target:fss_utilisation:ratio", "share of each ceiling in use, by `resource` and `source`"),
            ("fss_mount_target_latency_objective_ratio", "latency as a multiple of its objective"),
            ("mount_target:fss_state:worst", "one word for it all, from 0 (fine) to 5 (hanging)"),
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
            ("mount_target:fss_mount_targets_needed:count", "mount targets for 80 % of every ceiling"),
            ("fss_expected - fss_seen", "what is not seen: above 0 the answers have gaps"),
        ),
    ),
)

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
    rooms = "\n".join(f"## {title}\n\n{about}\n\n{_table(metrics)}" for title, about, metrics in ROOMS)
    groups = "\n".join(f"- *{name}*: {_coded(labels)}" for name, labels in LABELS_OF.items())
    return (
        "# Metrics\n\n"
        "For operators who write queries and alerts. `make metrics` writes this page from the catalogue. Units are base units, and a "
        "ratio is between 0 and 1. A missing series is a missing figure, never zero. A counter (`_total`) begins at 0 with the exporter. "
        "A metric that ends in `_info` has the value 1, and its labels say something. `# HELP` of each metric on `/metrics` names its source.\n\n"
        f"## The ten to begin with\n\n{_first()}\nNames with colons are recorded by the [rules](../rules/README.md).\n\n"
        f"## Labels\n\nLabels that come together have one name:\n\n{groups}\n\n{rooms}"
    )


def _first() -> str:
    rows = (f"| {question} | `{query}` | {meaning} |\n" for question, queries in FIRST for query, meaning in queries)
    return f"| question | query | answer |\n|---|---|---|\n{''.join(rows)}"


def _table(metrics: Iterable[Declaration]) -> str:
    rows = (
        f"| {_name(metric)} | {_labels(metric.labels)} | {_cell(f'{metric.help} {metric.detail}'.rstrip())} |\n"
        for metric in metrics
    )
    return f"| metric | labels | meaning |\n|---|---|---|\n{''.join(rows)}"


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
