"""Metrics of the demo tenancy: names and dimensions as documented, one truth behind all of them."""

import random
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.demo.sdk import MINUTE, NOW, Clients, Clock, clients, refused

from fss_exporter.demo.region import Limits, Region, Tenancy, large, small
from fss_exporter.demo.region.filestorage import ROWS
from fss_exporter.demo.region.traffic import bucket_of
from fss_exporter.model.transfers import read_io_operations

DOCUMENTED = """
FileSystemReadThroughput FileSystemWriteThroughput FileSystemReadRequestsbySize FileSystemWriteRequestsbySize
FileSystemReadAverageLatencybySize FileSystemWriteAverageLatencybySize MetadataRequestAverageLatency MetadataIOPS
FileSystemUsage UserSoftQuotaViolations UserHardQuotaViolations snapshotsGovernanceMode snapshotsComplianceMode
retentionLockDuration ReplicationThroughput ReplicationEgressThroughput ReplicationRecoveryPointAge
MountTargetReadThroughput MountTargetWriteThroughput MountTargetConnections MountTargetHealth KerberosErrors
LdapRequestThroughput LdapRequestAverageLatency LdapConnectionErrors LdapRequestErrors
""".split()
"""The names of "File System Metrics", in its order and case."""


def points(stream: Any) -> dict[int, float]:
    return {int(point.timestamp.timestamp() // 60): point.value for point in stream.aggregated_datapoints}


def at(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC)


def between(first: int, last: int) -> dict[str, Any]:
    """A request window whose points are the minutes first to last, both included."""
    return {"start_time": at(first), "end_time": at(last + 1), "resolution": "1m"}


def by(streams: list[Any], *dimensions: str) -> dict[tuple[str, ...], Any]:
    found = {tuple(stream.dimensions[name] for name in dimensions): stream for stream in streams}
    assert len(found) == len(streams)
    return found


class TestNames:
    def test_all_26_documented_ones_are_there_and_the_white_paper_s(self, sdk: Clients) -> None:
        listed = sdk.monitoring.list_metrics(
            sdk.region.tenancy.id,
            {"namespace": "oci_filestorage", "groupBy": ["name"]},
            compartment_id_in_subtree=True,
        ).data
        assert [one.name for one in listed] == [*DOCUMENTED, "MountTargetIOPS"]

    @pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
    def test_every_stream_has_the_documented_dimensions_and_the_unit(self, row: Any, sdk: Clients) -> None:
        streams = sdk.summarize(f"{row.name}[1m].mean()")
        assert streams
        for stream in streams:
            assert set(stream.dimensions) == set(row.dimensions)
            assert stream.metadata == {"unit": row.unit, "displayName": row.display_name}
            assert stream.name == row.name

    def test_a_tenancy_may_lack_the_undocumented_one(self, start: Callable[..., Region]) -> None:
        from dataclasses import replace

        sdk = clients(start(replace(small(), publishes_iops=False)))
        assert sdk.summarize("MountTargetIOPS[1m].mean()") == []
        assert (
            sdk.monitoring.list_metrics(
                sdk.region.tenancy.id, {"name": "MountTargetIOPS"}, compartment_id_in_subtree=True
            ).data
            == []
        )

    def test_names_are_matched_exactly(self, sdk: Clients) -> None:
        assert sdk.summarize("mounttargetiops[1m].mean()") == []
        assert sdk.summarize("FileSystemReadRequestsBySize[1m].mean()") == []


class TestListMetrics:
    def test_one_definition_for_each_stream_of_the_compartment(self, sdk: Clients) -> None:
        storage = sdk.region.tenancy.compartments[1].id
        listed = sdk.monitoring.list_metrics(storage, {"name": "MountTargetConnections"}).data
        assert {one.dimensions["resourceId"] for one in listed} == {
            sdk.region.tenancy.named(name) for name in ("mt-home", "mt-home-b", "mt-media")
        }
        assert {one.compartment_id for one in listed} == {storage}

    def test_names_take_wildcards_documented_list_metrics(self, sdk: Clients) -> None:
        listed = sdk.monitoring.list_metrics(
            sdk.region.tenancy.id,
            {"name": "MountTarget*Throughput", "groupBy": ["name"]},
            compartment_id_in_subtree=True,
        ).data
        assert {one.name for one in listed} == {"MountTargetReadThroughput", "MountTargetWriteThroughput"}

    def test_dimension_filters_choose_and_group_by_makes_them_void_documented_list_metrics(self, sdk: Clients) -> None:
        home = {"dimensionFilters": {"resourceId": sdk.region.tenancy.named("mt-home")}, "name": "MountTargetHealth"}
        ask = sdk.monitoring.list_metrics
        assert len(ask(sdk.region.tenancy.id, home, compartment_id_in_subtree=True).data) == 2
        grouped = ask(sdk.region.tenancy.id, home | {"groupBy": ["namespace"]}, compartment_id_in_subtree=True).data
        assert [one.namespace for one in grouped] == ["oci_filestorage"]

    def test_the_dead_stay_listed_documented_overview_of_monitoring(
        self, region: Region, sdk: Clients, clock: Clock
    ) -> None:
        region.delete("mt-idle")
        clock.pass_minutes(600)
        wanted = {"name": "MountTargetIOPS", "dimensionFilters": {"resourceId": region.tenancy.named("mt-idle")}}
        assert len(sdk.monitoring.list_metrics(region.tenancy.id, wanted, compartment_id_in_subtree=True).data) == 1
        assert sdk.summarize(f'MountTargetIOPS[1m]{{resourceId = "{region.tenancy.named("mt-idle")}"}}.mean()') == []


class TestWindow:
    def test_start_is_inclusive_and_end_exclusive_documented_summarize_metrics_data(self, sdk: Clients) -> None:
        for stream in sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE - 5, MINUTE - 1)):
            assert list(points(stream)) == list(range(MINUTE - 5, MINUTE))

    def test_without_times_it_is_the_last_three_hours_documented_summarize_metrics_data(self, sdk: Clients) -> None:
        found = points(sdk.summarize("MountTargetIOPS[1m].mean()")[0])
        assert (min(found), max(found)) == (MINUTE - 180, MINUTE - 1)

    def test_no_point_is_from_the_future(self, sdk: Clients) -> None:
        found = points(sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE - 1, MINUTE + 10))[0])
        assert list(found) == [MINUTE - 1, MINUTE]

    def test_a_minute_is_there_from_its_end_on(self, sdk: Clients, clock: Clock) -> None:
        clock.now = NOW + 59.9
        assert max(points(sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE, MINUTE + 2))[0])) == MINUTE
        clock.now = NOW + 60
        assert max(points(sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE, MINUTE + 2))[0])) == MINUTE + 1

    def test_one_minute_data_reaches_seven_days_back_documented_metric_data(self, sdk: Clients) -> None:
        eight_days = 8 * 1440
        found = sdk.summarize("MountTargetConnections[1h].max()", start_time=at(MINUTE - eight_days), resolution="1h")
        assert min(points(found[0])) >= MINUTE - 7 * 1440

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
        found = sdk.monitoring.summarize_metrics_data(batch, body).data
        assert {one.dimensions["resourceId"] for one in found} == {
            tenancy.named("mt-scratch"),
            tenancy.named("mt-idle"),
        }
        assert {one.compartment_id for one in sdk.summarize("MountTargetIOPS[1m].mean()")} == {
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
        self, start: Callable[..., Region]
    ) -> None:
        sdk = clients(start(large(501, 4)), raw=True)
        with refused(400, "InvalidParameter", "2004 metric streams", "2000"):
            sdk.summarize("FileSystemUsage[1m].max()", **between(MINUTE, MINUTE))
        assert len(sdk.summarize("FileSystemUsage[1m].groupBy(mountTargetId).max()", **between(MINUTE, MINUTE))) == 501

    def test_selecting_with_or_splits_a_query_that_is_too_large(self, start: Callable[..., Region]) -> None:
        region = start(large(6, 2), limits=Limits(streams=8))
        sdk = clients(region, raw=True)
        targets = [target.id for target in region.tenancy.mount_targets]
        seen = []
        for half in (targets[:3], targets[3:]):
            chosen = "|".join(half)
            seen += sdk.summarize(
                f'FileSystemUsage[1m]{{mountTargetId =~ "{chosen}"}}.max()', **between(MINUTE, MINUTE)
            )
        assert len(seen) == 12

    def test_more_than_100000_points_are_an_error(self, start: Callable[..., Region]) -> None:
        sdk = clients(start(large(20, 1), limits=Limits(points=100)), raw=True)
        with refused(400, "InvalidParameter", "data points"):
            sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE - 5, MINUTE))
        assert len(sdk.summarize("MountTargetIOPS[1m].mean()", **between(MINUTE - 4, MINUTE))) == 20


