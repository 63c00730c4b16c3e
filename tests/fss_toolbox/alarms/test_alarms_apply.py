"""Plans carried out over HTTP by the real SDK against the demo region: what comes in between, and what it costs."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.clock import Clock
from tests.fss_exporter.oci.world import reach
from tests.fss_toolbox.alarms.alarm_inputs import PACK
from tests.fss_toolbox.alarms.judged import states
from tests.fss_toolbox.demo.sdk import Clients, clients
from tests.region import Region, RegionLimits, shared_account, small

from fss_exporter.errors import NotAuthorized
from fss_exporter.oci.calls import CallBudget
from fss_exporter.oci.client import Credentials, Session
from fss_exporter.oci.inventory.selection import TagFilter
from fss_exporter.settings import Endpoints
from fss_toolbox.alarms import pack, show
from fss_toolbox.alarms.alarm_plan import Plan, plan, removal
from fss_toolbox.alarms.apply import Alarms, StepOutcome, apply, duplicates, existing_alarms
from fss_toolbox.alarms.desired import AlarmInputs, AlarmScope, Target, desired
from fss_toolbox.alarms.tenancy import event_types, spellings, watched

STORAGE = next(compartment.id for compartment in small().compartments if compartment.name == "storage")
SCOPE = AlarmScope(STORAGE, STORAGE, small().topics)
WANTED = desired(PACK, SCOPE, AlarmInputs())
FEW = WANTED[:4]


@pytest.fixture
def session(region: Region) -> Session:
    return session_in(region)


@pytest.fixture
def service(session: Session) -> Alarms:
    return Alarms(session, "config_file")


@pytest.fixture
def by_hand(region: Region) -> Clients:
    """Another operator with the console open."""
    return clients(region)


def session_in(region: Region) -> Session:
    held = clients(region).config
    signer = clients(region).monitoring.base_client.signer
    endpoints = dict.fromkeys(Endpoints.model_fields, region.url)
    credentials = Credentials(held, signer, region.tenancy.id, region.tenancy.region, "config_file")
    budget = CallBudget(1000, clock=lambda: 0.0, wait=lambda _: False)
    return Session(credentials, region.tenancy.region, reach(endpoints), budget=budget, jitter=lambda: 0.0)


def planned(service: Alarms, wanted: tuple[pack.Alarm, ...] = FEW) -> Plan:
    owned, foreign = existing_alarms(service, STORAGE, "fss")
    return plan(wanted, owned, foreign)


def alarm_called(by_hand: Clients, name: str) -> Any:
    (summary,) = by_hand.monitoring.list_alarms(STORAGE, display_name=name).data
    return by_hand.monitoring.get_alarm(summary.id).data


def failures(outcomes: tuple[StepOutcome, ...]) -> dict[str, str]:
    return {outcome.step.name: str(outcome.error) for outcome in outcomes if outcome.error}


def test_the_whole_pack_is_created_and_a_second_run_changes_nothing(service: Alarms, region: Region) -> None:
    outcomes = apply(planned(service, WANTED), service)
    assert failures(outcomes) == {}
    again = planned(service, WANTED)
    assert again.changes == ()
    assert len(again.of("unchanged")) == len(WANTED)
    assert region.calls["CreateAlarm"] == len(WANTED)


def test_a_stream_as_destination_leads_to_no_endless_updates(service: Alarms) -> None:
    """OCI makes RAW of every message format then."""
    wanted = desired(PACK, replace(SCOPE, destinations=(*small().topics, *small().streams)), AlarmInputs())[:2]
    apply(planned(service, wanted), service)
    assert planned(service, wanted).changes == ()


def test_an_edit_by_hand_is_put_right_and_what_was_added_by_hand_stays(service: Alarms, by_hand: Clients) -> None:
    apply(planned(service), service)
    edited = alarm_called(by_hand, FEW[1].name)
    suppression = {
        "description": "moving house",
        "timeSuppressFrom": "2030-01-01T00:00:00Z",
        "timeSuppressUntil": "2030-01-02T00:00:00Z",
    }
    tags = edited.freeform_tags | {"team": "storage"}
    changes = {"pendingDuration": "PT1M", "severity": "INFO", "suppression": suppression, "freeformTags": tags}
    by_hand.monitoring.update_alarm(edited.id, changes)
    (step,) = planned(service).changes
    assert {change.name for change in step.changes} == {"pendingDuration", "severity"}
    assert [change.name for change in step.kept] == ["suppression"]
    apply(planned(service), service)
    after = alarm_called(by_hand, FEW[1].name)
    assert (after.pending_duration, after.severity) == ("PT10M", "WARNING")
    assert after.suppression.description == "moving house"
    assert after.freeform_tags["team"] == "storage"


def test_an_alarm_edited_between_plan_and_apply_is_not_overwritten_and_costs_only_itself(
    service: Alarms, by_hand: Clients
) -> None:
    apply(planned(service), service)
    for alarm in FEW[:3]:
        by_hand.monitoring.update_alarm(alarm_called(by_hand, alarm.name).id, {"severity": "INFO"})
    stale = planned(service)
    between = alarm_called(by_hand, FEW[1].name)
    by_hand.monitoring.update_alarm(between.id, {"severity": "ERROR"})
    outcomes = apply(stale, service)
    (message,) = failures(outcomes).values()
    assert "412 NoEtagMatch" in message
    severities = [alarm_called(by_hand, alarm.name).severity for alarm in FEW[:3]]
    assert severities == ["WARNING", "ERROR", "WARNING"]
    assert failures(apply(planned(service), service)) == {}
    assert alarm_called(by_hand, FEW[1].name).severity == "WARNING"


def test_an_alarm_that_is_gone_already_is_deleted(service: Alarms, by_hand: Clients) -> None:
    """So a lost answer to a deletion is no failure: OCI refuses the repeated request with 404."""
    apply(planned(service), service)
    stale = removal(existing_alarms(service, STORAGE, "fss")[0])
    by_hand.monitoring.delete_alarm(alarm_called(by_hand, FEW[0].name).id)
    assert failures(apply(stale, service)) == {}
    assert existing_alarms(service, STORAGE, "fss") == ((), {})


def test_an_alarm_deleted_between_plan_and_update_costs_only_itself(service: Alarms, by_hand: Clients) -> None:
    apply(planned(service), service)
    for alarm in FEW[:2]:
        by_hand.monitoring.update_alarm(alarm_called(by_hand, alarm.name).id, {"severity": "INFO"})
    stale = planned(service)
    by_hand.monitoring.delete_alarm(alarm_called(by_hand, FEW[0].name).id)
    outcomes = apply(stale, service)
    assert list(failures(outcomes)) == [FEW[0].name]
    assert alarm_called(by_hand, FEW[1].name).severity == "WARNING"


def test_an_alarm_that_another_operator_deletes_while_the_alarms_are_read_is_no_missing_permission(
    service: Alarms, by_hand: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(planned(service), service)
    gone = alarm_called(by_hand, FEW[1].name).id
    listing = service.list_alarms
    first = list(listing(STORAGE))
    by_hand.monitoring.delete_alarm(gone)
    listings = iter([first])
    monkeypatch.setattr(service, "list_alarms", lambda compartment: next(listings, None) or listing(compartment))
    assert [step.name for step in planned(service).changes] == [FEW[1].name]


def test_a_foreign_alarm_is_never_touched_whatever_it_is_called(service: Alarms, by_hand: Clients) -> None:
    body = {**FEW[0].body, "freeformTags": {"made-by": "somebody"}, "severity": "INFO"}
    foreign = by_hand.monitoring.create_alarm(body).data.id
    made = planned(service)
    (clash,) = made.of("clash")
    assert (clash.name, clash.ocid) == (FEW[0].name, foreign)
    apply(made, service)
    apply(planned(service, ()), service)
    apply(removal(existing_alarms(service, STORAGE, "fss")[0]), service)
    (left,) = by_hand.monitoring.list_alarms(STORAGE).data
    assert (left.id, left.severity) == (foreign, "INFO")


def test_an_alarm_that_two_pages_of_a_listing_hold_is_one_alarm(
    service: Alarms, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing that changes between two pages may repeat an alarm. As its own double it would be deleted."""
    apply(planned(service), service)
    pages = session.pages

    def repeated(*call: Any, **options: Any) -> Iterator[list[Any]]:
        for page in pages(*call, **options):
            yield page
            yield page[-1:]

    monkeypatch.setattr(session, "pages", repeated)
    assert planned(service).changes == ()
    assert duplicates(service, STORAGE, "fss") == {}


