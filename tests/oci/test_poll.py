"""The real SDK polls a loopback region over HTTP: what is exported is what the region has, whatever goes wrong on the way."""

import logging
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from tests.oci.world import World

from fss_exporter.oci.metrics import METRICS

MOUNT_TARGETS = ("mt-home", "mt-home-b", "mt-scratch", "mt-media", "mt-idle")
COUNTERS = {
    "fss_mount_target_io_operations_total": ("MountTargetIOPS", {}),
    "fss_mount_target_read_bytes_total": ("MountTargetReadThroughput", {"throughput": "ReadThroughput"}),
    "fss_mount_target_written_bytes_total": ("MountTargetWriteThroughput", {"throughput": "WriteThroughput"}),
}

FAULTY_MINUTES = {
    3: ["late"],
    9: ["gaps,share=0.2"],
    14: ["429:SummarizeMetricsData,times=4"],
    17: ["500:SummarizeMetricsData,times=2", "cut-off:SummarizeMetricsData,times=1"],
    20: ["name-case"],
    24: ["503:SummarizeMetricsData"],
    29: ["not-json:SummarizeMetricsData,times=3"],
    33: ["late", "gaps,share=0.3"],
    40: ["deny:SummarizeMetricsData"],
    52: ["wrong-shape:SummarizeMetricsData,times=2"],
}
HEALING_MINUTES = {8, 12, 15, 19, 23, 27, 31, 38, 50, 54}


def truth(world: World, oci_metric: str, mount_target: str, first: int, last: int, **dimensions: str) -> float:
    """What a counter must show: every published minute, once, for 60 seconds."""
    published = (
        world.region.truth(oci_metric, mount_target, minute, **dimensions) for minute in range(first, last + 1)
    )
    return sum(value * 60 for value in published if value is not None)


def test_after_an_hour_of_faults_the_counters_equal_the_truth_exactly(world: World) -> None:
    first = world.minute + 1
    for minute in range(60):
        if minute in HEALING_MINUTES:
            world.region.clear_faults()
        for fault in FAULTY_MINUTES.get(minute, ()):
            world.region.add_fault(fault)
        for _ in range(1 + (minute % 7 == 0)):  # now and then a poll is repeated
            world.poll(survey=minute % 10 == 0)
        if minute % 11 != 5:  # and now and then one comes a minute late, so that minutes come in pairs
            world.pass_minutes()
    last = world.minute
    world.region.clear_faults()
    world.pass_minutes(4)  # all that is late has come
    world.poll()
    for exported, (oci_metric, dimensions) in COUNTERS.items():
        counted = world.values(exported, "mount_target")
        assert set(counted) == set(MOUNT_TARGETS)
        for name in MOUNT_TARGETS:
            assert counted[name] == truth(world, oci_metric, name, first, last + 4, **dimensions), (exported, name)


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


def test_points_that_come_late_are_exported_as_soon_as_they_are_there(world: World) -> None:
    world.poll()
    world.region.add_fault("late")
    for _ in range(12):
        world.pass_minutes()
        world.poll()
        ages = world.values("fss_oci_datapoint_age_seconds", "oci_metric")
        assert ages["MountTargetConnections"] <= 200
        assert len(world.values("fss_mount_target_connections", "mount_target")) == len(MOUNT_TARGETS)


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
    assert calls["SummarizeMetricsData"] == len(METRICS)


def test_named_compartments_are_asked_one_by_one(worlds: Callable[..., World]) -> None:
    world = worlds(compartments=["storage", "batch"])
    world.poll(survey=True)
    before = world.region.calls["SummarizeMetricsData"]
    world.pass_minutes()
    world.poll()
    assert world.region.calls["SummarizeMetricsData"] - before <= 2 * len(METRICS)
    assert set(world.values("fss_mount_target_connections", "mount_target")) == set(MOUNT_TARGETS)
    assert set(world.values("fss_mount_target_info", "compartment")) == {"storage", "batch"}


