"""The alarms on ceilings of Lustre file systems and block volumes: fitted to what exists, and true to what the region does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.clock import Clock
from tests.fss_toolbox.alarms.judged import states
from tests.fss_toolbox.alarms.test_alarms_apply import session_in
from tests.fss_toolbox.demo.sdk import clients
from tests.region import Region, small

from fss_exporter.errors import NotAuthorized
from fss_exporter.oci.inventory.oci_inventory import ServiceResource
from fss_exporter.oci.inventory.selection import TagFilter
from fss_toolbox import mql
from fss_toolbox.alarms import pack, render
from fss_toolbox.alarms.alarm_plan import plan
from fss_toolbox.alarms.apply import Alarms, apply, existing_alarms
from fss_toolbox.alarms.desired import AlarmInputs, AlarmScope, desired
from fss_toolbox.alarms.figures import SERVICE_CEILING_ALARMS, spell
from fss_toolbox.alarms.tenancy import watched

PACK = pack.load(Path(__file__).parents[3] / "mql" / "templates" / "other-services")
SERVICES = ("lustre", "block-volume")
TENANCY = small()
SCOPE = AlarmScope(TENANCY.id, TENANCY.id, TENANCY.topics, in_subtree=True, name="fss-other")


def store(service: str, kind: str, capacity_gb: float, name: str = "one") -> ServiceResource:
    return ServiceResource(
        id=f"ocid1.{service}.oc1..{name}",
        name=name,
        compartment_id="c",
        availability_domain="z",
        state="ACTIVE",
        service=service,
        kind=kind,
        capacity_bytes=capacity_gb * 1e9,
    )


def wanted(*stores: ServiceResource) -> dict[str, pack.Alarm]:
    return {alarm.key: alarm for alarm in desired(PACK, SCOPE, AlarmInputs(service_resources=stores))}


def named(alarm: pack.Alarm) -> set[str]:
    metrics = mql.metrics(mql.parse(alarm.body["query"]))
    return {selector.value for metric in metrics for selector in metric.selectors if selector.dimension == "resourceId"}


def thresholds(expression: mql.Expression) -> Iterator[float]:
    match expression:
        case mql.Join(left=left, right=right):
            yield from thresholds(left)
            yield from thresholds(right)
        case mql.Comparison(bounds=bounds):
            yield from bounds


def test_a_tier_times_a_capacity_is_the_ceiling_of_a_file_system() -> None:
    """500 MB/s per TB and 60 TB: 30 GB/s, of which 24 warn."""
    alarm = wanted(store("lustre", "mbps-per-tb-500", 60_000))["lustre-bandwidth-30000000000"]

    assert "at or above 24,000 MB/s. That is 80 % of the ceiling of 30,000 MB/s" in alarm.body["body"]
    assert max(thresholds(mql.parse(alarm.body["query"]))) == 24e9 * 300


def test_what_a_volume_is_guaranteed_is_its_ceiling() -> None:
    """20 VPU/GB and 400 GB: 30,000 IOPS and 240 MB/s."""
    alarms = wanted(store("block-volume", "vpu-20", 400))

    assert "80 % of the ceiling of 30,000 IOPS" in alarms["volume-iops-30000"].body["body"]
    assert "80 % of the ceiling of 240 MB/s" in alarms["volume-bandwidth-240000000"].body["body"]


def test_space_left_is_a_share_of_the_capacity() -> None:
    alarm = wanted(store("lustre", "mbps-per-tb-125", 50_000))["lustre-space-50000000000000"]

    assert alarm.body["query"].endswith("<= 10000000000000")
    assert "10,000 GB or less are left" in alarm.body["body"]


def test_equal_ceilings_share_an_alarm_that_names_them() -> None:
    stores = [store("lustre", "mbps-per-tb-125", 40_000, name) for name in ("a", "b")]
    assert named(wanted(*stores)["lustre-bandwidth"]) == {"ocid1.lustre.oc1..a|ocid1.lustre.oc1..b"}


def test_many_volumes_are_spread_over_queries_that_stay_short() -> None:
    alarms = wanted(*(store("block-volume", "vpu-10", 1000, f"v{number:03}") for number in range(12)))

    assert {len(alarm.body["query"]) < 8_000 for alarm in alarms.values()} == {True}
    assert len([key for key in alarms if key.startswith("volume-iops")]) == 2


def test_a_level_without_a_known_ceiling_has_no_alarm_and_neither_has_what_is_not_there() -> None:
    assert set(wanted(store("block-volume", "vpu-15", 400))) == {"volume-throttled"}
    assert set(wanted()) == {"volume-throttled"}


def test_without_an_inventory_the_files_are_as_shipped() -> None:
    assert {alarm.key for alarm in desired(PACK, SCOPE, AlarmInputs())} == {alarm.key for alarm in PACK}


KINDS = st.sampled_from(
    [
        ("lustre", "mbps-per-tb-125"),
        ("lustre", "mbps-per-tb-1000"),
        ("block-volume", "vpu-10"),
        ("block-volume", "vpu-0"),
    ]
)


@given(st.lists(st.tuples(KINDS, st.integers(50, 90_000)), max_size=6))
def test_every_known_ceiling_is_watched_exactly_once(bought: list[tuple[tuple[str, str], int]]) -> None:
    stores = [store(*kind, size, f"n{number}") for number, (kind, size) in enumerate(bought)]
    alarms = wanted(*stores).values()

    assert [mistake for alarm in alarms for mistake in pack.check(alarm)] == []
    for ceiling in SERVICE_CEILING_ALARMS.values():
        for bought_store in stores:
            value = ceiling.of(bought_store) if bought_store.service == ceiling.service else None
            watching = [
                alarm
                for alarm in alarms
                if alarm.key.startswith(ceiling.key)
                and bought_store.id in {ocid for names in named(alarm) for ocid in names.split("|")}
            ]
            assert len(watching) == (value is not None)
            assert all(f"of {spell(ceiling.kind, value or 0)}" in alarm.body["body"] for alarm in watching)


def test_terraform_has_them_as_well() -> None:
    text = render.terraform(wanted(store("lustre", "mbps-per-tb-125", 40_000)).values())

    assert 'resource "oci_monitoring_alarm" "fss_other_lustre_bandwidth"' in text


class TestInARegion:
    def test_the_alarms_fire_for_those_that_are_near_their_ceilings(self, region: Region, clock: Clock) -> None:
        """render: 4.4 of 5 GB/s on average; db-data is asked for more IOPS than it has; db-boot does next to nothing."""
        session = session_in(region)
        stores = watched(
            session, TENANCY.id, in_subtree=True, tags=TagFilter(), services=SERVICES
        ).service_resources.values()
        service = Alarms(session, "config_file")
        apply(
            plan(
                desired(PACK, SCOPE, AlarmInputs(service_resources=tuple(stores))),
                *existing_alarms(service, TENANCY.id, "fss-other"),
            ),
            service,
        )

        clock.pass_minutes(45)
        assert states(clients(region), TENANCY.id, clock.now) == {
            "fss-other-lustre-bandwidth": "FIRING",
            "fss-other-lustre-space": "OK",
            "fss-other-volume-bandwidth-24000000": "OK",
            "fss-other-volume-bandwidth-240000000": "OK",
            "fss-other-volume-iops-3000": "OK",
            "fss-other-volume-iops-30000": "FIRING",
            "fss-other-volume-throttled": "FIRING",
        }

    def test_a_listing_that_is_refused_ends_the_run_with_its_statement(self, region: Region) -> None:
        region.add_fault("deny:ListVolumes")
        with pytest.raises(NotAuthorized, match="to inspect volumes in tenancy"):
            watched(session_in(region), TENANCY.id, in_subtree=True, tags=TagFilter(), services=SERVICES)
