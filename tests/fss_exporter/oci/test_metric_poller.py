"""The thread: it stops at once, refuses to overlap, survives what cannot be polled, and reloads without losing what is good."""

import errno
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from tests.clock import Clock
from tests.exposition_text import collected
from tests.fss_exporter.oci.world import START, World
from tests.processes import NEVER_S, PROMPT_S, wait_for
from tests.region import Region

from fss_exporter.background import EndLoop
from fss_exporter.errors import ConfigError, UsageError
from fss_exporter.oci.calls import CallBudget, FailureLog
from fss_exporter.oci.inventory.inventory_snapshot import InventorySnapshot
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.metrics.answers import MetricSnapshot
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.polling.regions import AccountRegion, SignedRegions
from fss_exporter.oci.polling.rounds import PollRounds
from fss_exporter.oci.snapshot import PollSnapshot, SnapshotBoard
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import load

if TYPE_CHECKING:
    from fss_exporter.oci.inventory.inventory_refresh import InventoryRefresh
    from fss_exporter.oci.polling.region_polls import RegionPolls

NAMES = ("a", "b")


class FakeInventory:
    """An inventory that was made before."""

    def __init__(self) -> None:
        self.snapshot = InventorySnapshot(inventory=Inventory())
        self.listed = threading.Event()
        self.listed.set()


class FakePolls:
    """Does on a poll what it is told."""

    suspects_changes = threading.Event()

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work

    def poll(self, snapshot: InventorySnapshot, seconds: float) -> PollSnapshot:
        assert snapshot.inventory is not None
        assert seconds > 0
        self._work()
        return PollSnapshot(
            metrics={"M": MetricSnapshot(success=True, streams=1, newest=0)}, has_answer=True, ended=1.0
        )


def polling(connect: Callable[[], None] = lambda: None, **work: Callable[[], None]) -> tuple[PollRounds, SnapshotBoard]:
    """A poller of the regions `a` and `b`, which do on a poll what `work` says of them."""

    def read() -> SimpleNamespace:
        connect()
        return SimpleNamespace(are_outdated=False)

    def regions(_: SimpleNamespace) -> list[AccountRegion]:
        return [
            AccountRegion(
                name,
                cast("InventoryRefresh", FakeInventory()),
                FailureLog(name, logging.getLogger()),
                cast("RegionPolls", FakePolls(work.get(name, lambda: None))),
            )
            for name in NAMES
        ]

    board = SnapshotBoard()
    signed = SignedRegions(read, regions, lambda _: None)
    return PollRounds(signed.all, board, interval=60.0, clock=time.monotonic, pause=lambda _: None), board


def until(condition: Callable[[], bool]) -> None:
    wait_for(condition, "it to happen")


def test_a_region_is_published_while_another_one_still_polls() -> None:
    published = threading.Event()

    def wait_for_a() -> None:
        until(lambda: any(region.region == "a" for region in board.regions))
        published.set()

    poller, board = polling(b=wait_for_a)
    poller.run_round()
    assert published.is_set()
    assert poller.success


def test_an_unexpected_error_in_one_region_costs_the_others_nothing() -> None:
    def breaks() -> None:
        raise ZeroDivisionError

    poller, board = polling(a=breaks)
    with pytest.raises(ZeroDivisionError):
        poller.run_round()
    assert [region.region for region in board.regions] == ["b"]
    assert poller.success is False


def test_a_snapshot_that_was_taken_does_not_change() -> None:
    poller, board = polling()
    poller.run_round()
    taken = board.regions
    poller.run_round()
    assert taken is not board.regions
    with pytest.raises(AttributeError):
        taken[0].region = "other"  # type: ignore[misc]  # that is the point


def test_credentials_that_cannot_be_used_are_reported_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    refusals = ["no such profile", "no such profile"]

    def connect() -> None:
        if refusals:
            raise UsageError(refusals.pop())

    poller, board = polling(connect)
    for _ in range(2):
        with pytest.raises(UsageError):
            poller.run_round()
    assert (poller.success, poller.was_answered, board.regions) == (False, False, ())
    assert caplog.text.count("no such profile") == 1
    poller.run_round()
    assert (poller.success, poller.was_answered) == (True, True)


@pytest.fixture
def slow_region(regions: Callable[..., Region]) -> Region:
    region = regions(now=time.time)
    region.add_fault(f"slow,seconds={NEVER_S:.0f}")
    return region


# Longer than all that a test waits for.
LONG = "poll_interval: 600\n  stale_after: 900\n  read_timeout: 600\n  answer_timeout: 600"


def poller_of(region: Region, path: Path, extra: str = "") -> Poller:
    config = region.account.write_config(path.parent, region.tenancy.region)
    path.write_text(
        f"oci:\n  name: acme\n  config_file: {config}\n  endpoint: {region.url}\n  calls_per_second: 9\n  {LONG}\n{extra}"
    )
    return Poller(lambda: load(path))


def test_stop_does_not_wait_for_the_end_of_a_call(slow_region: Region, tmp_path: Path) -> None:
    running = poller_of(slow_region, tmp_path / "c.yml")
    running.start()
    until(lambda: sum(slow_region.calls.values()) > 0)
    began = time.monotonic()
    running.stop()
    assert time.monotonic() - began < PROMPT_S


