"""Other storage services are rows: polled with the same budget, shown by the same rules, never asked for unasked."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.clock import Clock
from tests.fss_exporter.oci.world import START, World
from tests.region import Account, Region, small

from fss_exporter.oci.client import listed_records
from fss_exporter.oci.inventory.oci_inventory import join
from fss_exporter.oci.inventory.selection import TagFilter
from fss_exporter.oci.metric_table import BLOCK as BLOCK_METRICS, LUSTRE as LUSTRE_METRICS, SERVICE_METRICS, metrics_of

LUSTRE = small().lustre_file_systems[0]
DATA, BOOT = small().volumes
BOTH = ("lustre", "block-volume")


def polled_twice(world: World) -> World:
    world.poll()
    world.pass_minutes()
    world.poll()
    return world


@pytest.fixture
def both(worlds: Callable[..., World]) -> World:
    return polled_twice(worlds(services=BOTH))


@pytest.fixture(scope="module")
def seen(account: Account, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The same for tests that change nothing."""
    clock = Clock(START)
    with Region(small(), account=account, now=clock, calls_per_second={}) as region:
        world = World(region, clock, tmp_path_factory.mktemp("seen"), services=BOTH)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("circuitbreaker.monotonic", clock)
            polled_twice(world)
        yield world


def test_unselected_services_get_no_query(world: World) -> None:
    world.poll()

    assert not {name for name in world.families() if name.startswith("fss_service_")}
    asked = {operation for operation in world.region.calls if "Lustre" in operation or "Volume" in operation}
    assert not asked


def test_a_service_costs_the_calls_of_its_rows_and_no_more(worlds: Callable[..., World]) -> None:
    made = {services: worlds(services=services) for services in ((), ("lustre",), BOTH)}
    calls = {}
    for services, world in made.items():
        world.poll()
        before = world.requests("SummarizeMetricsData")
        world.pass_minutes()
        world.poll()
        calls[services] = world.requests("SummarizeMetricsData") - before

    assert calls["lustre",] - calls[()] == len(metrics_of(["lustre"]))
    assert calls[BOTH] - calls[()] == len(SERVICE_METRICS)


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
    seen: World, exported: str, oci_metric: str, resource: str, factor: float, dimensions: dict[str, str]
) -> None:
    published = seen.region.truth(oci_metric, resource, seen.minute, **dimensions)

    assert published
    assert seen.value(exported, resource=resource) == pytest.approx(published * factor)


def test_room_is_reported_by_kind(seen: World) -> None:
    assert seen.values("fss_service_space_bytes", "resource", "capacity_type") == {
        ("render", "total"): 40e12,
        ("render", "available"): pytest.approx(11.2e12),
    }
    assert seen.values("fss_service_inodes", "capacity_type")["total"] == 2e9


def test_ceilings_are_those_of_tier_and_capacity(seen: World) -> None:
    assert seen.values("fss_service_bytes_per_second_limit", "service", "resource") == {
        ("lustre", "render"): 5e9,
        ("block-volume", "db-data"): 240e6,
        ("block-volume", "db-boot"): 24e6,
    }
    assert seen.values("fss_service_iops_limit", "resource") == {"db-data": 30_000, "db-boot": 3_000}
    assert seen.values("fss_service_capacity_bytes", "resource")["render"] == 40e12


def test_what_oci_guarantees_wins_over_the_formula_and_the_formula_is_there_without_it(
    worlds: Callable[..., World],
) -> None:
    tenancy = small()
    odd = replace(DATA, vpus_per_gb=15)  # no such kind in the table, so only the metrics can tell
    made = worlds(replace(tenancy, volumes=(odd,)), services=BOTH)
    made.region.add_fault("500:SummarizeMetricsData,match=VolumeGuaranteed")
    made.poll()
    assert made.values("fss_service_iops_limit", "resource") == {}

    other = worlds(services=BOTH)
    other.region.add_fault("500:SummarizeMetricsData,match=VolumeGuaranteed")
    other.poll()
    assert other.values("fss_service_iops_limit", "resource") == {"db-data": 30_000, "db-boot": 3_000}


def test_a_ceiling_that_is_asked_for_rarely_stays_the_published_one_until_the_next_question(
    worlds: Callable[..., World],
) -> None:
    tenancy = small()
    odd = replace(DATA, vpus_per_gb=15)  # no such kind in the table, so only the metrics can tell
    made = worlds(replace(tenancy, volumes=(odd, BOOT)), services=BOTH, intervals={"VolumeGuaranteedIOPS": "1h"})
    made.poll()
    published = made.values("fss_service_iops_limit", "resource")
    assert published.keys() == {"db-data", "db-boot"}
    made.pass_minutes(20)
    made.poll()
    assert made.values("fss_service_iops_limit", "resource") == published


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


