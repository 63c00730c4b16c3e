"""What an expression asks for: its selectors, the labels of its result, and its dimension.

Only as much of PromQL as rules and dashboards here use; anything else raises, so that nothing is passed over in silence.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import promql_parser
from tests.rules.pack import CORE_FILES, RULES, parsed

from fss_exporter.catalogue import CATALOGUE

TARGET_LABELS = frozenset({"job", "instance"})

# What a scrape configuration often adds to every series. A rule may keep these labels.
ADDED_LABELS = frozenset({"cluster"})

_MOUNT_TARGET = frozenset({"tenancy", "region", "mount_target_id"})

# Series that a rule before their own, or their own, reads: the result of the evaluation before.
BEFORE = {
    "address:fss_subject:info": _MOUNT_TARGET | {"network", "address", "subject"},
    "address:fss_mount_target:info": _MOUNT_TARGET | {"network", "address", "mount_target"},
    "mount_target:fss_mount_target:info": _MOUNT_TARGET
    | {"network", "address", "availability_domain", "compartment", "mount_target", "shape", "subject"},
    "mount_target:fss_client_coverage_lost:p90_1d": _MOUNT_TARGET | {"mount_target"},
    "address_resource:fss_client_utilisation:ratio": frozenset({"network", "address", "resource"}),
    "poller:fss_mount_targets_unwatched:count": TARGET_LABELS | {"tenancy", "region"},
}

_CLIENT = frozenset({"network", "instance", "address"})
_ADDRESS = frozenset({"network", "address"})
_CLASS = _ADDRESS | {"class"}

# What both agents and node_exporter.yml record; `agent` tells them apart.
BY_CLIENTS = {
    "client:fss_client_estimated_iops:rate5m": _CLIENT,
    "client:fss_client_load:topk1": _CLIENT | {"resource"},
    "client:fss_client_retransmissions:ratio_rate5m": _CLIENT,
    "client:fss_client_unanswered_seconds:max": _CLIENT,
    "address:fss_client_estimated_iops:rate5m": _ADDRESS,
    "client_verdict:fss_client_time:ratio_rate10m": _CLIENT | {"verdict"},
    "address_state:fss_clients:count": _ADDRESS | {"state"},
    "address:fss_clients:count": _ADDRESS,
    "address:fss_clients_asking:count": _ADDRESS,
    "address:fss_clients_unanswered:count": _ADDRESS,
    "address_class:fss_client_estimated_iops:rate5m": _CLASS,
    "address_class:fss_client_estimated_iops_lower_bound:rate5m": _CLASS,
    "address_class:fss_client_estimated_iops_upper_bound:rate5m": _CLASS,
    "address_class:fss_client_rtt_seconds:mean5m": _CLASS,
    "address_class:fss_client_latency_objective:mean5m": _CLASS,
}

# Exponents by base: `s`, `bytes`, and `n` for whatever is counted. Empty: a plain number or a ratio.
Dimension = tuple[tuple[str, int], ...]

_COUNTED = frozenset(
    "operations requests connections streams records ticks superblocks resources mount_targets errors snapshots addresses"
    " queries polls".split()
)
_SAME_DIMENSION = frozenset(
    "abs avg_over_time bottomk ceil clamp clamp_max clamp_min delta exp floor increase last_over_time"
    " log2 max_over_time min_over_time predict_linear quantile_over_time round scalar sort sort_desc sum_over_time".split()
)


def _labels(own: tuple[str, ...]) -> frozenset[str]:
    return TARGET_LABELS.union(own, {"network"} if "address" in own else ())


def _dimension(**exponents: int) -> Dimension:
    return tuple(sorted((base, exponent) for base, exponent in exponents.items() if exponent))


def dimension_of_unit(unit: str) -> Dimension:
    """Dimension of a unit of the catalogue."""
    noun, per_second, _ = unit.partition("_per_second")
    base = {"bytes": "bytes", "seconds": "s"}.get(noun, "n" if noun in _COUNTED else "")
    return _dimension(**({base: 1} if base else {}), **({"s": -1} if per_second else {}))


def _times(left: Dimension, right: Dimension, sign: int = 1) -> Dimension:
    exponents = dict(left)
    for base, exponent in right:
        exponents[base] = exponents.get(base, 0) + sign * exponent
    return _dimension(**exponents)


@dataclass(frozen=True)
class Series:
    """What can be said of a name before anything is scraped."""

    labels: frozenset[str]
    dimension: Dimension = ()


@dataclass(frozen=True)
class Names:
    """Every name an expression may use. Recorded ones get labels and dimension from their own expression."""

    by_name: dict[str, Series] = field(default_factory=dict)

    @classmethod
    def of_this_project(cls) -> "Names":
        """The catalogue, what Prometheus itself adds, and the recording rules."""
        by_name = {
            name: Series(_labels(metric.labels), dimension_of_unit(metric.unit)) for name, metric in CATALOGUE.items()
        }
        for name, metric in CATALOGUE.items():
            if metric.kind == "histogram":
                whole = by_name[name]  # a native histogram, where the server makes one of the buckets
                by_name |= {
                    f"{name}_bucket": Series(whole.labels | {"le"}, dimension_of_unit("operations")),
                    f"{name}_count": Series(whole.labels, dimension_of_unit("operations")),
                    f"{name}_sum": whole,
                }
        anything = frozenset().union(*(series.labels for series in by_name.values()))
        by_name |= {
            "up": Series(TARGET_LABELS),
            "scrape_duration_seconds": Series(TARGET_LABELS, dimension_of_unit("seconds")),
            "scrape_samples_scraped": Series(TARGET_LABELS, _dimension(n=1)),
            "process_start_time_seconds": Series(TARGET_LABELS, dimension_of_unit("seconds")),
            "process_cpu_seconds_total": Series(TARGET_LABELS, dimension_of_unit("seconds")),
            "process_resident_memory_bytes": Series(TARGET_LABELS, dimension_of_unit("bytes")),
            "ALERTS": Series(anything | {"alertname", "alertstate", "case", "severity", "resource", "resource_kind"}),
        }
        names = cls(by_name)
        by_name |= {name: Series(labels | {"agent"}) for name, labels in BY_CLIENTS.items()}
        by_name |= {name: Series(labels) for name, labels in BEFORE.items()}
        dimensions: dict[str, Dimension] = {}
        for rule in recording_rules():
            series, name = names.series(promql_parser.parse(rule["expr"])), rule["record"]
            held = by_name.get(name, Series(frozenset()))
            # The first rule of a name decides about the dimension. A count over a ceiling is a ratio, and a count has none.
            dimension = dimensions.setdefault(name, series.dimension)
            by_name[name] = Series(series.labels | set(rule.get("labels", {})) | held.labels, dimension)
        return names

    def series(self, node: Any) -> Series:
        """Labels and dimension of the result of a parsed expression."""
        handlers: dict[type, Callable[[], Series]] = {
            promql_parser.VectorSelector: lambda: self._selector(node),
            promql_parser.MatrixSelector: lambda: self._selector(node.vector_selector),
            promql_parser.SubqueryExpr: lambda: self.series(node.expr),
            promql_parser.ParenExpr: lambda: self.series(node.expr),
            promql_parser.UnaryExpr: lambda: self.series(node.expr),
            promql_parser.NumberLiteral: lambda: Series(frozenset()),
            promql_parser.Call: lambda: self._call(node),
            promql_parser.AggregateExpr: lambda: self._aggregate(node),
            promql_parser.BinaryExpr: lambda: self._binary(node),
        }
        return handlers[type(node)]()

    def _selector(self, node: Any) -> Series:
        assert node.name in self.by_name, f"{node.name} is neither in the catalogue nor recorded nor Prometheus' own"
        series = self.by_name[node.name]
        asked = {matcher.name for matcher in node.matchers.matchers if not _takes_absent(matcher)}
        assert asked - ADDED_LABELS <= series.labels, (
            f"{node.name} has no label {', '.join(sorted(asked - series.labels))}"
        )
        return series

    def _call(self, node: Any) -> Series:
        name = node.func.name
        if name == "time":
            return Series(frozenset(), dimension_of_unit("seconds"))
        if name in {"vector", "absent"}:
            return Series(frozenset())
        first = self.series(next(part for part in node.args if not isinstance(part, promql_parser.NumberLiteral)))
        if name in {"histogram_quantile", "count_over_time", "changes"}:
            dimension = dimension_of_unit("seconds") if name == "histogram_quantile" else ()
            return Series(first.labels - {"le"}, dimension)
        if name in {"rate", "irate", "deriv"}:
            return Series(first.labels, _times(first.dimension, _dimension(s=1), -1))
        if name in {"label_replace", "label_join"}:
            return Series(first.labels | {node.args[1].val}, first.dimension)
        assert name in _SAME_DIMENSION, f"{name}() is not known here; add it to {Path(__file__).name}"
        return first

    def _aggregate(self, node: Any) -> Series:
        inner = self.series(node.expr)
        operator = str(node.op)
        named = frozenset(node.modifier.labels) if node.modifier else frozenset()
        without = node.modifier is not None and node.modifier.type == promql_parser.AggModifierType.Without
        if not without:
            assert named - ADDED_LABELS <= inner.labels, (
                f"by ({', '.join(sorted(named - inner.labels))}): {node.expr.prettify()} has no such label"
            )
        kept = inner.labels - named if without else named
        if operator == "count_values":
            # The label has the values, as text.
            return Series(kept | {node.param.val})
        labels = inner.labels if operator in {"topk", "bottomk"} else kept
        return Series(labels, () if operator in {"count", "group"} else inner.dimension)

    def _binary(self, node: Any) -> Series:
        left, right = self.series(node.lhs), self.series(node.rhs)
        operator, modifier = str(node.op), node.modifier
        matching = frozenset(modifier.matching.labels) if modifier and modifier.matching else None
        on = matching is not None and modifier.matching.type == promql_parser.LabelModifierType.Include
        if on and matching is not None:
            for side, series in (("left", left), ("right", right)):
                assert matching - ADDED_LABELS <= series.labels, (
                    f"on ({', '.join(sorted(matching - series.labels))}): not on the {side} side"
                )
        scalar = isinstance(node.rhs, promql_parser.NumberLiteral) or isinstance(node.lhs, promql_parser.NumberLiteral)
        if operator in {"and", "unless"}:
            return left
        if operator == "or":
            return Series(left.labels | right.labels, left.dimension or right.dimension)
        dimension = left.dimension or right.dimension
        if operator == "*" and (_is_zero(node.lhs) or _is_zero(node.rhs)):
            dimension = ()
        elif operator in {"*", "/"}:
            dimension = _times(left.dimension, right.dimension, 1 if operator == "*" else -1)
        return Series(self._joined(left, right, modifier, matching if on else None, scalar=scalar), dimension)

    @staticmethod
    def _joined(
        left: Series, right: Series, modifier: Any, on: frozenset[str] | None, *, scalar: bool
    ) -> frozenset[str]:
        if scalar or not left.labels or not right.labels:
            return left.labels | right.labels
        card = str(modifier.card) if modifier else ""
        extra = frozenset(modifier.group_labels or ()) if modifier else frozenset()
        if card.endswith("ManyToOne"):
            return left.labels | extra
        if card.endswith("OneToMany"):
            return right.labels | extra
        return on if on is not None else left.labels


def _is_zero(node: Any) -> bool:
    """Whether an operand is 0. Of a product with it, only the labels are left."""
    return isinstance(node, promql_parser.NumberLiteral) and node.val == 0


def recording_rules() -> list[Mapping[str, Any]]:
    """Every recording rule of the pack, in the order in which they are evaluated."""
    return [
        rule
        for rule_file in map(parsed, (*CORE_FILES, RULES / "panels.yml"))
        for group in rule_file["groups"]
        for rule in group["rules"]
        if "record" in rule
    ]


def selectors(node: Any) -> Iterator[Any]:
    """Every vector selector in a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for part in ("lhs", "rhs", "expr", "vector_selector"):
        child = getattr(node, part, None)
        if isinstance(child, promql_parser.Expr):
            yield from selectors(child)
    for argument in getattr(node, "args", None) or ():
        yield from selectors(argument)


def _takes_absent(matcher: Any) -> bool:
    """Whether a matcher judges series that do not have its label, such as those of all clients together."""
    return str(matcher.op).endswith("Re") and re.fullmatch(matcher.value, "") is not None


def substituted(expr: str, values: Mapping[str, str] | None = None) -> str:
    """An expression as Grafana sends it: macros and variables replaced; what has no value stands for all."""
    expr = (
        expr.replace("$__rate_interval", "5m")
        .replace("$__range", "3h")
        .replace("$top", "10")
        .replace("$usd_per_gb", "0.30")
    )
    return re.sub(r"\$\{?([A-Za-z_]\w*)(?::\w+)?\}?", lambda match: (values or {}).get(match[1], ".*"), expr)
