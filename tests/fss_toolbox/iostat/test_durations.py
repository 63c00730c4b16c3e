"""p50 and p99 of `iostat`: upper edges of classes, counted live or read from an agent."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.fss_kernel_counting.durations.latency_host import HERE, Call, ready
from tests.fss_kernel_counting.host import Mount

from fss_exporter.client_scrape import durations_between
from fss_exporter.model.histograms import CallsByEdge, in_classes, quantile_edge
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.ceilings import judge
from fss_toolbox.iostat import report_output
from fss_toolbox.iostat.host_reports import with_durations
from fss_toolbox.iostat.traffic_report import Report, ReportOrder
from fss_toolbox.scrape_text import read_scrape

KEY = SeriesKey(HERE, "server", "/export")
ORDER = ReportOrder("mount", "iops", None)
REPORT = Report("this host", {KEY: Traffic({"READ": OperationTraffic(2.0)})}, {}, seconds=5.0)


def cells(calls: CallsByEdge) -> tuple[str, ...]:
    """The p50 and p99 in the row of the mount target."""
    console = Console(record=True, width=400)
    report_output.show(console, replace(REPORT, durations={HERE: calls}), judge("standard", None), ORDER)
    row = next(line for line in console.export_text().splitlines() if line.startswith(HERE))
    return tuple(re.split(r"\s{2,}", row.strip())[-2:])


@pytest.mark.parametrize(
    ("quantile", "edge"), [(0.5, 0.004096), (0.9, 0.004096), (0.91, 0.131072), (0.99, 0.131072), (1.0, 0.131072)]
)
def test_a_quantile_is_the_upper_edge_of_its_class(quantile: float, edge: float) -> None:
    assert quantile_edge({0.004096: 9, 0.008192: 0, 0.131072: 1}, quantile) == edge


def test_no_requests_have_no_quantile() -> None:
    assert quantile_edge({0.004096: 0}, 0.5) is None
    assert cells({}) == ("-", "-")


def test_texts_say_that_the_quantile_is_at_most_an_edge_or_above_the_largest() -> None:
    assert cells({0.000256: 99, 0.008192: 1}) == ("<= 0.256", "<= 0.256")
    assert cells({0.008192: 1, math.inf: 1}) == ("<= 8.2", "> 16,777.2")
    report = replace(REPORT, durations={HERE: {0.008192: 1, math.inf: 1}})
    (target,) = report_output.document(report, judge("standard", None), ORDER)["mount_targets"]
    assert (target["p50_at_most_seconds"], target["p99_at_most_seconds"]) == (0.008192, None)


def test_cumulative_buckets_become_classes() -> None:
    assert in_classes({0.1: 3.0, 0.2: 3.0, math.inf: 5.0}) == {0.1: 3.0, 0.2: 0.0, math.inf: 2.0}


def test_each_report_has_the_requests_of_its_own_interval(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)

    def reports() -> Iterator[Report]:
        for took in (5_000, 100_000):
            host.call(Call(40, mount, microseconds=took))
            yield REPORT

    first, second = with_durations(reports(), host.reader)

    assert {edge: count for edge, count in first.durations[HERE].items() if count} == {0.008192: 1}
    assert {edge: count for edge, count in second.durations[HERE].items() if count} == {0.131072: 1}


def test_the_table_has_the_columns_in_exact_mode_only() -> None:
    shown = {}
    for counted in (True, False):
        console = Console(record=True, width=400)
        report = replace(REPORT, durations={HERE: {0.008192: 1}} if counted else {})
        report_output.show(console, report, judge("standard", None), ORDER)
        shown[counted] = console.export_text()

    assert "p99 ms" in shown[True]
    assert "<= 8.2" in shown[True]
    assert "p99 ms" not in shown[False]


def test_an_agents_histograms_give_the_requests_between_two_scrapes() -> None:
    def scrape(fast: int, slow: int) -> str:
        buckets = {"0.008192": fast, "0.131072": fast + slow, "+Inf": fast + slow}
        lines = (
            f'fss_client_request_duration_seconds_bucket{{address="{HERE}",class="{of_class}",le="{edge}"}} {count}\n'
            for of_class in ("read", "write")
            for edge, count in buckets.items()
        )
        return "# TYPE fss_client_request_duration_seconds histogram\n" + "".join(lines)

    before, after = read_scrape("agent", scrape(5, 0)), read_scrape("agent", scrape(6, 3))

    assert durations_between(before, after) == {HERE: {0.008192: 2.0, 0.131072: 6.0, math.inf: 0.0}}
