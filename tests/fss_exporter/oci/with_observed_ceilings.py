"""A demo region hides the ceilings of its mount targets, and the poller finds them by load and latency."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from tests.fss_exporter.oci.ledger_runs import OWNER, kept
from tests.fss_exporter.oci.world import World
from tests.region import Tenancy, small

from fss_exporter.oci.ledger import Ledger
from fss_exporter.oci.ledger.ledger_file import dump
from fss_exporter.settings import LimitSettings

IOPS, READ = "fss_mount_target_observed_iops_limit", "fss_mount_target_observed_read_bytes_per_second_limit"
PLATEAUS = "fss_mount_target_observed_limit_plateaus"


def hiding(**ceilings: dict[str, float]) -> Tenancy:
    """The small tenancy with other ceilings than the stated ones, by name of the mount target with _ for -."""
    tenancy = small()
    hidden = {name.replace("_", "-"): most for name, most in ceilings.items()}
    targets = tuple(
        replace(target, ceilings={**target.ceilings, **hidden.get(target.name, {})}) for target in tenancy.mount_targets
    )
    return replace(tenancy, mount_targets=targets)


def grow(world: World, mount_target: str, *, to: float, minutes: int = 70, chance: Random | None = None) -> None:
    """The demand on a mount target grows to a multiple of the usual, and goes back, with a poll each minute."""
    for at in range(minutes):
        share = min(1.0, 1.4 * at / minutes) if at < 0.9 * minutes else 0.2
        world.region.set_load(mount_target, 0.3 + (to - 0.3) * share)
        world.pass_minutes(chance.choice((0, 1, 2)) if chance else 1)
        world.poll()


def of(world: World, metric: str, mount_target: str) -> float | None:
    return world.value(metric, mount_target=mount_target)


def test_a_hidden_ceiling_of_reads_is_found_with_gaps_and_late_minutes(worlds: Callable[..., World]) -> None:
    world = worlds(hiding(mt_scratch={"read_bytes": 6e8}))
    world.region.add_fault("gaps,share=0.05")
    grow(world, "mt-scratch", to=2.5, minutes=90, chance=Random(0))
    assert of(world, READ, "mt-scratch") == pytest.approx(6e8, rel=0.03)


def test_a_hidden_ceiling_of_iops_is_shown_used_if_it_shall_be_and_survives_a_restart(
    worlds: Callable[..., World],
) -> None:
    world = worlds(hiding(mt_home={"io_operations": 31_000}))
    grow(world, "mt-home", to=2.0)
    found = of(world, IOPS, "mt-home")
    assert found == pytest.approx(31_000, rel=0.03)
    assert of(world, READ, "mt-home") is None, "the reads stand still only because the requests are the same"
    assert world.values(IOPS, "mount_target").keys() == {"mt-home"}, "no other mount target is full"
    assert of(world, "fss_mount_target_iops_limit", "mt-home") == 50_000, "the stated ceiling stays in force"
    assert world.value(PLATEAUS, mount_target="mt-home", resource="iops", reason="") == 1
    assert (world.value("fss_mount_target_observed_limit_duration_seconds", mount_target="mt-home") or 0) >= 15 * 60
    ended = world.value("fss_mount_target_observed_limit_timestamp_seconds", mount_target="mt-home") or 0
    assert world.clock.now - 40 * 60 < ended < world.clock.now

    world.account.settings = world.settings.model_copy(update={"limits": LimitSettings(observed=True)})
    world.poll()
    assert of(world, "fss_mount_target_iops_limit", "mt-home") == found
    assert of(world, "fss_mount_target_iops_limit", "mt-home-b") == 50_000, (
        "there is none, so the stated one is in force"
    )
    (ledger,) = world.account.ledgers.values()
    read = kept(ledger)
    assert read.observed == ledger.observed
    assert len(dump(read, OWNER)) - len(dump(Ledger(read.start), OWNER)) < 60_000
