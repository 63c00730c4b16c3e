"""The queries of the dashboards: they ask for what exists, in the unit that is shown, and colour as the alerts do."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
from tests.artefacts.promql import Dimension, dimension_of_unit, selectors
from tests.artefacts.shipped_dashboards import NAMES, PANELS, QUERIES, Panel, parsed
from tests.rules.pack import CORE_FILES, rules_of
from tools.generate.dashboards.words import WITHOUT_POLLER

from fss_exporter.model.thresholds import (
    CRITICAL_RATIO,
    LATENCY_CRITICAL_RATIO,
    WARNING_RATIO,
)

# What a Grafana unit may show, by dimension; a mean per operation is a time or a size.
UNITS: dict[str, set[Dimension]] = {
    "s": {dimension_of_unit("seconds"), (("n", -1), ("s", 1))},
    "bytes": {dimension_of_unit("bytes"), (("bytes", 1), ("n", -1))},
    "Bps": {dimension_of_unit("bytes_per_second")},
    "iops": {dimension_of_unit("operations_per_second")},
    "ops": {dimension_of_unit("operations_per_second")},
    "reqps": {dimension_of_unit("requests_per_second")},
    "cps": {dimension_of_unit("records_per_second")},
    "percentunit": {()},
    "none": {(), dimension_of_unit("operations")},
    "short": {(), dimension_of_unit("operations")},
    "bool_yes_no": {()},
}

# Steps that are neither of a ceiling nor of an objective equal the numbers of these rules.
STEPS_OF_RULES = {
    (60,): "exporter:fss_fault:max",
    (420, 900): "FssOciDataLate",
    (0.05,): "exporter:fss_fault:max",
    (0.01,): "FssClientRetransmissions",
    (1.5,): "FssFileSystemLoadUneven",
    (2,): "FssReplicationBehind",
}
STEPS_OF_BURN: tuple[float, ...] = (1, 14.4)  # the slowest burn that is a ticket, and the burn that pages
STEPS_OF_BUDGET: tuple[float, ...] = (0, 0.25)
_RULES = "".join(path.read_text("utf-8") for path in CORE_FILES)

# A panel that divides by ceilings of the model as numbers, which have no dimension.
OVER_NUMBERS = "Which shape carries this load"

COUNT_STEPS = {(), (1,), (2,)}  # none; one is too many; more than one


@pytest.mark.parametrize(
    ("expr", "complaint"),
    [
        ("fss_mount_target_iop", "neither in the catalogue nor recorded"),
        ('fss_mount_target_iops{adress="10.80.1.10"}', "no label adress"),
        ("sum by (operation) (fss_mount_target_iops)", "no such label"),
        ("fss_mount_target_iops * on (address) group_left (fqdn) fss_mount_target_info", "not on the left side"),
        ("sgn(fss_mount_target_iops)", "is not known here"),
    ],
)
def test_a_query_for_what_does_not_exist_would_be_found(expr: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        NAMES.series(parsed(expr))


@pytest.mark.parametrize(
    ("expr", "unit"),
    [
        ("rate(fss_client_read_bytes_total[5m])", "Bps"),
        ("sum(rate(fss_client_rtt_seconds_total[5m])) / sum(rate(fss_client_operations_total[5m]))", "s"),
        ("fss_mount_target_iops / fss_mount_target_iops_limit", "percentunit"),
        ("time() - fss_oci_poll_timestamp_seconds", "s"),
        ("count(fss_client_read_bytes_total)", "none"),
    ],
)
def test_the_dimension_of_an_expression_follows_from_its_metrics(expr: str, unit: str) -> None:
    fitting = {name for name, dimensions in UNITS.items() if NAMES.series(parsed(expr)).dimension in dimensions}

    assert unit in fitting
    assert fitting.isdisjoint({"s", "bytes", "Bps", "iops"} - {unit})


def test_a_query_parses_and_asks_only_for_names_and_labels_that_exist() -> None:
    for panel, ref, expr, legend in QUERIES:
        labels = NAMES.series(parsed(expr)).labels

        if panel.body["type"] == "timeseries":
            assert legend != "__auto", f"{ref} has no legend"
            assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= labels, f"{panel} {ref}"
            assert "_id}}" not in legend, "people know names, not OCIDs"


def test_the_unit_of_a_query_is_the_unit_that_is_shown() -> None:
    for panel, ref, expr, legend in QUERIES:
        dimension = NAMES.series(parsed(expr)).dimension
        if panel.body["type"] == "heatmap":
            assert "_bucket{" in expr, "the unit is that of the edges of the buckets"
            continue
        unit = panel.body["fieldConfig"]["defaults"]["unit"]
        if panel.body["type"] == "table":
            field = "Value" if len(panel.body["targets"]) == 1 else f"Value #{ref}"
            unit = next(
                (
                    the_property["value"]
                    for override in panel.body["fieldConfig"]["overrides"]
                    if override["matcher"]["options"] == field
                    for the_property in override["properties"]
                    if the_property["id"] == "unit"
                ),
                None,
            )
        if unit is None:
            assert legend in {"info", "mounts"}, "a value that is shown has a unit"
        elif panel.title != OVER_NUMBERS and expr != WITHOUT_POLLER.expr:
            assert dimension in UNITS[unit], f"{legend} is {dimension}, shown as {unit}"


def _shown_values() -> Iterator[tuple[str, str, tuple[Any, Any]]]:
    """Where a value is shown (graph or not), under which name, with which unit and digits."""
    for panel in PANELS:
        shown = panel.body["fieldConfig"]
        if panel.body["type"] == "table":
            for override in shown["overrides"]:
                properties = {entry["id"]: entry["value"] for entry in override["properties"]}
                if "unit" in properties:
                    yield "number", properties["displayName"], (properties["unit"], properties.get("decimals"))
        elif panel.body["type"] != "heatmap":
            kind = "line" if panel.body["type"] == "timeseries" else "number"
            yield kind, panel.title.split(":")[0], (shown["defaults"]["unit"], shown["defaults"].get("decimals"))


def test_what_has_one_name_has_one_unit_and_as_many_digits_in_all_dashboards() -> None:
    by_name: dict[tuple[str, str], set[tuple[Any, Any]]] = defaultdict(set)
    for kind, name, unit in _shown_values():
        by_name[kind, name].add(unit)

    assert {name: units for name, units in by_name.items() if len(units) > 1} == {}


def test_counters_are_only_seen_as_rates_over_the_interval_grafana_chooses() -> None:
    for panel, ref, expr, legend in QUERIES:
        windows = re.findall(r"\bi?rate\([^\[]*\[([^\]]*)\]", expr)

        assert set(windows) <= {"$__rate_interval"}, f"{panel} {ref} {legend}"
        assert [name for name in _outside_of_ranges(parsed(expr)) if name.endswith("_total")] == [], f"{panel} {ref}"


def _outside_of_ranges(node: Any) -> Iterator[str]:
    """Names of the series whose values are taken as they are."""
    if isinstance(node, promql_parser.VectorSelector):
        yield str(node.name)
    if isinstance(node, promql_parser.MatrixSelector):
        return
    for part in ("lhs", "rhs", "expr"):
        child = getattr(node, part, None)
        if isinstance(child, promql_parser.Expr):
            yield from _outside_of_ranges(child)
    for argument in getattr(node, "args", None) or ():
        yield from _outside_of_ranges(argument)


def test_a_rate_has_data_at_a_scrape_of_a_minute_whatever_the_data_source_says() -> None:
    for panel, ref, expr, legend in QUERIES:
        (target,) = (target for target in panel.body["targets"] if target["refId"] == ref)

        assert (target.get("interval") == "1m") == ("$__rate_interval" in expr), legend


def test_a_table_shows_labels_its_queries_have() -> None:
    for panel in PANELS:
        if panel.body["type"] != "table":
            continue
        labels = frozenset[str]().union(*(NAMES.series(parsed(expr)).labels for _, expr, _ in panel.queries()))
        fields = {"Value"} if len(panel.body["targets"]) == 1 else {f"Value #{ref}" for ref, _, _ in panel.queries()}
        for override in panel.body["fieldConfig"]["overrides"]:
            assert override["matcher"]["options"] in labels | fields, panel
        headings = {
            entry["value"]
            for override in panel.body["fieldConfig"]["overrides"]
            for entry in override["properties"]
            if entry["id"] == "displayName"
        }
        assert {by["displayName"] for by in panel.body["options"]["sortBy"]} <= headings, panel
        for url in re.findall(r"__data\.fields\.(\w+)", json.dumps(panel.body)):
            assert url in labels, panel


def steps_of(thresholds: dict[str, Any]) -> tuple[float, ...]:
    return tuple(step["value"] for step in thresholds["steps"] if step["value"] is not None)


def coloured(panel: Panel) -> Iterator[tuple[str, tuple[float, ...], tuple[str, ...]]]:
    """Expression, steps and colours of everything in a panel that has steps."""
    defaults = panel.body["fieldConfig"]["defaults"]
    if panel.body["type"] != "table":
        for _, expr, _ in panel.queries() if "thresholds" in defaults else ():
            if expr == WITHOUT_POLLER.expr:
                continue  # a word in place of a number
            yield expr, steps_of(defaults["thresholds"]), _colours(defaults["thresholds"])
        return
    by_field = {f"Value #{ref}": expr for ref, expr, _ in panel.queries()} | {"Value": panel.body["targets"][0]["expr"]}
    for override in panel.body["fieldConfig"]["overrides"]:
        for entry in override["properties"]:
            if entry["id"] == "thresholds":
                yield by_field[override["matcher"]["options"]], steps_of(entry["value"]), _colours(entry["value"])


def _colours(thresholds: dict[str, Any]) -> tuple[str, ...]:
    return tuple(step["color"] for step in thresholds["steps"])


def test_colours_change_where_the_model_and_the_alerts_say() -> None:
    rules = expressions_by_name()
    for panel in PANELS:
        for expr, steps, colours in coloured(panel):
            if "slo:fss_error_budget_burn" in expr and steps:
                assert steps == STEPS_OF_BURN, panel
                assert re.search(rf"burn:ratio.*> {steps[1]}\b", _RULES), panel
            elif "slo:fss_error_budget_left" in expr:
                assert (steps, colours) == (STEPS_OF_BUDGET, ("red", "orange", "green")), panel
            elif re.search(r"fss_mount_target_latency_objective_ratio", expr):
                assert (steps, colours) == ((WARNING_RATIO, LATENCY_CRITICAL_RATIO), ("green", "orange", "red")), panel
            elif (
                steps
                and re.search(r":fss_utilisation:(ratio|last|max|forecast|busiest)", expr)
                and "count(" not in expr
            ):
                assert (steps, colours) == ((WARNING_RATIO, CRITICAL_RATIO), ("green", "orange", "red")), panel
            elif steps in STEPS_OF_RULES:
                numbers = {
                    float(number)
                    for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", rules[STEPS_OF_RULES[steps]])
                }
                assert set(steps) <= numbers, panel
            else:
                assert steps in COUNT_STEPS | {(WARNING_RATIO, CRITICAL_RATIO)}, panel


def expressions_by_name() -> dict[str, str]:
    """All expressions of an alert or a record by its name."""
    expressions: dict[str, str] = {}
    for rule in (rule for path in CORE_FILES for rule in rules_of(path)):
        expressions[rule.name] = f"{expressions.get(rule.name, '')} {rule.expr}"
    return expressions


def test_a_graph_reads_no_series_of_every_client_over_the_time_shown() -> None:
    for panel in PANELS:
        # With 2,000 clients such a graph costs seconds of CPU, and `make bench-dashboards` has these series for a few minutes only.
        graphs = [target["expr"] for target in panel.body["targets"] if not target["instant"]]
        read = {selector.name for expr in graphs for selector in selectors(parsed(expr)) if not _of_some(selector)}

        assert [name for name in read if re.fullmatch(r"fss_(client|nfs_sent|nfs_received)_\w+", name)] == [], panel


def _of_some(selector: Any) -> bool:
    """Whether a selector is for clients that are chosen by name, or for one mount target."""
    matchers = {(matcher.name, str(matcher.op).removeprefix("MatchOp.")) for matcher in selector.matchers.matchers}
    return ("address", "Equal") in matchers or any(name == "every" and op.startswith("NotRe") for name, op in matchers)
