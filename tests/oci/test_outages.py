"""After an outage no stream loses its backlog, and a round that fails is a failure that others can see. In memory."""

import logging
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest
from msgspec import structs
from tests.oci.fake_cloud import FakeCloud, mount_target

from fss_exporter.background import Worker
from fss_exporter.errors import CloudError, FssError, NotAuthorized, Unreachable, UsageError
from fss_exporter.oci.address_lookup import AddressLookup
from fss_exporter.oci.calls import FailureLog, SelfMetrics
from fss_exporter.oci.cloud_client import Compartment, Listing, PrivateIp, Scope, Stream
from fss_exporter.oci.inventory_refresh import InventoryRefresh
from fss_exporter.oci.metric_queries import MetricQueries
from fss_exporter.oci.mount_target_settings import named_targets
from fss_exporter.oci.query_extent import GAUGE_MOST_MINUTES
from fss_exporter.oci.region_loops import Account, InventoryLoop, MetricPoller, MonitoredRegion
from fss_exporter.oci.region_poller import RegionPoller
from fss_exporter.oci.selection import InventorySelection
from fss_exporter.oci.series_store import newest_complete
from fss_exporter.oci.snapshot import SnapshotBoard
from fss_exporter.settings import load

NOON = 1_795_003_200


class Held:
    """Credentials that never change."""

    are_outdated = False


@dataclass
class Poll:
    """One region on a fake cloud, on a clock that is turned by hand."""

    cloud: FakeCloud = field(default_factory=lambda: FakeCloud([mount_target("a"), mount_target("b")]))
    now: float = NOON + 20.0
    targets: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        log = logging.getLogger()
        client = self.cloud
        self.board = SnapshotBoard()
        self.failures = FailureLog("eu", log)
        self.inventory = InventoryRefresh(
            client,
            InventorySelection(),
            now=self.clock,
            report=self.failures.report,
            publish=lambda state: self.board.publish_inventory("eu", state),
        )
        queries = self.queries = MetricQueries(
            client, start=NOON, now=self.clock, self_metrics=SelfMetrics(), failures=self.failures
        )
        poller = RegionPoller(
            client,
            queries,
            self.failures,
            names_interval=600.0,
            stale_after=360.0,
            now=self.clock,
            clock=self.clock,
        )
        region = MonitoredRegion("eu", self.inventory, self.failures, poller)
        account = Account(Held, lambda _: [region], lambda _: None)
        self.inventories = InventoryLoop(account, self.targets, interval=600.0, clock=self.clock)
        self.polls = MetricPoller(account, self.board, interval=60.0, clock=self.clock, pause=lambda _: None)

    def clock(self) -> float:
        return self.now

    def minute(self, minutes: int = 1) -> None:
        """Time passes, and one poll."""
        self.now += 60.0 * minutes
        for loop in (self.inventories, self.polls):
            try:
                loop.run_round()
            except FssError:
                continue

    def counted(self) -> dict[str, float]:
        """Bytes read so far by mount target."""
        (region,) = self.board.regions
        assert region.poll
        column = region.poll.sums["fss_mount_target_read_bytes_total"]
        return {series.labels[2]: value for series, value in zip(column.series, column.values, strict=True)}


def test_a_counter_counts_every_minute_of_an_outage_of_an_hour() -> None:
    poll = Poll()
    poll.minute(2)
    poll.cloud.refuse = lambda _: Unreachable("down", operation="SummarizeMetricsData")
    for _ in range(60):
        poll.minute()
    poll.cloud.refuse = lambda _: None
    poll.minute()
    poll.minute()
    assert poll.counted() == {"a": 64 * 60.0, "b": 64 * 60.0}


@pytest.mark.parametrize("missing_polls", [1, 2, 4])
def test_a_stream_that_is_missing_after_an_outage_brings_its_backlog_later(missing_polls: int) -> None:
    poll = Poll()
    poll.minute(2)
    poll.cloud.refuse = lambda _: Unreachable("down", operation="SummarizeMetricsData")
    poll.minute(60)
    poll.cloud.refuse = lambda _: None
    poll.cloud.spoil = lambda streams: streams[:1]
    for _ in range(missing_polls):
        poll.minute()
    poll.cloud.spoil = lambda streams: streams
    poll.minute()
    assert poll.counted()["a"] == poll.counted()["b"] == (63 + missing_polls) * 60.0


