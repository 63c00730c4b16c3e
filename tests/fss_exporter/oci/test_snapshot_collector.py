"""What a scrape sees: the catalogue's families, well-formed whatever the names, and the same text `prometheus_client` would write."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import product

import pytest
from hypothesis import given, strategies as st
from oci.exceptions import ServiceError
from tests.exposition_text import collected, declaration, families_of, written
from tests.fss_exporter.oci.world import World
from tests.fss_exporter.web.collected import check_scrape
from tests.region import small

from fss_exporter.catalogue import CATALOGUE, CLOUD, PreparedFamily, Series
from fss_exporter.cli import oci_polling
from fss_exporter.errors import CloudError, NotAuthorized, Throttled, Unreachable, UsageError
from fss_exporter.oci.calls import FailureLog
from fss_exporter.oci.client.failures import translate
from fss_exporter.oci.iam import NEEDS, statement
from fss_exporter.oci.metrics.answers import SharedSeries
from fss_exporter.settings import load

HOSTILE = 'mt "home"\\\n{evil="1"} 1\n# HELP fss_fake <script>'


def test_before_the_first_poll_there_is_nothing_but_settings_and_the_poller_itself(
    worlds: Callable[..., World],
) -> None:
    assert set(worlds().families()) == set(), "the tenancy is not known, so nothing can name it"
    assert set(worlds(name="acme").families()) == {
        "fss_oci_api_budget_requests_per_second",
        "fss_oci_api_budget_wait_seconds_total",
        "fss_oci_inventory_budget_wait_seconds_total",
    }


def test_every_family_is_of_the_catalogue(worlds: Callable[..., World]) -> None:
    world = worlds(services=("lustre", "block-volume"))
    for _ in range(4):
        world.poll()
        world.pass_minutes()
    names = [declaration(family).name for family in collected(world.collector)]
    assert set(names) <= {metric.name for metric in CLOUD} | {"fss_coverage_expected", "fss_coverage_seen"}
    unseen = {metric.name for metric in CLOUD} - set(names)
    assert unseen == {
        "fss_oci_query_splits_total",  # nothing is large enough to be split
        "fss_mount_target_pending_shape_info",  # no shape is about to change
        "fss_oci_permission_missing",  # nothing is refused
        "fss_mount_target_tags_info",  # no tag is chosen as a label
        "fss_file_system_tags_info",  # ditto
        "fss_oci_failed_calls",  # nothing fails
        "fss_mount_target_observed_iops_limit",  # no load stood still
        "fss_mount_target_observed_read_bytes_per_second_limit",
        "fss_mount_target_observed_write_bytes_per_second_limit",
        "fss_mount_target_observed_limit_plateaus",
        "fss_mount_target_observed_limit_duration_seconds",
        "fss_mount_target_observed_limit_timestamp_seconds",
    }


@pytest.mark.parametrize("name", ["fss_mount_target_info", "fss_mount_target_state", "fss_oci_streams"])
def test_rows_in_another_order_than_the_catalogue_are_refused(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.poll()
    declared = CATALOGUE[name]
    monkeypatch.setitem(CATALOGUE, name, replace(declared, labels=declared.labels[::-1]))
    with pytest.raises(ValueError, match=f"{name}: values of tenancy, region"):
        list(world.collector.collect())


def test_a_scrape_of_a_poller_is_what_the_library_writes_of_the_same_collection(world: World) -> None:
    world.poll()
    component = replace(oci_polling.component(lambda: world.settings), source=world.collector)

    text = check_scrape([component])

    assert "fss_mount_target_io_operations_total{" in text
    assert "python_info{" in text
    assert "python_gc_collections_total{" in text


def test_a_registry_knows_the_names_of_the_collector_and_collects_nothing_for_them(world: World) -> None:
    world.poll()

    assert {made.name for made in collected(world.collector)} <= {made.name for made in world.collector.describe()}
    assert not [made for made in world.collector.describe() if made.samples]


def test_names_from_the_cloud_cannot_leave_their_label(worlds: Callable[..., World]) -> None:
    tenancy = small()
    targets = tuple(
        replace(mount_target, name=HOSTILE) if mount_target.name == "mt-home" else mount_target
        for mount_target in tenancy.mount_targets
    )
    world = worlds(replace(tenancy, mount_targets=targets))
    world.poll()
    families = families_of(written(world.collector.collect()))
    assert {family.name for family in families} <= {name.removesuffix("_total") for name in CATALOGUE}
    seen = {sample.labels.get("mount_target") for family in families for sample in family.samples}
    assert HOSTILE in seen


def test_limits_follow_the_shape_and_objectives_the_settings(worlds: Callable[..., World]) -> None:
    world = worlds()
    world.poll()
    iops = world.values("fss_mount_target_iops_limit", "mount_target")
    assert iops == {"mt-home": 50_000, "mt-home-b": 50_000, "mt-scratch": 50_000, "mt-idle": 50_000}
    assert world.values("fss_mount_target_read_bytes_per_second_limit", "mount_target")["mt-media"] == 2.5e9


def test_each_mount_target_has_its_own_limits_and_objectives(worlds: Callable[..., World]) -> None:
    world = worlds()
    home = next(mount_target.id for mount_target in small().mount_targets if mount_target.name == "mt-home")
    stated = load(
        None,
        {
            "limits.shapes": {"standard": {"encrypted_connections": 64.0}},
            "limits.mount_targets": {
                home: {"encrypted_connections": 100.0},
                "mt-idle": {"encrypted_connections": None},
            },
            "latency_objectives.mount_targets": {
                "mt-home": {"metadata": "5ms"},
                home: {"read": {"0B_to_8KiB": "1ms"}},
            },
            "slo_objectives.mount_targets": {"mt-idle": {"latency": 0.9}},
        },
    )
    world.account.settings = stated.model_copy(update={"oci": world.settings.oci})
    world.poll()
    limits = world.values("fss_mount_target_encrypted_connections_limit", "mount_target")
    assert limits == {"mt-home": 100, "mt-home-b": 64, "mt-scratch": 64, "mt-media": 4096}
    latency = world.values("fss_mount_target_latency_objective_seconds", "mount_target", "kind", "size")
    assert len(latency) == 5 * 7
    assert latency["mt-home", "metadata", ""] == 0.005
    assert latency["mt-home", "read", "0B_to_8KiB"] == 0.001
    assert latency["mt-idle", "metadata", ""] == 0.010
    shares = world.values("fss_mount_target_slo_objective_ratio", "mount_target", "objective")
    assert len(shares) == 5 * 2
    assert (shares["mt-idle", "latency"], shares["mt-idle", "availability"]) == (0.9, 0.995)
    assert shares["mt-home", "latency"] == 0.99


def test_the_last_success_of_polls_and_of_the_inventory_is_exported_for_each_region(world: World) -> None:
    assert world.values("fss_oci_poll_last_success_timestamp_seconds", "region") == {}
    world.poll()
    first = world.clock.now
    assert world.values("fss_oci_poll_last_success_timestamp_seconds", "region") == {"eu-frankfurt-1": first}
    assert world.values("fss_oci_inventory_last_success_timestamp_seconds", "region") == {"eu-frankfurt-1": first}
    world.region.add_fault("500:SummarizeMetricsData")
    world.pass_minutes()
    world.poll()
    assert world.value("fss_oci_poll_timestamp_seconds", region="eu-frankfurt-1") == world.clock.now
    assert world.value("fss_oci_poll_last_success_timestamp_seconds", region="eu-frankfurt-1") == first


def test_clients_and_mount_targets_meet_at_the_address(world: World) -> None:
    world.poll()
    expected = {"10.80.1.10", "10.80.1.11", "10.80.2.20", "10.80.3.30", "10.80.4.40"}
    assert set(world.values("fss_mount_target_info", "address")) == expected
    exports = {"/export/a", "/export/b"}
    assert {key for key in world.values("fss_export_info", "address", "export") if key[1] not in exports} == set()


def test_prepared_text_is_used_again_and_what_is_gone_is_forgotten(world: World) -> None:
    world.poll()
    first, second = (
        {
            series
            for family in collected(world.collector)
            if isinstance(family, PreparedFamily)
            for series in family.series
        }
        for _ in range(2)
    )
    assert len(first & second) == len(first)


@given(st.lists(st.text(max_size=12), min_size=4, max_size=4))
def test_shared_text_is_the_text(labels: list[str]) -> None:
    metric = CATALOGUE["fss_mount_target_iops"]
    shared, whole = SharedSeries(metric, labels), Series(metric, labels)
    assert (shared.text, shared.labels) == (whole.text, whole.labels)


def refusal(status: int, code: str | None, message: str, **headers: str) -> ServiceError:
    return ServiceError(status, code, headers, message)


def translated(
    error: Exception, operation: str = "ListMountTargets", compartment: str = "ocid1.compartment.oc1..a"
) -> Exception:
    translated = translate(error, operation, "eu", needed=statement(operation, "instance_principal", compartment))
    assert translated is not None
    return translated


@pytest.mark.parametrize(("minutes", "says"), [(10, "600 s behind"), (-10, "600 s ahead of")])
def test_a_wrong_clock_is_reported_with_the_difference(minutes: int, says: str) -> None:
    theirs = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes))
    error = translated(refusal(401, "NotAuthenticated", "no", date=theirs))
    assert isinstance(error, NotAuthorized)
    assert says in str(error).replace("599", "600").replace("601", "600")


@pytest.mark.parametrize("date", ["", "yesterday", "now"])
def test_a_clock_that_is_right_or_unknown_is_not_blamed(date: str) -> None:
    date = format_datetime(datetime.now(UTC)) if date == "now" else date
    assert "clock" not in str(translated(refusal(401, "NotAuthenticated", "no", date=date)))


def test_what_is_no_failure_of_the_cloud_is_not_taken_for_one() -> None:
    assert translate(ZeroDivisionError(), "X", "eu", needed="") is None


def test_messages_are_one_line_and_bounded() -> None:
    error = translated(refusal(429, "TooManyRequests", "slow\ndown " * 200))
    assert isinstance(error, Throttled)
    assert "\n" not in str(error)
    assert len(str(error)) < 500


def test_every_operation_has_a_well_formed_statement() -> None:
    for operation, auth in product(
        NEEDS, ("config_file", "instance_principal", "resource_principal", "workload_identity")
    ):
        text = statement(operation, auth, "ocid1.compartment.oc1..a")
        assert text.startswith("Allow "), f"{operation} {auth}"
        assert " to " in text, f"{operation} {auth}"
        assert " in " in text, f"{operation} {auth}"
        assert text.count("where") <= 1, f"{operation} {auth}"
        assert text.count("{") == text.count("}") == (auth == "workload_identity"), f"{operation} {auth}"


def test_a_statement_for_the_whole_tenancy_says_so() -> None:
    assert (
        statement("ListExports", "config_file", "ocid1.tenancy.oc1..t")
        == "Allow group <group> to read export-sets in tenancy"
    )
    assert statement("NoSuchOperation", "config_file") == ""


def test_a_failure_is_reported_once_with_all_it_costs_and_once_more_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = FailureLog("eu", logging.getLogger())
    caplog.set_level(logging.INFO)
    for _ in range(3):
        for name in "ABCDE":
            failures.report(name, Throttled("slow down", operation="SummarizeMetricsData", status=429))
        failures.end_round()
    for name in "ABCDE":
        failures.report(name, None)
    failures.end_round()
    assert [record.message for record in caplog.records] == [
        "eu: A, B, C and 2 more: slow down",
        "eu: A, B, C and 2 more works again",
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_of_the_places_where_a_call_is_refused_the_widest_is_named_whichever_answer_comes_first(
    order: int, caplog: pytest.LogCaptureFixture
) -> None:
    failures = FailureLog("eu", logging.getLogger())
    for place in ("tenancy", "compartment id ocid1.compartment.oc1..a")[::order]:
        failures.report("X", NotAuthorized(f"missing: inspect all in {place}", operation="X", status=404))
    failures.end_round()
    assert caplog.messages == ["eu: missing: inspect all in tenancy"]


def test_another_failure_of_the_same_call_is_reported_again(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog("eu", logging.getLogger())
    for error in (Throttled("a", operation="X", status=429), NotAuthorized("b", operation="X", status=404)):
        failures.report("M", error)
        failures.end_round()
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        "eu: M: a",
        "eu: M: b",
    ]


def test_an_operation_that_fails_in_another_way_does_not_work_again(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog("eu", logging.getLogger())
    rounds = (("503", "503"), ("429", "503"), ("429", ""), ("", ""), ("503", ""))
    with caplog.at_level(logging.INFO):
        for statuses in rounds:
            for subject, status in zip("AB", statuses, strict=True):
                error = CloudError(f"HTTP {status}", operation="O", status=int(status)) if status else None
                failures.report(subject, error)
            failures.end_round()
    assert caplog.messages == [
        "eu: A, B: HTTP 503",
        "eu: A: HTTP 429",
        "eu: B works again",
        "eu: A works again",
        "eu: A: HTTP 503",
    ]


def test_what_was_not_asked_for_does_not_work_again(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog("eu", logging.getLogger())
    rounds: tuple[dict[str, CloudError | None], ...] = (
        {"A": Unreachable("no answer", operation="O"), "B": Unreachable("no answer", operation="O")},
        {"C": Unreachable("no answer", operation="O")},
        {},
        {"A": None, "C": None},
        {"B": None},
    )
    with caplog.at_level(logging.INFO):
        for number, calls in enumerate(rounds):
            caplog.clear()
            for subject, error in calls.items():
                failures.report(subject, error)
            failures.end_round()
            assert bool(caplog.messages) is (number in {0, 4})
    assert caplog.messages == ["eu: B works again"]


def test_each_mistake_of_the_settings_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    failures = FailureLog("eu", logging.getLogger())
    for _ in range(2):
        for name in ("nope", "nada"):
            failures.report("ListCompartments", UsageError(f"no compartment is called {name}"))
        failures.end_round()
    assert [message.rpartition(" ")[2] for message in caplog.messages] == ["nope", "nada"]
