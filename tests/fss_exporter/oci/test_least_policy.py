"""The policy of docs/security.md for one compartment is enough for the poller, with everything else refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clock import Clock
from tests.fss_exporter.oci.world import World
from tests.region import Region, small
from tests.region.policed import PolicedRegion, least_policy

NETWORK, STORAGE, BATCH = (compartment.id for compartment in small().compartments)
EVERY = {target.name for target in small().mount_targets}
IN_STORAGE = {target.name for target in small().mount_targets if target.compartment_id == STORAGE}


@pytest.fixture
def policed(regions: Callable[..., Region]) -> PolicedRegion:
    nested = tuple(replace(c, parent_id=STORAGE) if c.id == BATCH else c for c in small().compartments)
    region = regions(replace(small(), compartments=nested), kind=PolicedRegion)
    assert isinstance(region, PolicedRegion)
    region.grant(least_policy(STORAGE, NETWORK))
    return region


@pytest.fixture
def polled(policed: PolicedRegion, world_clock: Clock, tmp_path: Path) -> Callable[..., World]:
    """Makes an exporter of some compartments of the region, of which `batch` is in `storage`. One round of each loop succeeds."""

    def make(*compartments: str, **settings: bool) -> World:
        world = World(policed, world_clock, tmp_path, compartments=compartments, **settings)
        world.account.inventories.run_round()
        world.polls.run_round()
        return world

    return make


def test_with_the_policy_of_one_compartment_every_collector_succeeds(
    polled: Callable[..., World], policed: PolicedRegion
) -> None:
    world = polled(STORAGE)
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1
    assert set(world.values("fss_mount_target_info", "mount_target")) == IN_STORAGE
    assert set(world.values("fss_mount_target_info", "compartment")) == {"storage"}
    assert "" not in world.values("fss_mount_target_info", "address")
    assert world.values("fss_coverage_expected", "part") == world.values("fss_coverage_seen", "part")
    assert set(world.values("fss_oci_permission_missing", "permission")) == {"inspect limits"}
    assert policed.calls["ListCompartments"] == 0


def test_without_a_right_to_names_the_ocid_is_the_label_and_the_permission_is_named(
    polled: Callable[..., World], policed: PolicedRegion, caplog: pytest.LogCaptureFixture
) -> None:
    policed.add_fault("deny:GetCompartment")
    caplog.set_level("INFO")
    world = polled(STORAGE)
    world.pass_minutes(11)
    world.poll()
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1
    assert all(world.values("fss_oci_inventory_success", "operation").values())
    assert set(world.values("fss_mount_target_info", "compartment")) == {STORAGE}
    assert world.values("fss_coverage_expected", "part") == world.values("fss_coverage_seen", "part")
    missing = set(world.values("fss_oci_permission_missing", "permission"))
    assert missing == {"inspect compartments", "inspect limits"}
    told = [message for message in caplog.messages if "GetCompartment" in message]
    assert len(told) == 1
    assert f"inspect compartments in compartment id {STORAGE}" in told[0]


def test_a_name_that_is_known_outlives_a_failed_question(polled: Callable[..., World], policed: PolicedRegion) -> None:
    world = polled(STORAGE)
    policed.add_fault("500:GetCompartment")
    world.pass_minutes(11)
    world.account.inventories.run_round()
    assert set(world.values("fss_mount_target_info", "compartment")) == {"storage"}


def test_a_first_compartment_without_a_policy_costs_only_itself(
    policed: PolicedRegion, world_clock: Clock, tmp_path: Path
) -> None:
    world = World(policed, world_clock, tmp_path, compartments=(NETWORK, STORAGE))
    world.poll()
    assert set(world.values("fss_mount_target_info", "mount_target")) == IN_STORAGE
    expected, seen = world.values("fss_coverage_expected", "part"), world.values("fss_coverage_seen", "part")
    assert (expected["compartments"], seen["compartments"]) == (2, 1)
    assert world.values("fss_oci_inventory_success", "operation")["ListMountTargets"] == 0


def test_a_name_that_only_the_tenancy_knows_is_a_failure_that_says_so(
    policed: PolicedRegion, world_clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(policed, world_clock, tmp_path, compartments=("storage",))
    world.poll()
    assert world.values("fss_oci_inventory_success", "operation")["ListCompartments"] == 0
    assert "'storage' cannot be looked up, because ListCompartments has failed. Give the OCID" in caplog.text
    assert "no compartment is called" not in caplog.text
    assert "inspect compartments in tenancy" in caplog.text


def test_the_policy_of_one_compartment_is_enough_for_those_below_it(
    polled: Callable[..., World], policed: PolicedRegion
) -> None:
    world = polled(STORAGE, in_subtree=True)
    assert set(world.values("fss_mount_target_info", "mount_target")) == EVERY
    assert set(world.values("fss_mount_target_info", "compartment")) == {"storage", "batch"}
    assert world.values("fss_coverage_expected", "part")["compartments"] == 2
    assert world.values("fss_coverage_expected", "part") == world.values("fss_coverage_seen", "part")
    assert policed.calls["ListCompartments"] == 2, "of storage and of batch"
    assert set(world.values("fss_mount_target_connections", "mount_target")) == EVERY


def test_compartments_below_that_cannot_be_listed_are_a_failure_and_the_last_ones_stay(
    polled: Callable[..., World], policed: PolicedRegion
) -> None:
    world = polled(STORAGE, in_subtree=True)
    policed.add_fault("deny:ListCompartments")
    world.pass_minutes(11)
    world.poll()
    assert world.values("fss_oci_inventory_success", "operation")["ListCompartments"] == 0
    assert set(world.values("fss_mount_target_info", "mount_target")) == EVERY
    expected, seen = world.values("fss_coverage_expected", "part"), world.values("fss_coverage_seen", "part")
    assert (expected["compartments"], seen["compartments"]) == (2, 0)


@pytest.mark.parametrize(
    ("compartment", "in_subtree", "mount_targets"),
    [
        ("storage", False, IN_STORAGE),
        ("storage", True, EVERY),
        ("storage:batch", False, EVERY - IN_STORAGE),
        ("root:storage", True, EVERY),
        (small().id, True, EVERY),
    ],
)
def test_names_and_paths_are_found_with_a_right_on_the_tenancy(
    polled: Callable[..., World],
    policed: PolicedRegion,
    compartment: str,
    in_subtree: bool,
    mount_targets: set[str],
) -> None:
    policed.grant([*least_policy(small().id, NETWORK)])
    world = polled(compartment, in_subtree=in_subtree)
    assert set(world.values("fss_mount_target_info", "mount_target")) == mount_targets
    assert policed.calls["ListCompartments"] == 1


def test_domains_that_were_never_known_are_no_empty_region(
    policed: PolicedRegion, world_clock: Clock, tmp_path: Path
) -> None:
    world = World(policed, world_clock, tmp_path, compartments=("storage",))
    world.poll()
    policed.grant(least_policy(small().id, NETWORK))
    policed.add_fault("500:ListAvailabilityDomains")
    world.pass_minutes(11)
    world.poll()
    assert world.values("fss_oci_inventory_success", "operation")["ListAvailabilityDomains"] == 0
    assert policed.calls["ListExports"] == 0
    policed.clear_faults()
    world.pass_minutes(11)
    world.poll()
    assert set(world.values("fss_mount_target_info", "mount_target")) == IN_STORAGE
