"""From what there is to a plan, and how plans and alarms are written down, without a cloud."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from tests.fss_toolbox.alarms.alarm_inputs import FIRST, PACK, SCOPE, SECOND, target

from fss_toolbox import mql
from fss_toolbox.alarms import alarm_plan, pack, render, show
from fss_toolbox.alarms.alarm_plan import Existing, Plan, SavedPlan, plan, removal
from fss_toolbox.alarms.desired import AlarmInputs, desired
from fss_toolbox.mql import JoinOrder


def stored(alarms: Iterable[pack.Alarm]) -> list[Existing]:
    """As OCI would have them: with what it adds and what it leaves out."""
    return [
        Existing(
            f"ocid1.alarm.{alarm.key}",
            {
                **json.loads(json.dumps(alarm.body)),
                "id": f"ocid1.alarm.{alarm.key}",
                "lifecycleState": "ACTIVE",
                "resourceGroup": None,
                "suppression": None,
                "timeCreated": "2026-01-01T00:00:00Z",
            },
            f"etag-{alarm.key}",
        )
        for alarm in alarms
    ]


def edited(existing: Existing, **changes: Any) -> Existing:
    return Existing(existing.ocid, {**existing.body, **changes}, existing.etag)


class TestPlan:
    alarms = desired(PACK, SCOPE, AlarmInputs([target(FIRST)]))

    def plan_with(self, **changes: Any) -> Plan:
        first, *rest = stored(self.alarms)
        return plan(self.alarms, [edited(first, **changes), *rest], {})

    def test_nothing_there_means_create_everything(self) -> None:
        made = plan(self.alarms, [], {})
        assert [step.name for step in made.of("create")] == sorted(alarm.name for alarm in self.alarms)
        assert len(made.steps) == len(self.alarms)

    def test_defined_tags_of_a_template_are_set_and_those_of_others_stay(self) -> None:
        tagged = [
            pack.Alarm(alarm.key, {**alarm.body, "definedTags": {"Cost": {"center": "7"}}}) for alarm in self.alarms
        ]
        first, *rest = stored(tagged)
        assert plan(tagged, [first, *rest], {}).changes == ()
        theirs = {"Cost": {"center": "9", "owner": "it"}, "Oracle-Tags": {"CreatedBy": "ann"}}
        (step,) = plan(tagged, [edited(first, definedTags=theirs), *rest], {}).changes
        assert step.body == {"definedTags": {**theirs, "Cost": {"center": "7", "owner": "it"}}}
        assert plan(self.alarms, [edited(first, definedTags=theirs), *stored(self.alarms)[1:]], {}).changes == ()
        assert alarm_plan.is_as_planned(step, {**first.body, **step.body})
        assert not alarm_plan.is_as_planned(step, {**first.body, "definedTags": theirs})

    @pytest.mark.parametrize(
        "spelled_otherwise",
        [
            {"pendingDuration": "PT600S"},
            {"repeatNotificationDuration": "PT720M"},
            {"resolution": None},
            {"metricCompartmentIdInSubtree": None},
            {"query": alarms[0].body["query"].replace(", ", ",").replace(" =~ ", "=~")},
            {"evaluationSlackDuration": "PT300S"},
            {"ruleName": "BASE"},
            {"definedTags": {"Oracle-Tags": {"CreatedBy": "someone"}}, "systemTags": {}, "notificationVersion": "1.X"},
            {"freeformTags": {**dict(alarms[0].body["freeformTags"]), "team": "storage"}},
            {"compartmentId": "ocid1.moved"},
        ],
    )
    def test_the_same_thing_said_otherwise_is_no_change(self, spelled_otherwise: dict[str, Any]) -> None:
        assert self.alarms[0].key == "kerberos-errors"
        assert self.plan_with(**spelled_otherwise).changes == ()

    @pytest.mark.parametrize(
        ("order", "changes"),
        [("&& binds tighter", 0), ("|| binds tighter", 1), ("read from left to right", 1), (None, 1)],
    )
    def test_a_query_without_parentheses_is_the_same_only_if_the_account_is_known_to_read_it_so(
        self, order: JoinOrder | None, changes: int
    ) -> None:
        slow = next(alarm for alarm in stored(self.alarms) if alarm.name == "fss-mount-target-slow")
        joined = str(slow.body["query"])
        assert ") || (" in joined
        bare = joined.removeprefix("(").removesuffix(")").replace(") || (", " || ")
        present = [edited(slow, query=bare), *(alarm for alarm in stored(self.alarms) if alarm.ocid != slow.ocid)]
        assert [change.name for step in plan(self.alarms, present, {}, order).changes for change in step.changes] == [
            "query"
        ] * changes

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("query", "KerberosErrors[5m].groupBy(resourceId).sum() > 5"),
            ("query", "edited by hand so that it does not parse"),
            ("pendingDuration", "PT1M"),
            ("severity", "INFO"),
            ("isEnabled", False),
            ("body", None),
            ("evaluationSlackDuration", "PT2H"),
            ("alarmSummary", None),
            ("notificationTitle", "all is well"),
            ("metricCompartmentId", "ocid1.compartment.oc1..other"),
            ("namespace", "oci_blockstore"),
            ("isNotificationsPerMetricDimensionEnabled", "other"),
            ("repeatNotificationDuration", None),
            ("destinations", ["ocid1.onstopic.oc1.fra.other"]),
            ("overrides", [{"ruleName": "MINE", "query": "KerberosErrors[5m].sum() > 9", "severity": "INFO"}]),
        ],
    )
    def test_an_edit_by_hand_is_undone_field_by_field(self, field: str, value: Any) -> None:
        made = self.plan_with(**{field: value})
        (step,) = made.changes
        assert step.kind == "update"
        assert dict(step.body) == {field: self.alarms[0].body[field]}
        assert step.etag == "etag-kerberos-errors"

    @pytest.mark.parametrize(
        ("field", "value", "default"),
        [
            ("resourceGroup", "none-of-ours", None),
            ("ruleName", "MINE", "BASE"),
        ],
    )
    def test_a_field_the_pack_leaves_to_oci_goes_back_to_its_default(
        self, field: str, value: str, default: str | None
    ) -> None:
        (step,) = self.plan_with(**{field: value}).changes
        assert dict(step.body) == {field: default}

    def test_every_field_that_an_update_can_set_is_compared_or_named_as_harmless(self) -> None:
        from oci.monitoring.models import Alarm, UpdateAlarmDetails

        settable = set(UpdateAlarmDetails().attribute_map.values())
        kept = {"suppression"}
        assert set(alarm_plan._SETTABLE) | kept == settable - alarm_plan._LEFT_ALONE
        assert set(Alarm().attribute_map.values()) == set(alarm_plan._SETTABLE) | kept | (
            alarm_plan._LEFT_ALONE - {"systemTags"}
        )

    @pytest.mark.parametrize(
        ("field", "value", "shown"),
        [
            (
                "suppression",
                {"description": "quiet", "timeSuppressFrom": "a", "timeSuppressUntil": "2036-01-01"},
                "suppression: description=quiet, timeSuppressFrom=a, timeSuppressUntil=2036-01-01",
            ),
            ("newSilencer", {"on": True}, "newSilencer: on=True"),
            ("snooze", "PT9H", "snooze: PT9H"),
        ],
    )
    def test_what_may_silence_an_alarm_and_is_not_ours_stays_and_is_shown(
        self, field: str, value: Any, shown: str
    ) -> None:
        made = self.plan_with(**{field: value})
        assert made.changes == ()
        text = "\n".join(show.plan_lines(made))
        assert f"{shown}  (stays, and may silence the alarm)" in text
        assert "1 with a setting that may silence it" in text
        assert field not in "\n".join(show.plan_lines(self.plan_with()))

    def test_tags_of_others_survive_an_update_of_ours(self) -> None:
        tags = {**self.alarms[0].body["freeformTags"], "prometheus-alert": "Old", "team": "storage"}
        (step,) = self.plan_with(freeformTags=tags).changes
        assert step.body["freeformTags"] == {**self.alarms[0].body["freeformTags"], "team": "storage"}

    def test_what_is_ours_and_no_longer_wanted_is_deleted(self) -> None:
        made = plan(self.alarms[1:], stored(self.alarms), {})
        (step,) = made.changes
        assert (step.kind, step.ocid, step.etag) == ("delete", "ocid1.alarm.kerberos-errors", "etag-kerberos-errors")

    def test_of_two_with_the_same_tag_the_older_stays_and_a_flag_deletes_the_other(self) -> None:
        first, *rest = stored(self.alarms)
        double = Existing("ocid1.alarm.double", {**first.body, "timeCreated": "2026-02-01T00:00:00Z"}, "etag-double")
        owned = [double, first, *rest]
        made = plan(self.alarms, owned, {})
        assert made.changes == ()
        assert [step.ocid for step in made.of("clash")] == ["ocid1.alarm.double"]
        (step,) = plan(self.alarms, owned, {}, delete_copies=True).changes
        assert (step.kind, step.ocid) == ("delete", "ocid1.alarm.double")

    def test_a_foreign_alarm_of_the_same_name_is_left_alone_and_not_doubled(self) -> None:
        made = plan(self.alarms[:1], [], {self.alarms[0].name: "ocid1.alarm.foreign"})
        (step,) = made.steps
        assert step.kind == "clash"
        assert "ocid1.alarm.foreign" in step.reason
        assert made.changes == ()

    def test_destroy_deletes_all_of_ours(self) -> None:
        made = removal(stored(self.alarms))
        assert {step.kind for step in made.steps} == {"delete"}
        assert len(made.steps) == len(self.alarms)

    def test_what_was_created_from_a_plan_needs_no_other(self) -> None:
        for inputs in (AlarmInputs(), AlarmInputs([target(FIRST), target(SECOND, "hpmt-20")], published=True)):
            alarms = desired(PACK, SCOPE, inputs)
            created = [pack.Alarm(step.name, step.body) for step in plan(alarms, [], {}).of("create")]
            assert plan(alarms, stored(created), {}).changes == ()


class TestShowing:
    alarms = desired(PACK, SCOPE, AlarmInputs([target(FIRST)]))

    def test_a_plan_reads_as_a_diff(self) -> None:
        failing = next(alarm for alarm in self.alarms if alarm.key == "mount-target-failing")
        there = stored([failing])[0]
        rules = [{**failing.body["overrides"][0], "query": failing.body["query"]}]
        now = [edited(there, pendingDuration="PT1M", severity="INFO", overrides=rules), *stored(self.alarms[:1])]
        text = "\n".join(show.plan_lines(plan([failing, self.alarms[1]], now, {})))
        assert text.splitlines() == [
            "  + fss-ldap-errors                              create",
            f"      WARNING after PT10M: {self.alarms[1].body['query']}",
            "  ~ fss-mount-target-failing                     update",
            "      pendingDuration: PT1M -> PT3M",
            "      severity: INFO -> WARNING",
            "      overrides:",
            "        CRITICAL.query:",
            f"          - {failing.body['query']}",
            f"          + {failing.body['overrides'][0]['query']}",
            "  - fss-kerberos-errors                          delete: no longer wanted here",
            "Plan: 1 to create, 1 to update, 1 to delete, 0 unchanged.",
        ]

    def test_a_changed_list_of_mount_targets_shows_which_came_and_went(self) -> None:
        name, listed = "query", [f"ocid1.mounttarget.oc1.r.aaaaaaaaaaaaaaaaaaaaaa00000{number}" for number in range(5)]

        def lines(old: list[str], new: list[str]) -> list[str]:
            body = {"freeformTags": {pack.KEY_TAG: "mine", pack.PACK_TAG: "fss"}, "displayName": "mine"}
            alarm, earlier = (
                {**body, name: f'A[5m]{{resourceId =~ "{"|".join(ocids)}"}}.max() >= 1'} for ocids in (new, old)
            )
            planned = plan([pack.Alarm("mine", alarm)], stored([pack.Alarm("mine", earlier)]), {})
            return [line.strip() for line in show.plan_lines(planned) if "A[5m]" in line]

        assert lines(listed[:4], listed[1:]) == [
            "- A[5m].max() >= 1  (only for ocid1...000000, 3 in both)",
            "+ A[5m].max() >= 1  (only for ocid1...000004, 3 in both)",
        ]
        assert lines(listed[:2], listed[:3]) == [
            "- A[5m].max() >= 1  (only for 2 in both)",
            "+ A[5m].max() >= 1  (only for ocid1...000002, 2 in both)",
        ]
        assert lines(listed[:2], listed[1:2]) == [
            "- A[5m].max() >= 1  (only for ocid1...000000, ocid1...000001)",
            "+ A[5m].max() >= 1  (only for ocid1...000001)",
        ]

    def test_a_new_alarm_shows_its_critical_rule_beside_its_warning(self) -> None:
        slow = next(alarm for alarm in self.alarms if alarm.key == "mount-target-failing")
        lines = [line.strip() for line in show.plan_lines(plan([slow], [], {}))]
        assert [line.split(":")[0] for line in lines[1:3]] == ["CRITICAL after PT3M", "WARNING after PT3M"]
        assert " < 95 " in lines[1]
        assert " < 99 " in lines[2]

    def test_a_short_ocid_stands_beside_a_query_and_not_in_it(self) -> None:
        both = desired(PACK, SCOPE, AlarmInputs([target(FIRST), target(SECOND, "hpmt-20")]))
        shown = [line for line in show.plan_lines(plan(both, [], {})) if "ocid1..." in line]
        assert shown
        for line in shown:
            query, _, words = line.partition(" after PT")[2].partition(": ")[2].partition("  (only for ")
            assert "ocid1" in words
            assert mql.is_trigger(mql.parse(query)), line

    def test_a_plan_is_kept_with_half_a_character_of_an_edited_alarm(self) -> None:
        hostile = edited(stored(self.alarms[:1])[0], body="half \ud800")
        kept = alarm_plan.saved_json(SavedPlan(1, "r", "c", "fss", plan(self.alarms[:1], [hostile], {})))
        (step,) = alarm_plan.read_saved("plan.json", kept.encode()).plan.changes
        assert [change.old for change in step.changes] == ["half ?"]

    def test_a_plan_edited_by_hand_is_shown_and_compared(self) -> None:
        body = {**self.alarms[0].body, "overrides": None}
        body["freeformTags"] = {**body["freeformTags"], pack.KEY_TAG: ["of", "its", "own"]}
        kept = alarm_plan.saved_json(SavedPlan(1, "r", "c", "fss", plan([pack.Alarm("x", body)], [], {})))
        read = alarm_plan.read_saved("plan.json", kept.encode())
        alarm_plan.check_current(read, stored(self.alarms), {})
        assert list(show.plan_lines(read.plan))[-1].startswith("Plan: 1 to create")

    def test_control_characters_of_edited_alarms_do_not_reach_the_terminal(self) -> None:
        hostile = edited(stored(self.alarms[:1])[0], displayName="\x1b[2J\nevil", body="a\nb\x07")
        lines = [*show.plan_lines(plan(self.alarms[:1], [hostile], {})), *show.plan_lines(removal([hostile]))]
        assert all(line.isprintable() for line in lines)


class TestRendering:
    alarm = desired(PACK, SCOPE, AlarmInputs([target(FIRST), target(SECOND, "hpmt-20")]))

    def test_the_cli_calls_the_query_otherwise_but_not_in_overrides(self) -> None:
        alarm = next(alarm for alarm in self.alarm if alarm.body.get("overrides"))
        body = render.body_of(alarm, "cli")
        assert body["queryText"] == alarm.body["query"]
        assert "query" not in body
        assert "query" in body["overrides"][0]

    def test_terraform_escapes_what_it_would_interpolate(self) -> None:
        hostile = pack.Alarm("x", {"displayName": "a b", "body": 'say "${x}" %{y} \\ \n', "isEnabled": True})
        assert render.terraform([hostile]) == (
            'resource "oci_monitoring_alarm" "a_b" {\n'
            '  display_name = "a b"\n'
            '  body         = "say \\"$${x}\\" %%{y} \\\\ \\n"\n'
            "  is_enabled   = true\n"
            "}\n"
        )

    def test_terraform_writes_defined_tags_by_namespace_and_key(self) -> None:
        tagged = pack.Alarm("x", {"displayName": "x", "definedTags": {"ops": {"tier": "gold"}}, "freeformTags": {}})
        assert render.terraform([tagged]) == (
            'resource "oci_monitoring_alarm" "x" {\n'
            '  display_name = "x"\n'
            "  defined_tags = {\n"
            '    "ops.tier" = "gold"\n'
            "  }\n"
            "}\n"
        )

    @pytest.mark.parametrize("tags", [None, {}, {"ops": {}}])
    def test_terraform_leaves_out_tags_that_are_empty(self, tags: object) -> None:
        untagged = pack.Alarm("x", {"displayName": "x", "definedTags": tags, "freeformTags": tags and {}})
        assert "tags" not in render.terraform([untagged])

    def test_the_file_of_an_alarm_stays_in_its_folder(self) -> None:
        named = pack.Alarm("x", {"displayName": "../a/b", "freeformTags": {}})
        assert list(render.files([named], "json")) == [".._a_b.json"]

    def test_terraform_makes_a_variable_of_a_placeholder_that_is_left(self) -> None:
        text = render.terraform(
            [pack.Alarm("x", {"displayName": "x", "query": 'A{r = "${SOME_OCID}"}', "destinations": ["${TOPIC_OCID}"]})]
        )
        assert 'variable "some_ocid" {\n  type = string\n}' in text
        assert 'query        = "A{r = \\"${var.some_ocid}\\"}"' in text
        assert "destinations = [var.topic_ocid]" in text
