"""Build queries without writing text, so that names from outside cannot change the meaning of a query."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fss_exporter.errors import MqlError
from fss_exporter.oci.mql import ast


def query(
    metric: str,
    minutes: int,
    statistic: str,
    *,
    where: Mapping[str, str | Iterable[str]] | None = None,
    group_by: Iterable[str] | None = None,
) -> ast.Query:
    """Return a simple query with an interval of 1 to 60 minutes and a statistic such as `max`.

    `where` has a value, or several alternative values, by dimension. `group_by` has the dimensions to keep apart:
    empty merges all streams, None leaves the streams unchanged.

    Raises:
        MqlError: MQL cannot express a name or value.
    """
    selectors = tuple(select(dimension, wanted) for dimension, wanted in (where or {}).items())
    stage = ast.Stage(ast.Statistic(statistic), None if group_by is None else tuple(group_by))
    return ast.Query(ast.QueriedMetric(metric, ast.Duration(minutes, "m"), selectors), (stage,))


def select(dimension: str, wanted: str | Iterable[str]) -> ast.Selector:
    """Return a condition on a dimension: exactly one value, or any of several.

    Raises:
        MqlError: MQL cannot express a value, or the value would select further values.
    """
    if isinstance(wanted, str):
        return ast.Selector(dimension, "=", wanted)
    values = sorted(set(wanted))
    for value in values:
        if "|" in value or "*" in value or not value:
            raise MqlError("a value among several may hold no | and no *, and not be empty", query=value, column=1)
    if not values:
        raise MqlError("no value to select", query=dimension, column=1)
    return (
        ast.Selector(dimension, "=", values[0]) if len(values) == 1 else ast.Selector(dimension, "=~", "|".join(values))
    )


def respelled(node: ast.Expression, spellings: Mapping[str, str]) -> ast.Expression:
    """Return the expression with a tenancy's spelling of metrics, by the name in lower case. Other names stay."""
    match node:
        case ast.Comparison(left=left):
            return replace(node, left=respelled(left, spellings))
        case ast.Join(left=left, right=right) | ast.Arithmetic(left=left, right=right):
            return replace(node, left=respelled(left, spellings), right=respelled(right, spellings))
        case ast.Query(source=ast.QueriedMetric() as metric):
            return replace(node, source=replace(metric, name=spellings.get(metric.name.lower(), metric.name)))
        case ast.Query(source=source):
            assert not isinstance(source, ast.QueriedMetric)  # noqa: S101  # the case above
            return replace(node, source=respelled(source, spellings))
        case ast.Constant():
            return node
