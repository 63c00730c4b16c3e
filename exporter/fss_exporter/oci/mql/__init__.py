"""Monitoring Query Language: `parse(text)` gives a frozen tree, `str(tree)` gives the text back. Pure."""

from fss_exporter.oci.mql.ast import (
    Arithmetic as Arithmetic,
    Comparison as Comparison,
    Constant as Constant,
    Duration as Duration,
    Expression as Expression,
    Join as Join,
    QueriedMetric as QueriedMetric,
    Query as Query,
    Selector as Selector,
    Stage as Stage,
    Statistic as Statistic,
    is_trigger as is_trigger,
    metrics as metrics,
    number as number,
    queries as queries,
)
from fss_exporter.oci.mql.build import query as query, respelled as respelled, select as select
from fss_exporter.oci.mql.parser import parse as parse
