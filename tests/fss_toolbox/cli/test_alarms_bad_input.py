"""`fss-exporter alarms` given what it cannot use, by the operator or by OCI: it says so and changes nothing."""

from pathlib import Path

import pytest
from tests.fss_toolbox.cli.alarms_operator import HOME, STORAGE, Operator
from tests.prompt import ask


class TestBadInput:
    def test_no_topic(self, operator: Operator) -> None:
        answer = ask("alarms", "plan", *operator.account(), "--compartment", STORAGE)
        assert (answer.code, answer.out) == (2, "")
        assert "--topic: an alarm needs a destination" in answer.err

    @pytest.mark.parametrize("code", ["phx", "us-phoenix-1", "us_phoenix_1"])
    def test_a_topic_in_another_region(self, operator: Operator, code: str) -> None:
        answer = operator.alarms("apply", topic=f"ocid1.onstopic.oc1.{code}.aaaaexample")
        assert answer.code == 2
        assert "is in us-phoenix-1, the alarms are in eu-frankfurt-1" in answer.err
        assert operator.region.calls == {}

    def test_a_topic_of_this_region_by_its_short_code_is_fine(self, operator: Operator) -> None:
        assert operator.alarms("plan", topic="ocid1.onstopic.oc1.fra.aaaaexample").code == 0

    def test_a_topic_that_is_not_there_stops_the_first_creation(self, operator: Operator) -> None:
        answer = operator.alarms("apply", topic="ocid1.onstopic.oc1.fra.aaaaexample")
        assert answer.code == 1
        assert "no such destination" in answer.out
        assert "Stopped: 0 done, 1 failed, 1 not tried." in answer.out

    @pytest.mark.parametrize(
        ("flags", "why"),
        [
            (("--compartment", "Storage"), "--compartment=Storage: give the OCID"),
            (("--alarm-compartment", "Storage"), "--alarm-compartment=Storage: give the OCID"),
            (("--topic", "alerts"), "--topic: alerts is not the OCID of a topic"),
            (("--stream", HOME), "is not the OCID of a stream"),
            (("--compartment", STORAGE, "--in-subtree"), "--in-subtree works for the tenancy only"),
            (("--from-inventory", "--mount-target", f"{HOME}=hpmt-20"), "both name the mount targets: give one"),
            (("--runbook-url", "https://wiki/a b"), "without spaces, quotes and braces"),
            (("--runbook-url", ""), "give a URL that begins with http:// or https://"),
        ],
    )
    def test_flags_that_cannot_be_rendered(self, flags: tuple[str, ...], why: str) -> None:
        answer = ask("alarms", "render", *flags)
        assert (answer.code, answer.out) == (2, "")
        assert why in answer.err

    def test_destroy_names_the_flag_with_the_mistake(self) -> None:
        answer = ask("alarms", "destroy", "--compartment", "Storage")
        assert (answer.code, answer.out) == (2, "")
        assert "fss-exporter: --compartment=Storage: give the OCID" in answer.err

    def test_more_than_one_region(self, operator: Operator) -> None:
        answer = operator.alarms("plan", "--oci.region", "eu-frankfurt-1", "--oci.region", "eu-zurich-1")
        assert answer.code == 2
        assert "--oci.region: say which of eu-frankfurt-1, eu-zurich-1" in answer.err

    def test_every_mistake_of_the_configuration_is_a_line_where_2_means_changes(self, operator: Operator) -> None:
        operator.config.write_text("oci: {auth: x}\nslo: {}\n")
        answer = operator.alarms("plan", "--detailed-exitcode")
        assert answer.code == 1
        assert [line.split(": ")[2] for line in answer.err.splitlines()] == ["line 1", "line 2"]

    def test_malformed_mql_shows_file_and_column_before_anything_is_asked(self, operator: Operator) -> None:
        file = operator.pack / "fss-kerberos-errors.json"
        file.write_text(file.read_text().replace(".sum()", ".sum("))
        answer = operator.alarms("apply")
        assert answer.code == 2
        first, query, finger = answer.err.splitlines()
        assert first.startswith("fss-exporter: fss-kerberos-errors.json: query: column ")
        assert query[finger.index("^") :] == ">= 1"
        assert operator.region.calls == {}

    def test_a_plan_without_the_tags_of_the_pack_is_refused(self, operator: Operator, tmp_path: Path) -> None:
        kept = tmp_path / "plan.json"
        operator.alarms("plan", "--out", str(kept))
        kept.write_text(kept.read_text().replace('"freeformTags"', '"freeTags"'))
        answer = operator.alarms("apply", str(kept))
        assert answer.code == 2
        assert "not a plan of this version" in answer.err

    def test_a_file_without_an_end_is_refused_wherever_a_file_is_named(self, operator: Operator) -> None:
        (operator.pack / "odd.json").symlink_to("/dev/zero")
        for question in (["render"], ["render", "--facts", "/dev/zero"], ["apply", "/dev/zero"]):
            answer = operator.alarms(*question)
            assert (answer.code, answer.out) == (2, "")
            assert answer.err.endswith("larger than 256 MiB. Is this the right file?\n")

    def test_an_unknown_placeholder_is_reported_before_the_first_call(self, operator: Operator) -> None:
        file = operator.pack / "fss-kerberos-errors.json"
        file.write_text(file.read_text().replace("*eytab|", "${MY_OCID}|"))
        answer = operator.alarms("apply")
        assert answer.code == 2
        assert "fss-kerberos-errors: no value for MY_OCID" in answer.err
        assert "CreateAlarm" not in operator.region.calls

    @pytest.mark.parametrize("name", ["", "mt-home", 'a"b', STORAGE])
    def test_a_stated_mount_target_by_another_name_than_the_ocid(self, name: str) -> None:
        answer = ask("alarms", "render", "--mount-target", f"{name}=hpmt-20")
        assert (answer.code, answer.out) == (2, "")
        assert f"--mount-target={name}=hpmt-20: {name!r} is not the OCID of a mount target" in answer.err

    def test_a_mount_target_stated_twice(self) -> None:
        answer = ask("alarms", "render", "--mount-target", f"{HOME}=hpmt-20", "--mount-target", f"{HOME}=hpmt-40")
        assert (answer.code, answer.out) == (2, "")
        assert f"--mount-target={HOME}=hpmt-40: this mount target is given twice" in answer.err

    def test_an_unknown_shape(self, operator: Operator) -> None:
        answer = ask("alarms", "render", "--mount-target", f"{HOME}=hpmt-30")
        assert answer.code == 2
        assert "no shape 'hpmt-30'. Known are standard, hpmt-20, hpmt-40, hpmt-80" in answer.err
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

    @pytest.mark.parametrize(
        ("operation", "fault"),
        [
            ("ListAvailabilityDomains", "503"),
            ("ListMountTargets", "cut-off"),
            ("ListReplications", "not-json"),
            ("ListMetrics", "wrong-shape"),
            ("ListAlarms", "not-json"),
            ("GetAlarm", "wrong-shape"),
        ],
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
