"""docs/metrics.md from the catalogue: `make metrics`."""

from collections.abc import Iterable
from pathlib import Path

from fss_exporter.catalogue import CLIENT, CLOUD, EXACT, EXPORTER, Metric

PAGE = Path(__file__).parent.parent / "docs" / "metrics.md"

ROOMS: tuple[tuple[str, str, tuple[Metric, ...]], ...] = (
    ("Client", "From `/proc/1/mountstats` of the host the agent runs on.", CLIENT),
    (
        "Client in exact mode",
        "With `--nfs.exact`, from tables the kernel keeps in tracefs; [when to use it](cost-model.md#exact-mode).",
        EXACT,
    ),
    ("Cloud", "From OCI's inventory and Monitoring, by the poller.", CLOUD),
    ("The exporter about itself", "Beside these there are the usual `process_` metrics.", EXPORTER),
)


def page() -> str:
    """The whole page."""
    rooms = "\n".join(f"## {title}\n\n{about}\n\n{_table(metrics)}" for title, about, metrics in ROOMS)
    return (
        "# Metrics\n\n"
        "Made from the catalogue by `make metrics`. Units are base units; a ratio is between 0 and 1. A series that is "
        "missing means that the source said nothing, never zero.\n\n"
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
