"""Pollers that divide a tenancy: together they see what one poller sees, and nothing twice."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.fss_exporter.oci.world import World
from tests.region import large, small

from fss_exporter.errors import ConfigError
from fss_exporter.oci.inventory.oci_inventory import Export, FileSystem, Inventory, MountTarget
from fss_exporter.settings import load
from fss_exporter.shard import Shard

OWN = ("fss_oci_", "fss_coverage_expected", "fss_coverage_seen")  # names of what each poller says about itself


def series(world: World) -> dict[tuple[str, tuple[str, ...]], float]:
    """Every series about resources, with its value."""
    return {
        (name, tuple(sample.labels.values())): sample.value
        for name, family in world.families().items()
        if not name.startswith(OWN)
        for sample in family.samples
    }


def polled(worlds: Callable[..., World], minutes: int, tenancy: Any, **settings: Any) -> World:
    world = worlds(tenancy, **settings)
    start = world.clock.now
    for _ in range(minutes):
        world.poll()
        world.pass_minutes()
    world.clock.now = start
    return world


def test_the_union_of_all_shards_is_the_whole_and_nothing_comes_twice(worlds: Callable[..., World]) -> None:
    tenancy, services = small(), ("lustre", "block-volume")
    whole = series(polled(worlds, 4, tenancy, services=services))
    parts = [series(polled(worlds, 4, tenancy, services=services, shard=f"{shard}/3")) for shard in (1, 2, 3)]
    assert sum(map(len, parts)) == len(parts[0] | parts[1] | parts[2]), "a series is in two shards"
    together = parts[0] | parts[1] | parts[2]
    assert {name for name, _ in together} == {name for name, _ in whole}
    assert together == whole


def test_each_shard_asks_for_its_own_resources_only(worlds: Callable[..., World]) -> None:
    world = polled(worlds, 2, large(12, 1), shard="2/3")
    skipped = world.values("fss_oci_streams_skipped_total", "reason")
    assert {reason for reason, number in skipped.items() if number} == {"other_shard"}, "of the connections"
    targets = [mount_target.id for mount_target in large(12, 1).mount_targets]
    own = {target for target in targets if Shard(2, 3).holds(target)}
    assert set(world.values("fss_mount_target_info", "mount_target_id")) == own
    assert 0 < len(own) < len(targets)


def test_addresses_that_repeat_in_another_shard_are_known(worlds: Callable[..., World]) -> None:
    tenancy = large(12, 1)
    same = tuple(replace(mount_target, address="10.96.0.1") for mount_target in tenancy.mount_targets)
    for number in (1, 2, 3):
        world = polled(worlds, 1, replace(tenancy, mount_targets=same), shard=f"{number}/3")
        assert set(world.values("fss_mount_target_info", "address")) == {""}


def test_an_empty_listing_is_told_by_the_shards_together(worlds: Callable[..., World]) -> None:
    told = 0.0
    for number in (1, 2, 3):
        world = worlds(large(12, 1), shard=f"{number}/3")
        world.region.add_fault("empty:ListMountTargets")
        for _ in range(23):
            world.poll()
            world.pass_minutes()
        told += world.value("fss_oci_unlisted_resources", kind="mount_target") or 0
    assert told == 12


def test_a_shard_without_a_mount_target_is_well(worlds: Callable[..., World]) -> None:
    (target,) = large(1, 1).mount_targets
    (empty, *_) = [number for number in (2, 3, 4) if not Shard(number, 4).holds(target.id)]
    world = polled(worlds, 2, large(1, 1), shard=f"{empty}/4")
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1
    assert world.values("fss_mount_target_info", "mount_target_id") == {}


def resource(record: Any, ocid: str, **more: Any) -> Any:
    return record(id=ocid, name=ocid, compartment_id="c", availability_domain="ad", state="ACTIVE", **more)


def export(target: str, system: str) -> Export:
    return Export(
        id=f"{target} {system}",
        path="/",
        state="ACTIVE",
        file_system_id=system,
        export_set_id=target,
        mount_target_id=target,
    )


OCIDS = st.text("abcdefghij0123456789", min_size=1, max_size=12)


@given(
    targets=st.sets(OCIDS, max_size=30),
    systems=st.lists(OCIDS, min_size=1, max_size=30, unique=True),
    of=st.integers(1, 9),
    data=st.data(),
)
def test_each_resource_is_in_one_shard_with_all_that_hangs_on_it(
    targets: set[str], systems: list[str], of: int, data: st.DataObject
) -> None:
    links = [(target, data.draw(st.sampled_from(systems))) for target in sorted(targets)]
    whole = Inventory(
        mount_targets={target: resource(MountTarget, target) for target in targets},
        file_systems={system: resource(FileSystem, system) for system in systems},
        exports=tuple(export(*link) for link in links),
        counts={"mount_targets": {"ad": len(targets)}},
    )
    parts = [whole.of_shard(Shard(number, of)) for number in range(1, of + 1)]
    assert sorted(key for part in parts for key in part.mount_targets) == sorted(targets)
    assert sorted(file_system.id for part in parts for file_system in part.own_file_systems) == sorted(systems)
    assert sorted(export.id for part in parts for export in part.exports) == sorted(
        export.id for export in whole.exports
    )
    assert sum(len(part.counts) for part in parts) == 1
    for part in parts:
        assert all(export.file_system_id in part.file_systems for export in part.exports), "its name is a label"
        assert part.mount_targets.keys() | part.other_mount_targets.keys() == targets


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", "1/101"])
def test_what_is_no_shard_is_a_mistake(text: str) -> None:
    with pytest.raises(ConfigError, match="as in 2/5"):
        load(None, {"oci.shard": text})


def test_the_shard_of_a_resource_never_changes() -> None:
    """A change would move every mount target to another poller, where its counters begin anew."""
    ocid = "ocid1.mounttarget.oc1.eu_frankfurt_1.aaaaaa4np2sra5lqmjxw2llqojxwiotboawwq5a"
    assert [number for number in range(1, 6) if Shard(number, 5).holds(ocid)] == [4]
