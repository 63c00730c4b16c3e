"""Every body the region sends is what the SDK's own models say, and every operation's body is looked at here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.clock import NOW
from tests.fss_toolbox.demo.conformance import violations
from tests.fss_toolbox.demo.sdk import Clients, clients, refused
from tests.region import Region


@dataclass(frozen=True)
class Sample:
    """How to get a body of one operation, and the SDK's model of it (of each element, for lists)."""

    package: str
    model: str
    fetch: Callable[[Clients], Any]


def _each_zone(sdk: Clients, operation: str) -> list[Any]:
    tenancy = sdk.region.tenancy
    return [
        body
        for compartment in tenancy.compartments
        for zone in tenancy.availability_domains
        for body in getattr(sdk.file_storage, operation)(compartment.id, zone).data
    ]


def _each_compartment(sdk: Clients, listing: Callable[..., Any], wrapped_in: str = "") -> list[Any]:
    pages = [listing(compartment_id=compartment.id).data for compartment in sdk.region.tenancy.compartments]
    return [body for page in pages for body in (page[wrapped_in] if wrapped_in else page)]


def _alarm(sdk: Clients, query: str = "MountTargetIOPS[5m].groupBy(resourceId).max() >= 40000") -> Any:
    tenancy = sdk.region.tenancy
    details = {
        "displayName": "fss-iops",
        "compartmentId": tenancy.compartments[1].id,
        "metricCompartmentId": tenancy.id,
        "metricCompartmentIdInSubtree": True,
        "namespace": "oci_filestorage",
        "query": query,
        "severity": "WARNING",
        "destinations": [tenancy.topics[0]],
        "isEnabled": True,
        "pendingDuration": "PT10M",
        "overrides": [{"ruleName": "CRITICAL", "severity": "CRITICAL", "query": query.replace("40000", "47500")}],
        "freeformTags": {"managed-by": "fss-exporter"},
    }
    return sdk.monitoring.create_alarm(details).data


def _posted(sdk: Clients) -> Any:
    good = {
        "namespace": "mine",
        "compartmentId": sdk.region.tenancy.id,
        "name": "X",
        "dimensions": {"a": "b"},
        "datapoints": [{"timestamp": "2027-01-15T08:00:00Z", "value": 1.0}],
    }
    bad = good | {"name": "9"}
    return sdk.monitoring.post_metric_data({"metricData": [good, bad]}).data


def _tenancy(sdk: Clients) -> str:
    return sdk.region.tenancy.id


def _summaries(sdk: Clients) -> Any:
    from fss_toolbox.demo.region.metric_streams import published_metrics

    asked = [(row.namespace, row.name) for row in published_metrics()]
    return [body for space, name in asked for body in sdk.summarize(f"{name}[1m].mean()", namespace=space)]


def _alarms(sdk: Clients) -> Any:
    _alarm(sdk)
    return sdk.monitoring.list_alarms(_tenancy(sdk), compartment_id_in_subtree=True).data


