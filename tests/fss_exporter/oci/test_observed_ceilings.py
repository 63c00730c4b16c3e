"""A demo region hides the ceilings of its mount targets, and the poller finds them by load and latency."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.clock import Clock
from tests.fss_exporter.oci.world import World
from tests.region import Region, Tenancy, small

from fss_exporter.oci.ledger import Ledger
from fss_exporter.oci.ledger.ledger_file import dump, load
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


def test_a_hidden_ceiling_of_iops_is_found_over_http_with_the_sdk(
    regions: Callable[..., Region], world_clock: Clock, tmp_path: Path
) -> None:
    world = World(regions(hiding(mt_home={"io_operations": 31_000})), world_clock, tmp_path)
    grow(world, "mt-home", to=2.0)
    assert of(world, IOPS, "mt-home") == pytest.approx(31_000, rel=0.03)
    assert of(world, READ, "mt-home") is None, "the reads stand still only because the requests are the same"
    assert world.values(IOPS, "mount_target").keys() == {"mt-home"}, "no other mount target is full"
    assert of(world, "fss_mount_target_iops_limit", "mt-home") == 50_000, "the stated ceiling stays in force"
    assert world.value(PLATEAUS, mount_target="mt-home", resource="iops", reason="") == 1
    assert (world.value("fss_mount_target_observed_limit_minutes", mount_target="mt-home") or 0) >= 15
    ended = world.value("fss_mount_target_observed_limit_timestamp_seconds", mount_target="mt-home") or 0
    assert world.clock.now - 40 * 60 < ended < world.clock.now


@pytest.mark.parametrize("seed", range(2))
def test_a_hidden_ceiling_of_reads_is_found_with_gaps_and_late_minutes(worlds: Callable[..., World], seed: int) -> None:
    chance = Random(seed)
    ceiling = chance.uniform(4e8, 9e8)
    world = worlds(hiding(mt_scratch={"read_bytes": ceiling}))
    world.region.add_fault("gaps,share=0.05")
    grow(world, "mt-scratch", to=2.5, minutes=110, chance=chance)
    assert of(world, READ, "mt-scratch") == pytest.approx(ceiling, rel=0.03)


def test_a_mount_target_that_is_busy_all_day_has_no_observed_ceiling(worlds: Callable[..., World]) -> None:
    world = worlds()
    world.account.settings = world.settings.model_copy(update={"limits": LimitSettings(observed=True)})
    for _ in range(60):
        world.pass_minutes()
        world.poll()
    assert world.values(IOPS, "mount_target") == world.values(READ, "mount_target") == {}
    assert world.value(PLATEAUS, mount_target="mt-home", resource="iops", reason="latency did not rise") == 0
    assert of(world, "fss_mount_target_iops_limit", "mt-home") == 50_000


def test_limits_observed_uses_it_and_it_survives_a_restart(worlds: Callable[..., World]) -> None:
    world = worlds(hiding(mt_home={"io_operations": 31_000}))
    grow(world, "mt-home", to=2.0)
    world.account.settings = world.settings.model_copy(update={"limits": LimitSettings(observed=True)})
    world.poll()
    found = of(world, IOPS, "mt-home")
    assert found is not None
    assert of(world, "fss_mount_target_iops_limit", "mt-home") == found
    assert of(world, "fss_mount_target_iops_limit", "mt-home-b") == 50_000, (
        "there is none, so the stated one is in force"
    )
    (ledger,) = world.account.ledgers.values()
    kept = load(dump(ledger, "eu"), "eu")
    assert kept.observed == ledger.observed
    assert len(dump(kept, "eu")) - len(dump(Ledger(kept.start), "eu")) < 60_000


@pytest.mark.parametrize("spoilt", [b'"height":-1', b'"height":1e999', b'"height":"x"'])
def test_a_ledger_with_an_impossible_plateau_is_refused(worlds: Callable[..., World], spoilt: bytes) -> None:
    world = worlds(hiding(mt_home={"io_operations": 31_000}))
    grow(world, "mt-home", to=2.0)
    (ledger,) = world.account.ledgers.values()
    content = dump(ledger, "eu")
    at = content.index(b'"height":')
    with pytest.raises(ValueError):  # noqa: PT011  # msgspec and the ledger have their own words
        load(content[:at] + spoilt + content[content.index(b",", at) :], "eu")
