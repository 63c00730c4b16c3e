"""Each minute counts once, after an outage, late, or missing in some answers. In memory."""

import logging
import threading
from collections import Counter
from datetime import datetime

import pytest
from msgspec import structs
from tests.clock import NOON
from tests.fss_exporter.oci.fake_cloud import FakeCloud
from tests.fss_exporter.oci.polled_region import PolledRegion
from tests.processes import PROMPT_S

from fss_exporter.errors import CloudError, NotAuthorized, Unreachable
from fss_exporter.oci.cloud_client import Scope, Stream
from fss_exporter.oci.ledger import GIVE_UP_MINUTES, newest_complete
from fss_exporter.oci.metric_table import METRICS


def test_a_counter_counts_every_minute_of_an_outage_of_an_hour() -> None:
    poll = PolledRegion()
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
    poll = PolledRegion()
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


@pytest.mark.parametrize(
    ("failures", "queries"),
    [("UUU", 3), ("UUNUUNUUN", 9), ("UU UU UU ", 9), ("NNNNNNNNN", 9)],
    ids=["three without an answer", "a refusal in between", "an answer in between", "refusals"],
)
def test_a_region_is_left_alone_after_three_queries_in_a_row_without_an_answer(failures: str, queries: int) -> None:
    poll = PolledRegion()
    poll.cloud.names = [name for name, metric in METRICS.items() if not metric.discovered_only][:9]
    errors = {
        "U": Unreachable("down", operation="SummarizeMetricsData"),
        "N": NotAuthorized("no", operation="SummarizeMetricsData"),
    }
    results = iter(failures)
    poll.cloud.refuse = lambda operation: errors.get(next(results)) if operation == "SummarizeMetricsData" else None
    poll.minute(2)
    assert poll.cloud.calls.count("SummarizeMetricsData") == queries


def test_eight_queries_are_under_way_at_once_and_each_minute_counts_once() -> None:
    poll = PolledRegion(in_flight=8)
    poll.cloud.names = [name for name, metric in METRICS.items() if not metric.discovered_only][:8]
    together = threading.Barrier(8, timeout=PROMPT_S)
    waits = True

    def spoil(streams: list[Stream | None]) -> list[Stream | None]:
        if waits:
            together.wait()
        return streams

    poll.cloud.spoil = spoil
    poll.minute(2)
    waits = False
    for _ in range(20):
        poll.minute()
    serial = PolledRegion()
    serial.cloud.names = poll.cloud.names
    serial.minute(2)
    for _ in range(20):
        serial.minute()
    assert poll.counted() == serial.counted()


def test_a_poll_whose_time_is_over_says_what_it_left_out_and_the_next_begins_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    poll = PolledRegion()
    poll.cloud.names = [name for name, metric in METRICS.items() if not metric.discovered_only][:8]

    def spoil(streams: list[Stream | None]) -> list[Stream | None]:
        poll.now += 10.0
        return streams

    poll.cloud.spoil = spoil
    left_out = []
    for _ in range(3):
        poll.minute()
        (region,) = poll.board.regions
        assert region.poll
        left_out.append(region.poll.left_out)
    assert left_out[0] == 2
    poll.cloud.spoil = lambda streams: streams
    with caplog.at_level(logging.INFO):
        poll.minute()
    cut = [message for message in caplog.messages if "poll was cut" in message]
    assert len(cut) == 1
    assert cut[0].endswith("2 of 8 metrics")
    assert "polls are whole again" in caplog.text


def test_a_first_answer_that_takes_ten_minutes_loses_no_minute() -> None:
    poll = PolledRegion()
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


@pytest.mark.parametrize("late", [1, 8, 15])
@pytest.mark.parametrize("polls_before", range(20, 25))
def test_a_minute_that_comes_up_to_fifteen_minutes_late_counts_within_five_polls(late: int, polls_before: int) -> None:
    poll = PolledRegion()
    for _ in range(polls_before):
        poll.minute()
    missing = newest_complete(poll.now + 60.0)
    poll.cloud.spoil = lambda streams: [_without(stream, missing) for stream in streams if stream]
    for _ in range(late):
        poll.minute()
    poll.cloud.spoil = lambda streams: streams
    for _ in range(5):
        poll.minute()
    whole = PolledRegion()
    for _ in range(polls_before + late + 5):
        whole.minute()
    assert poll.counted() == whole.counted()


