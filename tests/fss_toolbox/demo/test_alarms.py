"""Alarms over HTTP with the real SDK: what may be made, changed, deleted, and when it fires."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.clock import NOW, Clock
from tests.fss_toolbox.demo.alarm_bodies import QUERY, alarm_details
from tests.fss_toolbox.demo.sdk import MINUTE, Clients, clients, refused
from tests.region import Region, RegionLimits, small

from fss_toolbox.demo.region.demo_tenancy import RequestMix, RequestRate

TENANCY = small()
OTHER_REGION_TOPIC = "ocid1.onstopic.oc1.us_ashburn_1.aaaaaaaasomewhere"


def create(sdk: Clients, **changes: Any) -> Any:
    return sdk.monitoring.create_alarm(alarm_details(TENANCY, **changes))


def listed(sdk: Clients, **options: Any) -> list[Any]:
    return list(sdk.monitoring.list_alarms(TENANCY.id, compartment_id_in_subtree=True, **options).data)


class TestCreate:
    def test_it_answers_with_what_was_asked_for_and_the_documented_defaults(self, sdk: Clients) -> None:
        alarm = create(sdk, pendingDuration=None, overrides=None).data
        assert (alarm.display_name, alarm.query, alarm.lifecycle_state) == ("fss-iops", QUERY, "ACTIVE")
        assert (alarm.pending_duration, alarm.resolution, alarm.message_format) == ("PT1M", "1m", "RAW")
        assert (alarm.rule_name, alarm.evaluation_slack_duration) == ("BASE", "PT3M")

    @pytest.mark.parametrize(
        ("changes", "status", "code", "word"),
        [
            ({"displayName": None}, 400, "MissingParameter", "displayName"),
            ({"isEnabled": None}, 400, "MissingParameter", "isEnabled"),
            ({"colour": "red"}, 400, "InvalidParameter", "colour"),
            ({"queryText": QUERY}, 400, "InvalidParameter", "queryText"),
            ({"severity": "DIRE"}, 400, "InvalidParameter", "severity"),
            ({"query": "MountTargetIOPS[5m].max() >="}, 400, "InvalidParameter", "column"),
            ({"query": "MountTargetIOPS[5m].max()"}, 400, "InvalidParameter", "threshold"),
            ({"pendingDuration": "PT0M"}, 400, "InvalidParameter", "pendingDuration"),
            ({"pendingDuration": "PT61M"}, 400, "InvalidParameter", "pendingDuration"),
            ({"pendingDuration": "10m"}, 400, "InvalidParameter", "pendingDuration"),
            ({"evaluationSlackDuration": "PT2M"}, 400, "InvalidParameter", "evaluationSlackDuration"),
            ({"repeatNotificationDuration": "P31D"}, 400, "InvalidParameter", "repeatNotificationDuration"),
            ({"resolution": "5m"}, 400, "InvalidParameter", "resolution"),
            ({"messageFormat": "LOUD"}, 400, "InvalidParameter", "messageFormat"),
            ({"notificationVersion": "1.5"}, 400, "InvalidParameter", "notificationVersion"),
            ({"destinations": []}, 400, "InvalidParameter", "destinations"),
            ({"destinations": [TENANCY.topics[0], TENANCY.topics[0]]}, 400, "InvalidParameter", "at most one topic"),
            ({"destinations": [TENANCY.id]}, 400, "InvalidParameter", "topic or a stream"),
            (
                {"destinations": [OTHER_REGION_TOPIC]},
                400,
                "RelatedResourceNotAuthorizedOrNotFound",
                OTHER_REGION_TOPIC,
            ),
            ({"compartmentId": "ocid1.compartment.oc1..no"}, 404, "NotAuthorizedOrNotFound", "compartment"),
            ({"metricCompartmentId": TENANCY.compartments[0].id}, 400, "InvalidParameter", "InSubtree"),
            ({"overrides": [{"severity": "CRITICAL"}]}, 400, "InvalidParameter", "ruleName"),
            ({"overrides": [{"ruleName": "BASE"}]}, 400, "InvalidParameter", "ruleName"),
            ({"overrides": [{"ruleName": "A", "query": "x"}]}, 400, "InvalidParameter", "column"),
            ({"overrides": [{"ruleName": "A", "pendingDuration": "PT2H"}]}, 400, "InvalidParameter", "pendingDuration"),
            (
                {
                    "suppression": {
                        "timeSuppressFrom": "2027-01-02T00:00:00Z",
                        "timeSuppressUntil": "2027-01-01T00:00:00Z",
                    }
                },
                400,
                "InvalidParameter",
                "suppression",
            ),
            ({"freeformTags": {"a": 1}}, 400, "InvalidParameter", "freeformTags"),
        ],
    )
    def test_it_refuses(self, changes: dict[str, Any], status: int, code: str, word: str, sdk: Clients) -> None:
        with refused(status, code, word):
            create(sdk, **changes)
        assert listed(sdk) == []

    def test_a_stream_as_destination_forces_raw_messages_documented_create_alarm(self, sdk: Clients) -> None:
        both = [TENANCY.topics[0], TENANCY.streams[0]]
        assert create(sdk, destinations=both, messageFormat="PRETTY_JSON").data.message_format == "RAW"

    def test_names_are_not_unique_documented_create_alarm(self, sdk: Clients) -> None:
        assert create(sdk).data.id != create(sdk).data.id
        assert len(listed(sdk, display_name="fss-iops")) == 2

    def test_the_quota_ends_it_in_the_middle(self, regions: Callable[..., Region]) -> None:
        sdk = clients(regions(limits=RegionLimits(alarms=2)))
        first = create(sdk).data
        create(sdk)
        with refused(400, "LimitExceeded", "2 alarms"):
            create(sdk)
        sdk.monitoring.delete_alarm(first.id)
        assert create(sdk).status == 200


class TestRetryToken:
    def again(self, sdk: Clients, **changes: Any) -> Any:
        return sdk.monitoring.create_alarm(alarm_details(TENANCY, **changes), opc_retry_token="token-1").data

    def test_the_same_call_again_gives_the_same_alarm_documented_create_alarm(self, sdk: Clients) -> None:
        assert self.again(sdk).id == self.again(sdk).id
        assert len(listed(sdk)) == 1

    def test_another_body_or_a_deleted_alarm_invalidates_it_documented_api_errors(self, sdk: Clients) -> None:
        made = self.again(sdk)
        with refused(409, "InvalidatedRetryToken"):
            self.again(sdk, severity="INFO")
        sdk.monitoring.delete_alarm(made.id)
        with refused(409, "InvalidatedRetryToken"):
            self.again(sdk)

    def test_it_expires_after_a_day_documented_create_alarm(self, sdk: Clients, clock: Clock) -> None:
        made = self.again(sdk)
        clock.pass_minutes(24 * 60 + 1)
        assert self.again(sdk).id != made.id


class TestUpdate:
    def test_what_is_named_changes_and_the_rest_stays(self, sdk: Clients, clock: Clock) -> None:
        made = create(sdk).data
        clock.pass_minutes(1)
        changed = sdk.monitoring.update_alarm(made.id, {"severity": "INFO", "body": "see the runbook"}).data
        assert (changed.severity, changed.body, changed.query) == ("INFO", "see the runbook", QUERY)
        assert changed.time_updated > changed.time_created == made.time_created
        assert sdk.monitoring.get_alarm(made.id).data == changed

    def test_it_is_checked_like_a_new_one(self, sdk: Clients) -> None:
        made = create(sdk).data
        with refused(400, "InvalidParameter", "threshold"):
            sdk.monitoring.update_alarm(made.id, {"query": "MountTargetIOPS[5m].max()"})
        assert sdk.monitoring.get_alarm(made.id).data == made

    @pytest.mark.parametrize("act", ["update", "delete"])
    def test_an_outdated_etag_stops_it_documented_update_alarm(self, act: str, sdk: Clients) -> None:
        made = create(sdk)
        alarm, etag = made.data.id, made.headers["etag"]
        fresh = sdk.monitoring.update_alarm(alarm, {"body": "by hand"}, if_match=etag).headers["etag"]
        assert fresh != etag

        def do(tag: str) -> Any:
            if act == "delete":
                return sdk.monitoring.delete_alarm(alarm, if_match=tag)
            return sdk.monitoring.update_alarm(alarm, {"body": "by us"}, if_match=tag)

        with refused(412, "NoEtagMatch"):
            do(etag)
        assert sdk.monitoring.get_alarm(alarm).data.body == "by hand"
        assert do(fresh).status in (200, 204)

    def test_get_and_update_name_the_same_version(self, sdk: Clients) -> None:
        made = create(sdk)
        assert sdk.monitoring.get_alarm(made.data.id).headers["etag"] == made.headers["etag"]


class TestDelete:
    def test_a_deleted_alarm_is_listed_only_as_deleted(self, sdk: Clients) -> None:
        made = create(sdk).data
        assert sdk.monitoring.delete_alarm(made.id).status == 204
        assert listed(sdk) == []
        assert [row.id for row in listed(sdk, lifecycle_state="DELETED")] == [made.id]
        with refused(404, "NotAuthorizedOrNotFound"):
            sdk.monitoring.get_alarm(made.id)
        with refused(404, "NotAuthorizedOrNotFound"):
            sdk.monitoring.delete_alarm(made.id)


class TestList:
    def test_it_is_by_compartment(self, sdk: Clients) -> None:
        storage, batch = TENANCY.compartments[1].id, TENANCY.compartments[2].id
        for name, severity, place in (("b", "INFO", storage), ("a", "CRITICAL", storage), ("c", "ERROR", batch)):
            create(sdk, displayName=name, severity=severity, compartmentId=place)
        assert {alarm.display_name for alarm in sdk.monitoring.list_alarms(storage).data} == {"a", "b"}
        assert [row.display_name for row in listed(sdk)] == ["b", "a", "c"]

    def test_summaries_are_poorer_than_what_get_answers(self, sdk: Clients) -> None:
        create(sdk, body="long story")
        assert not hasattr(listed(sdk)[0], "body")

    def test_it_has_pages(self, regions: Callable[..., Region]) -> None:
        sdk = clients(regions(limits=RegionLimits(page=2)))
        for number in range(3):
            create(sdk, displayName=f"alarm-{number}")
        first = sdk.monitoring.list_alarms(TENANCY.id, compartment_id_in_subtree=True)
        rest = sdk.monitoring.list_alarms(TENANCY.id, compartment_id_in_subtree=True, page=first.next_page)
        assert (len(first.data), len(rest.data), rest.has_next_page) == (2, 1, False)


class TestStatus:
    def status(self, sdk: Clients, **options: Any) -> Any:
        statuses = sdk.monitoring.list_alarms_status(TENANCY.id, compartment_id_in_subtree=True, **options).data
        assert len(statuses) == 1
        return statuses[0]

    @pytest.fixture
    def home_b(self, sdk: Clients) -> Clients:
        """An alarm on mt-home-b, whose usual 2,500 IOPS are told to rest first."""
        sdk.region.set_load("mt-home-b", 0.1)
        chosen = f'{{resourceId = "{TENANCY.named("mt-home-b")}"}}'
        query = f"MountTargetIOPS[1m]{chosen}.max() >= 40000"
        critical = [{"ruleName": "CRITICAL", "severity": "CRITICAL", "query": query.replace("40000", "47500")}]
        create(sdk, query=query, pendingDuration="PT5M", overrides=critical)
        return sdk

    def test_it_fires_after_the_pending_duration_and_the_slack_and_is_ok_again_at_once(
        self, home_b: Clients, clock: Clock
    ) -> None:
        """Documented: "Overview of Monitoring" (pending duration, 3 minutes of slack, no hold-down)."""
        home_b.region.set_load("mt-home-b", 17.4)  # about 43,800 IOPS: above 80 %, below 95 %
        history = []
        for _ in range(15):
            history.append(self.status(home_b).status)
            clock.pass_minutes(1)
        # minute 0 is the first that breaches; the fifth is minute 4, and 3 minutes of slack make it minute 7
        assert history == ["OK"] * 7 + ["FIRING"] * 8
        assert self.status(home_b).severity == "WARNING"
        assert self.status(home_b).rule_name == "BASE"
        home_b.region.set_load("mt-home-b", 0.1)
        clock.pass_minutes(2)
        assert self.status(home_b).status == "FIRING"
        clock.pass_minutes(1)
        assert self.status(home_b).status == "OK"

    def test_the_first_override_that_holds_names_the_severity_documented_alarm_override(
        self, home_b: Clients, clock: Clock
    ) -> None:
        home_b.region.set_load("mt-home-b", 100)
        clock.pass_minutes(10)
        assert (self.status(home_b).severity, self.status(home_b).rule_name) == ("CRITICAL", "CRITICAL")

    def test_it_says_when_it_began(self, home_b: Clients, clock: Clock) -> None:
        home_b.region.set_load("mt-home-b", 17.4)
        clock.pass_minutes(30)
        assert self.status(home_b).timestamp_triggered == datetime.fromtimestamp(NOW + 4 * 60, UTC)

    def test_it_can_be_filtered_and_suppressed(self, home_b: Clients, clock: Clock) -> None:
        home_b.region.set_load("mt-home-b", 17.4)
        clock.pass_minutes(10)
        assert self.status(home_b, status="FIRING").status == "FIRING"
        assert home_b.monitoring.list_alarms_status(TENANCY.id, compartment_id_in_subtree=True, status="OK").data == []
        alarm = listed(home_b)[0].id
        hour = {"timeSuppressFrom": "2027-01-15T08:00:00Z", "timeSuppressUntil": "2027-01-15T09:00:00Z"}
        home_b.monitoring.update_alarm(alarm, {"suppression": hour})
        assert self.status(home_b).status == "SUSPENDED"

    def test_no_alarm_triggered_before_it_was_created(self, sdk: Clients, clock: Clock) -> None:
        """The mount target is idle for an hour before the alarm is made, and still."""
        clock.pass_minutes(60)
        create(sdk, query="MountTargetIOPS[1m].min() >= 0", pendingDuration="PT1M", overrides=None)
        assert self.status(sdk).status == "OK"
        clock.pass_minutes(4)
        assert self.status(sdk).status == "FIRING"
        assert self.status(sdk).timestamp_triggered == datetime.fromtimestamp(NOW + 60 * 60, UTC)

    def test_the_summary_is_filled_in_documented_alarm_message_format(self, home_b: Clients, clock: Clock) -> None:
        assert 'Alarm "fss-iops" is in a "OK" state' in self.status(home_b).alarm_summary
        alarm = listed(home_b)[0].id
        text = "{{severity}} {{{status}}} {{namespace}} {{colour}}!"
        home_b.monitoring.update_alarm(alarm, {"alarmSummary": text})
        home_b.region.set_load("mt-home-b", 100)
        clock.pass_minutes(10)
        assert self.status(home_b).alarm_summary == "CRITICAL FIRING oci_filestorage !"

    def test_statuses_are_filtered_by_resource_service_and_entity_documented_list_alarms_status(
        self, home_b: Clients
    ) -> None:
        def ids(**options: Any) -> list[Any]:
            return list(
                home_b.monitoring.list_alarms_status(TENANCY.id, compartment_id_in_subtree=True, **options).data
            )

        assert len(ids(resource_id=TENANCY.named("mt-home-b"))) == 1
        assert ids(resource_id=TENANCY.named("mt-home")) == []
        assert ids(service_name="logging-analytics") == ids(entity_id=TENANCY.named("mt-home-b")) == []

    def test_a_disabled_alarm_has_none(self, home_b: Clients) -> None:
        home_b.monitoring.update_alarm(listed(home_b)[0].id, {"isEnabled": False})
        assert home_b.monitoring.list_alarms_status(TENANCY.id, compartment_id_in_subtree=True).data == []

    def test_absence_fires_when_a_mount_target_goes_silent(self, sdk: Clients, clock: Clock) -> None:
        query = "MountTargetConnections[5m].groupBy(resourceId).absent() == 1"
        create(sdk, query=query, pendingDuration="PT1M", overrides=None)
        assert self.status(sdk).status == "OK"
        sdk.region.delete("mt-idle")
        clock.pass_minutes(12)
        assert self.status(sdk).status == "FIRING"


class TestHistory:
    @pytest.fixture
    def fired(self, sdk: Clients, clock: Clock) -> tuple[Clients, str]:
        """An alarm that fired from minute 4 to 9 after its creation, with the override from minute 6."""
        query = f'MountTargetIOPS[1m]{{resourceId = "{TENANCY.named("mt-idle")}"}}.max() >= 1'
        critical = [{"ruleName": "CRITICAL", "severity": "CRITICAL", "query": query.replace(">= 1", ">= 1000")}]
        alarm = create(sdk, query=query, pendingDuration="PT1M", overrides=critical).data.id
        for minute, iops in ((4, 10.0), (5, 10.0), (6, 5000.0), (7, 5000.0), (8, 10.0), (9, 10.0)):
            mix = RequestMix((RequestRate("GETATTR", 0, iops, 1),))
            sdk.region.record("mt-idle", MINUTE + minute, mix)
        clock.pass_minutes(30)
        return sdk, alarm

    def entries(self, sdk: Clients, alarm: str, **options: Any) -> list[tuple[float, str]]:
        entries = sdk.monitoring.get_alarm_history(alarm, **options).data.entries
        return [((row.timestamp_triggered.timestamp() - NOW) / 60, row.summary) for row in entries]

    def test_state_transitions_are_newest_first_documented_get_alarm_history(self, fired: tuple[Clients, str]) -> None:
        assert self.entries(*fired, alarm_historytype="STATE_TRANSITION_HISTORY") == [
            (10, "State transitioned from FIRING to OK"),
            (4, "State transitioned from OK to FIRING"),
        ]

    def test_rule_transitions_name_the_rules(self, fired: tuple[Clients, str]) -> None:
        assert self.entries(*fired, alarm_historytype="RULE_TRANSITION_HISTORY") == [
            (8, "Rule transitioned from CRITICAL to BASE"),
            (6, "Rule transitioned from BASE to CRITICAL"),
        ]

    def test_every_evaluated_minute_has_a_state_and_none_is_before_the_creation(
        self, fired: tuple[Clients, str]
    ) -> None:
        states = self.entries(*fired, alarm_historytype="STATE_HISTORY")
        assert [minute for minute, _ in states] == list(range(27, -1, -1))
        assert states[20] == (7, "The alarm state is FIRING")

    def test_it_is_limited_by_time_and_has_pages(self, fired: tuple[Clients, str]) -> None:
        sdk, alarm = fired
        window = {
            "timestamp_greater_than_or_equal_to": datetime.fromtimestamp(NOW + 10 * 60, UTC),
            "timestamp_less_than": datetime.fromtimestamp(NOW + 12 * 60, UTC),
        }
        assert len(self.entries(sdk, alarm, alarm_historytype="STATE_HISTORY", **window)) == 2
        page = sdk.monitoring.get_alarm_history(alarm, alarm_historytype="STATE_HISTORY", limit=20)
        rest = sdk.monitoring.get_alarm_history(
            alarm, alarm_historytype="STATE_HISTORY", limit=20, page=page.headers["opc-next-page"]
        )
        assert (len(page.data.entries), len(rest.data.entries)) == (20, 8)

    def test_an_unknown_alarm_has_none(self, sdk: Clients) -> None:
        with refused(404, "NotAuthorizedOrNotFound"):
            sdk.monitoring.get_alarm_history("ocid1.alarm.oc1.x.y")
