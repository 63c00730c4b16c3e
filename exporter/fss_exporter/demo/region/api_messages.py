"""Query parameters and bodies that clients send, in the API's camelCase. Unknown fields are refused."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Text = Annotated[str, Field(min_length=1)]
Order = Literal["ASC", "DESC"]
State = Literal["CREATING", "ACTIVE", "UPDATING", "DELETING", "DELETED", "FAILED", "INACTIVE"]
Severity = Literal["CRITICAL", "ERROR", "WARNING", "INFO"]


class Message(BaseModel):
    """Query parameters or a body."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, validate_by_name=False, allow_inf_nan=False
    )


class RegionLimits(Message):
    """Documented limits of Monitoring; tests lower them."""

    # streams, points: in one answer of SummarizeMetricsData, documented: MetricData
    streams: int = 2000
    points: int = 100_000
    posted_streams: int = 50  # streams in one PostMetricData, documented: PostMetricData
    page: int = 1000  # most items of a page, documented default of ListMetrics and ListAlarms
    alarms: int = 50  # alarms of a tenancy in a region; 50 is commonly quoted, no document states it


class Page(Message):
    """Query of every list."""

    limit: int | None = Field(default=None, ge=1, le=4096)
    page: str | None = None


class InCompartment(Message):
    """Query of ListAvailabilityDomains."""

    compartment_id: str


class Compartments(Page):
    """Query of ListCompartments."""

    compartment_id: str
    access_level: Literal["ANY", "ACCESSIBLE"] | None = None
    compartment_id_in_subtree: bool = False
    name: str | None = None
    sort_by: Literal["TIMECREATED", "NAME"] | None = None
    sort_order: Order | None = None
    lifecycle_state: State | None = None


class Listed(Page):
    """Query of the lists of volumes and Lustre file systems."""

    compartment_id: str
    availability_domain: str | None = None
    lifecycle_state: str | None = None
    display_name: str | None = None
    id: str | None = None
    sort_by: str | None = None
    sort_order: Order | None = None


class InZone(Listed):
    """Query of the File Storage lists that need an availability domain: all but ListExports."""

    availability_domain: str
    lifecycle_state: State | None = None
    sort_by: Annotated[str, Field(pattern="^(?i:TIMECREATED|DISPLAYNAME)$")] | None = None


class MountTargets(InZone):
    """Query of ListMountTargets."""

    export_set_id: str | None = None


class FileSystems(InZone):
    """Query of ListFileSystems."""

    source_snapshot_id: str | None = None
    parent_file_system_id: str | None = None
    filesystem_snapshot_policy_id: str | None = None


class Replications(InZone):
    """Query of ListReplications."""

    file_system_id: str | None = None


class ExportsQuery(Page):
    """Query of ListExports: one of the three ids is needed, documented: ListExports."""

    compartment_id: str | None = None
    export_set_id: str | None = None
    file_system_id: str | None = None
    lifecycle_state: State | None = None
    id: str | None = None
    sort_by: Literal["TIMECREATED", "PATH"] | None = None
    sort_order: Order | None = None


class PrivateIps(Page):
    """Query of ListPrivateIps, of one subnet."""

    subnet_id: str


class LimitValues(Page):
    """Query of ListLimitValues."""

    compartment_id: str
    service_name: str
    name: str | None = None


class Subtree(Message):
    """Query of SummarizeMetricsData."""

    compartment_id: str
    compartment_id_in_subtree: bool = False


class PagedSubtree(Page, Subtree):
    """Query of ListMetrics."""


class ListMetricsDetails(Message):
    """Body of ListMetrics."""

    name: str | None = None
    namespace: str | None = None
    resource_group: str | None = None
    dimension_filters: dict[str, str] | None = None
    group_by: list[Literal["namespace", "name", "resourceGroup"]] | None = None
    sort_by: Literal["NAMESPACE", "NAME", "RESOURCEGROUP"] | None = None
    sort_order: Order | None = None


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


class AlarmsQuery(PagedSubtree):
    """Query of ListAlarms. Without lifecycleState only ACTIVE alarms are listed, documented."""

    display_name: str | None = None
    lifecycle_state: Literal["ACTIVE", "DELETING", "DELETED"] = "ACTIVE"
    sort_by: Literal["displayName", "severity"] | None = None
    sort_order: Order | None = None


class AlarmStatuses(PagedSubtree):
    """Query of ListAlarmsStatus."""

    display_name: str | None = None
    resource_id: str | None = None
    service_name: str | None = None
    entity_id: str | None = None
    status: Literal["FIRING", "OK"] | None = None
    sort_by: Literal["displayName", "severity"] | None = None
    sort_order: Order | None = None


class AlarmHistory(Page):
    """Query of GetAlarmHistory; the API spells `alarmHistorytype` so."""

    kind: Literal["STATE_HISTORY", "STATE_TRANSITION_HISTORY", "RULE_HISTORY", "RULE_TRANSITION_HISTORY"] | None = (
        Field(default=None, alias="alarmHistorytype")
    )
    timestamp_greater_than_or_equal_to: datetime | None = None
    timestamp_less_than: datetime | None = None


class Override(Message):
    """A rule that is tried before the base rule."""

    rule_name: Text | None = None
    query: Text | None = None
    severity: Severity | None = None
    body: str | None = None
    pending_duration: str | None = None


class Suppression(Message):
    """A time without notifications, both ends inclusive."""

    description: str | None = None
    time_suppress_from: datetime
    time_suppress_until: datetime


class UpdateAlarmDetails(Message):
    """Body of UpdateAlarm: a field that is not named stays."""

    display_name: Text | None = None
    compartment_id: Text | None = None
    metric_compartment_id: Text | None = None
    namespace: Text | None = None
    query: Text | None = None
    severity: Severity | None = None
    destinations: list[Text] | None = Field(default=None, min_length=1)
    is_enabled: bool | None = None
    metric_compartment_id_in_subtree: bool | None = None
    resource_group: str | None = None
    resolution: Literal["1m"] | None = None
    pending_duration: str | None = None
    body: str | None = None
    is_notifications_per_metric_dimension_enabled: bool | None = None
    message_format: Literal["RAW", "PRETTY_JSON", "ONS_OPTIMIZED"] | None = None
    repeat_notification_duration: str | None = None
    suppression: Suppression | None = None
    freeform_tags: dict[str, str] | None = None
    defined_tags: dict[str, dict[str, Any]] | None = None
    overrides: list[Override] | None = None
    rule_name: Text | None = None
    notification_version: str | None = Field(default=None, pattern=r"^[0-9]{1,4}\.X$")
    notification_title: str | None = None
    evaluation_slack_duration: str | None = None
    alarm_summary: str | None = None


class CreateAlarmDetails(UpdateAlarmDetails):
    """Body of CreateAlarm: the same fields, eight of them required."""

    display_name: Text
    compartment_id: Text
    metric_compartment_id: Text
    namespace: Text
    query: Text
    severity: Severity
    destinations: list[Text] = Field(min_length=1)
    is_enabled: bool
