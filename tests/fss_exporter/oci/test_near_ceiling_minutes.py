"""Minutes at or above a level of a ceiling: each counts once, late or early, over restarts, and by one source."""

import pytest
from tests.fss_exporter.oci.ledger_runs import kept
from tests.fss_exporter.oci.polled_region import PolledRegion
from tests.fss_exporter.oci.test_minute_judge import FIGURES, Figures, spoilt

from fss_exporter.settings import LimitOverrides, LimitSettings


def of(region: Figures, resource: str = "iops") -> dict[str, float]:
    """Minutes of a resource by level."""
    return {level: number for (name, level), number in region.seen.near_ceiling_minutes.items() if name == resource}


def test_every_ceiling_has_its_levels_at_zero_from_the_first_sight() -> None:
    near = Figures(spoilt(range(-99, 99), MountTargetIOPS=50_000.0)).run(1).seen.near_ceiling_minutes
    assert near == {
        (resource, level): 0.0
        for resource in ("iops", "read_bandwidth", "write_bandwidth", "connections")
        for level in ("0.8", "0.95", "0.98")
    }


def test_a_minute_counts_at_every_level_that_it_reaches() -> None:
    def change(metric: str, minute: int) -> float | None:
        loads = {10: 39_999.0, 11: 40_000.0, 12: 47_500.0, 13: 49_000.0, 14: 61_000.0}
        return loads.get(minute, 10.0) if metric == "MountTargetIOPS" else FIGURES.get(metric)

    region = Figures(change).run(31)
    assert of(region) == {"0.8": 4.0, "0.95": 3.0, "0.98": 2.0}
    assert of(region, "read_bandwidth") == {"0.8": 0.0, "0.95": 0.0, "0.98": 0.0}


@pytest.mark.parametrize("late", [0, 1, 8, 14])
def test_a_late_minute_counts_once_when_it_comes(late: int) -> None:
    region = Figures(spoilt(range(10, 15), MountTargetIOPS=49_000.0), lambda *_: late)
    assert of(region.run(51)) == {"0.8": 5.0, "0.95": 5.0, "0.98": 5.0}


def test_without_measured_iops_the_estimated_ones_count() -> None:
    change = spoilt(range(10, 15), FileSystemReadRequestsbySize=24_000.0, FileSystemReadThroughput=9e7)
    region = Figures(lambda metric, minute: None if metric == "MountTargetIOPS" else change(metric, minute))
    region.poll.cloud.names = [name for name in FIGURES if name != "MountTargetIOPS"]
    assert of(region.run(31)) == {"0.8": 5.0, "0.95": 5.0, "0.98": 0.0}


def test_an_estimate_counts_only_the_minutes_that_stay_without_a_measured_figure() -> None:
    """The estimate says 48,100 in ten minutes, and what is measured says 41,000 in the first five and never comes in the others."""

    def change(metric: str, minute: int) -> float | None:
        if metric == "MountTargetIOPS" and minute in range(15, 20):
            return None
        figures = {
            "MountTargetIOPS": 41_000.0,
            "FileSystemReadRequestsbySize": 24_000.0,
            "FileSystemReadThroughput": 9e7,
        }
        return spoilt(range(10, 20), **figures)(metric, minute)

    region = Figures(change, lambda metric, _: 2 if metric == "MountTargetIOPS" else 0)
    assert of(region.run(25)) == {"0.8": 5.0, "0.95": 0.0, "0.98": 0.0}
    assert of(region.run(25)) == {"0.8": 10.0, "0.95": 5.0, "0.98": 0.0}


def test_a_resource_without_a_ceiling_has_no_minutes() -> None:
    region = Figures()
    region.poll.settings = region.poll.settings.model_copy(
        update={"limits": LimitSettings(shapes={"standard": LimitOverrides(iops=None, connections=8)})}
    )
    region.run(11)
    assert of(region) == {}
    assert of(region, "connections") == {"0.8": 10.0, "0.95": 0.0, "0.98": 0.0}


def test_they_survive_a_restart_and_go_with_a_deleted_mount_target() -> None:
    region = Figures(spoilt(range(99), MountTargetIOPS=49_000.0)).run(11)
    ledger = kept(region.poll.ledger)
    region.poll = PolledRegion(region.poll.cloud, now=region.poll.now, ledger=ledger)
    assert of(region.run(10))["0.98"] == 20.0
    region.poll.cloud.targets = ()
    for _ in range(20):
        region.poll.minute(10)
    assert not ledger.tallies("near ceiling minutes")
