"""`fss-exporter alarms` as an operator or a pipeline runs it, against the demo region over HTTP."""

import errno
import json
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.fss_toolbox.cli.alarms_operator import COMPARTMENTS, HOME, MQL, STORAGE, TOPIC, Operator
from tests.fss_toolbox.demo.sdk import clients
from tests.processes import NEVER_S, PROMPT_S, wait_for
from tests.prompt import ask
from tests.region import Region, small

from fss_toolbox.alarms import pack


class TestTheWayOfWork:
    def test_plan_apply_plan_and_destroy_have_the_exit_codes_of_terraform(self, operator: Operator) -> None:
        assert operator.alarms("plan").code == 0, "whatever it finds, without the flag"
        first = operator.alarms("plan", "--detailed-exitcode")
        assert not {"CreateAlarm", "UpdateAlarm", "DeleteAlarm"} & set(operator.region.calls)
        assert (first.code, first.out.splitlines()[-1]) == (
            2,
            "Plan: 2 to create, 0 to update, 0 to delete, 0 unchanged.",
        )
        applied = operator.alarms("apply")
        assert (applied.code, applied.out.splitlines()[-1]) == (0, "Done: 2 of 2.")
        again = operator.alarms("plan", "--detailed-exitcode")
        assert (again.code, again.out) == (0, "Plan: 0 to create, 0 to update, 0 to delete, 2 unchanged.\n")
        assert operator.alarms("apply").code == 0
        assert operator.region.calls["CreateAlarm"] == 2
        assert operator.destroy().code == 0
        assert operator.alarms("plan", "--detailed-exitcode").code == 2

    def test_the_pack_of_other_services_stands_beside_the_first(self, operator: Operator) -> None:
        operator.alarms("apply")
        operator.pack = MQL / "templates" / "other-services"
        first = operator.alarms("apply", "--name", "fss-other")
        assert first.code == 0
        assert "fss-other-volume-iops-30000" in first.out
        assert operator.alarms("plan", "--name", "fss-other", "--detailed-exitcode").code == 0

        rendered = operator.alarms("render", "--name", "fss-other", "--from-inventory", "--output", "terraform").out
        assert 'resource "oci_monitoring_alarm" "fss_other_volume_bandwidth_240000000"' in rendered

    def test_deleting_needs_a_confirmation(self, operator: Operator) -> None:
        operator.alarms("apply")
        (operator.pack / "fss-kerberos-errors.json").unlink()
        refused = operator.alarms("apply")
        assert refused.code == 2
        assert "1 alarms would be deleted, and no terminal can confirm: give --yes" in refused.err
        assert "DeleteAlarm" not in operator.region.calls
        assert operator.alarms("apply", "--yes").code == 0
        assert operator.region.calls["DeleteAlarm"] == 1

    def test_every_change_is_made_although_the_reader_of_the_output_left(
        self, operator: Operator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def echo(text: str = "", **_: bool) -> None:
            if text.endswith("created"):
                raise BrokenPipeError(errno.EPIPE, "Broken pipe")

        monkeypatch.setattr("fss_toolbox.cli.alarms.echo", echo)
        operator.alarms("apply")
        assert operator.region.calls["CreateAlarm"] == 2

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_ctrl_c_and_the_end_of_a_pipeline_say_that_the_change_under_way_may_have_been_made(
        self, operator: Operator, number: signal.Signals
    ) -> None:
        operator.region.add_fault(f"slow:CreateAlarm,seconds={NEVER_S}")
        command = ["fss-exporter", "alarms", "apply", *operator.account(), "--compartment", STORAGE, "--topic", TOPIC]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
            wait_for(lambda: operator.region.calls["CreateAlarm"], "the first change")
            running.send_signal(number)
            _, said = running.communicate(timeout=PROMPT_S)
        assert running.returncode == 128 + number
        assert "the change under way may have been made. Run the command again" in said


class TestASavedPlan:
    def test_a_saved_plan_is_carried_out_exactly_without_a_confirmation(
        self, operator: Operator, tmp_path: Path
    ) -> None:
        plan = tmp_path / "plan.json"
        shown = operator.alarms("plan", "--out", str(plan))
        applied = ask("alarms", "apply", *operator.account(), plan)
        assert applied.code == 0
        assert applied.out.startswith(shown.out)
        assert operator.alarms("plan", "--detailed-exitcode").code == 0

    def test_is_refused_whole_once_it_is_stale(self, operator: Operator, tmp_path: Path) -> None:
        plan = tmp_path / "plan.json"
        operator.alarms("plan", "--out", str(plan))
        operator.alarms("apply")
        calls = operator.region.calls["CreateAlarm"]
        again = ask("alarms", "apply", *operator.account(), plan)
        assert again.code == 2
        assert "was created after this plan was made. Plan again" in again.err
        assert operator.region.calls["CreateAlarm"] == calls

    @pytest.mark.parametrize(
        ("change", "has_changes"), [("edited", True), ("edited", False), ("deleted", True), ("handed over", True)]
    )
    def test_is_refused_whole_after_a_change_by_hand_of_one_alarm(
        self, operator: Operator, tmp_path: Path, change: str, *, has_changes: bool
    ) -> None:
        """Without the check of all etags, the steps for the other alarms would be made before OCI refuses this one."""
        operator.alarms("apply")
        monitoring = clients(operator.region).monitoring
        listed = monitoring.list_alarms(STORAGE).data
        for alarm in listed if has_changes else ():
            monitoring.update_alarm(alarm.id, {"severity": "INFO"})
        plan = tmp_path / "plan.json"
        operator.alarms("plan", "--out", str(plan))
        last = max(listed, key=lambda alarm: alarm.display_name)
        match change:
            case "edited":
                monitoring.update_alarm(last.id, {"severity": "ERROR"})
            case "deleted":
                monitoring.delete_alarm(last.id)
            case _:
                monitoring.update_alarm(last.id, {"freeformTags": {}})
        calls = operator.region.calls["UpdateAlarm"]
        answer = ask("alarms", "apply", *operator.account(), plan)
        assert (answer.code, answer.out) == (2, "")
        assert f"{last.display_name} was changed or deleted after this plan was made. Plan again" in answer.err
        assert operator.region.calls["UpdateAlarm"] == calls

    def test_deletes_no_alarm_that_is_not_of_its_pack(self, operator: Operator, tmp_path: Path) -> None:
        operator.alarms("apply")
        foreign = clients(operator.region).monitoring.list_alarms(STORAGE).data[0]
        step = {"kind": "delete", "name": foreign.display_name, "ocid": foreign.id, "etag": "*"}
        head = {"version": 1, "region": small().region, "alarm_compartment": STORAGE, "name": "batch"}
        (tmp_path / "plan.json").write_text(json.dumps({**head, "plan": {"steps": [step]}}))
        answer = ask("alarms", "apply", *operator.account(), "--yes", tmp_path / "plan.json")
        assert answer.code == 2
        assert operator.region.calls["DeleteAlarm"] == 0

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2}', '{"version": 1, "plan": {"steps": 3}}'])
    def test_a_file_that_is_no_plan_is_refused(self, operator: Operator, tmp_path: Path, content: str) -> None:
        (tmp_path / "plan.json").write_text(content)
        answer = ask("alarms", "apply", *operator.account(), tmp_path / "plan.json")
        assert answer.code == 2
        assert "not a plan of this version" in answer.err

    def test_a_plan_of_another_region_is_refused(self, operator: Operator, tmp_path: Path) -> None:
        plan = tmp_path / "plan.json"
        operator.alarms("plan", "--out", str(plan))
        answer = ask("alarms", "apply", *operator.account(), "--oci.region", "eu-zurich-1", plan)
        assert answer.code == 2
        assert "a plan for eu-frankfurt-1, and this is eu-zurich-1" in answer.err

    def test_a_missing_or_unwritable_file_is_reported(self, operator: Operator, tmp_path: Path) -> None:
        assert "cannot read" in ask("alarms", "apply", *operator.account(), tmp_path / "none.json").err
        assert "cannot be written: No such file" in operator.alarms("plan", "--out", str(tmp_path / "no" / "plan")).err


