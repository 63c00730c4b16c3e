"""The exporter polls a region that fails, refuses and changes: each costs only itself, and the counters still add up."""

import logging
from collections.abc import Callable

import pytest
from tests.fss_exporter.oci.world import MOUNT_TARGETS, World

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
            world.poll()
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


def test_points_that_come_late_are_exported_as_soon_as_they_are_there(world: World) -> None:
    world.poll()
    world.region.add_fault("late")
    for _ in range(12):
        world.pass_minutes()
        world.poll()
        ages = world.values("fss_oci_datapoint_age_seconds", "oci_metric")
        assert ages["MountTargetConnections"] <= 200
        assert len(world.values("fss_mount_target_connections", "mount_target")) == len(MOUNT_TARGETS)


def test_an_unknown_compartment_is_reported_and_costs_only_itself(
    worlds: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    world = worlds(compartments=["storage", "strage"])
    world.poll()
    assert "no compartment is called 'strage'" in caplog.text
    assert set(world.values("fss_mount_target_info", "mount_target")) == {"mt-home", "mt-home-b", "mt-media"}
    assert world.value("fss_oci_inventory_success", operation="ListCompartments") == 0
    seen, expected = (world.values(f"fss_coverage_{of}", "part")["compartments"] for of in ("seen", "expected"))
    assert (seen, expected) == (1, 2)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("500", "500"),
        ("wrong-shape", "broken answer"),
        ("deny", "404"),
    ],
    ids=lambda word: f"fault {word}",
)
def test_a_metric_that_fails_costs_only_itself_and_goes_when_it_is_stale(world: World, fault: str, reason: str) -> None:
    world.poll()
    before = world.values("fss_mount_target_connections", "mount_target")
    world.region.add_fault(f"{fault}:SummarizeMetricsData,match=MountTargetConnections")
    world.pass_minutes()
    world.poll()
    assert world.value("fss_oci_metric_success", oci_metric="MountTargetConnections") == 0
    assert world.value("fss_oci_metric_success", oci_metric="MountTargetReadThroughput") == 1
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 0
    assert world.values("fss_oci_failed_calls", "operation", "reason") == {("SummarizeMetricsData", reason): 1}
    assert world.values("fss_mount_target_connections", "mount_target") == before, "the last points stay"
    assert world.value("fss_oci_datapoint_age_seconds", oci_metric="MountTargetConnections") == pytest.approx(80)
    world.pass_minutes(10)
    world.poll()
    assert world.values("fss_mount_target_connections", "mount_target") == {}, "stale points go"
    assert len(world.values("fss_mount_target_read_bytes_per_second", "mount_target")) == len(MOUNT_TARGETS)
    world.region.clear_faults()
    world.pass_minutes()
    world.poll()
    assert len(world.values("fss_mount_target_connections", "mount_target")) == len(MOUNT_TARGETS)
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1
    assert world.values("fss_oci_failed_calls", "operation") == {}


def test_listings_that_fail_are_counted_with_their_reason_until_an_inventory_without_a_failure(world: World) -> None:
    world.poll()
    world.region.add_fault("503:ListExports")
    world.pass_minutes(11)
    world.poll()
    failed = world.values("fss_oci_failed_calls", "operation", "reason")
    assert failed.keys() == {("ListExports", "503")}
    assert failed["ListExports", "503"] > 1, "one call in each compartment"

    world.region.clear_faults()
    world.pass_minutes(11)
    world.poll()
    assert world.values("fss_oci_failed_calls", "operation") == {}


def test_points_go_stale_at_the_scrape_without_a_poll(world: World) -> None:
    world.poll()
    world.pass_minutes(11)
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
    refused = world.self_metrics.sums()["fss_oci_api_requests_total"][
        "eu-frankfurt-1", "SummarizeMetricsData", "not_authorized"
    ]
    assert refused >= 3
    assert world.values("fss_mount_target_read_bytes_per_second", "mount_target") == {}, "nothing is exported as zero"
    world.region.clear_faults()
    with caplog.at_level(logging.INFO):
        world.poll()
    assert "works again" in caplog.text


@pytest.mark.parametrize("status", ["429", "500"])
def test_while_oci_refuses_every_query_no_metric_works_again_and_the_status_is_the_reason(
    world: World, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.poll()
    world.region.add_fault(f"{status}:SummarizeMetricsData")
    with caplog.at_level(logging.INFO):
        for _ in range(4):
            world.pass_minutes()
            world.poll()
            assert set(world.values("fss_oci_failed_calls", "reason")) == {status}
    assert "works again" not in caplog.text


@pytest.mark.parametrize(
    ("operation", "missing", "statement"),
    [
        ("ListReplications", "fss_replication_info", "inspect replications in tenancy"),
        ("ListOutboundConnectors", "fss_outbound_connector_info", "inspect outbound-connectors in tenancy"),
        ("ListExports", "fss_export_info", "read export-sets in tenancy"),
        ("GetPrivateIp", "", "inspect private-ips in compartment <compartment of the network>"),
        ("GetIpv6", "", "inspect ipv6s in compartment <compartment of the network>"),
    ],
)
def test_a_forbidden_inventory_call_costs_only_its_own_records(
    world: World, operation: str, missing: str, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.region.add_fault(f"deny:{operation}")
    world.poll()
    world.poll()
    assert statement in caplog.text
    assert world.value("fss_oci_inventory_success", operation=operation) == 0
    assert len(world.values("fss_mount_target_connections", "mount_target")) == len(MOUNT_TARGETS)
    assert missing not in world.families()
    if operation == "GetPrivateIp":
        assert set(world.values("fss_mount_target_info", "address")) == {"", "2001:db8:80:4::40"}


def test_labels_stay_while_listings_fail(world: World) -> None:
    world.poll()
    before = world.values("fss_mount_target_info", "mount_target", "compartment", "address", "fqdn")
    world.region.add_fault("500:List*")
    world.region.add_fault("deny:Get*")
    for _ in range(3):
        world.pass_minutes(11)
        world.poll()
    assert world.values("fss_mount_target_info", "mount_target", "compartment", "address", "fqdn") == before
    assert world.value("fss_oci_inventory_success", operation="ListMountTargets") == 0
    age = world.value("fss_oci_inventory_age_seconds", region="eu-frankfurt-1")
    assert age == pytest.approx(33 * 60)


def test_a_deleted_resource_is_gone_from_everything_after_the_next_inventory(world: World) -> None:
    world.poll()
    world.region.add_fault("delete,resource=mt-media")
    world.pass_minutes(11)
    world.poll()
    for family in world.families().values():
        assert not any("mt-media" in sample.labels.values() for sample in family.samples), family.name


def test_a_mount_target_that_falls_silent_makes_the_inventory_come_early(world: World) -> None:
    world.poll()
    world.region.add_fault("delete,resource=mt-media")
    for _ in range(6):
        world.pass_minutes()
        world.poll()
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


def test_an_estimate_is_not_made_of_half_the_answers(world: World) -> None:
    world.poll()
    before = world.values("fss_mount_target_estimated_iops", "mount_target")
    world.region.add_fault("500:SummarizeMetricsData,match=FileSystemWriteRequests")
    world.pass_minutes()
    world.poll()
    assert world.values("fss_mount_target_estimated_iops", "mount_target") == before
    world.pass_minutes(10)
    world.poll()
    assert world.values("fss_mount_target_estimated_iops", "mount_target") == {}
