"""What other clients ask of the region: sorted lists, posted metrics, alarms with a wrong query, and the dimensions they rely on."""

import json
from typing import Any

import pytest
from tests.clock import NOW, Clock

from fss_toolbox.demo.region import Region, small
from fss_toolbox.demo.region.inventory_api import rfc3339
from fss_toolbox.demo.region.wire import ApiRequest


@pytest.fixture(scope="module")
def region() -> Region:
    """The region of the product, which does not listen."""
    return Region(small(), now=Clock())


def asked(region: Region, target: str, body: object, **more: str) -> tuple[int, Any]:
    content = json.dumps(body).encode()
    headers = {"content-type": "application/json", "content-length": str(len(content)), **more}
    status, _, answer = region.respond(ApiRequest("POST", target, headers, content))
    return status, json.loads(answer)


def listed(region: Region, body: object) -> tuple[int, Any]:
    where = f"compartmentId={region.tenancy.id}&compartmentIdInSubtree=true"
    return asked(region, f"/20180401/metrics/actions/listMetrics?{where}", body)


ALARM = {
    "displayName": "a",
    "compartmentId": small().id,
    "metricCompartmentId": small().id,
    "namespace": "oci_filestorage",
    "query": "MountTargetIOPS[1m].mean() > 5",
    "severity": "WARNING",
    "destinations": ["ocid1.onstopic.oc1..a"],
    "isEnabled": True,
}


@pytest.mark.parametrize(("order", "is_reversed"), [("ASC", False), ("DESC", True)])
def test_metrics_are_sorted_as_a_grafana_plugin_asks(region: Region, order: str, *, is_reversed: bool) -> None:
    body = {"namespace": "oci_filestorage", "groupBy": ["namespace", "name"], "sortBy": "NAME", "sortOrder": order}
    status, metrics = listed(region, body)
    names = [metric["name"] for metric in metrics]

    assert status == 200
    assert len(names) > 20
    assert names == sorted(names, reverse=is_reversed)


def test_metrics_are_filtered_by_dimensions(region: Region) -> None:
    body = {"dimensionFilters": {"resourceId": region.tenancy.named("mt-home")}}
    _, metrics = listed(region, body)

    assert {metric["dimensions"]["resourceId"] for metric in metrics} == {region.tenancy.named("mt-home")}


def test_an_unknown_order_is_refused(region: Region) -> None:
    assert listed(region, {"sortBy": "AGE"})[0] == 400


def posted(region: Region, namespace: str) -> dict[str, object]:
    point = {"timestamp": rfc3339(NOW), "value": 0.9}
    stream = {
        "namespace": namespace,
        "compartmentId": region.tenancy.id,
        "name": "IopsUtilization",
        "dimensions": {"resourceId": "a"},
        "datapoints": [point],
    }
    return {"metricData": [stream]}


def test_a_posted_metric_can_be_listed(region: Region) -> None:
    status, answer = asked(region, "/20180401/metrics", posted(region, "fss_exporter"))
    _, metrics = listed(region, {"namespace": "fss_exporter"})

    assert (status, answer["failedMetricsCount"]) == (200, 0)
    assert [metric["name"] for metric in metrics] == ["IopsUtilization"]


def test_a_namespace_of_oracle_cannot_be_posted_to(region: Region) -> None:
    assert asked(region, "/20180401/metrics", posted(region, "oci_filestorage"))[0] == 400


@pytest.mark.parametrize(
    ("query", "why"),
    [("garbage", "field query: "), ("MountTargetIOPS[1m].mean()", "an alarm needs a threshold or absent()")],
)
def test_an_alarm_that_cannot_trigger_is_refused(region: Region, query: str, why: str) -> None:
    status, answer = asked(region, "/20180401/alarms", ALARM | {"query": query})

    assert status == 400
    assert why in answer["message"]
    assert asked(region, "/20180401/alarms", ALARM)[0] == 200


def test_the_cli_can_repeat_a_creation_with_its_retry_token(region: Region) -> None:
    answers = [asked(region, "/20180401/alarms", ALARM, **{"opc-retry-token": token}) for token in ("a", "a", "b")]

    first, again, other = (answer["id"] for _, answer in answers)
    assert first == again != other


@pytest.mark.parametrize(
    ("selector", "streams"),
    [
        ('resourceType = "mounttarget"', 1),
        ('resourceType = "mountTarget"', 1),
        ('resourceType =~ "MOUNT*"', 1),
        ('resourceType = "filesystem"', 0),
    ],
)
def test_the_white_paper_s_own_query_finds_its_mount_target(region: Region, selector: str, streams: int) -> None:
    query = f'MountTargetIOPS[5m]{{{selector}, resourceId = "{region.tenancy.named("mt-home")}"}}.max()'
    body = {
        "namespace": "oci_filestorage",
        "query": query,
        "startTime": rfc3339((region.minute - 30) * 60),
        "endTime": rfc3339(region.minute * 60),
    }
    where = f"compartmentId={region.tenancy.id}&compartmentIdInSubtree=true"
    _, answer = asked(region, f"/20180401/metrics/actions/summarizeMetricsData?{where}", body)

    assert len(answer) == streams


def test_each_stream_of_a_filesystem_names_its_mount_target(region: Region) -> None:
    every = region.store.listed(region.tenancy.compartment_ids, region.minute * 60, first_only=False)

    assert all(
        "mountTargetId" in stream.dimensions
        for stream in every
        if stream.dimensions.get("resourceType") == "filesystem"
    ), "the exporter script of Oracle's HPC stack reads it"
