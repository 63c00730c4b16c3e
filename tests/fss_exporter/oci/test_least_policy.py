"""The policy of docs/security.md for one compartment is enough for the poller, with everything else refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.clock import Clock
from tests.fss_exporter.oci.world import World
from tests.region import Region, small
from tests.region.policed import PolicedRegion, least_policy

NETWORK, STORAGE, BATCH = (compartment.id for compartment in small().compartments)
IN_STORAGE = {target.name for target in small().mount_targets if target.compartment_id == STORAGE}


@pytest.fixture
def policed(regions: Callable[..., Region]) -> PolicedRegion:
    region = regions(kind=PolicedRegion)
    assert isinstance(region, PolicedRegion)
    region.grant(least_policy(STORAGE, NETWORK))
    return region


@pytest.fixture
def polled(policed: PolicedRegion, world_clock: Clock, tmp_path: Path) -> Callable[..., World]:
    """Makes an exporter of some compartments of the region. One round of each loop succeeds."""

    def make(*compartments: str) -> World:
        world = World(policed, world_clock, tmp_path, compartments=compartments)
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
    assert world.values("fss_expected", "part") == world.values("fss_seen", "part")
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
    assert world.values("fss_expected", "part") == world.values("fss_seen", "part")
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
    world = World(policed, world_clock, tmp_path, compartments=(BATCH, STORAGE))
    world.poll()
    assert set(world.values("fss_mount_target_info", "mount_target")) == IN_STORAGE
    expected, seen = world.values("fss_expected", "part"), world.values("fss_seen", "part")
    assert (expected["compartments"], seen["compartments"]) == (2, 1)
    assert world.values("fss_oci_inventory_success", "operation")["ListMountTargets"] == 0


def test_a_name_that_only_the_tenancy_knows_is_a_failure_that_says_so(
    policed: PolicedRegion, world_clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(policed, world_clock, tmp_path, compartments=("storage",))
    world.poll()
    assert world.values("fss_oci_inventory_success", "operation")["ListCompartments"] == 0
    assert "no compartment is called 'storage', or the policy hides the compartment. Give the OCID" in caplog.text
    assert "inspect compartments in tenancy" in caplog.text
