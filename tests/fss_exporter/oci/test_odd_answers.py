"""Rows and answers of an odd form: each costs only itself, or is a broken answer. In memory."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.fss_exporter.oci.fake_cloud import FakeCloud, mount_target

from fss_exporter.errors import BrokenAnswer, SourceError, Throttled
from fss_exporter.oci.calls import CallBudget, FailureLog
from fss_exporter.oci.client import Credentials, SdkClient, Session
from fss_exporter.oci.client.failures import clock_skew
from fss_exporter.oci.client.service_clients import decode_json, decode_streams
from fss_exporter.oci.cloud_client import Compartment, MetricRequest, RefusedStream, Scope
from fss_exporter.oci.inventory.inventory_snapshot import InventorySnapshot
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.metrics.labels import RegionLabels
from fss_exporter.oci.metrics.series_store import MinuteStamps
from fss_exporter.oci.minutes.resource_loads import ResourceLoad
from fss_exporter.oci.minutes.target_figures import TargetFigures
from fss_exporter.oci.publish.publisher import Publisher
from fss_exporter.oci.snapshot import PollSnapshot, RegionSnapshot
from fss_exporter.settings import Oci, Settings
from fss_toolbox.alarms.apply import Alarms, duplicates, existing_alarms
from fss_toolbox.alarms.pack import KEY_TAG, PACK_TAG
from fss_toolbox.alarms.tenancy import event_types
from fss_toolbox.doctor.metric_probe import MetricProbe
from fss_toolbox.tables import Progress

TENANCY = "ocid1.tenancy.oc1..t"
TAGS = {PACK_TAG: "fss", KEY_TAG: "k"}
ROW = {"id": "ocid1.mounttarget.oc1..a", "compartmentId": "c", "lifecycleState": "ACTIVE", "exportSetId": "e"}


@dataclass
class Says:
    """A session that gives the same answer to every call of an operation."""

    answers: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    region: str = "eu-frankfurt-1"
    tenancy_id: str = TENANCY
    tenancy: str = TENANCY
    clock_skew_seconds: float | None = None

    def call(self, service: str, operation: str, *arguments: object, **options: object) -> SimpleNamespace:
        del service, arguments, options
        return SimpleNamespace(data=self.answers[operation], headers=self.headers)

    def pages(self, service: str, operation: str, *arguments: object, **options: object) -> Iterator[list[Any]]:
        del service, arguments, options
        yield self.answers[operation]


def saying(answers: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
    """Return such a session as code takes it that calls nothing else of a session."""
    return Says(answers, headers or {})


def client(**answers: Any) -> SdkClient:
    return SdkClient(saying(answers))


def test_a_name_with_half_a_character_is_readable_text() -> None:
    (resource,) = (
        client(list_mount_targets=[ROW | {"displayName": "mt-\ud800"}]).resources("ListMountTargets", "c").records
    )
    assert resource.name == "mt-?"


def test_a_compartment_and_a_host_with_half_a_character_are_readable_text() -> None:
    cloud = client(
        list_compartments=[{"id": "c", "name": "\udfff"}],
        get_private_ip={"id": "p", "ipAddress": "10.0.0.1", "hostnameLabel": "\ud800"},
        get_subnet={"subnetDomainName": "\ud800.example.com"},
    )
    assert cloud.compartments().records[0].name == "?"
    assert cloud.private_ip("p").host_label == "?"
    assert cloud.subnet_domain("s") == "?.example.com"


@pytest.mark.parametrize("value", [10**400, float("nan"), -1, True, "2", None])
def test_a_service_limit_that_is_no_number_is_left_out(value: object) -> None:
    rows = [
        {"name": "mount-target-count", "availabilityDomain": "AD-1", "value": value},
        {"name": "mount-target-count", "availabilityDomain": "AD-2", "value": 2},
    ]
    assert client(list_limit_values=rows).service_limits()["mount_targets"] == {"AD-2": 2.0}


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_stream_of_another_namespace_is_broken_and_not_the_metric_that_was_asked_for(is_whole: bool) -> None:
    point = {"timestamp": "2026-11-24T12:00:00Z", "value": 1.0}
    points = [point] if is_whole else [point, {}]
    streams: list[dict[str, Any]] = [
        {"namespace": of, "dimensions": {}, "aggregatedDatapoints": points} for of in ("oci_filestorage", "x")
    ]
    content = json.dumps([*streams, {"dimensions": {}, "aggregatedDatapoints": points}]).encode()
    client = SdkClient(saying({"summarize_metrics_data": decode_streams(content)}))
    taken = client.summarize(MetricRequest(Scope(TENANCY), "oci_filestorage", "q", 0, 60))
    assert [stream is not None for stream in taken] == [True, False, True]


@pytest.mark.parametrize(
    "answer",
    [
        {"failedMetricsCount": "1"},
        {"failedMetricsCount": 1, "failedMetrics": "x"},
        {"failedMetricsCount": 1, "failedMetrics": [None]},
        {"failedMetricsCount": 1, "failedMetrics": 5},
    ],
)
def test_an_odd_answer_to_a_post_is_a_broken_answer(answer: object) -> None:
    with pytest.raises(BrokenAnswer, match="PostMetricData"):
        client(post_metric_data=answer).post_metric_data([{}])


def test_a_post_has_no_more_refused_streams_than_streams() -> None:
    answer = {"failedMetricsCount": 2**62, "failedMetrics": []}
    assert client(post_metric_data=answer).post_metric_data([{}]) == (RefusedStream(None, "no reason given"),)


def test_a_dimension_with_half_a_character_costs_one_stream() -> None:
    labels = RegionLabels("tenancy", "r").of(METRICS["MountTargetReadThroughput"])
    with pytest.raises(ValueError, match="surrogates"):
        labels.find({"resourceId": "\ud800"})


@pytest.mark.parametrize("zone", ["+99999999999999999", "-9999999999"])
def test_a_date_header_that_no_clock_shows_says_nothing(zone: str) -> None:
    assert clock_skew({"date": f"Mon, 20 Nov 2026 10:00:00 {zone}"}, 0.0) is None


@pytest.mark.parametrize("hours", ["9" * 30, "99"])
def test_an_hour_that_no_day_has_says_nothing(hours: str) -> None:
    assert clock_skew({"date": f"Mon, 20 Nov 2026 {hours}:00:00 GMT"}, 0.0) is None


def test_a_client_of_old_credentials_is_not_kept_for_new_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Credentials({}, None, TENANCY, "eu-frankfurt-1", "config_file")
    session = Session(held, "eu-frankfurt-1", Oci(), budget=CallBudget(1.0, clock=lambda: 0.0, wait=lambda _: None))

    client: Any = object()

    def opened(self: Session, _: str) -> Any:
        self.use_credentials(replace(held, auth="other"))  # another loop reads the credentials at this moment
        return client

    monkeypatch.setattr(Session, "_open", opened)
    assert session._client("identity") is client
    assert session._clients == {}


def test_a_private_ip_of_an_odd_form_costs_only_itself_in_a_listing() -> None:
    good = {"id": "p", "ipAddress": "10.0.0.1"}
    assert [private_ip.id for private_ip in client(list_private_ips=[good, {"id": "q"}, None]).private_ips("s")] == [
        "p"
    ]
    with pytest.raises(BrokenAnswer, match="GetPrivateIp in eu-frankfurt-1: the answer has no address"):
        client(get_private_ip={"id": "q"}).private_ip("q")


def test_an_ipv6_address_is_spelled_as_clients_spell_it() -> None:
    written = {"id": "q", "ipAddress": "2001:0DB8:0:0:0:0:0:0009"}
    assert client(get_ipv6=written).ipv6("q").address == "2001:db8::9"


class TestAlarms:
    """Answers about alarms."""

    @pytest.mark.parametrize("row", [{"id": 5}, {"id": "a", "freeformTags": ["x"]}, {"id": "a", "freeformTags": "x"}])
    def test_a_summary_of_an_odd_form_is_a_broken_answer(self, row: object) -> None:
        service = Alarms(saying({"list_alarms": [row]}), "config_file")
        for work in (existing_alarms, duplicates):
            with pytest.raises(BrokenAnswer, match="ListAlarms"):
                work(service, "c", "fss")

    @pytest.mark.parametrize("wrong", [{"overrides": ["x"]}, {"overrides": 5}, {"destinations": [["x"]]}])
    def test_an_alarm_of_an_odd_form_is_a_broken_answer(self, wrong: dict[str, object]) -> None:
        listed = {"id": "a", "freeformTags": TAGS}
        says = saying({"list_alarms": [listed], "get_alarm": listed | wrong}, {"etag": "1"})
        with pytest.raises(BrokenAnswer, match="GetAlarm"):
            existing_alarms(Alarms(says, "config_file"), "c", "fss")

    def test_an_alarm_that_loses_the_tags_after_the_listing_is_foreign(self) -> None:
        answers = {
            "list_alarms": [{"id": "a", "displayName": "one", "freeformTags": TAGS}],
            "get_alarm": {"id": "a", "displayName": "one", "freeformTags": {}},
        }
        assert existing_alarms(Alarms(saying(answers, {"etag": "1"}), "config_file"), "c", "fss") == ((), {"one": "a"})

    def test_rows_of_metrics_of_an_odd_form_are_left_out(self) -> None:
        rows = [None, 5, {"dimensions": "x"}, {"dimensions": {"errorType": ["x"]}}, {"dimensions": {"errorType": "E"}}]
        types = event_types(saying({"list_metrics": rows}), "c", in_subtree=False)
        assert types["KerberosErrors"] == ["E"]


class TestDoctor:
    """Answers to the questions of `doctor`."""

    @pytest.mark.parametrize(
        "stream",
        [
            {"metadata": "x"},
            {"metadata": {"unit": 5}},
            {"aggregatedDatapoints": 5},
            {"aggregatedDatapoints": [5, {"timestamp": "9" * 30}]},
        ],
    )
    def test_a_stream_of_an_odd_form_has_no_points(self, stream: dict[str, object]) -> None:
        rows = [{"name": "MountTargetConnections", "dimensions": "x"}]
        says = saying({"list_metrics": rows, "summarize_metrics_data": [stream]})
        probe = MetricProbe(says, (Scope("c"),), now=lambda: 0.0, note=lambda *_: None, progress=Progress())
        (metric,) = probe.ask()
        assert (metric.streams, metric.empty_streams) == (0, 1)


def test_a_region_without_a_refusal_does_not_hide_the_refusal_of_another() -> None:
    def snapshot(region: str) -> RegionSnapshot:
        target = mount_target("a")
        figures = TargetFigures({}, loads=(ResourceLoad("read_bandwidth", "measured", 60, 1.0, 1.0, 1.0),))
        listed = InventorySnapshot(Inventory(mount_targets={target.id: target}))
        return RegionSnapshot(region, listed, PollSnapshot(targets={target.id: figures}, ended=60.0))

    def refusing(operation: str) -> Throttled:
        return Throttled("HTTP 429", operation=operation)

    clouds = {"eu-frankfurt-1": FakeCloud(refuse=refusing), "eu-zurich-1": FakeCloud()}
    publisher = Publisher(
        lambda: [snapshot(region) for region in clouds],
        clouds.__getitem__,
        Settings,
        failures=lambda region: FailureLog(region, logging.getLogger()),
        now=lambda: 60.0,
    )
    for _ in range(2):
        with pytest.raises(SourceError, match="not all metrics"):
            publisher.run_round()


ODD_LISTINGS = [
    pytest.param([], id="nothing"),
    pytest.param(["AD-1"], id="texts"),
    pytest.param([{"name": None}], id="a name that is no text"),
    pytest.param([{"name": "AD-1"}, {}], id="one without a name"),
]


@pytest.mark.parametrize("rows", ODD_LISTINGS)
def test_availability_domains_of_an_odd_form_are_a_broken_answer_and_no_empty_region(rows: list[Any]) -> None:
    with pytest.raises(BrokenAnswer, match=r"ListAvailabilityDomains in eu-frankfurt-1: .* availability domain"):
        client(list_availability_domains=rows).availability_domains("ocid1.tenancy.oc1..t")


def test_a_compartment_of_an_odd_form_is_counted_and_the_others_are_listed() -> None:
    listing = client(list_compartments=[{"id": "ocid1.compartment.oc1..a", "name": "a"}, {"id": None}]).compartments()
    assert (listing.records, len(listing.broken)) == ((Compartment("ocid1.compartment.oc1..a", "a"),), 1)


@pytest.mark.parametrize("row", ["text", None, 7, []])
def test_a_row_that_is_no_object_counts_as_a_broken_resource(row: Any) -> None:
    listing = client(list_mount_targets=[ROW, row]).resources("ListMountTargets", "c")
    assert (len(listing.records), len(listing.broken)) == (1, 1)
    assert client(list_limit_values=[row]).service_limits() == {"mount_targets": {}, "file_systems": {}}
    assert client(list_metrics=[row, {"name": "MountTargetIOPS"}]).metric_names(Scope("c"), "n") == ("MountTargetIOPS",)


@pytest.mark.parametrize("ocid", ['ocid1.mounttarget.oc1..a"b', "a|b", "a*", "a\nb", "a b", ""])
def test_a_resource_with_an_ocid_that_no_query_can_select_is_left_out(ocid: str) -> None:
    listing = client(list_mount_targets=[ROW, ROW | {"id": ocid}]).resources("ListMountTargets", "c")
    assert [record.id for record in listing.records] == [ROW["id"]]
    assert len(listing.broken) == 1


@pytest.mark.parametrize("stamp", ["2026-09-05T12:05:00", "2026-09-05", "20260905T1205", "9999-12-31T23:59:00"])
def test_a_time_without_a_zone_is_no_minute_whatever_the_zone_of_the_host(stamp: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        MinuteStamps()[stamp]


def test_an_integer_of_5000_digits_costs_its_row() -> None:
    """Python refuses to read it, and the error was one of the whole answer."""
    rows = json.dumps([ROW, ROW | {"id": "ocid1.mounttarget.oc1..b"}]).encode()
    long = rows.replace(b"}]", b', "observedThroughput": ' + b"1" * 5000 + b"}]")
    listed = client(list_mount_targets=decode_json(long)).resources("ListMountTargets", "c")
    assert [record.id for record in listed.records] == [ROW["id"]]
    assert listed.broken == ("ocid1.mounttarget.oc1..b",)

    good = {"namespace": "n", "dimensions": {"a": "b"}, "aggregatedDatapoints": [{"timestamp": "t", "value": 1}]}
    streams = json.dumps([good, good]).encode().replace(b"1}]}]", b"1" * 5000 + b"}]}]")
    assert [len(stream.points) if stream else None for stream in decode_streams(streams)][1] == 0
