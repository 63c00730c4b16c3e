"""Custom metrics: what may be posted, and that it can be listed, queried and alarmed on. Documented: PostMetricData."""

from datetime import UTC, datetime, timedelta
from typing import Any

import oci
import pytest
from tests.clock import NOW, Clock
from tests.fss_toolbox.demo.alarm_bodies import alarm_details
from tests.fss_toolbox.demo.minutes import between, points
from tests.fss_toolbox.demo.sdk import MINUTE, Clients, refused


def stream(sdk: Clients, **changes: Any) -> dict[str, Any]:
    details: dict[str, Any] = {
        "namespace": "fss_utilization",
        "compartment_id": sdk.region.tenancy.compartments[1].id,
        "name": "IopsUtilization",
        "dimensions": {"mountTargetId": sdk.region.tenancy.named("mt-home")},
        "datapoints": [point(0.85)],
        "metadata": {"unit": "ratio"},
    }
    return details | changes


def point(value: float, seconds: float = 0, **more: Any) -> Any:
    moment = datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=seconds)
    return oci.monitoring.models.Datapoint(timestamp=moment, value=value, **more)


def post(sdk: Clients, *streams: dict[str, Any], **options: Any) -> Any:
    models = oci.monitoring.models
    details = [models.MetricDataDetails(**stream) for stream in streams]
    return sdk.monitoring.post_metric_data(models.PostMetricDataDetails(metric_data=details, **options)).data


def test_what_is_posted_can_be_queried_back_with_its_metadata(sdk: Clients) -> None:
    assert post(sdk, stream(sdk)).failed_metrics_count == 0
    streams = sdk.summarize("IopsUtilization[1m].max()", namespace="fss_utilization", **between(MINUTE, MINUTE))
    assert [points(stream) for stream in streams] == [{MINUTE: 0.85}]
    assert streams[0].metadata == {"unit": "ratio"}
    assert streams[0].compartment_id == sdk.region.tenancy.compartments[1].id


def test_what_is_posted_is_listed(sdk: Clients) -> None:
    post(sdk, stream(sdk))
    listed = sdk.monitoring.list_metrics(
        sdk.region.tenancy.id, {"namespace": "fss_utilization"}, compartment_id_in_subtree=True
    )
    assert [row.name for row in listed.data] == ["IopsUtilization"]


def test_several_points_of_a_minute_are_aggregated_with_their_counts(sdk: Clients) -> None:
    post(sdk, stream(sdk, datapoints=[point(1.0, -30), point(4.0, -10, count=2)]))
    ask = between(MINUTE, MINUTE)
    for statistic, expected in (("mean", 3.0), ("max", 4.0), ("count", 3.0), ("last", 4.0)):
        streams = sdk.summarize(f"IopsUtilization[1m].{statistic}()", namespace="fss_utilization", **ask)
        assert points(streams[0]) == {MINUTE: expected}


def test_a_resource_group_is_matched_only_when_asked_for_documented_metric_data(sdk: Clients) -> None:
    post(sdk, stream(sdk, resource_group="storage"))
    query = "IopsUtilization[1m].max()"
    assert sdk.summarize(query, namespace="fss_utilization", **between(MINUTE, MINUTE)) == []
    by_field = sdk.summarize(query, namespace="fss_utilization", resource_group="storage", **between(MINUTE, MINUTE))
    by_prefix = sdk.summarize(f"storage::{query}", namespace="fss_utilization", **between(MINUTE, MINUTE))
    assert [points(stream) for stream in by_field] == [points(stream) for stream in by_prefix] == [{MINUTE: 0.85}]


def test_one_alarm_over_a_posted_ratio_serves_every_mount_target(sdk: Clients, clock: Clock) -> None:
    query = "IopsUtilization[5m].groupBy(mountTargetId).max() >= 0.8"
    sdk.monitoring.create_alarm(
        alarm_details(
            sdk.region.tenancy, namespace="fss_utilization", query=query, pendingDuration="PT1M", overrides=None
        )
    )
    post(sdk, stream(sdk))
    clock.pass_minutes(4)
    statuses = sdk.monitoring.list_alarms_status(sdk.region.tenancy.id, compartment_id_in_subtree=True).data
    assert [alarm.status for alarm in statuses] == ["FIRING"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "word"),
        [
            ({"namespace": "oci_filestorage"}, "reserved"),
            ({"namespace": "oracle_x"}, "reserved"),
            ({"namespace": "9lives"}, "namespace"),
            ({"namespace": "with-dash"}, "namespace"),
            ({"name": "no spaces"}, "name"),
            ({"dimensions": {}}, "dimensions"),
            ({"dimensions": {f"d{number}": "x" for number in range(21)}}, "1 to 20"),
            ({"dimensions": {"with space": "x"}}, "dimensions"),
            ({"dimensions": {"long": "x" * 513}}, "dimensions"),
            ({"datapoints": []}, "datapoints"),
            ({"datapoints": [point(1.0, -7200)]}, "two hours"),
            ({"datapoints": [point(1.0, 600)]}, "10 minutes"),
            ({"compartment_id": "ocid1.compartment.oc1..nowhere"}, "compartment"),
        ],
    )
    def test_a_call_with_nothing_acceptable_is_an_error_that_says_why(
        self, changes: dict[str, Any], word: str, sdk: Clients
    ) -> None:
        with refused(400, "InvalidParameter", word):
            post(sdk, stream(sdk, **changes))

    def test_the_good_ones_of_a_mixed_call_are_taken_and_the_bad_ones_named(self, sdk: Clients) -> None:
        answer = post(sdk, stream(sdk), stream(sdk, name="not good"))
        assert answer.failed_metrics_count == 1
        assert answer.failed_metrics[0].metric_data.name == "not good"
        assert sdk.summarize("IopsUtilization[1m].max()", namespace="fss_utilization", **between(MINUTE, MINUTE))

    def test_an_atomic_call_takes_all_or_nothing(self, sdk: Clients) -> None:
        with refused(400, "InvalidParameter", "name"):
            post(sdk, stream(sdk), stream(sdk, name="not good"), batch_atomicity="ATOMIC")
        assert sdk.summarize("IopsUtilization[1m].max()", namespace="fss_utilization", **between(MINUTE, MINUTE)) == []

    def test_51_streams_are_one_too_many(self, sdk: Clients) -> None:
        streams = [stream(sdk, dimensions={"n": str(number)}) for number in range(51)]
        with refused(400, "InvalidParameter", "50"):
            post(sdk, *streams)
        assert post(sdk, *streams[:50]).failed_metrics_count == 0

    def test_a_count_of_nothing_is_refused(self, sdk: Clients) -> None:
        with refused(400, "InvalidParameter", "count"):
            post(sdk, stream(sdk, datapoints=[point(1.0, count=0)]))
