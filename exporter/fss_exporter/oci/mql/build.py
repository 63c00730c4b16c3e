"""Build queries without writing text, so that names from outside cannot change the meaning of a query."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fss_exporter.errors import MqlError
from fss_exporter.oci.mql.ast import (
    Arithmetic,
    Comparison,
    Constant,
    Duration,
    Expression,
    Grouping,
    Join,
    QueriedMetric,
    Query,
    Selector,
    Stage,
    Statistic,
)


def query(
    metric: str,
    minutes: int,
    statistic: str,
    *,
    where: Mapping[str, str | Iterable[str]] | None = None,
    group_by: Iterable[str] | None = None,
    argument: float | Duration | None = None,
) -> Query:
    """Return a simple query.

    Args:
        metric: OCI's name of the metric.
        minutes: the interval, 1 to 60.
        statistic: `max`, `mean`, ...
        where: a value, or several alternative values, by dimension.
        group_by: dimensions to keep apart. Empty merges all streams, None leaves the streams unchanged.
        argument: argument of `percentile` or `absent`.

    Raises:
        MqlError: MQL cannot express a name or value.
    """
    selectors = tuple(select(dimension, wanted) for dimension, wanted in (where or {}).items())
    grouping = None if group_by is None else Grouping(tuple(group_by))
    return Query(
        QueriedMetric(metric, Duration(minutes, "m"), selectors), (Stage(Statistic(statistic, argument), grouping),)
    )


def at_least(left: Query, bound: float) -> Comparison:
    """Return the expression `left >= bound`."""
    return Comparison(left, ">=", (bound,))


def select(dimension: str, wanted: str | Iterable[str]) -> Selector:
    """Return a condition on a dimension: exactly one value, or any of several.

    Raises:
        MqlError: MQL cannot express a value, or the value would select further values.
    """
    if isinstance(wanted, str):
        return Selector(dimension, "=", wanted)
    values = sorted(set(wanted))
    for value in values:
        if "|" in value or "*" in value or not value:
            raise MqlError("a value among several may hold no | and no *, and not be empty", query=value, column=1)
    if not values:
        raise MqlError("no value to select", query=dimension, column=1)
    return Selector(dimension, "=", values[0]) if len(values) == 1 else Selector(dimension, "=~", "|".join(values))


def respelled(node: Expression, spellings: Mapping[str, str]) -> Expression:
    """Return the expression with a tenancy's spelling of the metric names.

    Args:
        node: the expression.
        spellings: the tenancy's spelling by the name in lower case. Other names stay.
    """
    match node:
        case Comparison(left=left):
            return replace(node, left=respelled(left, spellings))
        case Join(left=left, right=right) | Arithmetic(left=left, right=right):
            return replace(node, left=respelled(left, spellings), right=respelled(right, spellings))
        case Query(source=QueriedMetric() as metric):
            return replace(node, source=replace(metric, name=spellings.get(metric.name.lower(), metric.name)))
        case Query(source=source):
            assert not isinstance(source, QueriedMetric)  # noqa: S101  # the case above
            return replace(node, source=respelled(source, spellings))
        case Constant():
            return node
