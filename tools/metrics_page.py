"""docs/metrics.md from the catalogue: `make metrics`."""

from collections.abc import Iterable
from pathlib import Path

from fss_exporter.catalogue import CLIENT, CLOUD, EXACT, EXPORTER, PROCESSES, Metric

PAGE = Path(__file__).parent.parent / "docs" / "metrics.md"

ROOMS: tuple[tuple[str, str, tuple[Metric, ...]], ...] = (
    ("Client", "From `/proc/1/mountstats` of the host the agent runs on.", CLIENT),
    (
        "Client in exact mode",
        "With `--nfs.exact`, from tables of the kernel in tracefs. [cost-model.md](cost-model.md#exact-mode) says when to use exact mode.",
        EXACT,
    ),
    (
        "Client by process",
        "With `--nfs.exact.processes=N`, from tables of the kernel in tracefs. Each address has at most N + 1 series of a metric, and twice as many of bytes. [cost-model.md](cost-model.md#load-by-process) says how the load is given to processes.",
        PROCESSES,
    ),
    ("Cloud", "From OCI's inventory and Monitoring, by the poller.", CLOUD),
    ("The exporter about itself", "The exporter also serves the usual `process_` metrics.", EXPORTER),
)


def page() -> str:
    """The whole page."""
    rooms = "\n".join(f"## {title}\n\n{about}\n\n{_table(metrics)}" for title, about, metrics in ROOMS)
    return (
        "# Metrics\n\n"
        "For operators who write queries and alerts. `make metrics` writes this page from the catalogue. Units are base units, and a "
        "ratio is between 0 and 1. A missing series is a missing figure, never zero.\n\n"
        f"{rooms}"
    )


def _table(metrics: Iterable[Metric]) -> str:
    rows = (
        f"| `{metric.name}` | {metric.kind} | {' '.join(f'`{label}`' for label in metric.labels)} | {metric.unit} "
        f"| {_cell(f'{metric.help} {metric.detail}'.rstrip())} | {_cell(metric.origin)} |\n"
        for metric in metrics
    )
    return (
        f"| metric | type | labels | unit | meaning | source |\n| --- | --- | --- | --- | --- | --- |\n{''.join(rows)}"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