def test_a_first_answer_that_takes_ten_minutes_loses_no_minute() -> None:
    poll = Poll()
    poll.cloud.names = ("MountTargetReadThroughput",)

    def spoil(streams: list[Stream | None]) -> list[Stream | None]:
        if poll.now < NOON + 600.0:
            poll.now += 600.0
        return streams

    poll.cloud.spoil = spoil
    poll.minute(2)
    poll.minute()
    poll.minute()
    assert poll.counted() == {"a": 14 * 60.0, "b": 14 * 60.0}


@pytest.mark.parametrize("late", [1, 5, 8, 9, 12, 15])
@pytest.mark.parametrize("polls_before", range(20, 25))
def test_a_minute_that_comes_up_to_fifteen_minutes_late_counts_within_five_polls(late: int, polls_before: int) -> None:
    poll = Poll()
    for _ in range(polls_before):
        poll.minute()
    missing = newest_complete(poll.now + 60.0)
    poll.cloud.spoil = lambda streams: [_without(stream, missing) for stream in streams if stream]
    for _ in range(late):
        poll.minute()
    poll.cloud.spoil = lambda streams: streams
    for _ in range(5):
        poll.minute()
    whole = Poll()
    for _ in range(polls_before + late + 5):
        whole.minute()
    assert poll.counted() == whole.counted()


def _without(stream: Stream, minute: int) -> Stream:
    """Return the stream without one minute, which ends at `minute`, epoch seconds."""
    points = (point for point in stream.points if datetime.fromisoformat(point.timestamp).timestamp() != minute)
    return structs.replace(stream, points=tuple(points))


def test_a_poll_asks_for_eleven_minutes_of_a_counter_in_the_mean() -> None:
    poll = Poll()
    for _ in range(10):
        poll.minute()
    asked: Counter[tuple[str, str]] = Counter()

    def figure(metric: str, target: str, _: int) -> float:
        asked[metric, target] += 1
        return 1.0

    poll.cloud.figure = figure
    for _ in range(5):
        poll.minute()
    assert asked["MountTargetReadThroughput", "a"] == 4 * 9 + 20


def test_a_compartment_that_answers_for_the_first_time_after_hours_brings_no_backlog_of_hours() -> None:
    poll = Poll()
    poll.minute(2)
    assert poll.polls.polled
    queries = poll.queries
    queries.query_all([Scope("ocid1.compartment.oc1..early")], lambda: False)
    poll.now += 150 * 60.0
    queries.query_all([Scope("ocid1.compartment.oc1..late")], lambda: False)
    starts = {
        scope.compartment_id: (newest_complete(poll.now) - start) // 60 for scope, start in poll.cloud.asked.items()
    }
    assert starts["ocid1.compartment.oc1..late"] < GAUGE_MOST_MINUTES


def test_names_of_metrics_of_one_compartment_are_learned_though_another_refuses() -> None:
    poll = Poll()
    refused = Scope("ocid1.compartment.oc1..refused")
    poll.cloud.names = ("MountTargetIOPS", "FileSystemReadRequestsBySize")
    poll.cloud.refuse_scope = lambda scope: (
        NotAuthorized("no", operation="ListMetrics", status=404) if scope == refused else None
    )
    scopes = [refused, Scope("ocid1.compartment.oc1..open")]
    poll.queries.learn_names(scopes)
    assert poll.queries.names_are_due, "listed again soon"
    poll.queries.query_all(scopes[1:], lambda: False)
    assert {"MountTargetIOPS", "FileSystemReadRequestsbySize", "MountTargetConnections"} <= poll.queries.states.keys()


def test_credentials_that_fail_again_after_they_worked_are_a_new_line(caplog: pytest.LogCaptureFixture) -> None:
    broken = [True]

    def read() -> Any:
        if broken[0]:
            raise UsageError("oci.config_file: no such file")
        return Held()

    account = Account(read, lambda _: [], lambda _: None)
    for is_broken in (True, True, False, True, True):
        broken[0] = is_broken
        account.read_credentials_again()
        with suppress(UsageError):
            account.regions()
    assert caplog.text.count("cannot use the OCI credentials") == 2


