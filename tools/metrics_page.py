"""docs/metrics.md from the catalogue: `make metrics`."""

from collections.abc import Iterable
from pathlib import Path

from fss_exporter.catalogue import CLIENT, CLOUD, EXACT, EXPORTER, PROCESSES, Metric

PAGE = Path(__file__).parent.parent / "docs" / "metrics.md"

ROOMS: tuple[tuple[str, str, tuple[Metric, ...]], ...] = (
    ("Client", "From `/proc/1/mountstats` of the host the agent runs on.", CLIENT),
    (
        "Client in exact mode",
        "With `--nfs.exact`, from tables of the kernel in tracefs. [exact-mode.md](exact-mode.md) says when to use exact mode.",
        EXACT,
    ),
    (
        "Client by process",
        "With `--nfs.exact.processes=N`, from tables of the kernel in tracefs. A process outside of the first N is in process `other`, a worker of the kernel in process `kernel`, and write-back without a known author in process `unknown writer`. A real process of such a name has (process) behind the name. [exact-mode.md](exact-mode.md#load-by-process) says how the load is given to processes.",
        PROCESSES,
    ),
    ("Cloud", "From OCI's inventory and Monitoring, by the poller.", CLOUD),
    ("The exporter about itself", "The exporter also serves the usual `process_` metrics.", EXPORTER),
)

LABELS_OF = {
    "mount": ("network", "address", "server", "export", "service"),
    "mount target": ("tenancy", "region", "mount_target_id", "mount_target"),
    "file system": ("file_system_id", "file_system"),
    "resource": ("tenancy", "region", "service", "resource_id", "resource"),
}
"""Labels that come together, by the name that the tables have for them."""


def page() -> str:
    """The whole page."""
    rooms = "\n".join(f"## {title}\n\n{about}\n\n{_table(metrics)}" for title, about, metrics in ROOMS)
    groups = "\n".join(f"- *{name}*: {_coded(labels)}" for name, labels in LABELS_OF.items())
    return (
        "# Metrics\n\n"
        "For operators who write queries and alerts. `make metrics` writes this page from the catalogue. Units are base units, and a "
        "ratio is between 0 and 1. A missing series is a missing figure, never zero. Labels that come together have one name:\n\n"
        f"{groups}\n\n{rooms}"
    )


def _table(metrics: Iterable[Metric]) -> str:
    rows = (
        f"| `{metric.name}` | {metric.kind} | {_labels(metric.labels)} "
        f"| {_cell(f'{metric.help} {metric.detail}'.rstrip())} | {_cell(metric.origin)} |\n"
        for metric in metrics
    )
    return f"| metric | type | labels | meaning | source |\n| --- | --- | --- | --- | --- |\n{''.join(rows)}"


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
