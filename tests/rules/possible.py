"""Which rules can change the alerts of a trial where only some metrics exist.

A rule whose selectors find no series has no result in any minute, and dashboards alone read some results. A trial leaves both kinds of rules
out, because each evaluation costs promtool time.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import promql_parser

Group = dict[str, Any]

_FROM_NOTHING = ("absent", "scalar")
"""The start of the names of functions that have a result where their argument has none."""


def with_results(groups: Sequence[Group], metrics: frozenset[str]) -> list[Group]:
    """The groups without the rules that can have no result. `metrics` are the names of all input series."""
    known, before = set(metrics), -1
    while len(known) > before:  # A rule reads what another rule writes, in an earlier or a later group.
        before = len(known)
        known |= {_written(rule) for group in groups for rule in group["rules"] if _can_have_result(rule, known)}
    kept = ({**group, "rules": [rule for rule in group["rules"] if _can_have_result(rule, known)]} for group in groups)
    return [group for group in kept if group["rules"]]


def read_by_alerts(groups: Sequence[Group]) -> list[Group]:
    """The groups without the rules whose results no alert reads, also not through another rule."""
    recorded = {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}
    read: set[str] = {"ALERTS"}
    before: set[str] = set()
    while read != before:
        before = read
        texts = [rule["expr"] for group in groups for rule in group["rules"] if _written(rule) in read]
        read = read | {word for text in texts for word in re.findall(r"[\w:]+", text) if word in recorded}
    kept = ({**group, "rules": [rule for rule in group["rules"] if _written(rule) in read]} for group in groups)
    return [group for group in kept if group["rules"]]


def _written(rule: dict[str, Any]) -> str:
    return str(rule.get("record", "ALERTS"))


def _can_have_result(rule: dict[str, Any], known: set[str]) -> bool:
    return _possible(_tree(rule["expr"]), known)


@cache
def _tree(expression: str) -> Any:
    return promql_parser.parse(expression)


def _possible(node: Any, known: set[str]) -> bool:
    match type(node).__name__:
        case "VectorSelector":
            return node.name is None or node.name in known
        case "MatrixSelector":
            return _possible(node.vector_selector, known)
        case "NumberLiteral" | "StringLiteral":
            return True
        case "BinaryExpr":
            sides = _possible(node.lhs, known), _possible(node.rhs, known)
            return {"or": any(sides), "unless": sides[0]}.get(str(node.op), all(sides))
        case "Call":
            return node.func.name.startswith(_FROM_NOTHING) or all(_possible(one, known) for one in node.args)
        case _:
            return _possible(node.expr, known)
