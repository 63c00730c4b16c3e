"""Publishing utilization: what is posted, once a minute, by the real SDK; and that failing costs nothing but itself."""

import logging
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.clock import NOON, Clock
from tests.exposition_text import collected
from tests.fss_exporter.oci.fake_cloud import FakeCloud
from tests.fss_exporter.oci.test_minute_judge import REQUESTS, Figures, spoilt
from tests.fss_exporter.oci.world import reach
from tests.fss_toolbox.alarms.judged import states
from tests.fss_toolbox.demo.sdk import Clients, clients
from tests.processes import wait_for
from tests.region import Region, large, shared_account, small

from fss_exporter.addresses import NetworkAddress
from fss_exporter.cli.client_publishing import ClientPublishing
from fss_exporter.errors import BrokenAnswer, CloudError, FssError, LateAnswer, SourceError
from fss_exporter.model.limits import STANDARD
from fss_exporter.model.state import State
from fss_exporter.oci.calls import FailureLog, SelfMetrics
from fss_exporter.oci.cloud_client import RefusedStream
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE as NAMESPACE
from fss_exporter.oci.polling.account import Account
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.publish.client_waits import ClientWaits
from fss_exporter.oci.publish.published_metrics import PUBLISHED_METRICS, STATE, PublishedPoint, metric_data, points_of
from fss_exporter.oci.publish.publisher import Poster
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import Oci, Settings, load
from fss_exporter.web.collecting import Collectors
from fss_toolbox.alarms import pack
from fss_toolbox.alarms.desired import AlarmInputs, AlarmScope, desired

TARGETS = {target.name: target.id for target in small().mount_targets}
PACK = pack.load(Path(__file__).parents[3] / "mql" / "templates" / "alarms")


HERE = NetworkAddress("r", "10.0.0.7")


def today() -> float:
    """Signatures are of today, whatever the time of the data."""
    return datetime.now(UTC).timestamp()


@pytest.fixture
def raw(region: Region) -> Clients:
    """Clients that keep answers as parsed JSON."""
    return clients(region, raw=True)


class Exporter:
    """Polls when told to, and publishes what that brought."""

    def __init__(self, region: Region, clock: Clock, directory: Path, **flags: object) -> None:
        key_file = region.account.write_config(directory, region.tenancy.region)
        oci = {"oci.endpoint": region.url, "oci.config_file": str(key_file), **flags}
        self.self_metrics = SelfMetrics()
        settings = load(None, oci)
        self.account = Account(settings, self.self_metrics, now=clock, wait=lambda _: False)
        self.publisher = self.account.publisher

    def poll(self) -> None:
        with suppress(FssError):
            self.account.inventories.run_round()
        with suppress(FssError):
            self.account.polls.run_round()

    def publish(self) -> float:
        """Post what is new. Return the number of calls that OCI answered."""
        before = self.answered()
        with suppress(FssError):
            self.publisher.run_round()
        return self.answered() - before

    def answered(self) -> float:
        counted = self.self_metrics.sums().get("fss_oci_api_requests_total", {})
        return sum(number for labels, number in counted.items() if {"PostMetricData", "ok"} <= {*labels})

    def poll_and_publish(self) -> float:
        self.poll()
        return self.publish()


@pytest.fixture
def exporter(region: Region, clock: Clock, tmp_path: Path) -> Exporter:
    return Exporter(region, clock, tmp_path)


def published(raw: Clients, clock: Clock, name: str) -> dict[str, dict[str, Any]]:
    """Newest value and dimensions by the name of the mount target."""
    end = datetime.fromtimestamp(clock.now, UTC) + timedelta(minutes=1)
    streams = raw.summarize(
        f"{name}[1m].max()", namespace=NAMESPACE, start_time=end - timedelta(hours=1), end_time=end, resolution="1m"
    )
    return {
        stream["dimensions"]["mountTarget"]: {
            **stream["dimensions"],
            "value": stream["aggregatedDatapoints"][-1]["value"],
            "points": len(stream["aggregatedDatapoints"]),
        }
        for stream in streams
    }


