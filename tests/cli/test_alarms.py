"""`fss-exporter alarms` as an operator or a pipeline runs it, against the demo region over HTTP."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.cli.prompt import Answer, ask, ask_process
from tests.demo.sdk import clients
from tests.demo.test_command import running

from fss_exporter.demo.region import Account, Region, small
from fss_exporter.oci.alarms import pack
from fss_exporter.oci.budget import Budget

MQL = Path(__file__).parents[2] / "mql"
COMPARTMENTS = {compartment.name: compartment.id for compartment in small().compartments}
STORAGE = COMPARTMENTS["storage"]
TOPIC = small().topics[0]
HOME = next(target.id for target in small().mount_targets if target.name == "mt-home")


@cache
def account() -> Account:
    return Account.generate(small().id)


@pytest.fixture
def region() -> Iterator[Region]:
    with Region(small(), account=account(), calls_per_second={}) as running:
        yield running


class Operator:
    """Somebody at the prompt with an account, and a pack of two alarms to keep it short."""

    def __init__(self, region: Region, directory: Path) -> None:
        self.region = region
        self.directory = directory
        self.key_file = region.account.write_config(directory, region.tenancy.region)
        self.config = directory / "fss-exporter.yml"
        self.pack = directory / "pack"
        self.pack.mkdir()
        for name in ("fss-mount-target-iops-standard.json", "fss-kerberos-errors.json"):
            shutil.copy(MQL / "alarms" / name, self.pack)
        self.configure("")

    def configure(self, more: str) -> None:
        self.config.write_text(f"oci: {{endpoint: '{self.region.url}'}}\n{more}")

    def account(self) -> list[str]:
        return ["--config.file", str(self.config), "--oci.config-file", str(self.key_file), "--pack", str(self.pack)]

    def alarms(self, command: str, *more: str, topic: str = TOPIC) -> Answer:
        return ask("alarms", command, *self.account(), "--compartment", STORAGE, "--topic", topic, *more)


@pytest.fixture
def operator(region: Region, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    """Budget and pauses are specified elsewhere; waiting for them would triple the time of these tests."""
    monkeypatch.setattr(
        "fss_exporter.cli.account_options.Budget",
        lambda rate, clock, **_: Budget(rate, clock=clock, wait=lambda _: False),
    )
    return Operator(region, tmp_path)


class TestTheWayOfWork:
    def test_plan_apply_plan_and_destroy_have_the_exit_codes_of_terraform(self, operator: Operator) -> None:
        first = operator.alarms("plan", "--detailed-exitcode")
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
        assert operator.alarms("destroy", "--yes").code == 0
        assert operator.alarms("plan", "--detailed-exitcode").code == 2

    def test_the_pack_of_other_services_stands_beside_the_first(self, operator: Operator) -> None:
        operator.alarms("apply")
        operator.pack = MQL / "other-services"
        first = operator.alarms("apply", "--name", "fss-other")
        assert first.code == 0
        assert "fss-other-volume-iops-30000" in first.out
        assert operator.alarms("plan", "--name", "fss-other", "--detailed-exitcode").code == 0

        rendered = operator.alarms("render", "--name", "fss-other", "--from-inventory", "--format", "terraform").out
        assert 'resource "oci_monitoring_alarm" "fss_other_volume_bandwidth_240000000"' in rendered

    def test_a_plan_without_the_flag_exits_with_0_whatever_it_finds(self, operator: Operator) -> None:
        assert operator.alarms("plan").code == 0

    def test_a_plan_changes_nothing(self, operator: Operator) -> None:
        operator.alarms("plan")
        assert not {"CreateAlarm", "UpdateAlarm", "DeleteAlarm"} & set(operator.region.calls)

    def test_deleting_needs_somebody_to_say_yes(self, operator: Operator) -> None:
        operator.alarms("apply")
        (operator.pack / "fss-kerberos-errors.json").unlink()
        refused = operator.alarms("apply")
        assert refused.code == 2
        assert "1 alarms would be deleted and nobody is there to ask: give --yes" in refused.err
        assert "DeleteAlarm" not in operator.region.calls
        assert operator.alarms("apply", "--yes").code == 0
        assert operator.region.calls["DeleteAlarm"] == 1

    def test_the_command_runs_as_a_process_of_its_own(self, operator: Operator) -> None:
        answer = ask_process(
            "alarms", "plan", *operator.account(), "--compartment", STORAGE, "--topic", TOPIC, "--detailed-exitcode"
        )
        assert answer.code == 2, answer.err


class TestASavedPlan:
    def test_is_carried_out_exactly_by_somebody_who_needs_to_say_nothing_else(
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
        assert "was created after this plan was made; plan again" in again.err
        assert operator.region.calls["CreateAlarm"] == calls

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

    def test_a_missing_or_unwritable_file_is_told(self, operator: Operator, tmp_path: Path) -> None:
        assert "cannot read" in ask("alarms", "apply", *operator.account(), tmp_path / "none.json").err
        assert "--out: cannot write" in operator.alarms("plan", "--out", str(tmp_path / "no" / "plan")).err


class TestWhatIsThereDecides:
    def test_the_high_performance_mount_target_is_left_out_of_the_standard_alarm(self, operator: Operator) -> None:
        operator.alarms("apply")
        (summary,) = (
            clients(operator.region).monitoring.list_alarms(STORAGE, display_name="fss-mount-target-iops-standard").data
        )
        named = summary.query.split('"')[1].split("|")
        assert HOME in named
        assert len(named) == 2  # mt-home and mt-home-b, not mt-media

    def test_a_configured_ceiling_produces_its_own_alarm_and_its_end_an_orphan(self, operator: Operator) -> None:
        operator.alarms("apply")
        operator.configure("limits: {mount_targets: {mt-home: {iops: 80000}}}")
        planned = operator.alarms("plan").out.splitlines()
        assert any(line.startswith("  + fss-mount-target-iops-standard-80000") for line in planned)
        assert any(line.startswith("  ~ fss-mount-target-iops-standard ") for line in planned)
        assert operator.alarms("apply").code == 0
        operator.region.delete("mt-home")
        after = operator.alarms("plan").out
        assert "  - fss-mount-target-iops-standard-80000" in after

    def test_a_tenancy_without_the_undocumented_metric_is_told_that_its_alarm_is_blind(
        self, operator: Operator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "never fires" not in operator.alarms("plan").err
        monkeypatch.setattr(
            "fss_exporter.cli.alarm_options.spellings", lambda *_, **__: {"kerberoserrors": "KerberosErrors"}
        )
        blind = operator.alarms("plan")
        assert "fss-mount-target-iops-standard: this compartment has no metric MountTargetIOPS" in blind.err

    def test_a_clash_of_names_is_told_and_exits_with_1(self, operator: Operator) -> None:
        body = pack.fill(
            pack.load(operator.pack)[0],
            {"ALARM_COMPARTMENT_OCID": STORAGE, "METRIC_COMPARTMENT_OCID": STORAGE, "TOPIC_OCID": TOPIC},
        ).body
        foreign = clients(operator.region).monitoring.create_alarm({**body, "freeformTags": {}}).data.id
        applied = operator.alarms("apply")
        assert applied.code == 1
        assert f"  ! fss-kerberos-errors                          left alone: {foreign} has this name" in applied.out
        assert operator.alarms("plan", "--detailed-exitcode").code == 1


class TestBadInput:
    def test_no_topic(self, operator: Operator) -> None:
        answer = ask("alarms", "plan", *operator.account(), "--compartment", STORAGE)
        assert (answer.code, answer.out) == (2, "")
        assert "--topic: an alarm needs somewhere to go" in answer.err

    @pytest.mark.parametrize("code", ["phx", "us-phoenix-1", "us_phoenix_1"])
    def test_a_topic_in_another_region(self, operator: Operator, code: str) -> None:
        answer = operator.alarms("apply", topic=f"ocid1.onstopic.oc1.{code}.aaaaexample")
        assert answer.code == 2
        assert "is in us-phoenix-1, the alarms are in eu-frankfurt-1" in answer.err
        assert operator.region.calls == {}

    def test_a_topic_of_this_region_by_its_short_code_is_fine(self, operator: Operator) -> None:
        assert operator.alarms("plan", topic="ocid1.onstopic.oc1.fra.aaaaexample").code == 0

    def test_a_topic_that_is_none(self, operator: Operator) -> None:
        answer = operator.alarms("plan", topic=HOME)
        assert answer.code == 2
        assert "is not the OCID of a topic" in answer.err

    def test_a_topic_that_is_not_there_stops_the_first_creation(self, operator: Operator) -> None:
        answer = operator.alarms("apply", topic="ocid1.onstopic.oc1.fra.aaaaexample")
        assert answer.code == 1
        assert "no such destination" in answer.out
        assert "Stopped: 0 done, 1 failed, 1 not tried." in answer.out

    def test_more_than_one_region(self, operator: Operator) -> None:
        answer = operator.alarms("plan", "--oci.region", "eu-frankfurt-1", "--oci.region", "eu-zurich-1")
        assert answer.code == 2
        assert "--oci.region: say which of eu-frankfurt-1, eu-zurich-1" in answer.err

    def test_a_compartment_below_the_tenancy_has_no_subtree(self, operator: Operator) -> None:
        answer = operator.alarms("plan", "--in-subtree")
        assert answer.code == 2
        assert "--in-subtree: OCI allows it for the tenancy only" in answer.err

    def test_malformed_mql_shows_file_and_column_before_anything_is_asked(self, operator: Operator) -> None:
        file = operator.pack / "fss-kerberos-errors.json"
        file.write_text(file.read_text().replace(".sum() > 0", ".sum( > 0"))
        answer = operator.alarms("apply")
        assert answer.code == 2
        first, query, finger = answer.err.splitlines()
        assert first.startswith("fss-exporter: fss-kerberos-errors.json: query: column ")
        assert query[finger.index("^") :] == "> 0"
        assert operator.region.calls == {}

    def test_a_placeholder_nobody_can_fill_is_told_before_anything_is_sent(self, operator: Operator) -> None:
        file = operator.pack / "fss-kerberos-errors.json"
        file.write_text(file.read_text().replace("*eytab|", "${MY_OCID}|"))
        answer = operator.alarms("apply")
        assert answer.code == 2
        assert "fss-kerberos-errors: nothing to put in for MY_OCID" in answer.err
        assert "CreateAlarm" not in operator.region.calls

    def test_an_unknown_shape(self, operator: Operator) -> None:
        answer = ask("alarms", "render", "--mount-target", f"{HOME}=hpmt-30")
        assert answer.code == 2
        assert "no shape 'hpmt-30'; there are standard, hpmt-20, hpmt-40, hpmt-80" in answer.err
        operator.configure("limits: {shapes: {hpmt-x: {iops: 1}}}")
        assert operator.alarms("plan").code == 2

    @pytest.mark.parametrize("name", ["", "a b", "x" * 41, "${HOME}", "1st"])
    def test_a_name_that_makes_no_good_first_word(self, name: str) -> None:
        assert ask("alarms", "render", "--name", name).code == 2

    @pytest.mark.parametrize("mistake", [["--no-such-flag"], ["--topic"], ["--in-subtree"]])
    def test_with_detailed_exit_codes_a_mistake_never_looks_like_changes(
        self, operator: Operator, mistake: list[str]
    ) -> None:
        assert operator.alarms("plan", "--detailed-exitcode", *mistake).code == 1

    @pytest.mark.parametrize("fault", ["wrong-shape", "not-json", "cut-off", "503"])
    @pytest.mark.parametrize(
        "operation",
        ["ListAvailabilityDomains", "ListMountTargets", "ListReplications", "ListMetrics", "ListAlarms", "GetAlarm"],
    )
    def test_an_answer_that_is_broken_ends_the_run_with_one_line_and_no_change(
        self, operator: Operator, operation: str, fault: str
    ) -> None:
        operator.alarms("apply")
        calls = dict(operator.region.calls)
        operator.region.add_fault(f"{fault}:{operation}")
        answer = operator.alarms("apply")
        assert (answer.code, len(answer.err.splitlines())) == (1, 1), answer.err
        assert operation in answer.err
        changes = ("CreateAlarm", "UpdateAlarm", "DeleteAlarm")
        assert [operator.region.calls.get(name) for name in changes] == [calls.get(name) for name in changes]

    def test_a_missing_permission_is_named_and_nothing_is_done(self, operator: Operator) -> None:
        operator.region.add_fault("deny:ListMountTargets")
        answer = operator.alarms("apply")
        assert answer.code == 1
        assert f"to inspect mount-targets in compartment id {STORAGE}" in answer.err
        assert "CreateAlarm" not in operator.region.calls


class TestRender:
    def test_without_an_account_the_shipped_files_come_out_as_they_are(self, tmp_path: Path) -> None:
        answer = ask("alarms", "render", "--published", "--output", tmp_path)
        assert answer.code == 0
        for file in tmp_path.iterdir():
            rendered, shipped = json.loads(file.read_text()), json.loads((MQL / "alarms" / file.name).read_text())
            assert rendered.pop("overrides") == shipped.pop("overrides", [])
            assert rendered == shipped
        assert len(list(tmp_path.iterdir())) == len([*MQL.glob("alarms/*.json")]) - 3  # no mount targets, no hpmt
        assert "ALARM_COMPARTMENT_OCID, METRIC_COMPARTMENT_OCID, TOPIC_OCID" in answer.err

    def test_for_stated_mount_targets_their_shapes_decide(self) -> None:
        other = HOME.replace("mounttarget", "mounttarget2")
        answer = ask("alarms", "render", "--mount-target", f"{HOME}=standard", "--mount-target", f"{other}=hpmt-40")
        names = [alarm["displayName"] for alarm in answer.document]
        assert "fss-mount-target-read-hpmt-40" in names
        assert "fss-mount-target-iops-hpmt-40" not in names

    def test_from_the_inventory_it_is_what_apply_would_create(self, operator: Operator) -> None:
        rendered = operator.alarms("render", "--from-inventory").document
        operator.alarms("apply")
        stored = clients(operator.region, raw=True).monitoring.list_alarms(STORAGE).data
        assert {alarm["displayName"]: alarm["query"] for alarm in rendered} == {
            alarm["displayName"]: alarm["query"] for alarm in stored
        }

    def test_a_folder_that_cannot_be_written_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        answer = ask("alarms", "render", "--output", tmp_path / "file" / "below")
        assert answer.code == 2
        assert "--output: cannot write" in answer.err


class TestThePage:
    """docs/commands/alarms.md shows what the demo region and the shipped pack really give."""

    page = MQL.parent / "docs" / "commands" / "alarms.md"

    def blocks(self) -> list[tuple[str, str]]:
        """Command lines of the `text` blocks and what the page says they print."""
        found = re.findall(r"(?ms)^```text\n\$ (.*?)\n(.*?)^```$", self.page.read_text())
        return [(command, output) for command, output in found]

    def run(self, operator: Operator, command: str) -> str:
        words = shlex.split(command.replace("$STORAGE", STORAGE).replace("$TOPIC", TOPIC))
        words[words.index("fss-exporter.yml")] = str(operator.config)
        return ask(*words[1:], "--oci.config-file", operator.key_file).out

    def test_shows_what_really_happens(self, operator: Operator) -> None:
        (create, created), (again, unchanged), (edited, diff) = self.blocks()
        assert self.run(operator, create) == created
        assert self.run(operator, again) == unchanged
        sdk = clients(operator.region).monitoring
        (connections,) = sdk.list_alarms(STORAGE, display_name="fss-mount-target-connections").data
        sdk.update_alarm(connections.id, {"severity": "INFO", "pendingDuration": "PT1M"})
        operator.configure("limits: {mount_targets: {mt-home: {connections: 4096}}}")
        assert self.run(operator, edited) == diff

    def test_the_command_the_demo_prints_makes_alarms_there(self, tmp_path: Path) -> None:
        with running(tmp_path, "--region-only") as demo:
            demo.found("(Ctrl-C)")
            printed = demo.found(r"(?s)(fss-exporter alarms apply .*?)\n\n").replace("\\\n", " ")
            answer = ask_process(*shlex.split(printed)[1:])
        assert answer.code == 0, answer.err
        assert re.search(r"^Done: (\d+) of \1\.$", answer.out, re.MULTILINE)
