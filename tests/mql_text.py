"""A tree of MQL as text, with parentheses only for precedence, so that `parse(mql_text(tree)) == tree`."""

from fss_exporter.oci.mql_writer import number
from fss_toolbox.mql import (
    Arithmetic,
    Comparison,
    Constant,
    Expression,
    Join,
    QueriedMetric,
    Query,
    Selector,
    Stage,
    Statistic,
)

_TIGHTNESS = {"&&": 0, "||": 0, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}
_COMPARED, _TIGHTEST = 1, 4


def mql_text(node: Expression) -> str:
    """The expression as a person writes it."""
    match node:
        case Constant(value=value):
            return number(value)
        case Query(source=source, stages=stages):
            first = _metric(source) if isinstance(source, QueriedMetric) else f"({mql_text(source)})"
            return ".".join((first, *map(_stage, stages)))
        case Comparison(left=left, operator=sign, bounds=bounds):
            compared = ", ".join(map(number, bounds))
            return f"{_within(left, _COMPARED + 1)} {sign} {f'({compared})' if 'in' in sign else compared}"
        case Join(left=left, operator=sign, right=right):
            same = isinstance(left, Join) and left.operator == sign
            return f"{mql_text(left) if same else _within(left, _COMPARED)} {sign} {_within(right, _COMPARED)}"
        case Arithmetic(left=left, operator=sign, right=right):
            return f"{_within(left, _TIGHTNESS[sign])} {sign} {_within(right, _TIGHTNESS[sign] + 1)}"


def _within(node: Expression, least: int) -> str:
    match node:
        case Join(operator=sign) | Arithmetic(operator=sign):
            tightness = _TIGHTNESS[sign]
        case _:
            tightness = _COMPARED if isinstance(node, Comparison) else _TIGHTEST
    return mql_text(node) if tightness >= least else f"({mql_text(node)})"


def _metric(metric: QueriedMetric) -> str:
    group = f"{metric.resource_group}::" if metric.resource_group else ""
    chosen = "{" + ", ".join(map(_selector, metric.selectors)) + "}" if metric.selectors else ""
    return f"{group}{metric.name}[{_duration(metric.interval_minutes)}]{chosen}"


def _selector(selector: Selector) -> str:
    return f'{selector.dimension} {selector.operator} "{selector.value}"'


def _stage(stage: Stage) -> str:
    if stage.group_by is None:
        return _statistic(stage.statistic)
    grouping = f"groupBy({', '.join(stage.group_by)})" if stage.group_by else "grouping()"
    return f"{grouping}.{_statistic(stage.statistic)}"


def _statistic(statistic: Statistic) -> str:
    if statistic.argument is None:
        return f"{statistic.name}()"
    absent = statistic.name == "absent"
    return f"{statistic.name}({_duration(int(statistic.argument)) if absent else number(statistic.argument)})"


def _duration(minutes: int) -> str:
    for unit, length in (("d", 1440), ("h", 60)):
        if minutes % length == 0:
            return f"{minutes // length}{unit}"
    return f"{minutes}m"