def test_two_packs_in_one_compartment_do_not_know_each_other(service: Alarms) -> None:
    other = desired(PACK, replace(SCOPE, name="batch"), AlarmInputs())[:2]
    owned, foreign = existing_alarms(service, STORAGE, "batch")
    apply(plan(other, owned, foreign), service)
    apply(planned(service), service)
    assert planned(service).changes == ()
    apply(removal(existing_alarms(service, STORAGE, "fss")[0]), service)
    assert len(existing_alarms(service, STORAGE, "batch")[0]) == 2


def test_an_answer_that_is_lost_makes_no_second_alarm(service: Alarms, region: Region, by_hand: Clients) -> None:
    """The request is repeated with the same retry token, and OCI answers with the alarm of the first."""
    region.add_fault("cut-off:CreateAlarm,times=1")
    assert failures(apply(planned(service), service)) == {}
    assert region.calls["CreateAlarm"] == len(FEW) + 1
    assert len(by_hand.monitoring.list_alarms(STORAGE).data) == len(FEW)


@pytest.mark.parametrize("fault", ["cut-off", "not-json"])
def test_a_lost_answer_to_an_update_is_no_failure_because_the_alarm_is_as_wanted(
    service: Alarms, region: Region, by_hand: Clients, fault: str
) -> None:
    """OCI refuses the repeated request with 412, because the first has changed the etag."""
    apply(planned(service), service)
    by_hand.monitoring.update_alarm(alarm_called(by_hand, FEW[1].name).id, {"severity": "INFO"})
    region.add_fault(f"{fault}:UpdateAlarm,times=1")
    (outcome,) = apply(planned(service), service)
    assert (outcome.step.kind, outcome.error) == ("update", None)
    assert alarm_called(by_hand, FEW[1].name).severity == "WARNING"


