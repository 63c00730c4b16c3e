"""Monitoring of the demo region with the whole query language."""

from tests.region.evaluate import evaluate

from fss_toolbox.demo.region import monitoring_api
from fss_toolbox.demo.region.evaluate import ResultStream
from fss_toolbox.mql import Expression


class MonitoringApi(monitoring_api.MonitoringApi):
    """Metrics of a region, in any query."""

    def results(
        self, expression: Expression, namespace: str, group: str | None, scope: frozenset[str], minutes: range
    ) -> list[ResultStream]:
        return evaluate(expression, lambda metric: self.selected_streams(metric, namespace, group, scope), minutes)
