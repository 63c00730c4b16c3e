"""The thread: it stops at once, refuses to overlap, survives what cannot be polled, and reloads without losing what is good."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.oci.world import Clock, World, in_background
from tests.region import Region

from fss_exporter.cli.cloud import Cloud
from fss_exporter.config import load
from fss_exporter.errors import ConfigError, UsageError
from fss_exporter.oci.call_budget import Budget, Stopped
from fss_exporter.oci.metric_poller import Poller
from fss_exporter.oci.self_metrics import SelfMetrics
from fss_exporter.oci.snapshot import RegionSnapshot


class Fake:
    """A region that does what it is told."""

    def __init__(self, name: str, poll: Callable[[], None] = lambda: None) -> None:
        self.region = name
        self._poll = poll

    def poll(self, seconds: float) -> RegionSnapshot:
        assert seconds > 0
        self._poll()
        return RegionSnapshot(self.region, success=True)

    def work(self, until: float) -> RegionSnapshot | None:
        assert until
        return None


def poller(connect: Callable[[], Sequence[Fake]], ledger: SelfMetrics | None = None) -> Poller:
    return Poller(
        connect, interval=60.0, clock=time.monotonic, stopping=threading.Event(), ledger=ledger or SelfMetrics()
    )


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen within ten seconds")


def test_a_poll_that_overlaps_is_refused_and_counted() -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow() -> None:
        entered.set()
        assert leave.wait(10)

    ledger = SelfMetrics()
    polling = poller(lambda: [Fake("a", slow)], ledger)
    thread = in_background(polling.poll_once)
    assert entered.wait(10)
    assert polling.poll_once() is False
    leave.set()
    thread.join(10)
    assert ledger.sums()["fss_oci_polls_refused_total"] == {(): 1.0}
    assert [region.region for region in polling.snapshot.regions] == ["a"]


def test_a_region_is_published_as_soon_as_it_is_polled() -> None:
    seen: list[int] = []
    polling = poller(lambda: [Fake("a"), Fake("b", lambda: seen.append(len(polling.snapshot.regions)))])
    polling.poll_once()
    assert seen == [1]


def test_a_mistake_in_one_region_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def breaks() -> None:
        raise ZeroDivisionError

    polling = poller(lambda: [Fake("a", breaks), Fake("b")])
    polling.poll_once()
    assert [region.region for region in polling.snapshot.regions] == ["b"]
    assert polling.success is False
    assert "a: the poll broke off" in caplog.text


def test_a_snapshot_that_was_taken_does_not_change() -> None:
    polling = poller(lambda: [Fake("a"), Fake("b")])
    polling.poll_once()
    taken = polling.snapshot
    polling.poll_once()
    assert taken.regions is not polling.snapshot.regions
    with pytest.raises(AttributeError):
        taken.regions = ()  # type: ignore[misc]  # that is the point


def test_credentials_that_cannot_be_used_are_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    refusals = ["no such profile", "no such profile"]

    def connect() -> Sequence[Fake]:
        if refusals:
            raise UsageError(refusals.pop())
        return [Fake("a")]

    polling = poller(connect)
    polling.poll_once()
    polling.poll_once()
    assert (polling.success, polling.polled, polling.snapshot.regions) == (False, True, ())
    assert caplog.text.count("no such profile") == 1
    polling.poll_once()
    assert polling.success is True


@pytest.fixture
def slow_region(regions: Callable[..., Region]) -> Region:
    region = regions(now=time.time)
    region.add_fault("slow,seconds=30")
    return region


def cloud(region: Region, path: Path, extra: str = "") -> Cloud:
    config = region.account.write_config(path.parent, region.tenancy.region)
    path.write_text(f"oci:\n  config_file: {config}\n  endpoint: {region.url}\n  calls_per_second: 9\n{extra}")
    return Cloud(lambda: load(path))


def test_stop_returns_within_a_second_in_the_middle_of_a_call(slow_region: Region, tmp_path: Path) -> None:
    running = cloud(slow_region, tmp_path / "c.yml")
    running.start()
    until(lambda: sum(slow_region.calls.values()) > 0)
    began = time.monotonic()
    running.stop()
    assert time.monotonic() - began < 1


def test_stop_cuts_the_wait_between_polls_off(regions: Callable[..., Region], tmp_path: Path) -> None:
    running = cloud(regions(now=time.time), tmp_path / "c.yml", "  compartments: [storage]\n")
    running.start()
    until(running.is_ready)
    began = time.monotonic()
    running.stop()
    assert time.monotonic() - began < 1
    until(lambda: not any(thread.name == "oci-poller" for thread in threading.enumerate()))


def test_a_scrape_does_not_wait_for_the_cloud(slow_region: Region, tmp_path: Path) -> None:
    running = cloud(slow_region, tmp_path / "c.yml")
    running.start()
    until(lambda: sum(slow_region.calls.values()) > 0)
    began = time.monotonic()
    names = {family.metric.name for family in running.source.collect()}
    assert time.monotonic() - began < 0.5
    assert "fss_latency_objective_seconds" in names
    assert not any(name.startswith("fss_mount_target") for name in names)
    running.stop()


def test_a_bad_file_keeps_the_old_settings(regions: Callable[..., Region], tmp_path: Path) -> None:
    running = cloud(regions(now=time.time), tmp_path / "c.yml")
    before = running.source.view
    (tmp_path / "c.yml").write_text("oci: [")
    with pytest.raises(ConfigError):
        running.reload()
    assert running.source.view is before


def test_new_ceilings_are_shown_without_disturbing_the_poller(
    regions: Callable[..., Region], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = cloud(regions(now=time.time), tmp_path / "c.yml")
    text = (tmp_path / "c.yml").read_text()
    (tmp_path / "c.yml").write_text(text + "limits: {shapes: {standard: {iops: 7}}}\n")
    with caplog.at_level(logging.INFO):
        running.reload()
    assert running.source.view.mount_targets.shape_limits == {"standard": {"iops": 7.0}}
    assert "polling anew" not in caplog.text


def test_new_credentials_are_polled_with_at_once(
    regions: Callable[..., Region], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = cloud(regions(now=time.time), tmp_path / "c.yml", "  profile: OTHER\n  compartments: [storage]\n")
    running.start()
    until(running.is_ready)
    assert running.source.success is False
    (tmp_path / "c.yml").write_text((tmp_path / "c.yml").read_text().replace("OTHER", "DEFAULT"))
    with caplog.at_level(logging.INFO):
        running.reload()
    until(lambda: running.source.success)
    assert "polling anew" in caplog.text
    running.stop()


def test_the_budget_spaces_calls_whoever_makes_them() -> None:
    clock = Clock()
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        clock.now += seconds
        return False

    budget = Budget(5, clock=clock, wait=wait)
    for _ in range(11):
        budget.spend()
    assert sum(waits) == pytest.approx(2.0)
    assert budget.waited_seconds == pytest.approx(2.0)
    clock.now += 100
    budget.spend()
    assert waits[-1] == 0, "what was not spent is not saved up"
    budget.spend()
    assert waits[-1] == pytest.approx(0.2)


def test_a_wait_that_is_cut_off_stops_the_call() -> None:
    with pytest.raises(Stopped):
        Budget(5, clock=time.monotonic, wait=lambda _: True).spend()


def test_two_regions_share_one_budget(worlds: Callable[..., World]) -> None:
    world = worlds(regions=["eu-frankfurt-1", "eu-zurich-1"], calls_per_second=2)
    world.poll()
    assert {region.region for region in world.poller.snapshot.regions} == {"eu-frankfurt-1", "eu-zurich-1"}
    calls = sum(world.ledger.sums()["fss_oci_api_requests_total"].values())
    turns = (calls - 1) * calls / 2  # the clock stands, so the n-th call waits n half seconds
    assert world.budget.waited_seconds == pytest.approx(turns / 2)


def test_a_region_that_does_not_answer_is_left_alone_for_the_rest_of_the_poll(world: World) -> None:
    world.poll()
    before = world.values("fss_mount_target_connections", "mount_target")
    world.region.stop()
    world.pass_minutes()
    world.poll()
    unanswered = world.ledger.sums()["fss_oci_api_requests_total"][
        "eu-frankfurt-1", "SummarizeMetricsData", "unreachable"
    ]
    assert unanswered <= 9, "three queries of three attempts"
    assert world.values("fss_mount_target_connections", "mount_target") == before
    assert set(world.values("fss_oci_metric_success", "oci_metric").values()) == {0.0}