class TestAgreement:
    """One traffic is behind every metric."""

    @pytest.mark.parametrize("direction", ["Read", "Write"])
    def test_what_goes_through_a_mount_target_is_what_its_file_systems_move(self, direction: str, sdk: Clients) -> None:
        window = between(MINUTE - 10, MINUTE)
        behind: dict[tuple[str, int], float] = defaultdict(float)
        for stream in sdk.summarize(f"FileSystem{direction}Throughput[1m].mean()", **window):
            for minute, value in points(stream).items():
                behind[stream.dimensions["mountTargetId"], minute] += value
        for stream in sdk.summarize(f"MountTarget{direction}Throughput[1m].mean()", **window):
            for minute, value in points(stream).items():
                assert value == pytest.approx(behind[stream.dimensions["resourceId"], minute], abs=2)

    def test_requests_by_size_times_their_sizes_are_the_throughput(self, sdk: Clients) -> None:
        tenancy = sdk.region.tenancy
        link = next(link for link in tenancy.links if link.path == "/export/a")
        moved = sdk.truth("FileSystemReadThroughput", link.file_system_id, MINUTE, mountTargetId=link.mount_target_id)
        buckets: dict[str, float] = defaultdict(float)
        for size, rate in link.traffic.reads.items():
            buckets[bucket_of(size)] += rate
        share = moved / link.traffic.read_bytes
        for bucket, rate in buckets.items():
            asked = sdk.region.truth("FileSystemReadRequestsbySize", link.file_system_id, MINUTE, size=bucket)
            assert asked == pytest.approx(rate * share, rel=1e-3)

    def test_iops_are_the_white_paper_s_costs_of_the_traffic(self, sdk: Clients) -> None:
        """A mount target with reads of 1 MiB only would need 33 for each."""
        tenancy = sdk.region.tenancy
        link = next(link for link in tenancy.links if link.mount_target_id == tenancy.named("mt-scratch"))
        by_hand = sum(read_io_operations(size) * rate for size, rate in link.traffic.reads.items())
        by_hand += 66 * 60 + 400 * 1 + 80 * 2 + 20 * 4 + 20 * 8 + 20 * 1
        assert link.traffic.io_operations == by_hand

    def test_mt_home_is_near_its_iops_ceiling_and_mt_scratch_near_its_bandwidth(self, sdk: Clients) -> None:
        for minute in range(MINUTE, MINUTE + 240):
            assert 0.83 < sdk.truth("MountTargetIOPS", "mt-home", minute) / 50_000 < 0.95
            assert 0.84 < sdk.truth("MountTargetReadThroughput", "mt-scratch", minute) / 1e9 < 0.97
            assert sdk.region.truth("MountTargetIOPS", "mt-idle", minute) == 0.0

    def test_the_shared_file_system_is_used_unevenly(self, sdk: Clients) -> None:
        one, other = (
            sdk.truth("FileSystemReadThroughput", "projects", MINUTE, mountTargetId=sdk.region.tenancy.named(name))
            for name in ("mt-home", "mt-home-b")
        )
        assert one > 5 * other

    def test_usage_repeats_behind_each_mount_target_so_adding_it_up_counts_twice(self, sdk: Clients) -> None:
        projects = sdk.region.tenancy.named("projects")
        found = [one for one in sdk.summarize("FileSystemUsage[1m].max()") if one.dimensions["resourceId"] == projects]
        assert len(found) == 2
        assert len({points(one)[MINUTE - 1] for one in found}) == 1

    def test_latency_is_silent_while_idle_and_throughput_is_zero_documented_file_system_metrics(
        self, sdk: Clients
    ) -> None:
        archive = sdk.region.tenancy.named("archive")

        def of(metric: str) -> list[Any]:
            return [one for one in sdk.summarize(f"{metric}[1m].mean()") if one.dimensions["resourceId"] == archive]

        assert of("FileSystemReadAverageLatencybySize") == of("MetadataRequestAverageLatency") == []
        assert {value for one in of("FileSystemReadThroughput") for value in points(one).values()} == {0.0}

    def test_successes_stand_among_the_errors_documented_file_system_metrics(self, sdk: Clients) -> None:
        home = sdk.region.tenancy.named("mt-home")
        kerberos = by(sdk.summarize("KerberosErrors[1h].sum()", resolution="1h"), "errorType")
        assert max(points(kerberos["Keytab Load Success",]).values()) > 0
        ldap = sdk.summarize(f'LdapConnectionErrors[1h]{{resourceId = "{home}"}}.sum()', resolution="1h")
        assert max(points(by(ldap, "errorType")["Connection Success",]).values()) > 100

    def test_ldap_is_published_for_both_owners_documented_file_system_metrics(self, sdk: Clients) -> None:
        tenancy = sdk.region.tenancy
        found = by(sdk.summarize("LdapRequestThroughput[1m].sum()"), "resourceId", "requestType")
        assert {owner for owner, _ in found} == {tenancy.named("mt-home"), tenancy.named("ldap-corp")}

    def test_health_is_split_into_rates_that_make_a_hundred(self, sdk: Clients) -> None:
        found = by(sdk.summarize("MountTargetHealth[1m].mean()"), "resourceId", "healthItem")
        for target in sdk.region.tenancy.mount_targets:
            rates = [points(found[target.id, item])[MINUTE - 1] for item in ("SuccessRate", "ErrorRate")]
            assert sum(rates) == pytest.approx(100)


