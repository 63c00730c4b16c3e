"""How the region answers for metrics: their names, the listing, the window, the scope, the limits."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.clock import NOW, Clock
from tests.fss_toolbox.demo.minutes import at, between, points
from tests.fss_toolbox.demo.sdk import MINUTE, Clients, clients, refused
from tests.region import Region, RegionLimits, Tenancy, large, small

from fss_toolbox.demo.region.metric_streams import published_metrics

ROWS = [row for row in published_metrics() if row.namespace == "oci_filestorage"]

_EXPORT = {"resourceId", "mountTargetId", "resourceType"}
_TARGET = {"resourceId", "resourceType"}
_LDAP = {"resourceId", "mountTargetId", "mtResourceName", "obcResourceName"}

# Dimensions by name, in order and case of "File System Metrics", and then the metric of the white paper.
#
# `resourceType` of file systems and mount targets is as Oracle's own script reads it.
DIMENSIONS: dict[str, set[str]] = {
    **{f"FileSystem{way}Throughput": _EXPORT | {"throughput"} for way in ("Read", "Write")},
    **{f"FileSystem{way}RequestsbySize": _EXPORT | {"size"} for way in ("Read", "Write")},
    **{f"FileSystem{way}AverageLatencybySize": _EXPORT | {"size"} for way in ("Read", "Write")},
    "MetadataRequestAverageLatency": _EXPORT | {"operation"},
    "MetadataIOPS": _EXPORT | {"operation"},
    "FileSystemUsage": _EXPORT,
    **{f"User{kind}QuotaViolations": {"resourceId", "resourceName", "resourceType"} for kind in ("Soft", "Hard")},
    "snapshotsGovernanceMode": {"tenantId"},
    "snapshotsComplianceMode": {"tenantId"},
    "retentionLockDuration": {"lockMode"},
    **{
        f"Replication{what}": {"resourceId", "resourceName", "resourceType"}
        for what in ("Throughput", "EgressThroughput", "RecoveryPointAge")
    },
    **{f"MountTarget{way}Throughput": _TARGET | {"throughput"} for way in ("Read", "Write")},
    "MountTargetConnections": _TARGET,
    "MountTargetHealth": _TARGET | {"healthItem"},
    "KerberosErrors": {"resourceId", "mtResourceName", "errorType"},
    "LdapRequestThroughput": _LDAP | {"requestType"},
    "LdapRequestAverageLatency": _LDAP | {"requestType"},
    "LdapConnectionErrors": _LDAP | {"errorType"},
    "LdapRequestErrors": _LDAP | {"requestType", "errorType"},
    "MountTargetIOPS": _TARGET,
}


class TestNames:
    def test_the_documented_ones_are_there_and_the_white_paper_s(self, sdk: Clients) -> None:
        listed = sdk.monitoring.list_metrics(
            sdk.region.tenancy.id,
            {"namespace": "oci_filestorage", "groupBy": ["name"]},
            compartment_id_in_subtree=True,
        ).data
        assert [row.name for row in listed] == [*DIMENSIONS]

    @pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
    def test_every_stream_has_the_documented_dimensions_unit_and_description(self, row: Any, sdk: Clients) -> None:
        streams = sdk.summarize(f"{row.name}[1m].mean()")
        assert streams
        for stream in streams:
            assert set(stream.dimensions) == DIMENSIONS[row.name]
            assert set(stream.metadata) == {"unit", "displayName", "description"}
            assert all(stream.metadata.values())
            assert stream.name == row.name

    def test_a_tenancy_may_lack_the_undocumented_one(self, regions: Callable[..., Region]) -> None:
        from dataclasses import replace

        sdk = clients(regions(replace(small(), publishes_iops=False)))
        assert sdk.summarize("MountTargetIOPS[1m].mean()") == []
        assert (
            sdk.monitoring.list_metrics(
                sdk.region.tenancy.id, {"name": "MountTargetIOPS"}, compartment_id_in_subtree=True
            ).data
            == []
        )

    def test_resource_types_are_spelt_as_oracle_s_own_script_reads_them(self, sdk: Clients) -> None:
        def types(metric: str) -> set[str]:
            return {stream.dimensions["resourceType"] for stream in sdk.summarize(f"{metric}[1m].mean()")}

        assert types("FileSystemReadThroughput") == types("MetadataIOPS") == {"filesystem"}
        assert types("MountTargetConnections") == types("MountTargetIOPS") == {"mountTarget"}

    def test_names_are_matched_exactly(self, sdk: Clients) -> None:
        assert sdk.summarize("mounttargetiops[1m].mean()") == []
        assert sdk.summarize("FileSystemReadRequestsBySize[1m].mean()") == []


class TestListMetrics:
    def test_one_definition_for_each_stream_of_the_compartment(self, sdk: Clients) -> None:
        storage = sdk.region.tenancy.compartments[1].id
        listed = sdk.monitoring.list_metrics(storage, {"name": "MountTargetConnections"}).data
        assert {row.dimensions["resourceId"] for row in listed} == {
            sdk.region.tenancy.named(name) for name in ("mt-home", "mt-home-b", "mt-media")
        }
        assert {row.compartment_id for row in listed} == {storage}

    def test_the_dead_stay_listed_documented_overview_of_monitoring(
        self, region: Region, sdk: Clients, clock: Clock
    ) -> None:
        region.delete("mt-idle")
        clock.pass_minutes(600)
        wanted = {"name": "MountTargetIOPS"}
        listed = sdk.monitoring.list_metrics(region.tenancy.id, wanted, compartment_id_in_subtree=True).data
        assert region.tenancy.named("mt-idle") in {row.dimensions["resourceId"] for row in listed}
        assert sdk.summarize(f'MountTargetIOPS[1m]{{resourceId = "{region.tenancy.named("mt-idle")}"}}.mean()') == []


class TestWindow:
    def test_start_is_inclusive_and_end_exclusive_documented_summarize_metrics_data(self, sdk: Clients) -> None:
        for stream in sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE - 5, MINUTE - 1)):
            assert list(points(stream)) == list(range(MINUTE - 5, MINUTE))

    def test_without_times_it_is_the_last_three_hours_documented_summarize_metrics_data(self, sdk: Clients) -> None:
        minutes = points(sdk.summarize("MountTargetIOPS[1m].mean()")[0])
        assert (min(minutes), max(minutes)) == (MINUTE - 180, MINUTE - 1)

    def test_no_point_is_from_the_future(self, sdk: Clients) -> None:
        minutes = points(sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE - 1, MINUTE + 10))[0])
        assert list(minutes) == [MINUTE - 1, MINUTE]

    def test_a_minute_is_there_from_its_end_on(self, sdk: Clients, clock: Clock) -> None:
        clock.now = NOW + 59.9
        assert max(points(sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE, MINUTE + 2))[0])) == MINUTE
        clock.now = NOW + 60
        assert max(points(sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE, MINUTE + 2))[0])) == MINUTE + 1

    @pytest.mark.parametrize(("resolution", "days"), [("1m", 7), ("4m", 7), ("5m", 30), ("1h", 90), ("1d", 90)])
    def test_history_reaches_as_far_back_as_the_resolution_allows_documented_metric_data(
        self, resolution: str, days: int, sdk: Clients
    ) -> None:
        home = sdk.region.tenancy.named("mt-home")
        query = f'MountTargetConnections[1d]{{resourceId = "{home}"}}.max()'
        oldest = MINUTE - days * 1440
        inside = {"start_time": at(oldest - 1440), "end_time": at(oldest + 1441), "resolution": resolution}
        minutes = points(sdk.summarize(query, **inside)[0])
        assert oldest <= min(minutes) < oldest + 1440

    def test_the_default_resolution_is_the_interval_documented_mql_reference(self, sdk: Clients) -> None:
        for interval, minutes in (("1m", 1), ("5m", 5), ("1h", 60)):
            starts = list(points(sdk.summarize(f"MountTargetIOPS[{interval}].max()")[0]))
            assert starts == [minute for minute in range(MINUTE - 180, MINUTE) if minute % minutes == 0]

    def test_answers_leave_the_resolution_null_and_print_milliseconds_as_recorded_ones_do(self, region: Region) -> None:
        stream = clients(region, raw=True).summarize("MountTargetIOPS[1m].mean()", resolution="1m")[0]
        assert stream["resolution"] is None
        assert all(point["timestamp"].endswith(":00.000Z") for point in stream["aggregatedDatapoints"])

    def test_resolution_is_the_step_and_interval_the_length_of_the_window(self, sdk: Clients) -> None:
        home = sdk.region.tenancy.named("mt-home")
        ask = f'MountTargetIOPS[5m]{{resourceId = "{home}"}}.max()'
        steps = points(sdk.summarize(ask, start_time=at(MINUTE - 20), end_time=at(MINUTE + 1), resolution="5m")[0])
        each = points(sdk.summarize(ask.replace("5m", "1m"), **between(MINUTE - 40, MINUTE))[0])
        assert list(steps) == [minute for minute in range(MINUTE - 20, MINUTE + 1) if minute % 5 == 0]
        for minute, value in steps.items():
            assert value == max(each[earlier] for earlier in range(minute - 4, minute + 1))

    def test_a_time_without_a_zone_is_utc(self, sdk: Clients) -> None:
        naive = datetime.fromtimestamp(NOW - 120, UTC).replace(tzinfo=None)
        assert min(points(sdk.summarize("MountTargetIOPS[1m].mean()", start_time=naive)[0])) == MINUTE - 2


class TestScope:
    def test_a_compartment_shows_its_own_streams_only(self, sdk: Clients) -> None:
        tenancy = sdk.region.tenancy
        batch = tenancy.compartments[2].id
        body = {"namespace": "oci_filestorage", "query": "MountTargetIOPS[1m].mean()"}
        streams = sdk.monitoring.summarize_metrics_data(batch, body).data
        assert {row.dimensions["resourceId"] for row in streams} == {
            tenancy.named("mt-scratch"),
            tenancy.named("mt-idle"),
        }
        assert {stream.compartment_id for stream in sdk.summarize("MountTargetIOPS[1m].mean()")} == {
            tenancy.compartments[1].id,
            batch,
        }

    @pytest.mark.parametrize("operation", ["list_metrics", "summarize_metrics_data"])
    def test_a_subtree_begins_at_the_tenancy_documented_summarize_metrics_data(
        self, operation: str, sdk: Clients
    ) -> None:
        body = {"namespace": "oci_filestorage"} | ({} if operation == "list_metrics" else {"query": "A[1m].mean()"})
        with refused(400, "InvalidParameter", "compartmentIdInSubtree"):
            getattr(sdk.monitoring, operation)(
                sdk.region.tenancy.compartments[1].id, body, compartment_id_in_subtree=True
            )

    def test_an_unknown_namespace_or_resource_group_is_empty_not_an_error(self, sdk: Clients) -> None:
        assert sdk.summarize("MountTargetIOPS[1m].mean()", namespace="oci_lakes") == []
        assert sdk.summarize("MountTargetIOPS[1m].mean()", resource_group="frontend") == []


class TestLimits:
    """Documented: MetricData, 2,000 metric streams and 100,000 data points in one answer."""

    def test_more_than_2000_streams_are_an_error_that_says_so_not_a_truncated_answer(
        self, regions: Callable[..., Region]
    ) -> None:
        sdk = clients(regions(large(501, 4)), raw=True)
        with refused(400, "InvalidParameter", "2004 metric streams", "2000"):
            sdk.summarize("FileSystemUsage[1m].max()", **between(MINUTE, MINUTE))
        assert len(sdk.summarize("FileSystemUsage[1m].groupBy(mountTargetId).max()", **between(MINUTE, MINUTE))) == 501

    def test_selecting_with_or_splits_a_query_that_is_too_large(self, regions: Callable[..., Region]) -> None:
        region = regions(large(6, 2), limits=RegionLimits(streams=8))
        sdk = clients(region, raw=True)
        targets = [target.id for target in region.tenancy.mount_targets]
        seen = []
        for half in (targets[:3], targets[3:]):
            chosen = "|".join(half)
            seen += sdk.summarize(
                f'FileSystemUsage[1m]{{mountTargetId =~ "{chosen}"}}.max()', **between(MINUTE, MINUTE)
            )
        assert len(seen) == 12

    def test_more_than_100000_points_are_an_error(self, regions: Callable[..., Region]) -> None:
        sdk = clients(regions(large(20, 1), limits=RegionLimits(points=100)), raw=True)
        with refused(400, "InvalidParameter", "data points"):
            sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE - 5, MINUTE))
        assert len(sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE - 4, MINUTE))) == 20


def test_a_large_tenancy_has_what_was_ordered() -> None:
    tenancy: Tenancy = large(1000)
    assert (len(tenancy.mount_targets), len(tenancy.file_systems), len(tenancy.links)) == (1000, 4000, 4000)
    assert len({target.address for target in tenancy.mount_targets}) == 1000
