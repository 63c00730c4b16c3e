"""One truth behind every metric of the demo tenancy: its figures agree, and follow the load."""

from collections import defaultdict
from typing import Any

import pytest
from tests.fss_toolbox.demo.minutes import between, points
from tests.fss_toolbox.demo.sdk import MINUTE, Clients
from tests.region import Region

from fss_exporter.model.operations import FIXED_COSTS, read_io_operations, write_io_operations
from fss_toolbox.demo.region.demo_tenancy import bucket_of


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

    def test_health_is_split_into_rates_that_make_a_hundred(self, sdk: Clients) -> None:
        streams = by(sdk.summarize("MountTargetHealth[1m].mean()"), "resourceId", "healthItem")
        for target in sdk.region.tenancy.mount_targets:
            rates = [points(streams[target.id, item])[MINUTE - 1] for item in ("SuccessRate", "ErrorRate")]
            assert sum(rates) == pytest.approx(100)


class TestLoad:
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