class TestTruth:
    def test_every_stream_shows_the_truth_of_every_minute(self, sdk: Clients) -> None:
        region = sdk.region
        for row in ROWS:
            for stream in sdk.summarize(f"{row.name}[1m].sum()", **between(MINUTE - 3, MINUTE)):
                owner = stream.dimensions.get("resourceId", region.tenancy.id)
                rest = {name: value for name, value in stream.dimensions.items() if name != "resourceId"}
                for minute, value in points(stream).items():
                    assert value == region.truth(row.name.upper(), owner, minute, **rest)

    def test_it_does_not_depend_on_who_asks_when(self, start: Callable[..., Region]) -> None:
        minutes = list(range(MINUTE, MINUTE + 50))
        first, second = start(), start()
        in_order = {minute: first.truth("MountTargetIOPS", "mt-home", minute) for minute in minutes}
        random.shuffle(minutes)
        assert {minute: second.truth("MountTargetIOPS", "mt-home", minute) for minute in minutes} == in_order

    def test_another_seed_is_another_truth(self, start: Callable[..., Region]) -> None:
        one, other = (start(seed=seed).truth("MountTargetIOPS", "mt-home", MINUTE) for seed in (1, 2))
        assert one != other

    def test_it_says_when_a_question_fits_no_stream_or_several(self, region: Region) -> None:
        with pytest.raises(LookupError, match="0 streams"):
            region.truth("NoSuchMetric", "mt-home", MINUTE)
        with pytest.raises(LookupError, match="2 streams"):
            region.truth("FileSystemReadThroughput", "projects", MINUTE)
        with pytest.raises(LookupError, match="called 'mt-nowhere'"):
            region.truth("MountTargetIOPS", "mt-nowhere", MINUTE)


