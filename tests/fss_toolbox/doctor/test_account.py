"""Checks of an account, on facts."""

from dataclasses import replace

import pytest

from fss_exporter.errors import LateAnswer
from fss_exporter.oci.inventory.oci_inventory import Export
from fss_toolbox.doctor.account_checks import check_region, check_subscriptions
from fss_toolbox.doctor.account_facts import (
    CallOutcome,
    Lag,
    MetricFacts,
    RegionFacts,
    Subscription,
    Subscriptions,
    Tried,
    minutes_named_by,
    throughput_factor,
)
from fss_toolbox.doctor.findings import Finding, Severity, exit_code
from fss_toolbox.doctor.metric_probe import alone

OK = Tried(CallOutcome.OK)
READS = MetricFacts("MountTargetReadThroughput", "MountTargetReadThroughput", 5, {}, ("bytes",), 5, 70.0, 14)
IOPS = MetricFacts("MountTargetIOPS", "MountTargetIOPS", 5, {}, (), 5, 70.0, 14)
FINE = RegionFacts(
    "r",
    {"ListMountTargets": OK, "ListMetrics": OK},
    0.4,
    3,
    {"1": 3},
    {},
    (READS, IOPS),
    15,
    metric_names_ignore_case=None,
)


def findings_of(facts: RegionFacts, check: str) -> list[Finding]:
    return [finding for finding in check_region(facts) if finding.check == check]


def test_a_region_that_answers_is_fine() -> None:
    findings = list(check_region(FINE))
    assert exit_code(findings) == 0
    assert {finding.severity for finding in findings} == {Severity.OK}


@pytest.mark.parametrize(
    ("operation", "severity"),
    [
        ("ListMountTargets", Severity.PROBLEM),
        ("SummarizeMetricsData", Severity.PROBLEM),
        ("GetPrivateIp", Severity.WARNING),
        ("ListLimitValues", Severity.WARNING),
        ("ListRegionSubscriptions", Severity.ADVICE),
    ],
)
def test_a_refused_operation_is_as_bad_as_what_it_costs(operation: str, severity: Severity) -> None:
    refused = Tried(CallOutcome.REFUSED, "404 Perhaps this is missing: Allow group <group> to ...")
    (only,) = findings_of(replace(FINE, operations={**FINE.operations, operation: refused}), "permissions")
    assert (only.severity, only.subject) == (severity, f"r {operation}")
    assert "Allow group" in only.message


def test_a_refused_service_that_no_setting_names_is_advice_with_the_statement() -> None:
    refused = Tried(CallOutcome.REFUSED, "404 Perhaps this is missing: Allow group <group> to ...", is_optional=True)
    findings = list(check_region(replace(FINE, operations={**FINE.operations, "ListLustreFileSystems": refused})))
    (advice,) = [finding for finding in findings if finding.severity is not Severity.OK]
    assert (advice.severity, advice.check) == (Severity.ADVICE, "permissions")
    assert "Allow group" in advice.message
    assert exit_code(findings) == 0


def test_a_refused_signature_is_no_matter_of_policies() -> None:
    refused = Tried(CallOutcome.REFUSED, "401 NotAuthenticated: This host's clock is 900 s behind OCI's: set it.")
    (only,) = findings_of(replace(FINE, operations={"ListMountTargets": refused}), "permissions")
    assert only.fix.startswith("correct the credentials or this host's clock")


def regions(*looked_at: str) -> list[tuple[Severity, str, str]]:
    had = (Subscription("eu-frankfurt-1", "FRA", "READY"), Subscription("eu-zurich-1", "ZRH", "IN_PROGRESS"))
    findings = check_subscriptions(Subscriptions({}, had), looked_at)
    return [(finding.severity, finding.subject, finding.message) for finding in findings]


