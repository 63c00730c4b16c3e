"""Other storage services are rows: polled with the same budget, shown by the same rules, never asked for unasked."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.oci.world import World

import oci
from fss_exporter.demo.region import Region, small
from fss_exporter.oci.client import Access, read_credentials
from fss_exporter.oci.client.neighbours import BlockStorageClient, LustreClient
from fss_exporter.oci.listings import Listings, build
from fss_exporter.oci.neighbours import NEIGHBOURS, metrics_of
from fss_exporter.oci.tags import Tags

LUSTRE = small().lustre_file_systems[0]
DATA, BOOT = small().volumes
BOTH = ("lustre", "block-volume")


@pytest.fixture
def both(worlds: Callable[..., World]) -> World:
    made = worlds(services=BOTH)
    made.poll(survey=True)
    made.pass_minutes()
    made.poll()
    return made


def test_nothing_is_asked_of_services_nobody_wants(world: World) -> None:
    world.poll(survey=True)

    assert not {name for name in world.families() if name.startswith("fss_service_")}
    asked = {operation for operation in world.region.calls if "Lustre" in operation or "Volume" in operation}
    assert not asked


def test_a_service_costs_the_calls_of_its_rows_and_no_more(worlds: Callable[..., World]) -> None:
    made = {services: worlds(services=services) for services in ((), ("lustre",), BOTH)}
    calls = {}
    for services, world in made.items():
        world.poll(survey=True)
        before = world.requests("SummarizeMetricsData")
        world.pass_minutes()
        world.poll()
        calls[services] = world.requests("SummarizeMetricsData") - before

    assert calls["lustre",] - calls[()] == len(metrics_of(["lustre"]))
    assert calls[BOTH] - calls[()] == len(NEIGHBOURS)


@pytest.mark.parametrize(
    ("exported", "oci_metric", "resource", "factor", "dimensions"),
    [
        ("fss_service_read_bytes_per_second", "ReadThroughput", "render", 1 / 60, {}),
        ("fss_service_write_bytes_per_second", "WriteThroughput", "render", 1 / 60, {}),
        ("fss_service_read_operations_per_second", "DataReadOperations", "render", 1 / 60, {}),
        ("fss_service_write_operations_per_second", "DataWriteOperations", "render", 1 / 60, {}),
        ("fss_service_metadata_operations_per_second", "MetadataOperations", "render", 1 / 60, {}),
        ("fss_service_read_bytes_per_second", "VolumeReadThroughput", "db-data", 1 / 60, {}),
        ("fss_service_write_bytes_per_second", "VolumeWriteThroughput", "db-boot", 1 / 60, {}),
        ("fss_service_read_operations_per_second", "VolumeReadOps", "db-data", 1 / 60, {}),
        ("fss_service_write_operations_per_second", "VolumeWriteOps", "db-data", 1 / 60, {}),
        ("fss_service_iops_limit", "VolumeGuaranteedIOPS", "db-data", 1.0, {}),
        ("fss_service_bytes_per_second_limit", "VolumeGuaranteedThroughput", "db-data", 1e6, {}),
    ],
)
def test_what_is_shown_is_what_the_region_publishes(
    both: World, exported: str, oci_metric: str, resource: str, factor: float, dimensions: dict[str, str]
) -> None:
    published = both.region.truth(oci_metric, resource, both.minute, **dimensions)

    assert published
    assert both.value(exported, resource=resource) == pytest.approx(published * factor)


def test_room_is_told_by_kind(both: World) -> None:
    assert both.values("fss_service_space_bytes", "resource", "capacity_type") == {
        ("render", "total"): 40e12,
        ("render", "available"): pytest.approx(11.2e12),
    }
    assert both.values("fss_service_inodes", "capacity_type")["total"] == 2e9


def test_ceilings_are_those_of_tier_and_capacity(both: World) -> None:
    assert both.values("fss_service_bytes_per_second_limit", "service", "resource") == {
        ("lustre", "render"): 5e9,
        ("block-volume", "db-data"): 240e6,
        ("block-volume", "db-boot"): 24e6,
    }
    assert both.values("fss_service_iops_limit", "resource") == {"db-data": 30_000, "db-boot": 3_000}
    assert both.values("fss_service_capacity_bytes", "resource")["render"] == 40e12


def test_what_oci_guarantees_wins_over_the_formula_and_the_formula_is_there_without_it(
    worlds: Callable[..., World],
) -> None:
    tenancy = small()
    odd = replace(DATA, vpus_per_gb=15)  # no such kind in the table, so only the metrics can tell
    made = worlds(replace(tenancy, volumes=(odd,)), services=BOTH)
    made.region.add_fault("500:SummarizeMetricsData,match=VolumeGuaranteed")
    made.poll(survey=True)
    assert made.values("fss_service_iops_limit", "resource") == {}

    other = worlds(services=BOTH)
    other.region.add_fault("500:SummarizeMetricsData,match=VolumeGuaranteed")
    other.poll(survey=True)
    assert other.values("fss_service_iops_limit", "resource") == {"db-data": 30_000, "db-boot": 3_000}


def test_throttled_operations_add_up_minute_by_minute(both: World) -> None:
    first = both.minute
    counted = both.value("fss_service_throttled_operations_total", resource="db-data")
    assert counted is not None
    both.pass_minutes(3)
    both.poll()

    published = [both.region.truth("VolumeThrottledIOs", "db-data", minute) for minute in range(first + 1, first + 4)]
    grown = both.value("fss_service_throttled_operations_total", resource="db-data")
    assert grown is not None
    assert grown - counted == sum(value for value in published if value is not None) > 0


def test_a_failed_metric_keeps_its_points_until_they_are_stale(both: World) -> None:
    both.region.add_fault("500:SummarizeMetricsData,match=ReadThroughput")
    both.pass_minutes(5)
    both.poll()
    assert both.value("fss_service_read_bytes_per_second", resource="render") is not None
    both.pass_minutes(3)
    both.poll()
    assert both.value("fss_service_read_bytes_per_second", resource="render") is None
    assert both.value("fss_service_write_bytes_per_second", resource="render") is not None
    assert both.value("fss_oci_metric_success", oci_metric="ReadThroughput") == 0


def test_a_resource_that_is_gone_vanishes_with_the_next_survey(both: World) -> None:
    both.region.delete("render")
    both.pass_minutes(11)
    both.poll(survey=True)

    assert set(both.values("fss_service_capacity_bytes", "resource")) == {"db-data", "db-boot"}
    assert "render" not in both.values("fss_service_read_bytes_per_second", "resource")


def test_a_listing_that_may_not_be_called_is_told_and_costs_only_itself(worlds: Callable[..., World]) -> None:
    made = worlds(services=BOTH)
    made.region.add_fault("deny:ListLustreFileSystems")
    made.poll(survey=True)

    assert made.value("fss_oci_inventory_success", operation="ListLustreFileSystems") == 0
    assert set(made.values("fss_service_capacity_bytes", "resource")) == {"db-data", "db-boot"}


SPOILT: list[dict[str, Any]] = [
    {},
    {"performanceTier": None},
    {"capacityInGBs": 0},
    {"capacityInGBs": "many"},
    {"displayName": 5, "id": None},
]


@pytest.mark.parametrize("spoilt", SPOILT[1:], ids=str)
def test_a_row_that_is_not_as_documented_costs_only_itself(spoilt: dict[str, Any]) -> None:
    good = {
        "id": "ocid1.lustrefilesystem.oc1..a",
        "displayName": "good",
        "compartmentId": "c",
        "availabilityDomain": "z",
        "lifecycleState": "ACTIVE",
        "performanceTier": "MBPS_PER_TB_500",
        "capacityInGBs": 40_000,
    }
    inventory, broken = build(Listings(lustre_file_systems=(good | spoilt, good)), {}, Tags())

    assert broken == 1
    assert [one.kind for one in inventory.neighbours.values()] == ["mbps-per-tb-500"]


@pytest.mark.parametrize("vpus", [{"vpusPerGB": 10, "autoTunedVpusPerGB": 40}, {"vpusPerGB": 40}])
def test_a_volume_is_of_the_level_it_is_tuned_to(vpus: dict[str, int]) -> None:
    row = {
        "id": "ocid1.volume.oc1..a",
        "compartmentId": "c",
        "lifecycleState": "AVAILABLE",
        "sizeInGBs": 100,
    }
    inventory, _ = build(
        Listings(volumes=(row | vpus, row | vpus | {"id": "b", "lifecycleState": "TERMINATED"})), {}, Tags()
    )

    assert [(one.kind, one.capacity_bytes) for one in inventory.neighbours.values()] == [("vpu-40", 100e9)]


def test_the_listings_go_where_the_generated_clients_go(
    regions: Callable[..., Region], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oci.core import BlockstorageClient
    from oci.lustre_file_storage import LustreFileStorageClient

    region = regions()
    config = oci.config.from_file(str(region.account.write_config(tmp_path, region.tenancy.region)))
    signer = read_credentials(Access(config_file=tmp_path / "config")).signer
    asked: list[tuple[str, str, Any, Any]] = []

    def note(_: Any, request: Any, *_more: object, **_options: object) -> None:
        asked.append((request.method, request.url, request.query_params, request.header_params["accept"]))

    for kinds, operations in (
        ((LustreClient, LustreFileStorageClient), ("list_lustre_file_systems",)),
        ((BlockStorageClient, BlockstorageClient), ("list_volumes", "list_boot_volumes")),
    ):
        for kind in kinds:
            client = kind(config, signer=signer)
            monkeypatch.setattr(type(client.base_client), "request", note)
            client.base_client.__dict__.pop("request", None)  # the circuit breaker's
            for operation in operations:
                getattr(client, operation)(compartment_id="ocid1.compartment.oc1..x", limit=10, page="p")
    assert asked[0] == asked[1]
    assert asked[2:4] == asked[4:6]
