"""One truth behind every metric of the demo tenancy: its figures agree, and follow the load."""

import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from tests.clock import Clock
from tests.fss_toolbox.demo.minutes import between, points
from tests.fss_toolbox.demo.sdk import MINUTE, Clients
from tests.region import Region

from fss_exporter.model.operations import FIXED_COSTS, read_io_operations, write_io_operations
from fss_toolbox.demo.region.demo_tenancy import bucket_of
from fss_toolbox.demo.region.metric_streams import published_metrics


def by(streams: list[Any], *dimensions: str) -> dict[tuple[str, ...], Any]:
    by_dimensions = {tuple(stream.dimensions[name] for name in dimensions): stream for stream in streams}
    assert len(by_dimensions) == len(streams)
    return by_dimensions


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
        for requests in link.requests.rates:
            if requests.operation == "READ":
                buckets[bucket_of(requests.size)] += requests.per_second
        share = moved / link.requests.read_bytes
        for bucket, rate in buckets.items():
            asked = sdk.region.truth("FileSystemReadRequestsbySize", link.file_system_id, MINUTE, size=bucket)
            assert asked == pytest.approx(rate * share, rel=1e-3)

    def test_the_written_down_cost_of_every_request_is_the_one_the_exporter_estimates(self, sdk: Clients) -> None:
        """The region never uses the exporter's model: both copies of the white paper's table must agree."""
        rates = {rate for link in sdk.region.tenancy.links for rate in link.requests.rates}
        transfers = {"READ": read_io_operations, "WRITE": write_io_operations}
        assert len(rates) > 30
        for rate in rates:
            transfer = transfers.get(rate.operation)
            expected = transfer(rate.size) if transfer else FIXED_COSTS[rate.operation]
            assert rate.io_operations == expected, rate

    def test_iops_are_the_written_down_costs_of_the_requests(self, sdk: Clients) -> None:
        """mt-scratch: READs and WRITEs of 1 MiB, and five other operations."""
        tenancy = sdk.region.tenancy
        link = next(link for link in tenancy.links if link.mount_target_id == tenancy.named("mt-scratch"))
        by_hand = 860 * 33 + 66 * 60 + 400 * 1 + 80 * 2 + 20 * 4 + 20 * 8 + 20 * 1
        assert link.requests.io_operations == by_hand

    def test_the_region_does_not_import_the_cost_model(self) -> None:
        from importlib.resources import files

        region = files("fss_toolbox.demo.region")
        sources = {path.name: path.read_text() for path in region.iterdir() if path.name.endswith(".py")}
        assert len(sources) > 10
        assert [name for name, text in sources.items() if "fss_exporter.model" in text] == []

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
        streams = [
            stream
            for stream in sdk.summarize("FileSystemUsage[1m].max()")
            if stream.dimensions["resourceId"] == projects
        ]
        assert len(streams) == 2
        assert len({points(stream)[MINUTE - 1] for stream in streams}) == 1

    def test_latency_is_silent_while_idle_and_throughput_is_zero_documented_file_system_metrics(
        self, sdk: Clients
    ) -> None:
        archive = sdk.region.tenancy.named("archive")

        def of(metric: str) -> list[Any]:
            return [
                stream for stream in sdk.summarize(f"{metric}[1m].mean()") if stream.dimensions["resourceId"] == archive
            ]

        assert of("FileSystemReadAverageLatencybySize") == of("MetadataRequestAverageLatency") == []
        assert {value for stream in of("FileSystemReadThroughput") for value in points(stream).values()} == {0.0}

    def test_successes_stand_among_the_errors_documented_file_system_metrics(self, sdk: Clients) -> None:
        home = sdk.region.tenancy.named("mt-home")
        kerberos = by(sdk.summarize("KerberosErrors[1h].sum()", resolution="1h"), "errorType")
        assert max(points(kerberos["Keytab Load Success",]).values()) > 0
        ldap = sdk.summarize(f'LdapConnectionErrors[1h]{{resourceId = "{home}"}}.sum()', resolution="1h")
        assert max(points(by(ldap, "errorType")["Connection Success",]).values()) > 100

    def test_ldap_is_published_for_both_owners_documented_file_system_metrics(self, sdk: Clients) -> None:
        tenancy = sdk.region.tenancy
        streams = by(sdk.summarize("LdapRequestThroughput[1m].sum()"), "resourceId", "requestType")
        assert {owner for owner, _ in streams} == {tenancy.named("mt-home"), tenancy.named("ldap-corp")}

    def test_health_is_split_into_rates_that_make_a_hundred(self, sdk: Clients) -> None:
        streams = by(sdk.summarize("MountTargetHealth[1m].mean()"), "resourceId", "healthItem")
        for target in sdk.region.tenancy.mount_targets:
            rates = [points(streams[target.id, item])[MINUTE - 1] for item in ("SuccessRate", "ErrorRate")]
            assert sum(rates) == pytest.approx(100)


class TestTruth:
    def test_every_stream_shows_the_truth_of_every_minute(self, sdk: Clients) -> None:
        region = sdk.region
        for row in published_metrics():
            window = between(MINUTE - 3, MINUTE)
            for stream in sdk.summarize(f"{row.name}[1m].sum()", namespace=row.namespace, **window):
                owner = stream.dimensions.get("resourceId", region.tenancy.id)
                rest = {name: value for name, value in stream.dimensions.items() if name != "resourceId"}
                for minute, value in points(stream).items():
                    assert value == region.truth(row.name.upper(), owner, minute, **rest)

    def test_it_does_not_depend_on_who_asks_when(self, regions: Callable[..., Region]) -> None:
        minutes = list(range(MINUTE, MINUTE + 50))
        first, second = regions(), regions()
        in_order = {minute: first.truth("MountTargetIOPS", "mt-home", minute) for minute in minutes}
        random.shuffle(minutes)
        assert {minute: second.truth("MountTargetIOPS", "mt-home", minute) for minute in minutes} == in_order

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

    def test_no_more_than_all_clients_of_a_file_system_can_move(self, region: Region) -> None:
        def load() -> float:
            names = ("mt-home", "mt-home-b")
            return sum(region.truth("MountTargetIOPS", name, MINUTE) or 0.0 for name in names)

        before = load()
        for _ in range(3):
            region.move("projects", "mt-home", "mt-home-b", 0.5)
        assert load() == pytest.approx(before, rel=1e-3)

    @pytest.mark.parametrize("factor", [-1, 1001, float("nan")])
    def test_an_absurd_load_is_refused(self, factor: float, region: Region) -> None:
        with pytest.raises(ValueError, match="between 0 and 1000"):
            region.set_load("mt-home", factor)

    def test_no_load_at_all_is_idle(self, region: Region) -> None:
        region.set_load("mt-home", 0)
        assert region.truth("MountTargetIOPS", "mt-home", MINUTE) == 0.0
        size = {"mountTargetId": region.tenancy.named("mt-home"), "size": "0B_to_8KiB"}
        assert region.truth("FileSystemReadAverageLatencybySize", "homes", MINUTE, **size) is None