def test_one_bad_point_after_an_outage_costs_one_minute_until_it_is_mended() -> None:
    poll = Poll()
    bad = NOON + 30 * 60
    poll.cloud.figure = lambda _, __, minute: -7.0 if minute == bad else 1.0
    poll.minute(2)
    poll.minute(60)
    assert poll.counted() == {"a": 61 * 60.0, "b": 61 * 60.0}, "all minutes but the bad one"
    poll.cloud.figure = lambda *_: 1.0
    poll.minute()
    assert poll.counted() == {"a": 63 * 60.0, "b": 63 * 60.0}


def test_many_addresses_of_one_subnet_are_one_listing_and_few_are_looked_up_one_by_one() -> None:
    few, many = (
        FakeCloud([mount_target(str(at)) for at in range(3)]),
        FakeCloud([mount_target(str(at)) for at in range(300)]),
    )
    for cloud in (few, many):
        lookup = AddressLookup(cloud, lambda *_: None)
        lookup.look_up(cloud.targets, lambda: None)
        assert all(lookup.located(one).address for one in cloud.targets)
    assert few.calls == ["GetSubnet", "GetPrivateIp", "GetPrivateIp", "GetPrivateIp"]
    assert many.calls == ["GetSubnet", "ListPrivateIps"]


def test_a_mount_target_that_is_being_deleted_does_not_hide_the_addresses_of_its_subnet() -> None:
    class WithoutAddress(FakeCloud):
        def private_ip(self, ocid: str) -> PrivateIp:
            if ocid == "ip-going":
                raise NotAuthorized("not found", operation="GetPrivateIp", status=404)
            return super().private_ip(ocid)

    targets = [replace(mount_target("going"), state="DELETING"), mount_target("a"), mount_target("b")]
    lookup = AddressLookup(WithoutAddress(targets), lambda *_: None)
    lookup.look_up(targets, lambda: None)
    assert [bool(lookup.located(one).address) for one in targets] == [False, True, True]


def test_a_limit_that_may_not_be_read_is_no_failure_and_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    poll = Poll()
    denied = NotAuthorized("no", operation="ListLimitValues", status=404)
    poll.cloud.refuse = lambda operation: denied if operation == "ListLimitValues" else None
    for _ in range(25):
        poll.minute()
    state = poll.inventory.state
    assert state.inventory
    assert (dict(state.inventory.mount_target_limits), all(state.succeeded.values())) == ({}, True)
    assert state.inventory.mount_target_counts == {"AD-1": 2}
    assert caplog.text.count("service limit of mount targets is not watched") == 1
    poll.cloud.refuse = lambda _: None
    poll.minute(11)
    assert poll.inventory.state.inventory
    assert poll.inventory.state.inventory.mount_target_limits == {"AD-1": 2.0}


STAGES = (
    "ListAvailabilityDomains",
    "ListCompartments",
    "ListMountTargets",
    "ListExports",
    "GetPrivateIp",
    "ListMetrics",
    "SummarizeMetricsData",
)


@pytest.mark.parametrize("stage", STAGES)
def test_an_unexpected_exception_costs_one_round_is_counted_and_the_loop_goes_on(
    stage: str, caplog: pytest.LogCaptureFixture
) -> None:
    poll = Poll()
    poll.cloud.names = ("MountTargetReadThroughput",)

    def explode(operation: str) -> None:
        if operation == stage:
            raise ZeroDivisionError(stage)

    loops = {"oci_inventory": poll.inventories.run_round, "oci": poll.polls.run_round}
    workers = [Worker(name, run, interval=lambda: 60.0) for name, run in loops.items()]
    poll.cloud.refuse = explode
    for worker in workers:
        worker.run_once()
    broken = next(one for one in workers if one.heartbeat.errors)
    assert (broken.heartbeat.success, broken.heartbeat.last_success_timestamp) == (False, None)
    assert caplog.text.count("ZeroDivisionError") >= 1, "with its traceback"
    poll.cloud.refuse = lambda _: None
    poll.now += 1000.0
    for worker in workers:
        worker.run_once()
    assert [worker.heartbeat.success for worker in workers] == [True, True]
    assert poll.counted().keys() == {"a", "b"}


def test_regions_do_not_wait_for_each_other() -> None:
    """A region that answers nothing, and one that is polled meanwhile."""
    from fss_exporter.oci.region_loops import each_region

    done, leave = threading.Event(), threading.Event()

    def work(name: str) -> None:
        if name == "slow":
            assert leave.wait(120)
        else:
            done.set()

    thread = threading.Thread(target=each_region, args=(["slow", "fast"], work), daemon=True)
    thread.start()
    assert done.wait(120)
    assert thread.is_alive()
    leave.set()
    thread.join(120)
    assert not thread.is_alive()