def test_a_deletion_without_the_permission_is_a_failure_although_oci_says_404(service: Alarms, region: Region) -> None:
    apply(planned(service), service)
    region.add_fault("deny:DeleteAlarm")
    outcomes = apply(removal(existing_alarms(service, STORAGE, "fss")[0]), service)
    assert set(failures(outcomes)) == {alarm.name for alarm in FEW}
    assert show.summary(outcomes).startswith("Incomplete: 0 done, 4 failed, 0 not tried.")
    assert "apply" not in show.summary(outcomes), "apply would create again what destroy has deleted"


def test_an_apply_that_fails_half_way_is_taken_up_by_the_next(service: Alarms, region: Region) -> None:
    region.add_fault(f"500:CreateAlarm,match={FEW[2].name}")
    outcomes = apply(planned(service), service)
    assert [(outcome.tried, outcome.error is None) for outcome in outcomes] == [
        (True, True),
        (True, True),
        (True, False),
        (False, True),
    ]
    assert show.summary(outcomes).startswith("Stopped: 2 done, 1 failed, 1 not tried.")
    region.clear_faults()
    rest = planned(service)
    assert [step.name for step in rest.of("create")] == [FEW[2].name, FEW[3].name]
    assert failures(apply(rest, service)) == {}
    assert planned(service).changes == ()