def test_a_region_without_a_subscription_is_a_problem() -> None:
    assert regions("eu-frankfurt-1", "mars-1", "eu-zurich-1") == [
        (Severity.PROBLEM, "mars-1", "the tenancy is not subscribed to it, so every call would be refused"),
        (Severity.WARNING, "eu-zurich-1", "its subscription is IN_PROGRESS, not READY"),
        (Severity.OK, "", "subscribed to eu-frankfurt-1"),
    ]


def test_an_unchecked_region_is_advice_and_a_key_is_as_good_as_a_name() -> None:
    assert regions("fra") == [
        (Severity.OK, "", "subscribed to eu-frankfurt-1"),
        (Severity.ADVICE, "", "not looked at, though subscribed to: eu-zurich-1"),
    ]


def test_regions_without_an_answer_have_no_finding() -> None:
    assert list(check_subscriptions(Subscriptions(), ("eu-frankfurt-1",))) == []


def test_no_answer_is_about_the_network() -> None:
    silent = {"ListAvailabilityDomains": Tried(CallOutcome.SILENT, "no answer")}
    findings = list(check_region(RegionFacts("r", silent)))
    assert [finding.check for finding in findings] == ["api"]
    assert "route, proxy, DNS" in findings[0].fix


def test_one_answer_that_comes_too_late_is_no_problem_of_the_account() -> None:
    late = Tried.of(LateAnswer("ListMetrics in r: no answer from h: TimeoutError", operation="ListMetrics"))
    facts = replace(FINE, operations={**FINE.operations, "ListMetrics": late})
    (only,) = [finding for finding in check_region(facts) if finding.severity is not Severity.OK]
    assert (only.check, only.severity, only.subject) == ("api", Severity.WARNING, "r ListMetrics")
    assert only.message.startswith("could not be asked: ")
    assert findings_of(facts, "metrics")


def test_a_region_whose_answers_all_come_too_late_is_a_problem() -> None:
    late = {"ListAvailabilityDomains": Tried.of(LateAnswer("no answer", operation="ListAvailabilityDomains"))}
    (only,) = check_region(RegionFacts("r", late))
    assert only.severity is Severity.PROBLEM


@pytest.mark.parametrize(
    ("ahead", "severity", "words"),
    [
        (59.0, Severity.OK, "agrees"),
        (-100.0, Severity.WARNING, "100 s behind"),
        (600.0, Severity.PROBLEM, "600 s ahead of"),
    ],
)
def test_a_clock_that_is_off_is_as_bad_as_it_is_far(ahead: float, severity: Severity, words: str) -> None:
    (only,) = findings_of(replace(FINE, clock_ahead_seconds=ahead), "clock")
    assert only.severity is severity
    assert words in only.message


def test_no_mount_targets_is_a_warning() -> None:
    assert [finding.severity for finding in findings_of(replace(FINE, mount_targets=0), "inventory")] == [
        Severity.WARNING
    ]
    assert findings_of(replace(FINE, mount_targets=None), "inventory") == []


def test_no_metrics_is_a_warning_only_where_they_could_be_listed() -> None:
    assert [finding.severity for finding in findings_of(replace(FINE, metrics=()), "metrics")] == [Severity.WARNING]
    refused = {"ListMetrics": Tried(CallOutcome.REFUSED, "x")}
    assert findings_of(replace(FINE, metrics=(), operations=refused), "metrics") == []


def test_a_tenancy_without_mount_target_iops_has_a_finding_with_the_consequence() -> None:
    advice = [
        finding
        for finding in findings_of(replace(FINE, metrics=(READS,)), "metrics")
        if finding.severity is Severity.ADVICE
    ]
    assert [change.message.split(":")[0] for change in advice] == ["MountTargetIOPS is not there"]


def test_an_undocumented_metric_is_worth_a_report() -> None:
    unknown = MetricFacts("MountTargetThrottled", "", 5, {}, (), 5, 70.0, 14)
    (only,) = [
        finding for finding in findings_of(replace(FINE, metrics=(READS, IOPS, unknown)), "metrics") if finding.fix
    ]
    assert only.subject == "r MountTargetThrottled"
    assert "doctor --record" in only.fix