class TestWhatIsThereDecides:
    def test_a_mount_target_that_tags_leave_out_has_no_ceiling_of_another(self, operator: Operator) -> None:
        """The high-performance mount target would fire at the ceiling of the standard one."""
        operator.config.write_text(f"oci: {{endpoint: '{operator.region.url}', include: {{tags: {{team: it}}}}}}\n")
        operator.alarms("apply")
        listed = clients(operator.region).monitoring.list_alarms(STORAGE).data
        (alarm,) = (alarm for alarm in listed if "iops-peak" in alarm.display_name)
        assert alarm.query.split('"')[1] == HOME

    def test_a_configured_ceiling_produces_its_own_alarm_and_its_end_an_orphan(self, operator: Operator) -> None:
        operator.alarms("apply")
        operator.configure("limits: {mount_targets: {mt-home: {iops: 80000}}}")
        planned = operator.alarms("plan").out.splitlines()
        assert any(line.startswith("  + fss-mount-target-iops-peak-standard-80000") for line in planned)
        assert any(line.startswith("  ~ fss-mount-target-iops-peak-standard ") for line in planned)
        assert operator.alarms("apply").code == 0
        operator.region.delete("mt-home")
        after = operator.alarms("plan").out
        assert "  - fss-mount-target-iops-peak-standard-80000" in after

    def test_a_tenancy_without_the_undocumented_metric_has_a_warning_of_the_blind_alarm(
        self, operator: Operator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "never fires" not in operator.alarms("plan").err
        monkeypatch.setattr(
            "fss_toolbox.cli.alarm_options.spellings", lambda *_, **__: {"kerberoserrors": "KerberosErrors"}
        )
        blind = operator.alarms("plan")
        assert "fss-mount-target-iops-peak-standard: this compartment has no metric MountTargetIOPS" in blind.err

        assert "First run serve --oci.publish" in blind.err

    def test_alarms_on_published_metrics_are_refused_where_nobody_publishes_and_nothing_is_deleted(
        self, operator: Operator
    ) -> None:
        operator.alarms("apply")
        for command in (("plan",), ("apply", "--yes"), ("render", "--from-inventory")):
            refused = operator.alarms(*command, "--published")
            assert refused.code == 2
            assert f"no poller publishes in {STORAGE}" in refused.err
            assert "--before-publishing" in refused.err
        assert "DeleteAlarm" not in operator.region.calls
        assert operator.region.calls["CreateAlarm"] == 2

    def test_a_configuration_that_publishes_is_no_proof_that_somebody_does(self, operator: Operator) -> None:
        operator.config.write_text(f"oci: {{endpoint: '{operator.region.url}', publish: true}}\n")
        assert "no poller publishes in" in operator.alarms("apply").err

    def test_an_operator_who_publishes_later_makes_the_alarms_on_demand(self, operator: Operator) -> None:
        operator.alarms("apply")
        assert operator.alarms("apply", "--yes", "--published", "--before-publishing").code == 0
        assert operator.region.calls["DeleteAlarm"] == 1

    def test_alarms_on_published_metrics_take_their_place_once_a_poller_posts_and_not_for_posts_of_agents(
        self, operator: Operator
    ) -> None:
        post(operator.region, "ClientWaiting", address="10.0.0.5", host="client-1")
        post(operator.region, "AgentPosts", host="client-1")
        assert operator.alarms("plan", "--published").code == 2
        post(operator.region, "IopsUtilization", mountTargetId=HOME)
        assert operator.alarms("plan", "--published").code == 0

    def test_a_compartment_without_mount_targets_is_said_because_its_alarms_watch_nothing(
        self, operator: Operator
    ) -> None:
        for command in (("plan",), ("render", "--from-inventory")):
            answer = operator.alarms(*command, "--compartment", COMPARTMENTS["network"])
            assert answer.code == 0
            assert f"no mount target in {COMPARTMENTS['network']}" in answer.err
        assert operator.alarms("plan").err == ""

    def test_a_tenancy_whose_mount_targets_lie_below_is_told_the_flag_for_it(self, operator: Operator) -> None:
        answer = operator.alarms("plan", "--compartment", operator.region.tenancy.id)
        assert answer.err.endswith("For the compartments below the tenancy give --in-subtree\n")
        assert (
            "no mount target in"
            not in operator.alarms("plan", "--compartment", operator.region.tenancy.id, "--in-subtree").err
        )

    def test_tags_that_choose_no_mount_target_are_said(self, operator: Operator) -> None:
        operator.config.write_text(f"oci: {{endpoint: '{operator.region.url}', include: {{tags: {{team: nobody}}}}}}\n")
        answer = operator.alarms("plan")
        assert "has the tags of the configuration: no alarm watches a ceiling" in answer.err

    def test_a_clash_of_names_is_reported_and_exits_with_1(self, operator: Operator) -> None:
        body = pack.fill(
            pack.load(operator.pack)[0],
            {
                "ALARM_COMPARTMENT_OCID": STORAGE,
                "METRIC_COMPARTMENT_OCID": STORAGE,
                "TOPIC_OCID": TOPIC,
                "LEAST_ERRORS": "3",
            },
        ).body
        foreign = clients(operator.region).monitoring.create_alarm({**body, "freeformTags": {}}).data.id
        applied = operator.alarms("apply")
        assert applied.code == 1
        assert f"  ! fss-kerberos-errors                          left alone: {foreign} has this name" in applied.out
        assert operator.alarms("plan", "--detailed-exitcode").code == 1


def post(region: Region, name: str, **dimensions: str) -> None:
    """Post a custom metric as an exporter does."""
    details = {
        "namespace": "fss_exporter",
        "compartmentId": STORAGE,
        "name": name,
        "dimensions": dimensions,
        "datapoints": [{"timestamp": datetime.now(UTC).isoformat(), "value": 0.5}],
    }
    clients(region).monitoring.post_metric_data({"metricData": [details]})


class TestAPackOfAnotherCompartment:
    def test_is_not_taken_away_from_its_compartment_without_a_confirmation(self, operator: Operator) -> None:
        """Alarms of several compartments may lie in one compartment. Each set needs a name of its own."""
        operator.alarms("apply")
        calls = dict(operator.region.calls)
        other = ("--alarm-compartment", STORAGE, "--compartment", COMPARTMENTS["batch"])
        answer = operator.alarms("apply", *other)
        assert answer.code == 2
        assert "2 alarms would no longer watch" in answer.err
        assert "--name" in answer.err
        assert operator.region.calls.get("UpdateAlarm", 0) == calls.get("UpdateAlarm", 0)
        assert operator.alarms("apply", *other, "--name", "fss-batch").code == 0
        assert operator.alarms("plan", "--detailed-exitcode").code == 0

    def test_is_taken_over_on_demand(self, operator: Operator) -> None:
        operator.alarms("apply")
        whole = ("--alarm-compartment", STORAGE, "--compartment", small().id, "--in-subtree")
        assert operator.alarms("apply", *whole, "--yes").code == 0
        assert operator.alarms("plan", *whole, "--detailed-exitcode").code == 0


class TestTwoAppliesAtTheSameTime:
    def test_with_other_flags_both_say_so_and_a_flag_removes_the_younger(
        self, operator: Operator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        operator.alarms("apply")
        with monkeypatch.context() as at_the_same_time:
            at_the_same_time.setattr("fss_toolbox.cli.alarms.existing_alarms", lambda *_: ((), {}))
            second = operator.alarms("apply", "--stream", small().streams[0])
        assert second.code == 1
        assert "fss-kerberos-errors is there 2 times: ocid1.alarm" in second.err
        assert "Run apply again" in second.err
        assert "2 left alone" in operator.alarms("plan").out
        assert operator.alarms("apply", "--yes").code == 1
        assert len(clients(operator.region).monitoring.list_alarms(STORAGE).data) == 4
        assert "2 to delete" in operator.alarms("plan", "--delete-copies").out
        assert operator.alarms("apply", "--yes", "--delete-copies").code == 0
        assert len(clients(operator.region).monitoring.list_alarms(STORAGE).data) == 2