def test_stop_cuts_the_wait_between_polls_off(regions: Callable[..., Region], tmp_path: Path) -> None:
    running = poller_of(regions(now=time.time), tmp_path / "c.yml", "  compartments: [storage]\n")
    running.start()
    until(lambda: not running.waits_for())
    running.stop()
    until(lambda: not any(thread.name == "fss-oci" for thread in threading.enumerate()))


def test_a_scrape_does_not_wait_for_the_cloud(slow_region: Region, tmp_path: Path) -> None:
    running = poller_of(slow_region, tmp_path / "c.yml")
    running.start()
    until(lambda: sum(slow_region.calls.values()) > 0)
    began = time.monotonic()
    names = {family.name for family in collected(OciCollector(running.accounts, now=time.time))}
    assert time.monotonic() - began < PROMPT_S
    assert "fss_oci_api_budget_requests_per_second" in names
    assert not any(name.startswith("fss_mount_target") for name in names)
    running.stop()


def test_a_bad_file_keeps_the_old_settings(regions: Callable[..., Region], tmp_path: Path) -> None:
    running = poller_of(regions(now=time.time), tmp_path / "c.yml")
    before = running.accounts()[0].settings
    (tmp_path / "c.yml").write_text("oci: [")
    with pytest.raises(ConfigError):
        running.reload()()
    assert running.accounts()[0].settings is before


def test_settings_that_could_not_be_taken_over_are_taken_by_the_next_reload(
    regions: Callable[..., Region], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = poller_of(regions(now=time.time), tmp_path / "c.yml")
    (tmp_path / "c.yml").write_text((tmp_path / "c.yml").read_text().replace("second: 9", "second: 2"))

    def full(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("os.eventfd", full)
        with pytest.raises(OSError, match="Too many"):
            running.reload()()
    running.reload()()
    assert running.accounts()[0].budget.calls_per_second == 2.0


def test_new_ceilings_are_shown_without_disturbing_the_poller(
    regions: Callable[..., Region], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = poller_of(regions(now=time.time), tmp_path / "c.yml")
    text = (tmp_path / "c.yml").read_text()
    (tmp_path / "c.yml").write_text(text + "limits: {shapes: {standard: {iops: 7}}}\n")
    with caplog.at_level(logging.INFO):
        running.reload()()
    assert running.accounts()[0].settings.limits.shapes["standard"].given == {"iops": 7.0}
    assert "polling starts again" not in caplog.text


def test_new_credentials_are_polled_with_at_once(
    regions: Callable[..., Region], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = poller_of(regions(now=time.time), tmp_path / "c.yml", "  profile: OTHER\n  compartments: [storage]\n")
    running.start()
    until(lambda: "cannot use the OCI credentials" in caplog.text)
    assert running.waits_for() == "a first answer of OCI in every region"
    (tmp_path / "c.yml").write_text((tmp_path / "c.yml").read_text().replace("OTHER", "DEFAULT"))
    with caplog.at_level(logging.INFO):
        running.reload()()
    until(lambda: running.accounts()[0].polls.success)
    assert "polling starts again" in caplog.text
    running.stop()


def test_the_budget_spaces_calls_whoever_makes_them() -> None:
    clock = Clock(START)
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        clock.now += seconds
        return False

    budget = CallBudget(5, clock=clock, wait=wait)
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
    with pytest.raises(EndLoop):
        CallBudget(5, clock=time.monotonic, wait=lambda _: True).spend()


def test_two_regions_share_a_budget_for_monitoring_and_one_for_inventories(worlds: Callable[..., World]) -> None:
    world = worlds(regions=["eu-frankfurt-1", "eu-zurich-1"], calls_per_second=2)
    world.poll()
    assert {region.region for region in world.board.regions} == {"eu-frankfurt-1", "eu-zurich-1"}
    sums = world.self_metrics.sums()["fss_oci_api_requests_total"]
    of_monitoring = sum(
        count for (_, name, _), count in sums.items() if name in ("ListMetrics", "SummarizeMetricsData")
    )
    for budget, calls, pause in (
        (world.budget, of_monitoring, 1 / 2),
        (world.account.inventory_budget, sum(sums.values()) - of_monitoring, 1 / 10),
    ):
        turns = (calls - 1) * calls / 2  # the clock stands, so the n-th call waits n pauses
        assert budget.waited_seconds == pytest.approx(turns * pause)


def test_a_region_that_does_not_answer_is_left_alone_for_the_rest_of_the_poll(world_over_http: World) -> None:
    world = world_over_http
    world.poll()
    before = world.values("fss_mount_target_connections", "mount_target")
    world.region.stop()
    world.pass_minutes()
    world.poll()
    unanswered = world.self_metrics.sums()["fss_oci_api_requests_total"][
        "eu-frankfurt-1", "SummarizeMetricsData", "unreachable"
    ]
    assert unanswered <= 30, "eight queries under way and two that were next, of three attempts each"
    assert world.values("fss_mount_target_connections", "mount_target") == before
    success = world.values("fss_oci_metric_success", "oci_metric")
    assert {name for name, value in success.items() if value} == {
        name for name, metric in METRICS.items() if metric.interval_seconds and name in success
    }, "space is asked for hourly"