class TestLoad:
    def test_it_rises_and_falls_on_command_from_the_current_minute_on(
        self, region: Region, sdk: Clients, clock: Clock
    ) -> None:
        before = sdk.truth("MountTargetIOPS", "mt-home-b", MINUTE + 5)
        region.set_load("mt-home-b", 10)
        clock.pass_minutes(10)
        region.set_load("mt-home-b", 1)
        assert sdk.truth("MountTargetIOPS", "mt-home-b", MINUTE - 1) < 3000
        assert sdk.truth("MountTargetIOPS", "mt-home-b", MINUTE + 5) == pytest.approx(10 * before, rel=0.01)
        assert sdk.truth("MountTargetIOPS", "mt-home-b", MINUTE + 10) < 3000

    def test_a_mount_target_gives_no_more_than_its_ceiling_and_its_latency_shows_it(
        self, region: Region, sdk: Clients
    ) -> None:
        slow = {"mountTargetId": region.tenancy.named("mt-home"), "size": "0B_to_8KiB"}
        before = sdk.truth("FileSystemReadAverageLatencybySize", "homes", MINUTE, **slow)
        region.set_load("mt-home", 3)
        assert sdk.truth("MountTargetIOPS", "mt-home", MINUTE) == pytest.approx(50_000, abs=2)
        assert sdk.truth("FileSystemReadAverageLatencybySize", "homes", MINUTE, **slow) > 10 * before

    @pytest.mark.parametrize("factor", [-1, 1001, float("nan")])
    def test_an_absurd_load_is_refused(self, factor: float, region: Region) -> None:
        with pytest.raises(ValueError, match="between 0 and 1000"):
            region.set_load("mt-home", factor)

    def test_no_load_at_all_is_idle(self, region: Region) -> None:
        region.set_load("mt-home", 0)
        assert region.truth("MountTargetIOPS", "mt-home", MINUTE) == 0.0
        size = {"mountTargetId": region.tenancy.named("mt-home"), "size": "0B_to_8KiB"}
        assert region.truth("FileSystemReadAverageLatencybySize", "homes", MINUTE, **size) is None


def test_a_large_tenancy_has_what_was_ordered() -> None:
    tenancy: Tenancy = large(1000, 4, compartments=8)
    assert (len(tenancy.mount_targets), len(tenancy.file_systems), len(tenancy.links)) == (1000, 4000, 4000)
    assert len({target.address for target in tenancy.mount_targets}) == 1000
    assert {target.compartment_id for target in tenancy.mount_targets} == {one.id for one in tenancy.compartments}