def test_a_quota_met_in_the_middle_says_what_was_done_and_what_was_not() -> None:
    with Region(small(), account=shared_account(), calls_per_second={}, limits=RegionLimits(alarms=2)) as region:
        service = Alarms(session_in(region), "config_file")
        outcomes = apply(planned(service), service)
        assert "LimitExceeded" in failures(outcomes)[FEW[2].name]
        assert [show.outcome_line(outcome).split()[:2] for outcome in outcomes] == [
            ["+", FEW[0].name],
            ["+", FEW[1].name],
            ["!", FEW[2].name],
            [".", FEW[3].name],
        ]
        assert "Run the command again when the cause is gone" in show.summary(outcomes)


@pytest.mark.parametrize(
    ("operation", "statement"),
    [
        ("ListAlarms", "to inspect alarms in"),
        ("GetAlarm", "to read alarms in"),
        ("ListMountTargets", "to inspect mount-targets in"),
        ("ListReplications", "to inspect replications in"),
        ("ListMetrics", "to read metrics in"),
    ],
)
def test_a_missing_permission_is_named_with_its_statement_before_anything_changes(
    service: Alarms, session: Session, region: Region, operation: str, statement: str
) -> None:
    apply(planned(service, FEW[:1]), service)
    region.add_fault(f"deny:{operation}")
    with pytest.raises(NotAuthorized, match=statement):  # noqa: PT012  # whichever of the three asks for it
        existing_alarms(service, STORAGE, "fss")
        watched(session, STORAGE, in_subtree=False, tags=TagFilter())
        spellings(session, STORAGE, in_subtree=False)


def test_a_refused_creation_names_all_three_statements_it_takes(service: Alarms, region: Region) -> None:
    region.add_fault("deny:CreateAlarm")
    outcomes = apply(planned(service), service)
    (message,) = failures(outcomes).values()
    for statement in (
        f"Allow group <group> to manage alarms in compartment id {STORAGE}",
        f"to read metrics in compartment id {STORAGE} where target.metrics.namespace='oci_filestorage'",
        "to use ons-topics in compartment <compartment of the topic>",
    ):
        assert statement in message
    assert sum(outcome.tried for outcome in outcomes) == 1


class TestAskingTheTenancy:
    def test_mount_targets_of_the_whole_tenancy_are_found(self, session: Session) -> None:
        targets = watched(session, small().id, in_subtree=True, tags=TagFilter()).mount_targets.values()
        assert {target.name for target in targets} == {"mt-home", "mt-home-b", "mt-scratch", "mt-media", "mt-idle"}

    def test_replications_come_with_their_intervals(self, session: Session) -> None:
        (replication,) = watched(session, STORAGE, in_subtree=False, tags=TagFilter()).replications.values()
        assert replication.interval_seconds == 3600

    def test_spellings_are_the_tenancys(self, session: Session, region: Region) -> None:
        assert spellings(session, STORAGE, in_subtree=False)["mounttargetiops"] == "MountTargetIOPS"
        region.add_fault("name-case")
        spelled = spellings(session, STORAGE, in_subtree=False)
        assert spelled["filesystemreadaveragelatencybysize"].lower() == "filesystemreadaveragelatencybysize"

    def test_event_types_hold_the_successes_among_the_failures(self, session: Session) -> None:
        seen = event_types(session, STORAGE, in_subtree=False)
        assert {"Keytab Load Success", "Clock Skew"} <= set(seen["KerberosErrors"])
        assert "Connection Success" in seen["LdapConnectionErrors"]


