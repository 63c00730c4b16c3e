"""The page of metrics is the catalogue's, and the catalogue is well formed."""

import re
from collections import Counter

from tests.rules.pack import RULE_FILES, rules_of
from tools.generate.metrics_page import FIRST, PAGE, TOGETHER, page

from fss_exporter.catalogue import CATALOGUE, CLIENT, CLOUD, EXACT, EXPORTER, PROCESSES

_METRIC = re.compile(r"\b(?:[a-z_]+:)?fss_[a-z0-9_]+(?::[a-z0-9_]+)?\b")


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "write it anew: make metrics"


def test_every_metric_is_on_the_page_and_those_of_one_row_have_the_same_labels() -> None:
    assert {name for name in CATALOGUE if name.startswith("fss_") and f"`{name}`" not in PAGE.read_text()} == set()
    assert [group for group in TOGETHER if len({CATALOGUE[name].labels for name in group}) > 1] == []


def test_each_of_the_ten_to_begin_with_is_exported_or_recorded() -> None:
    recorded = {rule.name for path in RULE_FILES for rule in rules_of(path) if not rule.is_alert}
    assert _ten() <= set(CATALOGUE) | recorded


def test_the_start_pages_use_only_the_ten_to_begin_with() -> None:
    used = {
        name
        for start in (PAGE.parent / "start").glob("*.md")
        for block in re.findall(r"(?s)```(?:promql|console)\n(.*?)```", start.read_text())
        for name in _METRIC.findall(block)
    }
    assert used <= _ten()


def test_no_metric_is_declared_twice() -> None:
    assert [
        name
        for name, times in Counter(row.name for row in (*CLIENT, *EXACT, *PROCESSES, *CLOUD, *EXPORTER)).items()
        if times > 1
    ] == []


def test_a_row_keeps_the_conventions_of_prometheus() -> None:
    for metric in CATALOGUE.values():
        assert re.fullmatch(r"fss(_[a-z0-9]+)+", metric.name), metric
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric
        assert metric.name.endswith("_info") == (metric.kind == "info"), metric
        assert all(re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", label) for label in metric.labels), metric
        assert not {"type", "instance", "job", "le", "quantile"} & set(metric.labels), metric
        assert not metric.name.endswith(
            ("_count", "_sum", "_bucket", "_created", "_milliseconds", "_kilobytes", "_percent")
        ), metric


def test_help_is_one_line_that_names_its_source() -> None:
    assert [metric for metric in CATALOGUE.values() if not metric.origin or "\n" in metric.help_text] == []


def test_a_modelled_metric_says_so_in_its_name() -> None:
    for metric in CATALOGUE.values():
        modelled = "estimate" in metric.help.lower() and metric.unit in ("operations", "operations_per_second")
        assert not modelled or "estimated" in metric.name, metric


def _ten() -> set[str]:
    return {name for _, queries in FIRST for query, _ in queries for name in _METRIC.findall(query)}
