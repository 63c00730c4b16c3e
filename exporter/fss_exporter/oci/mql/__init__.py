"""Monitoring Query Language: `parse(text)` gives a frozen tree, `str(tree)` gives the text back. Pure."""

from fss_exporter.oci.mql.ast import (
    Arithmetic,
    Comparison,
    Constant,
    Duration,
    Expression,
    Join,
    QueriedMetric,
    Query,
    Selector,
    Stage,
    Statistic,
    is_trigger,
    metrics,
    number,
    queries,
)
from fss_exporter.oci.mql.build import at_least, query, respelled, select
from fss_exporter.oci.mql.parser import parse

__all__ = [
    "Arithmetic",
    "Comparison",
    "Constant",
    "Duration",
    "Expression",
    "Join",
    "QueriedMetric",
    "Query",
    "Selector",
    "Stage",
    "Statistic",
    "at_least",
    "is_trigger",
    "metrics",
    "number",
    "parse",
    "queries",
    "query",
    "respelled",
    "select",
]
