"""What clients send to the Monitoring API about metrics, and how much the service answers."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from fss_exporter.demo.region.wire import Message, Page

Text = Annotated[str, Field(min_length=1)]


class Limits(Message):
    """Documented limits of Monitoring, there to be lowered by tests.

    Attributes:
        streams: metric streams in one answer of SummarizeMetricsData, documented: MetricData.
        points: data points in one answer, documented: MetricData.
        posted_streams: streams in one PostMetricData, documented: PostMetricData.
        page: most items of a page, documented default of ListMetrics and ListAlarms.
        alarms: alarms of a tenancy in a region; 50 is commonly quoted, no document states it.
    """

    streams: int = 2000
    points: int = 100_000
    posted_streams: int = 50
    page: int = 1000
    alarms: int = 50


class Subtree(Message):
    """Query of SummarizeMetricsData."""

    compartment_id: str
    compartment_id_in_subtree: bool = False


class Metrics(Page):
    """Query of ListMetrics."""

    compartment_id: str
    compartment_id_in_subtree: bool = False


class ListMetricsDetails(Message):
    """Body of ListMetrics."""

    name: str | None = None
    namespace: str | None = None
    resource_group: str | None = None
    dimension_filters: dict[str, str] | None = None
    group_by: list[Literal["namespace", "name", "resourceGroup"]] | None = None
    sort_by: Literal["NAMESPACE", "NAME", "RESOURCEGROUP"] | None = None
    sort_order: Literal["ASC", "DESC"] | None = None


class SummarizeMetricsDataDetails(Message):
    """Body of SummarizeMetricsData."""

    namespace: Text
    query: Text
    resource_group: str | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    resolution: str | None = None


class Datapoint(Message):
    """A posted value."""

    timestamp: datetime
    value: float
    count: int = Field(default=1, ge=1)


class MetricDataDetails(Message):
    """A posted stream."""

    namespace: Text
    compartment_id: Text
    name: Text
    dimensions: dict[Text, Text]
    datapoints: list[Datapoint]
    resource_group: str | None = None
    metadata: dict[str, str] | None = None


class PostMetricDataDetails(Message):
    """Body of PostMetricData."""

    metric_data: list[MetricDataDetails]
    batch_atomicity: Literal["ATOMIC", "NON_ATOMIC"] = "NON_ATOMIC"