def test_a_system_without_a_further_thread_polls_one_region_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from fss_exporter.oci.region_loops import each_region

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    polled: list[str] = []
    each_region(["one", "other"], polled.append)

    assert polled == ["one", "other"]


def test_a_region_without_an_inventory_says_once_that_no_poll_begins(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    poll = Poll()
    for _ in range(3):
        with suppress(FssError):
            poll.polls.run_round()
    assert caplog.text.count("no poll yet") == 1


def test_the_first_inventory_shows_mount_targets_with_addresses_before_it_lists_the_rest() -> None:
    poll = Poll(FakeCloud([mount_target(str(at)) for at in range(20)]))
    seen: list[tuple[int, int]] = []

    def look(operation: str) -> None:
        known = poll.inventory.state.inventory
        targets = known.mount_targets.values() if known else ()
        if operation == "ListFileSystems":
            seen.append((len(targets), sum(not one.pending and bool(one.address) for one in targets)))

    poll.cloud.refuse = look
    poll.inventories.run_round()
    assert seen == [(20, 20)]
    assert poll.cloud.calls.count("ListMountTargets") == 1, "listed once"
    assert poll.inventory.listed.is_set()


def test_a_compartment_of_an_odd_form_fails_the_listing_and_costs_only_itself() -> None:
    storage, other = (
        Compartment("ocid1.compartment.oc1..s", "storage"),
        Compartment("ocid1.compartment.oc1..o", "other"),
    )
    poll = Poll()
    watched, succeeded = [], []
    for tree in (Listing((storage,), 1), Listing((storage, other)), Listing((other,), 1), Listing((other,))):
        poll.cloud.tree = tree
        poll.inventory.run()
        state = poll.inventory.state
        assert state.inventory
        watched.append(state.inventory.compartments.keys() - {poll.cloud.tenancy_id})
        succeeded.append(state.succeeded["ListCompartments"])
    assert watched == [{storage.id}, {storage.id, other.id}, {storage.id, other.id}, {other.id}]
    assert succeeded == [False, True, False, True]


def test_a_limit_of_a_mount_target_that_is_not_there_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    limits = {"mount_targets": {"a": {"iops": 1.0}, "mt-tpyo": {"iops": 2.0}}}
    shares = {"mount_targets": {"b": {"latency": 0.9}, "gone": {"latency": 0.9}}}
    poll = Poll(targets=named_targets(load(None, {"limits": limits, "slo_objectives": shares})))
    poll.cloud.refuse = lambda operation: (
        CloudError("away", operation=operation) if operation == "ListMountTargets" else None
    )
    poll.minute()
    assert "is not listed" not in caplog.text, "the inventory is not complete"
    poll.cloud.refuse = lambda _: None
    for _ in range(3):
        poll.minute(11)
    warned = [message for message in caplog.messages if "is not listed" in message]
    assert [message.partition(" mount target ")[2].partition(",")[0] for message in warned] == ["gone", "mt-tpyo"]


def test_a_failed_query_leaves_the_number_of_streams_of_the_last_answer() -> None:
    poll = Poll()
    poll.minute()
    poll.cloud.refuse = lambda operation: (
        CloudError("away", operation=operation) if operation == "SummarizeMetricsData" else None
    )
    poll.minute()
    (region,) = poll.board.regions
    assert region.poll is not None
    assert {(one.success, one.streams) for one in region.poll.metrics.values()} == {(False, 2)}


def test_a_spelling_that_brings_data_in_the_first_poll_stays_in_use() -> None:
    poll = Poll()
    poll.cloud.names = ("MountTargetReadThroughput", "MountTargetreadThroughput")
    poll.cloud.figure = lambda metric, _, __: 1.0 if metric == "MountTargetReadThroughput" else None
    ages = []
    for _ in range(3):
        poll.minute()
        (region,) = poll.board.regions
        assert region.poll
        newest = region.poll.metrics["MountTargetReadThroughput"].newest
        assert newest
        ages.append(newest_complete(poll.now) - newest)
    assert ages == [0, 0, 0]
