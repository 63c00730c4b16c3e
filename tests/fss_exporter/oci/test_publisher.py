"""Publishing utilization: what is posted, once a minute, by the real SDK; and that failing costs nothing but itself."""

import logging
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.clock import NOON, Clock
from tests.fss_exporter.oci.fake_cloud import FakeCloud
from tests.fss_exporter.oci.test_minute_judge import REQUESTS, Figures, spoilt
from tests.fss_exporter.oci.world import reach
from tests.fss_toolbox.demo.sdk import Clients, clients
from tests.processes import wait_for
from tests.region import Region, large, shared_account, small

from fss_exporter.addresses import NetworkAddress
from fss_exporter.cli.client_publishing import ClientPublishing
from fss_exporter.errors import FssError, SourceError
from fss_exporter.model.limits import STANDARD
from fss_exporter.model.state import State
from fss_exporter.oci.calls import FailureLog, SelfMetrics
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE as NAMESPACE
from fss_exporter.oci.polling.account import Account
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.publish.client_waits import ClientWaits
from fss_exporter.oci.publish.published_metrics import PUBLISHED_METRICS, STATE, metric_data, points_of
from fss_exporter.oci.publish.publisher import Publisher
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import Oci, Settings, load
from fss_exporter.web.collecting import Collectors
from fss_toolbox.alarms import pack
from fss_toolbox.alarms.desired import AlarmScope, Estate, desired

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
    for alarm in desired(PACK, AlarmScope(storage, storage, small().topics), Estate(published=True)):
        if alarm.body["namespace"] == NAMESPACE:
            raw.monitoring.create_alarm(dict(alarm.body))
    for _ in range(18):
        clock.pass_minutes(1)
        exporter.poll_and_publish()
    states = {alarm["displayName"]: alarm["status"] for alarm in raw.monitoring.list_alarms_status(storage).data}
    assert states == {
        "fss-utilization-iops": "FIRING",  # mt-home
        "fss-utilization-iops-peak": "FIRING",
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


class PartlyRefused(FakeCloud):
    """A client whose service takes some streams and not others."""

    def post_metric_data(self, data: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        super().post_metric_data(data)
        return ("timestamp too old", "no reason given")


def test_streams_refused_in_part_are_reported_and_posted_again(
    exporter: Exporter, caplog: pytest.LogCaptureFixture
) -> None:
    exporter.poll()
    (region,) = exporter.account.board.regions
    assert region.poll
    ended, failures = region.poll.ended, FailureLog("eu", logging.getLogger())
    publisher = Publisher(
        lambda: exporter.account.board.regions,
        lambda _: PartlyRefused(),
        lambda: exporter.account.settings,
        failures=lambda _: failures,
        now=lambda: ended,
    )
    with pytest.raises(SourceError, match="not all metrics"):
        publisher.run_round()
    assert "streams were refused, the first: timestamp too old" in caplog.text
    assert exporter.publish() > 0


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
                for family in Collectors({"oci": OciCollector(poller.accounts, now=time.time)}, poller.loops).collect()
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


def test_latency_and_success_are_posted_of_busy_minutes_only() -> None:
    busy = Figures().run(3)
    idle = Figures(spoilt(range(100), **dict.fromkeys(REQUESTS, 0.0))).run(3)

    def posted(region: Figures) -> dict[str, float]:
        (snapshot,) = region.poll.board.regions
        return {point.name: point.value for point in points_of(snapshot, Settings())}

    assert posted(busy)["LatencyRatio"] == pytest.approx(0.4)
    assert posted(busy)["SuccessRatio"] == 1.0
    assert posted(busy)["IopsUtilization"] == pytest.approx(0.4)
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