def _without(stream: Stream, minute: int) -> Stream:
    """Return the stream without one minute, which ends at `minute`, epoch seconds."""
    points = (point for point in stream.points if datetime.fromisoformat(point.timestamp).timestamp() != minute)
    return structs.replace(stream, points=tuple(points))


def test_a_poll_asks_for_two_minutes_and_every_five_minutes_for_five() -> None:
    poll = PolledRegion()
    for _ in range(20):
        poll.minute()
    asked: Counter[tuple[str, str]] = Counter()

    def figure(metric: str, target: str, _: int) -> float:
        asked[metric, target] += 1
        return 1.0

    poll.cloud.figure = figure
    for _ in range(5):
        poll.minute()
    assert asked["MountTargetReadThroughput", "a"] == 4 * 2 + 5


def test_a_compartment_that_answers_for_the_first_time_after_hours_brings_no_backlog_of_hours() -> None:
    poll = PolledRegion()
    poll.minute(2)
    assert poll.polls.was_answered
    queries = poll.queries
    queries.query_all([Scope("ocid1.compartment.oc1..early")], lambda: False)
    poll.now += 150 * 60.0
    queries.query_all([Scope("ocid1.compartment.oc1..late")], lambda: False)
    starts = {
        scope.compartment_id: (newest_complete(poll.now) - start) // 60 for scope, start in poll.cloud.asked.items()
    }
    assert starts["ocid1.compartment.oc1..late"] < GIVE_UP_MINUTES


def test_one_bad_point_after_an_outage_costs_one_minute_until_it_is_mended() -> None:
    poll = PolledRegion()
    bad = NOON + 30 * 60
    poll.cloud.figure = lambda _, __, minute: -7.0 if minute == bad else 1.0
    poll.minute(2)
    poll.minute(60)
    assert poll.counted() == {"a": 61 * 60.0, "b": 61 * 60.0}, "all minutes but the bad one"
    poll.cloud.figure = lambda *_: 1.0
    poll.minute()
    assert poll.counted() == {"a": 63 * 60.0, "b": 63 * 60.0}


def test_a_region_without_mount_targets_and_metrics_is_polled_well_and_seen() -> None:
    poll = PolledRegion(FakeCloud([]))
    poll.cloud.names = ()
    poll.minute(11)
    (region,) = poll.board.regions
    assert region.success
    assert region.poll is not None
    assert region.poll.has_answer
    assert region.poll.succeeded_at == poll.now


def test_a_region_whose_mount_targets_cannot_be_listed_is_not_an_empty_region() -> None:
    poll = PolledRegion(FakeCloud([]))
    poll.cloud.names = ()
    poll.cloud.refuse = lambda operation: (
        NotAuthorized("no", operation=operation) if operation == "ListMountTargets" else None
    )
    poll.minute(11)
    (region,) = poll.board.regions
    assert region.poll is not None
    assert not region.poll.success
    assert not region.poll.has_answer
    assert region.poll.succeeded_at is None


def test_mount_targets_without_any_metric_are_a_failure_that_the_log_names_until_the_first_metric(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    poll = PolledRegion()
    names, poll.cloud.names = poll.cloud.names, ()
    for _ in range(3):
        poll.minute()
    (region,) = poll.board.regions
    assert not region.success
    assert [message for message in caplog.messages if "ListMetrics" in message] == [
        "eu: ListMetrics in eu-frankfurt-1: OCI lists no metric of File Storage, although there are 2 mount targets"
    ]
    poll.cloud.names = names
    poll.minute(2)
    (region,) = poll.board.regions
    assert region.success
    assert caplog.messages[-1] == "eu: ListMetrics works again"


def test_a_failed_query_leaves_the_number_of_streams_of_the_last_answer() -> None:
    poll = PolledRegion()
    poll.minute()
    poll.cloud.refuse = lambda operation: (
        CloudError("away", operation=operation) if operation == "SummarizeMetricsData" else None
    )
    poll.minute()
    (region,) = poll.board.regions
    assert region.poll is not None
    assert {(metric.success, metric.streams) for metric in region.poll.metrics.values()} == {(False, 2)}
