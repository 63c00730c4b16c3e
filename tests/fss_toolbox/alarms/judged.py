"""What the alarms of a region are now: their own queries, asked as anyone can ask them. The demo region evaluates no alarm."""

from datetime import UTC, datetime, timedelta
from typing import Any

from oci.monitoring.models import SummarizeMetricsDataDetails
from tests.fss_toolbox.demo.sdk import Clients


def states(sdk: Clients, compartment: str, now: float) -> dict[str, str]:
    """`FIRING` or `OK` by the name of each alarm of a compartment."""
    alarms = [sdk.monitoring.get_alarm(row.id).data for row in sdk.monitoring.list_alarms(compartment).data]
    return {
        alarm.display_name: "FIRING" if any(_holds(sdk, alarm, rule, now) for rule in _rules(alarm)) else "OK"
        for alarm in alarms
    }


def _rules(alarm: Any) -> list[Any]:
    return [alarm, *(override for override in alarm.overrides if override.query)]


def _holds(sdk: Clients, alarm: Any, rule: Any, now: float) -> bool:
    """Whether one stream holds in each minute of the trigger delay, which ends with the evaluation slack before now."""
    delay, slack = (
        int(text[2:-1]) for text in (rule.pending_duration or alarm.pending_duration, alarm.evaluation_slack_duration)
    )
    end = datetime.fromtimestamp(now // 60 * 60, UTC) - timedelta(minutes=slack - 1)
    asked = SummarizeMetricsDataDetails(
        namespace=alarm.namespace,
        query=rule.query,
        start_time=end - timedelta(minutes=delay),
        end_time=end,
        resolution="1m",
    )
    streams = sdk.monitoring.summarize_metrics_data(
        alarm.metric_compartment_id, asked, compartment_id_in_subtree=alarm.metric_compartment_id_in_subtree
    ).data
    return any(sum(point.value for point in stream.aggregated_datapoints) == delay for stream in streams)
