"""The real SDK polls a loopback region over HTTP: what is exported is what the region has."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.fss_exporter.oci.world import MOUNT_TARGETS, World

from fss_exporter.oci.metric_table import METRICS


def test_counters_never_go_down_and_are_seen_at_zero_first(world: World) -> None:
    seen: list[dict[str | tuple[str, ...], float]] = []
    for _ in range(5):
        world.poll()
        seen.append(world.values("fss_mount_target_read_bytes_total", "mount_target"))
        world.pass_minutes()
    assert set(seen[0].values()) == {0.0}
    assert all(before[name] <= after[name] for before, after in pairwise(seen) for name in MOUNT_TARGETS)
    assert seen[-1]["mt-home"] > 0


def test_the_newest_exported_minute_is_the_newest_complete_one(world: World) -> None:
    for _ in range(3):
        world.poll()
        for name in MOUNT_TARGETS:
            expected = world.region.truth("MountTargetConnections", name, world.minute)
            assert world.value("fss_mount_target_connections", mount_target=name) == expected
        assert world.value("fss_oci_datapoint_age_seconds", oci_metric="MountTargetConnections") == pytest.approx(20)
        world.pass_minutes()


def test_every_documented_metric_is_exported_where_the_tenancy_has_it(world: World) -> None:
    for _ in range(6):
        world.poll()
        world.pass_minutes()
    families = world.families()
    exported = [metric for row in METRICS.values() for metric in (row.gauge, row.counter) if metric]
    assert [metric.name for metric in exported if metric.name not in families] == []


def test_one_poll_is_one_query_a_metric_and_scope(world: World) -> None:
    world.poll()
    before = dict(world.region.calls)
    world.pass_minutes()
    world.poll()
    calls = {operation: number - before.get(operation, 0) for operation, number in world.region.calls.items()}
    assert {operation for operation, number in calls.items() if number} == {"SummarizeMetricsData"}
    each_poll = [name for name, metric in METRICS.items() if not metric.interval_seconds]
    assert calls["SummarizeMetricsData"] == len(each_poll)


def test_named_compartments_are_asked_one_by_one(worlds: Callable[..., World]) -> None:
    world = worlds(compartments=["storage", "batch"])
    world.poll()
    before = world.region.calls["SummarizeMetricsData"]
    world.pass_minutes()
    world.poll()
    assert world.region.calls["SummarizeMetricsData"] - before <= 2 * len(METRICS)
    assert set(world.values("fss_mount_target_connections", "mount_target")) == set(MOUNT_TARGETS)
    assert set(world.values("fss_mount_target_info", "compartment")) == {"storage", "batch"}


def test_what_carries_an_address_waits_for_the_first_look_up(world: World) -> None:
    (region,) = world.account.regions.all()
    shown: list[tuple[int, int]] = []

    def look() -> None:
        limits, infos = "fss_mount_target_connections_limit", "fss_mount_target_info"
        shown.append((len(world.values(limits, "mount_target")), len(world.values(infos, "mount_target"))))

    region.inventory.run(look)
    assert (len(MOUNT_TARGETS), 0) in shown, "the mount targets are known before their addresses"
    world.poll()
    assert "" not in world.values("fss_mount_target_info", "address")
    assert "" not in world.values("fss_export_info", "address")


def test_mount_target_iops_is_only_asked_where_the_tenancy_has_it(worlds: Callable[..., World]) -> None:
    from dataclasses import replace

    from tests.region import small

    world = worlds(replace(small(), publishes_iops=False))
    world.poll()
    assert "fss_mount_target_iops" not in world.families()
    assert world.value("fss_oci_metric_success", oci_metric="MountTargetIOPS") is None
    assert "fss_mount_target_estimated_iops" in world.families()


def test_silence_while_idle_is_no_data_and_zero_is_zero(world: World) -> None:
    world.poll()
    assert world.value("fss_mount_target_iops", mount_target="mt-idle") == 0
    assert ("archive", "0B_to_8KiB") not in world.values("fss_file_system_read_latency_seconds", "file_system", "size")
    assert world.value("fss_mount_target_estimated_iops", mount_target="mt-idle") == 0


def test_estimates_hold_measured_iops_of_workloads_oci_publishes_in_full(world: World) -> None:
    world.poll()
    lower = world.values("fss_mount_target_estimated_iops_lower_bound", "mount_target")
    point = world.values("fss_mount_target_estimated_iops", "mount_target")
    upper = world.values("fss_mount_target_estimated_iops_upper_bound", "mount_target")
    measured = world.values("fss_mount_target_iops", "mount_target")
    for name in MOUNT_TARGETS:
        assert lower[name] <= point[name] <= upper[name]
        assert lower[name] <= measured[name] * 1.001, "what OCI does not publish can only be missing"
    assert point["mt-scratch"] == pytest.approx(measured["mt-scratch"], rel=0.02)


def test_answers_over_the_documented_size_are_split_and_counted(worlds: Callable[..., World]) -> None:
    from tests.region import RegionLimits, large

    world = worlds(large(12, 2), region={"limits": RegionLimits(streams=20)})
    world.poll()
    world.pass_minutes()
    world.poll()
    reads = world.values("fss_file_system_read_requests_per_second", "file_system", "size")
    assert len(reads) == 12 * 2 * 3
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1
    assert (world.value("fss_oci_query_splits_total", oci_metric="FileSystemReadRequestsbySize") or 0) >= 3
    assert world.value("fss_oci_query_splits_total", oci_metric="MountTargetReadThroughput") is None


def test_tags_choose_mount_targets_and_what_belongs_to_them(worlds: Callable[..., World]) -> None:
    world = worlds(include={"tags": {"team": "it"}})
    world.poll()
    assert set(world.values("fss_mount_target_info", "mount_target")) == {"mt-home"}
    assert set(world.values("fss_file_system_read_bytes_per_second", "file_system")) == {"homes", "projects"}
    skipped = world.values("fss_oci_streams_skipped_total", "reason")
    assert skipped["not_selected"] > 0
    assert skipped["unknown_resource"] == 0
