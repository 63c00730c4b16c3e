"""The poller judges each minute of each mount target once, and says what it does not know."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from tests.clock import NOON
from tests.fss_exporter.oci.fake_cloud import FakeCloud, mount_target
from tests.fss_exporter.oci.polled_region import PolledRegion

from fss_exporter.errors import CloudError, Unreachable
from fss_exporter.oci.ledger import Ledger
from fss_exporter.oci.minute_metrics import BY_MINUTE, HEALTH
from fss_exporter.oci.minutes.target_figures import TargetFigures

# Raw figures of a healthy minute.
FIGURES = {
    "MountTargetIOPS": 20_000.0,
    "MountTargetReadThroughput": 1e6,
    "MountTargetWriteThroughput": 0.0,
    "MountTargetConnections": 7.0,
    "MountTargetHealth": 100.0,
    "FileSystemReadThroughput": 1e6,
    "FileSystemWriteThroughput": 0.0,
    "FileSystemReadRequestsbySize": 400.0,
    "FileSystemWriteRequestsbySize": 0.0,
    "MetadataIOPS": 100.0,
    "FileSystemReadAverageLatencybySize": 0.004,
    "MetadataRequestAverageLatency": 0.002,
}

REQUESTS = ("FileSystemReadRequestsbySize", "MetadataIOPS")
LATENCIES = ("FileSystemReadAverageLatencybySize", "MetadataRequestAverageLatency")

Change = Callable[[str, int], float | None]  # a figure by metric and minutes after noon, or None for no point


def healthy(metric: str, _: int) -> float | None:
    return FIGURES.get(metric)


@dataclass
class Figures:
    """A mount target whose figures change with the minutes, and the minutes whose points OCI holds back for a while."""

    change: Change = healthy
    minutes_late: Callable[[str, int], int] = lambda *_: 0
    poll: PolledRegion = field(init=False)

    def __post_init__(self) -> None:
        self.poll = PolledRegion(
            FakeCloud([mount_target("a")], has_file_systems=True, names=BY_MINUTE, figure=self._figure)
        )

    def _figure(self, metric: str, _: str, end: int) -> float | None:
        minute = (end - NOON) // 60
        is_there = end + self.minutes_late(metric, minute) * 60 <= self.poll.now
        return self.change(metric, minute) if is_there else None

    def run(self, minutes: int) -> "Figures":
        """Poll once a minute."""
        for _ in range(minutes):
            self.poll.minute()
        return self

    @property
    def seen(self) -> TargetFigures:
        """What the poller published last."""
        (region,) = self.poll.board.regions
        assert region.poll is not None
        return region.poll.targets[mount_target("a").id]

    def counted(self, objective: str) -> dict[str, float]:
        """Minutes by verdict, without the verdicts that never came."""
        numbers = {verdict: number for (name, verdict), number in self.seen.minutes.items() if name == objective}
        return {verdict: number for verdict, number in numbers.items() if number}


def spoilt(minutes: range, **figures: float | None) -> Change:
    """Other figures in some minutes."""
    return lambda metric, minute: figures[metric] if minute in minutes and metric in figures else FIGURES.get(metric)


def test_all_series_are_there_at_zero_from_the_first_sight() -> None:
    seen = Figures().run(1).seen.minutes
    assert seen == dict.fromkeys(
        [(objective, verdict) for objective in ("availability", "latency") for verdict in ("good", "bad", "unknown")],
        0.0,
    )


def test_each_minute_is_judged_once_however_often_it_is_asked_for() -> None:
    assert Figures().run(31).counted("latency") == Figures().run(31).counted("availability") == {"good": 30}


def test_bad_minutes_are_bad_for_their_objective_only() -> None:
    failing = Figures(spoilt(range(10, 15), MountTargetHealth=98.0)).run(31)
    assert failing.counted("availability") == {"good": 25, "bad": 5}
    assert failing.counted("latency") == {"good": 30}
    slow = Figures(spoilt(range(10, 17), FileSystemReadAverageLatencybySize=0.2)).run(31)
    assert slow.counted("availability") == {"good": 30}
    assert slow.counted("latency") == {"good": 23, "bad": 7}


def test_an_idle_mount_target_is_good_although_it_sends_neither_latency_nor_health() -> None:
    silent = dict.fromkeys((*LATENCIES, HEALTH)) | dict.fromkeys(REQUESTS, 0.0)
    idle = Figures(spoilt(range(100), **silent)).run(11)
    assert idle.counted("availability") == idle.counted("latency") == {"good": 10}
    assert idle.seen.judged is not None
    assert idle.seen.judged.latency_ratios == {}


def test_few_requests_wait_for_the_share_of_successes_and_are_bad_if_none_succeeds() -> None:
    few = {"FileSystemReadRequestsbySize": 0.0, "MetadataIOPS": 0.05, "MountTargetHealth": 0.0}
    region = Figures(spoilt(range(20, 25), **few), lambda metric, _: 3 if metric == HEALTH else 0).run(51)
    assert region.counted("availability") == {"good": 42, "bad": 5}
    assert region.counted("latency") == {"good": 47}


@pytest.mark.parametrize("late", [1, 9, 14])
@pytest.mark.parametrize("metrics", [BY_MINUTE, LATENCIES, REQUESTS, (HEALTH,)])
def test_a_minute_waits_for_late_figures_and_is_judged_by_them(late: int, metrics: tuple[str, ...]) -> None:
    change = spoilt(range(20, 25), FileSystemReadAverageLatencybySize=0.2, MountTargetHealth=50.0)
    region = Figures(change, lambda metric, _: late if metric in metrics else 0).run(51)
    assert region.counted("latency") == region.counted("availability") == {"good": 45 - late, "bad": 5}


def test_one_minute_that_comes_nine_minutes_late_is_judged_while_later_ones_are_judged_at_once() -> None:
    region = Figures(minutes_late=lambda _, minute: 9 if minute == 20 else 0)
    assert region.run(26).counted("latency") == {"good": 24}
    assert region.run(5).counted("latency") == {"good": 30}


def test_minutes_without_figures_are_unknown_after_fifteen_minutes() -> None:
    region = Figures(lambda metric, minute: None if minute in range(10, 15) else FIGURES.get(metric))
    assert region.run(24).counted("latency") == {"good": 18}
    assert region.run(7).counted("latency") == region.counted("availability") == {"good": 25, "unknown": 5}


def test_a_latency_that_never_comes_leaves_the_latency_unknown_and_the_availability_known() -> None:
    region = Figures(spoilt(range(10, 15), **dict.fromkeys(LATENCIES))).run(41)
    assert region.counted("availability") == {"good": 40}
    assert region.counted("latency") == {"good": 35, "unknown": 5}


def test_while_a_needed_query_fails_nothing_is_judged_by_the_others() -> None:
    region = Figures(spoilt(range(10, 15), FileSystemReadAverageLatencybySize=0.2))
    region.run(8)
    refused = CloudError("down", operation="SummarizeMetricsData")
    region.poll.cloud.refuse_metric = lambda metric: refused if metric == "MetadataIOPS" else None
    assert region.run(10).counted("latency") == {"good": 7}
    region.poll.cloud.refuse_metric = lambda _: None
    assert region.run(13).counted("latency") == {"good": 25, "bad": 5}


def test_an_outage_of_an_hour_is_unknown_but_for_the_last_minutes() -> None:
    region = Figures().run(11)
    region.poll.cloud.refuse = lambda operation: Unreachable("down", operation=operation)
    region.run(60)
    assert region.counted("latency") == {"good": 10, "unknown": 45}
    region.poll.cloud.refuse = lambda _: None
    assert region.run(1).counted("latency") == {"good": 25, "unknown": 46}


def test_a_clock_that_was_an_hour_ahead_costs_no_minute_after_its_correction() -> None:
    region = Figures(lambda metric, minute: FIGURES.get(metric) if minute < 30 else None)
    region.poll.now += 3_600
    region.run(2)
    region.poll.now -= 3_600
    assert region.run(11).counted("latency") == {"good": 10}


def test_new_objectives_count_from_the_next_minute_on() -> None:
    region = Figures().run(11)
    given = {"read": {"0B_to_8KiB": "1ms"}, "metadata": "1ms"}
    region.poll.settings = type(region.poll.settings).model_validate({"latency_objectives": given})
    assert region.run(10).counted("latency") == {"good": 10, "bad": 10}


def ratios(region: Figures) -> dict[str, float]:
    """The shown latencies by kind."""
    seen = region.seen.judged
    assert seen is not None
    return {kind.name: ratio for kind, ratio in seen.latency_ratios.items()}


def test_latency_is_shown_by_kind_as_a_multiple_of_the_objective_on_the_mean_of_five_minutes() -> None:
    region = Figures(spoilt(range(20, 23), FileSystemReadAverageLatencybySize=0.009)).run(3)
    assert ratios(region) == {"read": pytest.approx(0.4), "metadata": pytest.approx(0.2)}
    (kind, *_) = region.seen.judged.latency_ratios  # type: ignore[union-attr]  # `ratios` looked
    assert kind.file_system
    assert ratios(region.run(17))["read"] == pytest.approx((0.4 * 4 + 0.9) / 5)
    assert region.seen.judged.latency_ratio == pytest.approx(0.9)  # type: ignore[union-attr]
    assert ratios(region.run(2))["read"] == pytest.approx((0.4 * 2 + 0.9 * 3) / 5)
    assert ratios(region.run(5))["read"] == pytest.approx(0.4)


def test_the_first_poll_knows_the_load_of_five_minutes() -> None:
    loads = {load.resource: (load.source, load.mean, load.peak) for load in Figures().run(1).seen.loads}
    assert loads == {
        "iops": ("measured", 20_000.0, 20_000.0),
        "read_bandwidth": ("measured", 1e6, 1e6),
        "write_bandwidth": ("measured", 0.0, 0.0),
        "connections": ("measured", 7.0, 7.0),
    }


def test_a_mount_target_that_begins_now_has_no_load_before_five_minutes() -> None:
    region = Figures(lambda metric, minute: FIGURES.get(metric) if minute >= 1 else None)
    assert region.run(4).seen.loads == ()
    assert {load.mean for load in region.run(1).seen.loads if load.resource == "iops"} == {20_000.0}


def test_without_measured_iops_the_load_is_estimated_and_each_minute_counts_once() -> None:
    region = Figures(spoilt(range(-100, 100), MountTargetIOPS=None, MetadataIOPS=50.0), lambda _, minute: minute % 2)
    region.run(31)
    iops = 400 * 2 + 50
    (load,) = (load for load in region.seen.loads if load.resource == "iops")
    assert (load.source, load.mean) == ("oci", iops)
    assert region.seen.estimate is not None
    assert region.seen.estimate.iops.point == iops
    assert region.seen.estimated_operations == iops * 60 * 30, "minutes that come in pairs count as well"


def test_estimates_of_several_minutes_in_the_first_poll_are_seen_at_zero_first() -> None:
    region = Figures()
    region.poll = PolledRegion(region.poll.cloud, ledger=Ledger(NOON - 600))
    assert region.run(1).seen.estimated_operations == 0.0
    iops = 400 * 2 + 100
    assert region.run(1).seen.estimated_operations == iops * 60 * 12


def test_data_that_are_eight_minutes_late_keep_their_load_with_their_age() -> None:
    region = Figures(minutes_late=lambda *_: 8).run(21)
    (load,) = (load for load in region.seen.loads if load.resource == "iops")
    assert (load.minute - NOON) // 60 == 21 - 8
    assert load.mean == 20_000.0


def test_the_last_load_stays_for_an_hour() -> None:
    region = Figures(lambda metric, minute: FIGURES.get(metric) if minute < 10 else None)
    assert region.run(69).seen.loads[0].minute == NOON + 9 * 60
    assert region.run(1).seen.loads == ()
