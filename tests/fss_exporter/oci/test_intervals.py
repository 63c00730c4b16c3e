"""Metrics that change slowly are asked for rarely, and stay in sight meanwhile."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.fss_exporter.oci.world import World

from fss_exporter.errors import UsageError
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.settings import load

USED = "fss_file_system_used_bytes"


def asked(world: World, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Number of queries from now on, by name of the metric."""
    seen: Counter[str] = Counter()
    respond = world.region.respond

    def counted(request: Any) -> Any:
        text = request.body.decode()
        seen.update(
            name for name in ("FileSystemUsage", "MountTargetReadThroughput", "MetadataIOPS") if f"{name}[" in text
        )
        return respond(request)

    monkeypatch.setattr(world.region, "respond", counted)
    return seen


def minutes(world: World, number: int) -> None:
    for _ in range(number):
        world.poll()
        world.pass_minutes()


def test_space_is_asked_for_hourly_and_shown_all_the_hour_and_throughput_is_asked_for_each_minute(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = asked(world, monkeypatch)
    shown = set()
    for minutes in (1, 1, 1, 7, 20, 25, 4, 1, 1, 1):
        world.poll()
        shown.add(frozenset(world.values(USED, "file_system")))
        world.pass_minutes(minutes)

    assert (seen["MountTargetReadThroughput"], seen["FileSystemUsage"]) == (10, 2)
    (values,) = shown
    assert values
    assert world.value("fss_oci_poll_success", region="eu-frankfurt-1") == 1


def test_a_failed_query_is_tried_again_in_the_next_poll(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = asked(world, monkeypatch)
    world.region.add_fault("500:SummarizeMetricsData")
    minutes(world, 1)
    world.region.clear_faults()
    before = seen["FileSystemUsage"]
    minutes(world, 1)
    assert seen["FileSystemUsage"] == before + 1
    assert world.values(USED, "file_system")


def test_the_configuration_gives_a_metric_another_interval(
    worlds: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = worlds(intervals={"MetadataIOPS": "2m", "FileSystemUsage": "5m"})
    seen = asked(world, monkeypatch)
    minutes(world, 20)
    assert seen["MetadataIOPS"] == 10
    assert seen["FileSystemUsage"] == 4


def test_a_new_file_system_does_not_wait_for_an_hour(world: World) -> None:
    world.region.add_fault("deny:ListFileSystems")
    minutes(world, 2)
    assert not world.values(USED, "file_system")
    world.region.clear_faults()
    minutes(world, 12)
    assert world.values(USED, "file_system"), "the inventory of ten minutes later has them"


@pytest.mark.parametrize(
    ("intervals", "says"),
    [({"FileSystemUse": "1h"}, "is no metric"), ({"MountTargetIOPS": "10m"}, "at most 5m")],
)
def test_an_interval_that_cannot_be_is_a_mistake(intervals: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Poller(lambda: load(None, {"oci.intervals": intervals}))