def test_another_spelling_is_reported() -> None:
    other = replace(READS, spelling="MountTargetREADThroughput")
    messages = [finding.message for finding in findings_of(replace(FINE, metrics=(other, IOPS)), "metrics")]
    assert "documented as MountTargetReadThroughput. The poller asks with the spelling of this account" in messages


def test_a_failed_query_is_a_warning() -> None:
    failed = replace(READS, streams=None, error="HTTP 500")
    warnings = [
        finding
        for finding in findings_of(replace(FINE, metrics=(failed, IOPS)), "metrics")
        if finding.severity is Severity.WARNING
    ]
    assert [(warning.subject, warning.message) for warning in warnings] == [
        ("r", "MountTargetReadThroughput: HTTP 500")
    ]


def test_equal_failures_of_metrics_are_one_warning_and_nothing_is_fine() -> None:
    failed = tuple(replace(READS, spelling=name, documented=name, streams=None, error="HTTP 503") for name in "ABCDE")
    shown = findings_of(replace(FINE, metrics=failed), "metrics")
    assert [finding.message for finding in shown if finding.severity is Severity.WARNING] == [
        "A, B, C and 2 more: HTTP 503"
    ]
    assert [finding.message for finding in shown if finding.severity is Severity.OK] == []


def test_two_reasons_of_failed_metrics_are_two_warnings() -> None:
    failed = (replace(READS, streams=None, error="HTTP 503"), replace(IOPS, streams=None, error="HTTP 404"))
    shown = findings_of(replace(FINE, metrics=failed), "metrics")
    assert len([finding for finding in shown if finding.severity is Severity.WARNING]) == 2


def test_silence_of_a_metric_that_is_sent_while_idle_is_advice() -> None:
    silent = replace(READS, streams=0, newest_age_seconds=None, minutes=0)
    advice = [
        finding
        for finding in findings_of(replace(FINE, metrics=(silent, IOPS)), "metrics")
        if finding.severity is Severity.ADVICE
    ]
    assert [change.message for change in advice] == [
        "no points of MountTargetReadThroughput, though OCI sends them also while idle"
    ]


@pytest.mark.parametrize(("age", "severity"), [(200.0, Severity.OK), (900.0, Severity.WARNING)])
def test_late_points_are_a_warning(age: float, severity: Severity) -> None:
    (only,) = findings_of(replace(FINE, metrics=(READS, replace(IOPS, newest_age_seconds=age))), "ingestion-lag")
    assert only.severity is severity
    assert f"ended 70 s (MountTargetReadThroughput) to {age:.0f} s (MountTargetIOPS) ago" in only.message


@pytest.mark.parametrize(
    ("lags", "told"),
    [
        (
            (Lag("A", 66.0, 71.0), Lag("B", 10.0, 15.0)),
            [(Severity.OK, "a new minute could be read within 15 s (B) to 71 s (A) of its end")],
        ),
        (
            (Lag("A", 370.0, 375.0), Lag("B", 200.0, None)),
            [
                (Severity.WARNING, "a new minute could be read within 375 s (A) of its end"),
                (Severity.OK, "no new minute came of B. The next one ended 200 s ago"),
            ],
        ),
        (
            tuple(Lag(name, 10.0, None) for name in "ABCDE"),
            [(Severity.OK, "no new minute came of A, B, C and 2 more. The next one ended 10 s ago")],
        ),
    ],
)
def test_a_measured_lag_takes_the_place_of_ages(lags: tuple[Lag, ...], told: list[tuple[Severity, str]]) -> None:
    findings = findings_of(replace(FINE, ingestion_lags=lags), "ingestion-lag")
    assert [(finding.severity, finding.message) for finding in findings] == told