SAMPLES = {
    "ListMountTargets": Sample("file_storage", "MountTargetSummary", lambda sdk: _each_zone(sdk, "list_mount_targets")),
    "ListFileSystems": Sample("file_storage", "FileSystemSummary", lambda sdk: _each_zone(sdk, "list_file_systems")),
    "ListExportSets": Sample("file_storage", "ExportSetSummary", lambda sdk: _each_zone(sdk, "list_export_sets")),
    "ListExports": Sample(
        "file_storage",
        "ExportSummary",
        lambda sdk: (
            sdk.file_storage.list_exports(compartment_id=sdk.region.tenancy.mount_targets[0].compartment_id).data
        ),
    ),
    "ListReplications": Sample("file_storage", "ReplicationSummary", lambda sdk: _each_zone(sdk, "list_replications")),
    "ListOutboundConnectors": Sample(
        "file_storage", "OutboundConnectorSummary", lambda sdk: _each_zone(sdk, "list_outbound_connectors")
    ),
    "ListAvailabilityDomains": Sample(
        "identity", "AvailabilityDomain", lambda sdk: sdk.identity.list_availability_domains(_tenancy(sdk)).data
    ),
    "ListCompartments": Sample(
        "identity", "Compartment", lambda sdk: sdk.identity.list_compartments(_tenancy(sdk)).data
    ),
    "GetCompartment": Sample(
        "identity",
        "Compartment",
        lambda sdk: [sdk.identity.get_compartment(ocid).data for ocid in sorted(sdk.region.tenancy.compartment_ids)],
    ),
    "ListRegionSubscriptions": Sample(
        "identity", "RegionSubscription", lambda sdk: sdk.identity.list_region_subscriptions(_tenancy(sdk)).data
    ),
    "GetPrivateIp": Sample(
        "core",
        "PrivateIp",
        lambda sdk: [
            sdk.network.get_private_ip(mount_target.private_ip_id).data
            for mount_target in sdk.region.tenancy.mount_targets
        ],
    ),
    "GetIpv6": Sample(
        "core",
        "Ipv6",
        lambda sdk: [
            sdk.network.get_ipv6(mount_target.ipv6_id).data
            for mount_target in sdk.region.tenancy.mount_targets
            if mount_target.ipv6_address
        ],
    ),
    "ListPrivateIps": Sample(
        "core",
        "PrivateIp",
        lambda sdk: [
            body
            for subnet in sdk.region.tenancy.subnets
            for body in sdk.network.list_private_ips(subnet_id=subnet.id).data
        ],
    ),
    "ListLimitValues": Sample(
        "limits", "LimitValueSummary", lambda sdk: sdk.limits.list_limit_values(_tenancy(sdk), "filesystem").data
    ),
    "GetSubnet": Sample(
        "core", "Subnet", lambda sdk: [sdk.network.get_subnet(subnet.id).data for subnet in sdk.region.tenancy.subnets]
    ),
    "ListLustreFileSystems": Sample(
        "lustre_file_storage",
        "LustreFileSystemSummary",
        lambda sdk: _each_compartment(sdk, sdk.lustre.list_lustre_file_systems, "items"),
    ),
    "ListVolumes": Sample("core", "Volume", lambda sdk: _each_compartment(sdk, sdk.block.list_volumes)),
    "ListBootVolumes": Sample("core", "BootVolume", lambda sdk: _each_compartment(sdk, sdk.block.list_boot_volumes)),
    "ListMetrics": Sample(
        "monitoring",
        "Metric",
        lambda sdk: sdk.monitoring.list_metrics(_tenancy(sdk), {}, compartment_id_in_subtree=True).data,
    ),
    "SummarizeMetricsData": Sample("monitoring", "MetricData", _summaries),
    "PostMetricData": Sample("monitoring", "PostMetricDataResponseDetails", lambda sdk: [_posted(sdk)]),
    "CreateAlarm": Sample("monitoring", "Alarm", lambda sdk: [_alarm(sdk)]),
    "GetAlarm": Sample("monitoring", "Alarm", lambda sdk: [sdk.monitoring.get_alarm(_alarm(sdk)["id"]).data]),
    "UpdateAlarm": Sample(
        "monitoring", "Alarm", lambda sdk: [sdk.monitoring.update_alarm(_alarm(sdk)["id"], {"body": "other"}).data]
    ),
    "ListAlarms": Sample("monitoring", "AlarmSummary", _alarms),
}
WITHOUT_BODY = {"DeleteAlarm"}


@pytest.fixture
def raw(region: Region) -> Clients:
    assert region.minute == int(NOW // 60)
    return clients(region, raw=True)


def test_a_body_is_what_the_model_of_the_sdk_says(raw: Clients) -> None:
    for operation, sample in SAMPLES.items():
        bodies = sample.fetch(raw)

        assert bodies, f"{operation}: nothing to look at"
        wrong = [violation for body in bodies for violation in violations(body, sample.package, sample.model)]
        assert wrong == [], operation


def test_no_operation_is_left_out(region: Region) -> None:
    assert set(SAMPLES) | WITHOUT_BODY == {operation.name for operation in region.operations}


def test_an_alarm_whose_query_has_no_threshold_is_refused(raw: Clients) -> None:
    with refused(400, "InvalidParameter", "an alarm needs a threshold"):
        _alarm(raw, "MountTargetIOPS[5m].max()")


GOOD = {"regionKey": "FRA", "regionName": "eu-frankfurt-1", "status": "READY", "isHomeRegion": True}
SPOILT = {
    "not an attribute": GOOD | {"colour": "red"},
    "required": GOOD | {"regionKey": None},
    "str where bool": GOOD | {"isHomeRegion": "yes"},
    "is not one of": GOOD | {"status": "ODD"},
}


@pytest.mark.parametrize("complaint", SPOILT)
def test_the_check_itself_sees_what_is_wrong(complaint: str) -> None:
    complaints = list(violations(SPOILT[complaint], "identity", "RegionSubscription"))
    assert len(complaints) == 1
    assert complaint in complaints[0]


def test_the_check_itself_finds_nothing_wrong_with_a_good_body() -> None:
    assert list(violations(GOOD, "identity", "RegionSubscription")) == []
