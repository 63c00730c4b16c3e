"""Write the calls of a poll into docs/scaling.md, computed from the table of metrics. `make chart` runs it."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from fss_exporter.oci.inventory.oci_inventory import Export
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.metrics.query_parts import QueryParts
from fss_exporter.settings import Oci
from fss_exporter.shard import WHOLE

Figure = Callable[[re.Match[str]], str]  # what stands in the place of a match

PAGE = Path(__file__).parents[2] / "docs/scaling.md"
LARGE = 10_000
SYSTEMS_EACH = 4
OF_THE_TENANCY = 10.0  # calls a second that OCI Monitoring answers
MOST = 9.0  # calls a second of a poller that leaves one for others. The setting takes less than 10


@cache
def calls_by_metric(mount_targets: int, systems_each: int) -> dict[str, int]:
    """Calls of one poll of a region, if every metric has data of every resource. A window has two minutes in most polls."""
    targets = [str(number) for number in range(mount_targets)]
    exports = tuple(
        Export(
            id="",
            path="/",
            state="ACTIVE",
            file_system_id=f"{target}-{number}",
            export_set_id="",
            mount_target_id=target,
        )
        for target in targets
        for number in range(systems_each)
    )
    inventory: Any = SimpleNamespace(
        mount_targets=targets,
        other_mount_targets={},
        own_file_systems=[SimpleNamespace(id=export.file_system_id) for export in exports],
        exports=exports,
        service_resources={},
        shard=WHOLE,
    )
    return {name: len(QueryParts(metric).parts(inventory, minutes=2)) for name, metric in METRICS.items()}


def calls_a_minute(large: Oci) -> float:
    """Calls a minute of the large tenancy with the intervals of a configuration."""
    intervals = {name: large.intervals.get(name, metric.interval_seconds) for name, metric in METRICS.items()}
    return sum(calls * 60 / max(60.0, intervals[name]) for name, calls in calls_by_metric(LARGE, SYSTEMS_EACH).items())


def with_calls(text: str) -> str:
    """Return the page with the figures of today. A ValueError names a figure that the page does not have."""
    whole, default = len(METRICS), Oci().calls_per_second
    large = Oci.model_validate(yaml.safe_load(_only(r"# fss-exporter-large\.yml\n(.*?)```", text))["oci"])
    figures: dict[str, Figure] = {
        r"at most \d+, for as many metrics": lambda _: f"at most {whole}, for as many metrics",
        r"\| [\d.]+ a second \|": lambda _: f"| {whole / 60:.2f} a second |",
        r"`calls_per_second: \d+`, the default, for a minute \| \d+, enough for \d+ regions, or for one region in \d+": (
            lambda _: (
                f"`calls_per_second: {default:g}`, the default, for a minute | {default * 60:g}, enough for"
                f" {default * 60 // whole:g} regions, or for one region in {default * 60 // whole:g}"
            )
        ),
        r"^\| ([\d,]+) with (\d) (file systems? each) \|.*\|$": _row,
        r"then need \d+ calls a minute instead of \d+": lambda _: (
            f"then need {calls_a_minute(large):.0f} calls a minute instead of {_calls(LARGE, SYSTEMS_EACH)}"
        ),
    }
    for pattern, figure in figures.items():
        text, count = re.subn(pattern, figure, text, flags=re.MULTILINE)
        if not count:
            raise ValueError(f"{PAGE}: nothing like {pattern}")
    return text


def _row(row: re.Match[str]) -> str:
    calls = _calls(int(row[1].replace(",", "")), int(row[2]))
    seconds = (f"{calls / rate:.0f} s" for rate in (Oci().calls_per_second, MOST))
    return f"| {row[1]} with {row[2]} {row[3]} | {calls:,} | {' | '.join(seconds)} |"


def _calls(mount_targets: int, systems_each: int) -> int:
    return sum(calls_by_metric(mount_targets, systems_each).values())


def _only(pattern: str, text: str) -> str:
    (block,) = re.findall(pattern, text, re.DOTALL)
    return str(block)


if __name__ == "__main__":
    PAGE.write_text(with_calls(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