@pytest.mark.parametrize(("seconds", "told"), [(40.0, True), (70.0, False), (None, False)])
def test_a_point_that_could_be_read_within_a_minute_is_stamped_with_its_end(seconds: float | None, told: bool) -> None:
    lags = (Lag("A", 0.0, seconds),)
    facts = replace(FINE, ingestion_lags=lags, minutes_named_by=minutes_named_by(lags))
    messages = [finding.message for finding in findings_of(facts, "discovered")]
    assert (
        "points are stamped with the end of their minute: yes, some could be read within a minute" in messages
    ) is told


@pytest.mark.parametrize(
    "merged",
    [
        replace(READS, streams=1, listed=1000, is_large=True),
        MetricFacts("FileSystemUsage", "FileSystemUsage", listed=6, streams=3),
    ],
)
def test_merged_streams_do_not_say_whether_streams_without_points_are_answered(merged: MetricFacts) -> None:
    messages = [finding.message for finding in findings_of(replace(FINE, metrics=(merged,)), "discovered")]
    assert not [message for message in messages if "without points" in message]


@pytest.mark.parametrize(("streams", "empty", "told"), [(3, 2, ["yes"]), (3, 0, ["no"]), (5, 0, [])])
def test_the_facts_name_whether_answers_have_streams_without_points(streams: int, empty: int, told: list[str]) -> None:
    facts = replace(FINE, metrics=(replace(READS, streams=streams, empty_streams=empty),))
    messages = [finding.message.partition("are answered: ") for finding in findings_of(facts, "discovered")]
    assert [answer for head, _, answer in messages if head == "streams without points "] == told


def test_undocumented_behaviour_is_reported_without_names() -> None:
    dimensions = {
        "operation": ("GETATTR", "CREATE"),
        "resourceId": ("ocid1.filesystem.oc1..a",),
        "mtResourceName": ("x",),
    }
    facts = replace(
        FINE,
        metrics=(replace(READS, dimensions=dimensions), IOPS),
        observed_throughputs={"absent": 2, "20": 1},
        metric_names_ignore_case=False,
        adding_two_metrics="3 streams",
        order_of_and_and_or="&& binds tighter",
        limit_names=("mount-target-count",),
    )
    assert [finding.message for finding in findings_of(facts, "discovered")] == [
        "values of operation: CREATE, GETATTR",
        "observedThroughput of mount targets: absent (2), 20 (1)",
        "metric names in queries ignore case: no",
        "two metrics added in one query: 3 streams",
        "&& and || without parentheses: && binds tighter",
        "names of limits: mount-target-count",
    ]


@pytest.mark.parametrize(
    ("minutes", "times", "factor"),
    [
        (60, 1.0, "1"),
        (10, 1.15, "1"),
        (60, 60.0, "60"),
        (60, 49.0, "60"),
        (9, 60.0, "cannot tell"),
        (60, 7.0, "cannot tell"),
    ],
)
def test_the_factor_of_two_metrics_takes_ten_minutes_with_bytes(minutes: int, times: float, factor: str) -> None:
    read = {60.0 * minute: 1e6 + minute for minute in range(minutes)}
    idle = {60.0 * minute: 0.0 for minute in range(100, 160)}
    assert throughput_factor({at: times * value for at, value in read.items()} | idle, read | idle) == factor


def test_only_a_mount_target_that_alone_serves_its_only_file_system_is_compared() -> None:
    def export(file_system: str, mount_target: str) -> Export:
        return Export(
            id=f"{file_system}-{mount_target}",
            path="/a",
            state="ACTIVE",
            file_system_id=file_system,
            export_set_id="set",
            mount_target_id=mount_target,
        )

    shared, several = [export("s", "1"), export("s", "2")], [export("a", "3"), export("b", "3")]
    chosen = export("c", "4")
    assert list(alone([*shared, *several, chosen])) == [chosen]
