"""Read the Monitoring Query Language: `parse(text)` gives a frozen tree, `str(tree)` gives the text back. Pure."""

from fss_toolbox.mql.ast import (
    Arithmetic as Arithmetic,
    Comparison as Comparison,
    Constant as Constant,
    Duration as Duration,
    Expression as Expression,
    Join as Join,
    JoinOrder as JoinOrder,
    QueriedMetric as QueriedMetric,
    Query as Query,
    Selector as Selector,
    Stage as Stage,
    Statistic as Statistic,
    is_trigger as is_trigger,
    metrics as metrics,
    queries as queries,
)
from fss_toolbox.mql.parser import parse as parse
