"""The rules pack held to the code and the dashboards, in both directions."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import promql_parser
import pytest
from tests.artefacts.promql import Names, Series
from tests.rules.pack import ROOT, RULE_FILES, RULES, rules_of

from fss_exporter.model.limits import SHAPES
from fss_exporter.model.operations import FIXED_COSTS, class_of
from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.thresholds import (
    CRITICAL_RATIO,
    DEFAULT_LATENCY_SECONDS,
    SLO_OBJECTIVES,
    WARNING_RATIO,
)

PACK = [rule for path in RULE_FILES for rule in rules_of(path)]
ALERTS = [rule for rule in PACK if rule.is_alert]
RUNBOOK_URL = "docs/runbook.md#"
SEVERITIES = {"critical", "warning", "info"}


_MOUNTSTATS = frozenset({"network", "job", "instance", "export", "protocol", "mountaddr"})
_OF_NODE_EXPORTER = {
    "node_mountstats_nfs_operations_requests_total": _MOUNTSTATS | {"operation"},
    "node_mountstats_nfs_operations_transmissions_total": _MOUNTSTATS | {"operation"},
    "node_mountstats_nfs_operations_queue_time_seconds_total": _MOUNTSTATS | {"operation"},
    "node_mountstats_nfs_operations_response_time_seconds_total": _MOUNTSTATS | {"operation"},
    "node_mountstats_nfs_total_read_bytes_total": _MOUNTSTATS,
    "node_mountstats_nfs_total_write_bytes_total": _MOUNTSTATS,
    "node_mountstats_nfs_event_inode_revalidate_total": _MOUNTSTATS,
    "node_mountstats_nfs_transport_connect_total": _MOUNTSTATS | {"transport"},
    "node_mountstats_nfs_transport_sends_total": _MOUNTSTATS | {"transport"},
    "node_mountstats_nfs_transport_receives_total": _MOUNTSTATS | {"transport"},
    "node_scrape_collector_success": frozenset({"job", "instance", "collector"}),
}


@cache
def names() -> Names:
    """What a rule may ask for: the catalogue, our own recordings, and of node_exporter exactly the above."""
    by_name = dict(Names.of_this_project().by_name)
    by_name |= {name: Series(labels) for name, labels in _OF_NODE_EXPORTER.items()}
    del by_name[
        "ALERTS"
    ]  # an alert that is held back by Alertmanager fires as well. Rules read the record of its condition
    for rule in rules_of(RULES / "node_exporter.yml"):
        if not rule.is_alert:
            made = Names(by_name).series(promql_parser.parse(rule.expr))
            held = by_name.get(rule.name, made)
            by_name[rule.name] = Series(held.labels | made.labels | rule.labels.keys(), held.dimension)
    return Names(by_name)


def queries_in(text: str) -> Iterator[str]:
    """The expressions a text asks for with `query`, with a value in place of `%q`, which quotes any value."""
    for quoted in re.findall(r'printf "((?:[^"\\]|\\.)*)" [^|{}]*\| query', text):
        yield quoted.replace(r"\"", '"').replace("%q", '"x"')


def test_every_selector_names_a_known_metric_and_labels_it_has() -> None:
    for rule in PACK:
        names().series(promql_parser.parse(rule.expr))


def test_texts_speak_of_labels_the_alert_has_and_of_metrics_that_exist() -> None:
    for rule in ALERTS:
        labels = names().series(promql_parser.parse(rule.expr)).labels | rule.labels.keys()

        for key, text in rule.annotations.items():
            spoken = set(re.findall(r"\$labels\.(\w+)", text))
            assert spoken <= labels, f"{rule}: {key} speaks of {spoken - labels}, the alert has {sorted(labels)}"
            for query in queries_in(text):
                assert "%" not in query, f"{rule}: {query} breaks at a value with a quotation mark"
                names().series(promql_parser.parse(query))


def test_an_alert_tells_what_is_wrong_what_to_do_and_where_to_read_on() -> None:
    for rule in ALERTS:
        annotations = rule.annotations

        assert set(annotations) == {"summary", "description", "runbook_url", "dashboard_url"}, rule
        assert re.fullmatch(r"Fss([A-Z][a-z]+)+", rule.name), rule
        assert rule.labels.keys() - {"case"} == {"severity"}, rule
        assert rule.labels["severity"] in SEVERITIES, rule
        assert "{{" not in annotations["summary"], (
            f"{rule}: the summary heads a group of alerts and cannot speak of one"
        )
        assert annotations["runbook_url"] == RUNBOOK_URL + rule.name.lower(), rule
        assert "keep_firing_for" in rule.fields, f"{rule}: data come late, and in pairs"


def test_an_alert_occurs_once_for_each_severity_and_case() -> None:
    counted = Counter((rule.name, *sorted(rule.labels.items())) for rule in ALERTS)

    assert not [key for key, count in counted.items() if count > 1]


def test_a_text_asks_two_queries_at_most() -> None:
    """Each alert that fires asks them in every evaluation."""
    asking = {f"{rule} {key}": text.count("| query") for rule in ALERTS for key, text in rule.annotations.items()}

    assert not {of: queries for of, queries in asking.items() if queries > 2}


def test_an_alert_has_an_entry_for_each_case_and_no_text_that_chooses_among_cases() -> None:
    chosen = [
        str(rule) for rule in ALERTS for text in rule.annotations.values() if re.search("else if|eq .labels", text)
    ]

    assert not chosen


NEAR = "region:fss_warning:ratio"


def compared(node: Any) -> Iterator[tuple[str, float, str]]:
    """Every comparison with a number: operator, number, and the other side."""
    if isinstance(node, promql_parser.BinaryExpr):
        if str(node.op) in {"<", "<=", ">", ">="} and isinstance(node.rhs, promql_parser.NumberLiteral):
            yield str(node.op), node.rhs.val, node.lhs.prettify()
        yield from compared(node.lhs)
        yield from compared(node.rhs)
    elif isinstance(child := getattr(node, "expr", None), promql_parser.Expr):
        yield from compared(child)
    for argument in getattr(node, "args", None) or ():
        yield from compared(argument)


@pytest.mark.parametrize("name", ["Iops", "ReadBandwidth", "WriteBandwidth", "Connections"])
def test_a_ceiling_is_a_ticket_at_the_ratio_that_warns(name: str) -> None:
    near = re.escape(f">= on (tenancy, region) group_left () {NEAR}")
    for rule in [rule for rule in ALERTS if rule.name == f"FssMountTarget{name}High"]:
        assert rule.labels["severity"] == "warning"
        assert re.search(rf"{near}(,\s+0\.01\s*\))?$", rule.expr)  # texts have whole per cents
        assert not [number for _, number, _ in compared(promql_parser.parse(rule.expr))]


def test_the_ratio_that_warns_is_a_series_and_stands_in_no_rule() -> None:
    for rule in PACK:
        shares = [
            number
            for _, number, of in compared(promql_parser.parse(rule.expr))
            if re.search(r"fss_(client_)?(peak_)?utilisation:|latency_objective_ratio", of)
        ]

        assert WARNING_RATIO not in shares, rule


def test_shares_of_a_ceiling_are_compared_with_the_ratios_of_the_model() -> None:
    shares = {
        (rule.name, number)
        for rule in ALERTS
        for _, number, of in compared(promql_parser.parse(rule.expr))
        if re.search(r"fss_(client_)?(peak_)?utilisation:(ratio|max5m|forecast14d|p99_7d)", of)
    }

    assert {number for _, number in shares if number} == {CRITICAL_RATIO}
    assert {name for name, number in shares if number == CRITICAL_RATIO} == {
        "FssAddressUtilisationHigh",
        "FssServiceUtilisationHigh",
    }


def mixed(node: Any) -> Iterator[str]:
    """Every set operator that stands beside another one without parentheses."""
    if isinstance(node, promql_parser.BinaryExpr):
        own = str(node.op)
        for side in (node.lhs, node.rhs):
            if isinstance(side, promql_parser.BinaryExpr) and {own, str(side.op)} <= {"and", "or", "unless"}:
                yield from () if own == str(side.op) else (f"{own} {side.op}",)
            yield from mixed(side)
    elif isinstance(child := getattr(node, "expr", None), promql_parser.Expr):
        yield from mixed(child)
    for argument in getattr(node, "args", None) or ():
        yield from mixed(argument)


def test_different_set_operators_have_parentheses_because_nobody_knows_which_binds_more() -> None:
    for rule in PACK:
        assert not list(mixed(promql_parser.parse(rule.expr))), rule


def test_the_costs_of_operations_are_those_of_the_model() -> None:
    (rule,) = (rule for rule in PACK if rule.name == "operation:fss_io_operations_per_operation:ratio")
    costs = re.findall(r'(\d) \* group by \(operation\) \([\w:]+\{operation=~?"([A-Z|]+)"\}\)', rule.expr)

    assert {name: int(cost) for cost, names in costs for name in names.split("|")} == dict(FIXED_COSTS)


def test_the_ceilings_of_shapes_are_those_of_the_model() -> None:
    (rule,) = (rule for rule in PACK if rule.name == _CEILINGS_OF_SHAPES)
    held = re.findall(r'vector\((\d+)\), "shape", "([\w-]+)", "", ""\), "resource", "(\w+)"', rule.expr)
    limits = {
        (shape.name, resource): limit
        for shape in SHAPES.values()
        for resource, limit in (
            ("iops", shape.limits.iops),
            ("read_bandwidth", shape.limits.read_bytes_per_second),
            ("write_bandwidth", shape.limits.write_bytes_per_second),
        )
        if limit is not None
    }

    assert {(shape, resource): float(limit) for limit, shape, resource in held} == limits


def test_the_latency_objectives_of_hosts_with_node_exporter_are_the_defaults_of_the_model() -> None:
    for rule in PACK:
        if rule.name == "address_class:fss_client_latency_objective:mean5m" and rule.labels:
            (kind,) = re.findall(r'class=~?"(read|write|metadata)', rule.expr)
            (least,) = re.findall(r"(?:/ |^ *)(0\.\d+)$", rule.expr, re.MULTILINE)
            steps = re.findall(r"\+ ([\d.]+) \* \(.* > bool (\d+)\)", rule.expr)
            buckets = {(kind, bucket.name): bucket.up_to_bytes for bucket in BUCKETS} if steps else {(kind, ""): 0}

            for key, size in buckets.items():
                objective = float(least) + sum(float(more) for more, above in steps if size > int(above))
                assert objective == pytest.approx(DEFAULT_LATENCY_SECONDS[key]), rule


def test_the_ratio_that_warns_where_nobody_states_one_is_that_of_the_model() -> None:
    (rule,) = (rule for rule in PACK if rule.name == "address:fss_warning:ratio")

    assert rule.expr.endswith(f" * {WARNING_RATIO}")


def test_the_default_slo_objectives_are_those_of_the_model() -> None:
    defaults = [rule for rule in PACK if rule.name == "slo:fss_error_budget:ratio" and rule.labels]

    assert {rule.labels["objective"]: rule.expr for rule in defaults} == {
        objective: f"1 - vector({share})" for objective, share in SLO_OBJECTIVES.items()
    }


def test_the_limit_in_a_text_is_that_of_the_expression() -> None:
    for rule in ALERTS:
        numbers = {number for _, number, _ in compared(promql_parser.parse(rule.expr))}

        for limit in re.findall(r"([\d.]+) % is the limit", rule.annotations["description"]):
            assert float(limit) / 100 in numbers, rule


def test_mount_targets_needed_are_reckoned_at_the_ratio_that_warns() -> None:
    rule = next(rule for rule in PACK if rule.name == "mount_target:fss_mount_targets_needed:count")

    assert f"/ on (tenancy, region) group_left () {NEAR}" in rule.expr


_CEILINGS_OF_SHAPES = "shape_resource:fss_limit:max"


def test_no_ceiling_is_typed_into_a_rule_but_that_of_the_published_ceilings() -> None:
    for rule in PACK:
        if rule.name == _CEILINGS_OF_SHAPES:
            continue  # another test holds it to the model
        ceilings = {
            ceiling
            for shape in SHAPES.values()
            for limits in [shape.limits]
            for limit in (limits.iops, limits.read_bytes_per_second, limits.write_bytes_per_second, limits.connections)
            if limit is not None
            for ceiling in (limit, limit * WARNING_RATIO, limit * CRITICAL_RATIO)
        }
        typed = {float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e\d+)?(?![\w.])", rule.expr)}

        assert not typed & ceilings, rule


def test_node_exporter_rules_put_every_operation_into_its_class_at_its_cost() -> None:
    costs: dict[tuple[str, str], float] = {}
    for rule in PACK:
        if rule.name == "node_class:fss_client_estimated_iops:rate5m" and "class" in rule.labels:
            for factor, names in re.findall(r'(?:(\d) \* )?rate\(\w+\{operation=~?"([A-Z|]+)"', rule.expr):
                costs |= {(name, rule.labels["class"]): float(factor or 1) for name in names.split("|")}

    assert costs == {(name, class_of(name)): cost for name, cost in FIXED_COSTS.items() if cost}


def test_what_is_recorded_is_used_or_listed_as_public() -> None:
    panels = " ".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "dashboards").glob("*.json")))
    asked = panels + " ".join(rule.expr + " ".join(rule.annotations.values()) for rule in PACK)
    public = set(re.findall(r"^\| `([\w:]+)` \|", (RULES / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    recorded = {rule.name for rule in PACK if not rule.is_alert}
    unused = {name for name in recorded if name not in asked}

    assert unused <= public, f"use, delete, or list in rules/README.md: {sorted(unused - public)}"
    assert public <= recorded, f"rules/README.md lists what nothing records: {sorted(public - recorded)}"


_OPERATION = re.compile(
    r"(topk\d+_)?(sum|count|group|info|(min|max|mean|last|rate|delta|deriv|forecast|ratio_rate|p\d\d_)(\d+[mhd])?|count\d+[mh]|ratio)|topk\d+"
)


def levels() -> Iterator[tuple[str, set[str]]]:
    """Each level that rules/README.md has, with the labels that a series of it always has."""
    table = (RULES / "README.md").read_text(encoding="utf-8").partition("| level | labels |\n")[2].partition("\n\n")[0]
    for of, labels in re.findall(r"^\| ([a-z_, ]+) \| (.*) \|$", table, re.MULTILINE):
        for level in of.split(", "):
            yield level, set(re.findall(r"`(\w+)`", labels))


def test_a_record_is_called_by_level_metric_and_operation() -> None:
    known = dict(levels())
    recorded = {rule.name for path in RULES.glob("*.yml") for rule in rules_of(path) if not rule.is_alert}
    for name in recorded:
        level, metric, operation = name.split(":")
        assert re.fullmatch(r"fss_[a-z_]+", metric), name
        assert _OPERATION.fullmatch(operation), f"{name}: {operation} is no operation"
        if (
            series := names().by_name.get(name)
        ) is not None:  # what is made of node_exporter and of kube-state-metrics is not known here
            assert known[level] <= series.labels, f"rules/README.md promises {known[level]} of {name}"

    assert known.keys() == {name.partition(":")[0] for name in recorded}


def test_the_label_resource_of_a_record_is_a_ceiling_and_no_name() -> None:
    named = {
        name for name, series in names().by_name.items() if name.startswith("service:") and "resource" in series.labels
    }

    assert not named


def test_the_folder_holds_what_its_readme_lists() -> None:
    listed = set(re.findall(r"^\| \[(\w+\.yml)\]", (RULES / "README.md").read_text(encoding="utf-8"), re.MULTILINE))

    assert listed == {path.name for path in RULES.glob("*.yml")}