def test_the_alarm_fires_for_the_mount_target_near_its_ceiling(
    service: Alarms, session: Session, by_hand: Clients, clock: Clock
) -> None:
    """The demo's mt-home is above 80 % of its IOPS; that is the truth the alarm has to find."""
    inventory = watched(session, STORAGE, in_subtree=False, tags=TagFilter()).mount_targets.values()
    from fss_exporter.model.limits import shape_of

    targets = [
        Target(
            target.id, shape_of(target.observed_throughput_gbps).name, shape_of(target.observed_throughput_gbps).limits
        )
        for target in inventory
    ]
    wanted = desired(PACK, SCOPE, AlarmInputs(targets))
    apply(planned(service, wanted), service)
    clock.pass_minutes(45)
    now = states(by_hand, STORAGE, clock.now)
    assert now["fss-mount-target-iops-peak-standard"] == "FIRING"
    assert now["fss-mount-target-write-standard"] == "OK"
    assert now["fss-mount-target-connections"] == "OK"
    assert now["fss-mount-target-failing"] == "FIRING"  # mt-media: 97.5 %


def test_the_absence_alarm_fires_for_a_mount_target_that_fell_silent() -> None:
    clock = Clock()
    with Region(small(), account=shared_account(), calls_per_second={}, now=clock, wall=time.time) as region:
        service = Alarms(session_in(region), "config_file")
        scope = replace(
            SCOPE,
            metric_compartment=next(
                compartment.id for compartment in small().compartments if compartment.name == "batch"
            ),
        )
        absent = tuple(
            alarm for alarm in desired(PACK, scope, AlarmInputs()) if alarm.key == "mount-target-data-missing"
        )
        apply(planned(service, absent), service)

        def status() -> str:
            (state,) = states(clients(region), STORAGE, clock.now).values()
            return state

        assert status() == "OK"
        region.delete("mt-idle")
        clock.pass_minutes(25)
        assert status() == "FIRING"
        clock.pass_minutes(180)
        assert status() == "FIRING", "two hours without data are no all-clear"


class TestTwoRunsAtTheSameTime:
    def test_two_creations_of_the_same_plan_make_one_alarm_each(self, service: Alarms, by_hand: Clients) -> None:
        first, second = planned(service), planned(service)
        assert failures(apply(first, service)) == {}
        assert failures(apply(second, service)) == {}
        assert len(by_hand.monitoring.list_alarms(STORAGE).data) == len(FEW)
        assert duplicates(service, STORAGE, "fss") == {}

    def test_what_was_destroyed_can_be_created_again_at_once(self, service: Alarms, by_hand: Clients) -> None:
        """OCI remembers the token of the first creation for 24 hours."""
        apply(planned(service), service)
        apply(removal(existing_alarms(service, STORAGE, "fss")[0]), service)
        assert failures(apply(planned(service), service)) == {}
        assert len(by_hand.monitoring.list_alarms(STORAGE).data) == len(FEW)

    def test_what_was_handed_over_is_created_again_although_oci_remembers_its_creation(
        self, service: Alarms, by_hand: Clients
    ) -> None:
        """OCI answers the repeated creation with the alarm that belongs to another team now, and makes none."""
        apply(planned(service), service)
        theirs = alarm_called(by_hand, FEW[0].name).id
        by_hand.monitoring.update_alarm(theirs, {"displayName": "theirs", "freeformTags": {"team": "batch"}})
        assert failures(apply(planned(service), service)) == {}
        assert planned(service).changes == ()
        assert by_hand.monitoring.get_alarm(theirs).data.display_name == "theirs"

    def test_what_was_moved_to_another_compartment_is_created_again(
        self, service: Alarms, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """OCI answers the repeated creation with the alarm in the other compartment."""
        tokens: list[str] = []

        def create_alarm(body: Mapping[str, Any], retry_token: str) -> Mapping[str, Any]:
            tokens.append(retry_token)
            return {**body, "id": "ocid1.alarm.moved", "compartmentId": "ocid1.compartment.oc1..elsewhere"}

        monkeypatch.setattr(service, "create_alarm", create_alarm)
        assert failures(apply(planned(service, FEW[:1]), service)) == {}
        assert len(set(tokens)) == 2