def test_the_share_of_a_ceiling_is_the_measured_value_over_the_limit(
    exporter: Exporter, raw: Clients, clock: Clock, region: Region
) -> None:
    exporter.poll_and_publish()
    home = published(raw, clock, "IopsUtilization")["mt-home"]
    assert home["mountTargetId"] == TARGETS["mt-home"]
    assert (home["shape"], home["source"]) == ("standard", "measured")
    truths = [region.truth("MountTargetIOPS", "mt-home", region.minute - back) for back in range(4)]
    limit = STANDARD.limits.iops
    assert limit is not None
    assert any(truth is not None and home["value"] == pytest.approx(truth / limit) for truth in truths)


def test_no_ceiling_means_no_share(exporter: Exporter, raw: Clients, clock: Clock) -> None:
    exporter.poll_and_publish()
    assert "mt-media" not in published(raw, clock, "IopsUtilization")
    assert "mt-media" not in published(raw, clock, "WriteUtilization")
    assert published(raw, clock, "ReadUtilization")["mt-media"]["shape"] == "hpmt-20"


def test_a_configured_ceiling_is_divided_by(region: Region, clock: Clock, raw: Clients, tmp_path: Path) -> None:
    exporter = Exporter(region, clock, tmp_path, **{"limits.mount_targets": {"mt-home": {"connections": 360}}})
    exporter.poll_and_publish()
    assert published(raw, clock, "ConnectionsUtilization")["mt-home"]["value"] == pytest.approx(0.5, abs=0.1)


def test_a_minute_is_posted_once_however_often_it_is_polled(exporter: Exporter, clock: Clock, region: Region) -> None:
    assert exporter.poll_and_publish() > 0
    posts = region.calls["PostMetricData"]
    assert exporter.poll_and_publish() == 0
    assert exporter.publish() == 0
    assert region.calls["PostMetricData"] == posts
    clock.pass_minutes(1)
    assert exporter.poll_and_publish() > 0