class TestLustreNobodyAskedFor:
    """It is watched where there is some of it; where there is none, or no permission, nothing fails and nobody is paged."""

    @pytest.fixture
    def default(self, worlds: Callable[..., World]) -> World:
        return worlds(services=None)

    def failures(self, world: World) -> set[tuple[str, str]]:
        """Everything at 0 that an alert looks at, with its label."""
        return {
            (name, str(key))
            for name, label in (
                ("fss_oci_poll_success", "region"),
                ("fss_oci_inventory_success", "operation"),
                ("fss_oci_metric_success", "oci_metric"),
            )
            for key, value in world.values(name, label).items()
            if not value
        }

    def test_is_watched_and_block_volumes_are_not(self, default: World) -> None:
        default.poll()

        assert default.values("fss_service_bytes_per_second_limit", "resource") == {"render": 5e9}
        assert default.value("fss_service_read_bytes_per_second", resource="render") is not None
        assert "ListVolumes" not in default.region.calls

    def test_costs_its_listing_and_no_query_where_there_is_none(self, worlds: Callable[..., World]) -> None:
        none = replace(small(), lustre_file_systems=())
        asked = []
        for services in ((), None):
            world = worlds(none, services=services)
            world.poll()
            asked.append([world.requests(operation) for operation in ("SummarizeMetricsData", "ListMetrics")])

        assert asked[0] == asked[1]
        assert world.requests("ListLustreFileSystems") == len(none.compartment_ids)
        assert not self.failures(world)

    @pytest.mark.parametrize(
        ("refused", "statement"),
        [
            ("ListLustreFileSystems", "to inspect lustre-file-system in"),
            ("ListMetrics,match=oci_lustrefilesystem", "where target.metrics.namespace='oci_lustrefilesystem'"),
        ],
    )
    def test_without_permission_one_line_names_the_statement_and_nothing_fails(
        self, default: World, caplog: pytest.LogCaptureFixture, refused: str, statement: str
    ) -> None:
        caplog.set_level("INFO")
        default.region.add_fault(f"deny:{refused}")
        for _ in range(3):
            default.poll()
            default.pass_minutes(11)
        default.poll()

        (line,) = [record for record in caplog.records if "Lustre" in record.message]
        assert line.levelname == "INFO"
        assert statement in line.message
        assert not self.failures(default)
        assert default.value("fss_service_read_bytes_per_second", resource="render") is None
        (age,) = default.values("fss_oci_inventory_age_seconds", "region").values()
        assert age < 60

    def test_where_the_service_is_not_nothing_fails_and_it_is_tried_in_one_compartment_only(
        self, worlds: Callable[..., World], caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        nowhere: dict[str, Any] = {"endpoints.lustre_file_storage": "http://127.0.0.1:9", "services": None}
        world = worlds(**nowhere)
        world.poll()

        (line,) = [record for record in caplog.records if "Lustre" in record.message]
        assert (line.levelname, "is not watched" in line.message) == ("INFO", True)
        assert not self.failures(world)
        assert world.requests("ListLustreFileSystems") <= 3

    def test_is_found_by_the_inventory_after_the_permission_came(self, default: World) -> None:
        default.region.add_fault("deny:ListLustreFileSystems")
        default.poll()
        default.region.clear_faults()
        default.pass_minutes(11)
        default.poll()
        default.pass_minutes(2)
        default.poll()

        assert default.value("fss_service_read_bytes_per_second", resource="render") is not None

    def test_that_was_found_and_may_no_longer_be_listed_is_a_failure(self, default: World) -> None:
        default.poll()
        default.region.add_fault("deny:ListLustreFileSystems")
        default.pass_minutes(11)
        default.poll()

        assert ("fss_oci_inventory_success", "ListLustreFileSystems") in self.failures(default)
        assert set(default.values("fss_service_capacity_bytes", "resource")) == {"render"}

    def test_asked_for_by_name_a_refusal_is_a_failure(
        self, worlds: Callable[..., World], caplog: pytest.LogCaptureFixture
    ) -> None:
        world = worlds(services=("lustre",))
        world.region.add_fault("deny:ListLustreFileSystems")
        world.poll()
        world.pass_minutes()
        world.poll()

        assert ("fss_oci_inventory_success", "ListLustreFileSystems") in self.failures(world)
        assert [record.levelname for record in caplog.records if "Lustre" in record.message] == ["WARNING"]


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
    listing = listed_records.listing(listed_records.lustre_file_system, (good | spoilt, good))

    assert len(listing.broken) == 1
    assert [record.kind for record in listing.records] == ["mbps-per-tb-500"]


@pytest.mark.parametrize(
    ("metric", "namespace"), [("DataReadOperations", LUSTRE_METRICS), ("VolumeReadOps", BLOCK_METRICS)]
)
def test_a_refused_query_names_the_statement_for_its_own_namespace(
    both: World, caplog: pytest.LogCaptureFixture, metric: str, namespace: str
) -> None:
    both.region.add_fault(f"deny:SummarizeMetricsData,match={metric}[")
    both.pass_minutes()
    both.poll()

    (line,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert metric in line
    assert f"to read metrics in tenancy where target.metrics.namespace='{namespace}'" in line


@pytest.mark.parametrize("vpus", [{"vpusPerGB": 10, "autoTunedVpusPerGB": 40}, {"vpusPerGB": 40}])
def test_a_volume_is_of_the_level_it_is_tuned_to(vpus: dict[str, int]) -> None:
    row = {
        "id": "ocid1.volume.oc1..a",
        "compartmentId": "c",
        "lifecycleState": "AVAILABLE",
        "sizeInGBs": 100,
    }
    rows = (row | vpus, row | vpus | {"id": "b", "lifecycleState": "TERMINATED"})
    records = listed_records.listing(listed_records.volume, rows).records
    inventory = join(records, TagFilter(), compartments={})

    assert [(resource.kind, resource.capacity_bytes) for resource in inventory.service_resources.values()] == [
        ("vpu-40", 100e9)
    ]