def test_an_unknown_compartment_is_told_and_costs_only_itself(
    worlds: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    world = worlds(compartments=["storage", "strage"])
    world.poll(survey=True)
    assert "no compartment is called 'strage'" in caplog.text
    assert set(world.values("fss_mount_target_info", "mount_target")) == {"mt-home", "mt-home-b", "mt-media"}
    assert world.value("fss_oci_inventory_success", operation="ListCompartments") == 0


@pytest.mark.parametrize(
    "fault", ["429", "500", "503", "cut-off", "not-json", "wrong-shape", "deny"], ids=lambda fault: f"fault {fault}"
)
def test_a_metric_that_fails_costs_only_itself_and_goes_when_it_is_stale(world: World, fault: str) -> None:
    world.poll()
    before = world.values("fss_mount_target_connections", "mount_target")
    world.region.add_fault(f"{fault}:SummarizeMetricsData,match=MountTargetConnections")
    world.pass_minutes()
    world.poll()
    assert world.value("fss_oci_metric_success", oci_metric="MountTargetConnections") == 0
    assert world.value("fss_oci_metric_success", oci_metric="MountTargetReadThroughput") == 1
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 0
    assert world.values("fss_mount_target_connections", "mount_target") == before, "the last points stay"
    assert world.value("fss_oci_datapoint_age_seconds", oci_metric="MountTargetConnections") == pytest.approx(80)
    world.pass_minutes(6)
    world.poll()
    assert world.values("fss_mount_target_connections", "mount_target") == {}, "stale points go"
    assert len(world.values("fss_mount_target_read_bytes_per_second", "mount_target")) == len(MOUNT_TARGETS)
    world.region.clear_faults()
    world.pass_minutes()
    world.poll()
    assert len(world.values("fss_mount_target_connections", "mount_target")) == len(MOUNT_TARGETS)
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1


def test_points_go_stale_at_the_scrape_even_if_nobody_polls(world: World) -> None:
    world.poll(survey=True)
    world.pass_minutes(7)
    assert world.values("fss_mount_target_connections", "mount_target") == {}
    assert world.values("fss_mount_target_estimated_iops", "mount_target") == {}
    assert len(world.values("fss_mount_target_info", "mount_target")) == len(MOUNT_TARGETS)


def test_a_missing_permission_has_a_series_and_one_log_line_with_the_statement(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.region.add_fault("deny:SummarizeMetricsData")
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            world.poll()
            world.pass_minutes()
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "to read metrics in tenancy where target.metrics.namespace='oci_filestorage'" in told[0]
    refused = world.ledger.sums()["fss_oci_api_requests_total"][
        "eu-frankfurt-1", "SummarizeMetricsData", "not_authorized"
    ]
    assert refused >= 3
    assert world.values("fss_mount_target_read_bytes_per_second", "mount_target") == {}, "nothing is exported as zero"
    world.region.clear_faults()
    with caplog.at_level(logging.INFO):
        world.poll()
    assert "works again" in caplog.text


@pytest.mark.parametrize(
    ("operation", "missing", "statement"),
    [
        ("ListReplications", "fss_replication_info", "inspect replications in tenancy"),
        ("ListOutboundConnectors", "fss_outbound_connector_info", "inspect outbound-connectors in tenancy"),
        ("ListExports", "fss_export_info", "read export-sets in tenancy"),
        ("GetPrivateIp", "", "inspect private-ips in compartment <compartment of the network>"),
    ],
)
def test_an_inventory_call_that_is_not_allowed_costs_only_what_it_would_have_told(
    world: World, operation: str, missing: str, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.region.add_fault(f"deny:{operation}")
    world.poll(survey=True)
    world.poll()
    assert statement in caplog.text
    assert world.value("fss_oci_inventory_success", operation=operation) == 0
    assert len(world.values("fss_mount_target_connections", "mount_target")) == len(MOUNT_TARGETS)
    assert missing not in world.families()
    if operation == "GetPrivateIp":
        assert set(world.values("fss_mount_target_info", "address")) == {""}


def test_what_carries_an_address_waits_for_the_first_look_up(world: World) -> None:
    world.poll()
    assert world.values("fss_mount_target_info", "address") == {}
    assert world.values("fss_export_info", "address") == {}
    assert len(world.values("fss_mount_target_iops", "mount_target")) == len(MOUNT_TARGETS), "figures do not wait"
    world.poll(survey=True)
    assert "" not in world.values("fss_mount_target_info", "address")
    assert "" not in world.values("fss_export_info", "address")


def test_labels_stay_while_listings_fail(world: World) -> None:
    world.poll(survey=True)
    before = world.values("fss_mount_target_info", "mount_target", "compartment", "address", "fqdn")
    world.region.add_fault("500:List*")
    world.region.add_fault("deny:Get*")
    for _ in range(3):
        world.pass_minutes(11)
        world.poll(survey=True)
    assert world.values("fss_mount_target_info", "mount_target", "compartment", "address", "fqdn") == before
    assert world.value("fss_oci_inventory_success", operation="ListMountTargets") == 0
    age = world.value("fss_oci_inventory_age_seconds", region="eu-frankfurt-1")
    assert age == pytest.approx(33 * 60)


def test_a_deleted_resource_is_gone_from_everything_after_the_next_survey(world: World) -> None:
    world.poll(survey=True)
    world.region.add_fault("delete,resource=mt-media")
    world.pass_minutes(11)
    world.poll(survey=True)
    for family in world.families().values():
        assert not any("mt-media" in series.labels for series in family.series), family.metric.name


def test_a_mount_target_that_falls_silent_makes_the_survey_come_early(world: World) -> None:
    world.poll(survey=True)
    world.region.add_fault("delete,resource=mt-media")
    for _ in range(6):
        world.pass_minutes()
        world.poll(survey=True)
    assert "mt-media" not in world.values("fss_mount_target_info", "mount_target")


def test_names_that_change_their_spelling_are_found_again(world: World) -> None:
    world.poll()
    world.region.add_fault("name-case")
    sizes = ("fss_file_system_read_requests_per_second", "fss_file_system_read_latency_seconds")
    for _ in range(5):
        world.pass_minutes()
        world.poll()
        assert all(world.values(name, "file_system", "size") for name in sizes), "no gap"
    newest = world.minute * 60
    assert world.value("fss_oci_datapoint_age_seconds", oci_metric="FileSystemReadRequestsbySize") == pytest.approx(
        world.clock.now - newest
    )


def test_mount_target_iops_is_only_asked_where_the_tenancy_has_it(worlds: Callable[..., World]) -> None:
    from dataclasses import replace

    from fss_exporter.demo.region import small

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


def test_success_events_inside_error_metrics_are_left_out(world: World) -> None:
    for _ in range(4):
        world.poll()
        world.pass_minutes()
    kerberos = world.values("fss_kerberos_errors_total", "error_type")
    ldap = world.values("fss_ldap_connection_errors_total", "error_type")
    assert kerberos
    assert ldap
    assert not [name for name in (*kerberos, *ldap) if "success" in str(name).lower()]


def test_ldap_events_published_twice_count_once(world: World) -> None:
    first = world.minute + 1
    for _ in range(6):
        world.poll()
        world.pass_minutes()
    last = world.minute - 1
    published = (
        world.region.truth("LdapRequestThroughput", "mt-home", minute, requestType="UserId-by-UserName")
        for minute in range(first, last + 1)
    )
    counted = world.value("fss_ldap_requests_total", request_type="UserId-by-UserName")
    assert counted == sum(value for value in published if value is not None)


def test_health_is_the_share_of_success(world: World) -> None:
    world.poll()
    ratios = world.values("fss_mount_target_success_ratio", "mount_target")
    assert ratios["mt-media"] == pytest.approx(0.975)
    assert len(ratios) == len(MOUNT_TARGETS)


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


def test_an_estimate_is_not_made_of_half_the_answers(world: World) -> None:
    world.poll()
    before = world.values("fss_mount_target_estimated_iops", "mount_target")
    world.region.add_fault("500:SummarizeMetricsData,match=FileSystemWriteRequests")
    world.pass_minutes()
    world.poll()
    assert world.values("fss_mount_target_estimated_iops", "mount_target") == before
    world.pass_minutes(6)
    world.poll()
    assert world.values("fss_mount_target_estimated_iops", "mount_target") == {}


def test_answers_over_the_documented_size_are_split_and_counted(worlds: Callable[..., World]) -> None:
    from fss_exporter.demo.region import Limits, large

    world = worlds(large(12, 2), region={"limits": Limits(streams=20)})
    world.poll()
    world.pass_minutes()
    world.poll()
    reads = world.values("fss_file_system_read_requests_per_second", "file_system", "size")
    assert len(reads) == 12 * 2 * 3
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1
    assert (world.value("fss_oci_query_splits_total", oci_metric="FileSystemReadRequestsbySize") or 0) >= 3
    assert world.value("fss_oci_query_splits_total", oci_metric="MountTargetReadThroughput") is None


@pytest.fixture
def tagged(worlds: Callable[..., World]) -> Iterator[World]:
    return iter([worlds(include={"tags": {"team": "it"}})])


def test_tags_choose_mount_targets_and_what_belongs_to_them(tagged: Iterator[World]) -> None:
    world = next(tagged)
    world.poll(survey=True)
    assert set(world.values("fss_mount_target_info", "mount_target")) == {"mt-home"}
    assert set(world.values("fss_file_system_read_bytes_per_second", "file_system")) == {"homes", "projects"}
    skipped = world.values("fss_oci_streams_skipped_total", "reason")
    assert skipped["unknown_resource"] > 0