def test_a_refused_post_is_reported_once_with_its_statement_and_made_up_for(
    exporter: Exporter, clock: Clock, region: Region, raw: Clients, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    region.add_fault("deny:PostMetricData")
    assert exporter.poll_and_publish() == 0
    clock.pass_minutes(1)
    assert exporter.poll_and_publish() == 0
    told = [message for message in caplog.messages if "PostMetricData" in message]
    assert len(told) == 1
    assert "to use metrics in" in told[0]
    assert "target.metrics.namespace='fss_exporter'" in told[0]
    region.clear_faults()
    clock.pass_minutes(1)
    assert exporter.poll_and_publish() > 0
    assert "PostMetricData works again" in caplog.messages[-1]
    assert published(raw, clock, "ReadUtilization")["mt-home"]["points"] == 1


def test_requests_are_accounted_for_like_all_others(exporter: Exporter) -> None:
    assert exporter.poll_and_publish() == exporter.answered() == 1


def test_a_failed_poll_publishes_nothing_but_that_no_state_is_known(exporter: Exporter, region: Region) -> None:
    region.add_fault("500:SummarizeMetricsData")
    region.add_fault("500:ListMetrics")
    exporter.poll()
    (snapshot,) = exporter.account.board.regions
    assert {(point.name, point.value) for point in points_of(snapshot, Settings())} == {(STATE, State.NOT_KNOWN)}


def test_one_alarm_on_what_is_published_serves_every_shape(exporter: Exporter, clock: Clock, raw: Clients) -> None:
    storage = next(compartment.id for compartment in small().compartments if compartment.name == "storage")
    for alarm in desired(PACK, AlarmScope(storage, storage, small().topics), AlarmInputs(published=True)):
        if alarm.body["namespace"] == NAMESPACE:
            raw.monitoring.create_alarm(dict(alarm.body))
    for _ in range(18):
        clock.pass_minutes(1)
        exporter.poll_and_publish()
    assert states(clients(raw.region), storage, clock.now) == {
        "fss-utilization-iops-peak": "FIRING",  # mt-home
        "fss-utilization-read": "OK",
        "fss-utilization-write": "OK",
        "fss-utilization-connections": "OK",
        "fss-published-slow": "OK",
        "fss-published-failing": "FIRING",
        "fss-published-clients-hang": "OK",
        "fss-poller-down": "OK",
    }


def test_more_than_fifty_streams_are_posted_in_several_calls(clock: Clock, tmp_path: Path) -> None:
    """The demo region refuses a call of more, as OCI does."""
    tenancy = large(mount_targets=30, file_systems_each=1)
    with Region(tenancy, calls_per_second={}, now=clock, wall=today) as region:
        exporter = Exporter(region, clock, tmp_path)
        assert exporter.poll_and_publish() == 3
        assert region.calls["PostMetricData"] == 3


class Picky(FakeCloud):
    """A client whose service takes a call or not, as `refuse` says of its streams. `took` counts what it took by stream and minute."""

    def __init__(self, refuse: Callable[[list[str]], CloudError | tuple[RefusedStream, ...]]) -> None:
        super().__init__()
        self.verdict_on = refuse
        self.posts = 0
        self.took: Counter[tuple[str, str]] = Counter()

    def post_metric_data(self, data: Sequence[Mapping[str, Any]]) -> tuple[RefusedStream, ...]:
        self.posts += 1
        names = [stream["dimensions"]["mountTargetId"] for stream in data]
        verdict = self.verdict_on(names)
        if isinstance(verdict, CloudError) and verdict.status is not None:
            raise verdict
        bad = () if isinstance(verdict, CloudError) else {refusal.place for refusal in verdict}
        self.took.update(
            (names[place], stream["datapoints"][0]["timestamp"])
            for place, stream in enumerate(data)
            if place not in bad
        )
        if isinstance(verdict, CloudError):
            raise verdict
        return verdict


def some_points(minute: int, number: int = 50) -> list[PublishedPoint]:
    return [
        PublishedPoint(STATE, "c", (("mountTargetId", f"m{place}"),), minute, 1.0, f"m{place}")
        for place in range(number)
    ]


def posted_minutes(cloud: Picky, minutes: int, posts: int = 1) -> tuple[Poster, FailureLog, list[bool]]:
    """Post fifty points of each minute so many times. Return whether OCI took all of each post, too."""
    poster, failures = Poster(lambda: NOON), FailureLog("eu", logging.getLogger())
    rounds = [some_points(int(NOON) + 60 * minute) for minute in range(minutes) for _ in range(posts)]
    took_all = [poster.post(points, cloud, failures) for points in rounds]
    return poster, failures, took_all


def refusal(status: int) -> CloudError:
    return CloudError(f"HTTP {status} bad value", operation="PostMetricData", status=status)


@pytest.mark.parametrize("bad", [{"m7"}, {"m0", "m49"}], ids=["one bad stream", "two"])
@pytest.mark.parametrize("status", [400, 413])
def test_a_call_refused_for_one_stream_costs_that_stream_alone(
    bad: set[str], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    cloud = Picky(lambda names: refusal(status) if bad & {*names} else ())
    poster, failures, took_all = posted_minutes(cloud, 1)
    assert {name for name, _ in cloud.took} == {f"m{place}" for place in range(50)} - bad
    assert took_all == [False]
    assert "refuses State of m" in caplog.text
    assert cloud.posts <= 1 + 2 * 12

    for minute in range(1, 5):
        cloud.posts = 0
        poster.post(some_points(int(NOON) + 60 * minute), cloud, failures)
    assert set(cloud.took.values()) == {1}
    assert cloud.posts <= 4, "a stream that was refused has a call of its own"


def test_a_call_of_which_every_stream_is_bad_ends() -> None:
    cloud = Picky(lambda _: refusal(400))
    posted_minutes(cloud, 1)
    assert cloud.posts <= 1 + 2 * 12


def test_a_stream_that_oci_takes_again_goes_with_the_others() -> None:
    bad = {"m7"}
    cloud = Picky(lambda names: refusal(400) if bad & {*names} else ())
    poster, failures, _ = posted_minutes(cloud, 1)
    bad.clear()
    for minute in (1, 2):
        cloud.posts = 0
        assert poster.post(some_points(int(NOON) + 60 * minute), cloud, failures)
    assert cloud.posts == 1


@pytest.mark.parametrize(
    "refuse",
    [
        lambda names: tuple(RefusedStream(place, "bad") for place, name in enumerate(names) if name == "m7"),
        lambda _: (RefusedStream(None, "no reason given"),),
        lambda _: LateAnswer("no answer", operation="PostMetricData"),
        lambda _: BrokenAnswer("not as documented", operation="PostMetricData"),
    ],
    ids=["named", "not named", "lost answer", "odd answer"],
)
def test_what_oci_took_is_not_posted_again(refuse: Callable[[list[str]], Any]) -> None:
    cloud = Picky(refuse)
    _, _, took_all = posted_minutes(cloud, 4, posts=3)
    assert len(cloud.took) >= 4 * 49
    assert set(cloud.took.values()) == {1}
    assert not took_all[0]


def test_streams_that_ended_are_forgotten() -> None:
    clock = Clock()
    cloud, poster = Picky(lambda names: refusal(400) if "m7" in names else ()), Poster(clock)
    failures = FailureLog("eu", logging.getLogger())
    for number in (9, 1):
        poster.post(some_points(int(clock.now), number), cloud, failures)
        clock.now += 3601.0
    poster.post((), cloud, failures)
    assert (poster._posted, poster._refused) == ({}, {})


@pytest.mark.parametrize("status", [401, 429, 503])
def test_what_oci_did_not_take_is_posted_again(status: int) -> None:
    verdicts: list[Any] = [refusal(status), ()]
    cloud = Picky(lambda _: verdicts.pop(0))
    _, _, took_all = posted_minutes(cloud, 1, posts=2)
    assert set(cloud.took.values()) == {1}
    assert took_all == [False, True]


def test_a_refused_stream_of_the_region_is_known_by_its_name(region: Region, clock: Clock, tmp_path: Path) -> None:
    exporter = Exporter(region, clock, tmp_path)
    exporter.poll()
    (snapshot,) = exporter.account.board.regions
    good, other, *_ = [metric_data(point) for point in points_of(snapshot, Settings())]
    bad = {**other, "dimensions": {"x": "v" * 600}}
    refused = exporter.publisher._client(snapshot.region).post_metric_data([good, bad])
    assert [stream.place for stream in refused] == [1]
    assert "dimensions" in refused[0].reason


def test_posts_go_to_the_ingestion_host_by_default(region: Region, tmp_path: Path) -> None:
    from fss_exporter.oci.calls import CallBudget
    from fss_exporter.oci.client import Session, read_credentials

    held = read_credentials(Oci(config_file=region.account.write_config(tmp_path, "eu-frankfurt-1")))
    budget = CallBudget(5, clock=lambda: 0.0, wait=lambda _: False)
    session = Session(held, "eu-frankfurt-1", reach(), budget=budget)
    opened = {
        service: session._client(service).base_client.endpoint for service in ("monitoring", "monitoring_ingestion")
    }
    assert opened == {
        "monitoring": "https://telemetry.eu-frankfurt-1.oraclecloud.com/20180401",
        "monitoring_ingestion": "https://telemetry-ingestion.eu-frankfurt-1.oraclecloud.com/20180401",
    }


def test_every_published_name_has_an_alarm_and_every_such_alarm_a_published_name() -> None:
    watched = {str(alarm.body["query"]).partition("[")[0] for alarm in PACK if alarm.body["namespace"] == NAMESPACE}
    assert watched == set(PUBLISHED_METRICS)


class TestInTheExporter:
    """Wired as `serve` wires it."""

    def settings(self, region: Region, directory: Path, **more: object) -> Settings:
        key_file = region.account.write_config(directory, region.tenancy.region)
        flags = {"oci.endpoint": region.url, "oci.config_file": str(key_file), "oci.calls_per_second": 9.9}
        return load(None, {**flags, **more})

    def test_shares_are_posted_after_a_poll_once_it_is_asked_for(self, tmp_path: Path) -> None:
        with Region(small(), account=shared_account(), calls_per_second={}) as region:
            settings = self.settings(region, tmp_path, **{"oci.publish": True})
            poller = Poller(lambda: settings)
            poller.start()
            try:
                wait_for(lambda: region.calls.get("PostMetricData"), "the first post")
            finally:
                poller.stop()

    def test_nothing_is_posted_unless_it_is_asked_for(self, tmp_path: Path) -> None:
        with Region(small(), account=shared_account(), calls_per_second={}) as region:
            settings = self.settings(region, tmp_path)
            poller = Poller(lambda: settings)
            poller.start()
            try:
                wait_for(lambda: not poller.waits_for(), "the first poll")
                publishing = next(loop for loop in poller.loops if loop.collector == "oci_publish")
                before = publishing.heartbeat
                publishing.wake()
                wait_for(lambda: publishing.heartbeat is not before, "a round of publishing")
            finally:
                poller.stop()
            assert "PostMetricData" not in region.calls
            assert publishing.heartbeat.last_success_timestamp is None
            success, errors = (
                {sample.labels["collector"] for sample in family.samples}
                for family in collected(Collectors({"oci": OciCollector(poller.accounts, now=time.time)}, poller.loops))
                if family.name in {"fss_collector_success", "fss_collector_errors"}
            )
            assert "oci_inventory" in success
            assert "oci_publish" not in success, "what is off succeeds at nothing"
            assert "oci_publish" in errors

    def test_a_reload_switches_publishing_on_and_off(self) -> None:
        settings = load(None, {"oci.publish": True})
        poller = Poller(lambda: settings)
        (publishing,) = (loop for loop in poller.loops if loop.collector == "oci_publish")
        assert not publishing.heartbeat.is_off
        settings = load(None, {"oci.publish": False})
        poller.reload()()
        publishing.run_once()
        assert publishing.heartbeat.is_off

    def test_an_agent_stops_posting_once_a_reload_switches_it_off(self) -> None:
        settings = load(None, {"oci.publish": True})
        publishing = ClientPublishing(lambda: settings, dict)
        assert not publishing.loop.heartbeat.is_off
        settings = load(None, {"oci.publish": False})
        publishing.reload()()
        publishing.loop.run_once()
        assert publishing.loop.heartbeat.is_off

    def test_an_agent_posts_the_minutes_in_which_its_requests_wait(self, tmp_path: Path) -> None:
        clock = Clock(today())
        with Region(small(), account=shared_account(), calls_per_second={}, now=clock, wall=today) as region:
            compartment = small().compartments[0].id
            settings = self.settings(region, tmp_path, **{"oci.publish": True, "oci.compartments": [compartment]})
            waited = {HERE: 5.0, NetworkAddress("r", "10.0.0.8"): 0.0}
            publishing = ClientPublishing(lambda: settings, lambda: waited, now=clock)
            for _ in range(2):
                publishing.run_round()
                clock.pass_minutes(1)
            assert self.posted(region, clock, "ClientWaiting") == []
            waited[HERE] += 45.0
            publishing.run_round()
            (stream,) = self.posted(region, clock, "ClientWaiting")
            assert stream["compartmentId"] == compartment
            assert stream["dimensions"] == {"address": "10.0.0.7", "host": socket.gethostname(), "network": "r"}
            assert stream["aggregatedDatapoints"][-1]["value"] == pytest.approx(0.75)

    def test_an_agent_without_credentials_for_an_hour_posts_no_mean_of_the_hour(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Clock(today())
        with Region(small(), account=shared_account(), calls_per_second={}, now=clock, wall=today) as region:
            compartment = small().compartments[0].id
            settings = self.settings(region, tmp_path, **{"oci.publish": True, "oci.compartments": [compartment]})
            waited = {HERE: 0.0}
            publishing = ClientPublishing(lambda: settings, lambda: waited, now=clock)
            publishing.run_round()
            publishing.reload()()
            with monkeypatch.context() as without:
                without.setattr(
                    "fss_exporter.cli.client_publishing.read_credentials", Mock(side_effect=SourceError("gone"))
                )
                for _ in range(60):
                    clock.pass_minutes(1)
                    with pytest.raises(SourceError, match="gone"):
                        publishing.run_round()
            for _ in range(2):
                clock.pass_minutes(1)
                waited[HERE] += 60.0
                publishing.run_round()
            (stream,) = self.posted(region, clock, "ClientWaiting")
            assert [point["value"] for point in stream["aggregatedDatapoints"]] == [1.0]

    def test_an_agent_that_was_switched_off_for_hours_posts_no_mean_of_the_hours(self, tmp_path: Path) -> None:
        clock = Clock(today())
        with Region(small(), account=shared_account(), calls_per_second={}, now=clock, wall=today) as region:
            settings = self.settings(region, tmp_path, **{"oci.publish": True})
            waited = {HERE: 0.0}
            publishing = ClientPublishing(lambda: settings, lambda: waited, now=clock)
            for is_on in (True, False, True):
                settings = self.settings(region, tmp_path, **{"oci.publish": is_on})
                publishing.reload()()
                publishing.loop.run_once()
                clock.pass_minutes(0 if is_on else 120)
                waited[HERE] += 0.0 if is_on else 3600.0
            assert self.posted(region, clock, "ClientWaiting") == []

    def test_an_agent_that_cannot_post_says_so_before_a_request_waits(self, tmp_path: Path) -> None:
        clock = Clock(today())
        with Region(small(), account=shared_account(), calls_per_second={}, now=clock, wall=today) as region:
            settings = self.settings(region, tmp_path, **{"oci.publish": True})
            publishing = ClientPublishing(lambda: settings, lambda: {HERE: 0.0}, now=clock)
            region.add_fault("deny:PostMetricData")
            for _ in range(2):
                with pytest.raises(SourceError, match="not all points could be posted"):
                    publishing.run_round()
                clock.pass_minutes(1)
            region.clear_faults()
            publishing.run_round()
            (stream,) = self.posted(region, clock, "AgentPosts")
            assert stream["dimensions"] == {"host": socket.gethostname()}
            assert [point["value"] for point in stream["aggregatedDatapoints"]] == [1.0]

    def test_an_agent_without_waits_posts_once_an_hour_and_after_its_credentials_changed(self, tmp_path: Path) -> None:
        clock = Clock(today())
        with Region(small(), account=shared_account(), calls_per_second={}, now=clock, wall=today) as region:
            settings = self.settings(region, tmp_path, **{"oci.publish": True})
            publishing = ClientPublishing(lambda: settings, dict, now=clock)
            for _ in range(61):
                publishing.run_round()
                clock.pass_minutes(1)
            assert region.calls["PostMetricData"] == 2
            publishing.reload()()
            publishing.run_round()
            assert region.calls["PostMetricData"] == 3

    def posted(self, region: Region, clock: Clock, metric: str) -> list[Any]:
        """Return the streams of a metric of the agents in the last five minutes."""
        streams: list[Any] = clients(region, raw=True).summarize(
            f"{metric}[1m].max()",
            namespace=NAMESPACE,
            start_time=datetime.fromtimestamp(clock.now, UTC) - timedelta(minutes=5),
            end_time=datetime.fromtimestamp(clock.now, UTC) + timedelta(minutes=1),
            resolution="1m",
        )
        return streams


def test_a_host_that_does_not_answer_all_minute_waits_all_minute() -> None:
    waits = ClientWaits("web-1")
    assert list(waits.points({HERE: 0.0}, 60.0, "c")) == []
    (point,) = waits.points({HERE: 90.0}, 120.0, "c")
    assert (point.value, point.minute) == (1.0, 120)
    assert list(waits.points({HERE: 90.0}, 180.0, "c")) == []


def test_latency_and_success_are_posted_of_busy_minutes_and_that_none_of_a_few_requests_succeeds() -> None:
    busy = Figures().run(3)
    idle = Figures(spoilt(range(100), **dict.fromkeys(REQUESTS, 0.0))).run(3)
    failing = Figures(spoilt(range(100), **dict.fromkeys(REQUESTS, 0.05), MountTargetHealth=0.0)).run(3)

    def posted(region: Figures) -> dict[str, float]:
        (snapshot,) = region.poll.board.regions
        return {point.name: point.value for point in points_of(snapshot, Settings())}

    assert posted(busy)["LatencyRatio"] == pytest.approx(0.4)
    assert posted(busy)["SuccessRatio"] == 1.0
    assert posted(busy)["IopsUtilization"] == pytest.approx(0.4)
    assert posted(failing)["SuccessRatio"] == 0.0
    assert posted(idle).keys() == {
        "IopsUtilization",
        "ReadUtilization",
        "WriteUtilization",
        "ConnectionsUtilization",
        "State",
    }


def test_the_state_is_posted_as_the_number_that_the_metrics_have() -> None:
    for spoilt_by, state in (({}, State.FINE), ({"MountTargetHealth": 98.0}, State.FAILING)):
        figures = Figures(spoilt(range(60), **spoilt_by)).run(12)
        (snapshot,) = figures.poll.board.regions
        (point,) = (point for point in points_of(snapshot, Settings()) if point.name == STATE)
        assert point.value == float(state)
        assert metric_data(point)["metadata"]["displayName"] == (
            "State: 0 fine, 1 not known, 2 near, 3 slow, 4 failing, 5 hanging"
        )


def test_a_point_has_the_time_of_its_minute_however_late_it_is_posted() -> None:
    late = Figures(minutes_late=lambda *_: 8).run(21)
    (snapshot,) = late.poll.board.regions
    points = tuple(points_of(snapshot, Settings()))
    assert {(point.minute - NOON) // 60 for point in points if point.name != STATE} == {21 - 8}
    assert {(point.minute - NOON) // 60 for point in points if point.name == STATE} == {21}, "judged now"
