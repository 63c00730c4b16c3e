"""`fss-exporter alarms render` writes what `apply` would create, and the page and the demo show what really happens."""

import json
import re
import shlex
from pathlib import Path

from tests.fss_toolbox.cli.alarms_operator import HOME, MQL, STORAGE, TOPIC, Operator
from tests.fss_toolbox.demo.demo_process import running
from tests.fss_toolbox.demo.sdk import clients
from tests.prompt import ask, ask_process


class TestRender:
    def test_without_an_account_the_shipped_files_come_out_as_they_are(self, tmp_path: Path) -> None:
        answer = ask("alarms", "render", "--out", tmp_path)
        assert answer.code == 0
        assert ask("alarms", "render", "--published", "--out", tmp_path).code == 0
        for file in tmp_path.iterdir():
            rendered, shipped = json.loads(file.read_text()), json.loads((MQL / "alarms" / file.name).read_text())
            assert rendered.pop("overrides") == shipped.pop("overrides", [])
            assert rendered == shipped
        assert len(list(tmp_path.iterdir())) == len([*MQL.glob("alarms/*.json")]) - 3  # no mount targets, no hpmt
        assert "ALARM_COMPARTMENT_OCID, METRIC_COMPARTMENT_OCID, TOPIC_OCID" in answer.err

    def test_with_a_runbook_each_text_ends_with_a_link_to_its_section(self) -> None:
        answer = ask("alarms", "render", "--runbook-url", "https://poller.example:10949/runbook/")
        for alarm in answer.document:
            assert re.search(r" Next step: https://poller\.example:10949/runbook#fss\w+$", alarm["body"])

    def test_for_stated_mount_targets_their_shapes_decide(self) -> None:
        other = f"{HOME}2"
        answer = ask("alarms", "render", "--mount-target", f"{HOME}=standard", "--mount-target", f"{other}=hpmt-40")
        names = [alarm["displayName"] for alarm in answer.document]
        assert "fss-mount-target-read-hpmt-40" in names
        assert "fss-mount-target-iops-peak-hpmt-40" not in names

    def test_from_the_inventory_it_is_what_apply_would_create(self, operator: Operator) -> None:
        rendered = operator.alarms("render", "--from-inventory").document
        operator.alarms("apply")
        stored = clients(operator.region, raw=True).monitoring.list_alarms(STORAGE).data
        assert {alarm["displayName"]: alarm["query"] for alarm in rendered} == {
            alarm["displayName"]: alarm["query"] for alarm in stored
        }

    def test_from_the_inventory_without_a_topic_the_topic_is_a_variable_of_the_module(self, operator: Operator) -> None:
        flags = ("--compartment", STORAGE, "--from-inventory", "--output", "terraform")
        rendered = ask("alarms", "render", *operator.account(), *flags)
        assert (rendered.code, rendered.err.splitlines()[-1]) == (0, "note: still to be filled in: TOPIC_OCID")
        assert 'variable "topic_ocid"' in rendered.out

    def test_a_folder_that_cannot_be_written_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        answer = ask("alarms", "render", "--out", tmp_path / "file" / "below")
        assert answer.code == 2
        assert ": cannot be written: " in answer.err


class TestThePage:
    """docs/commands/alarms.md shows what the demo region and the shipped pack really give."""

    page = MQL.parent / "docs" / "commands" / "alarms.md"

    def blocks(self) -> list[tuple[str, str]]:
        """Command lines of the `text` blocks and what the page says they print."""
        matches = re.findall(r"(?ms)^```text\n\$ (.*?)\n(.*?)^```$", self.page.read_text())
        return [(command, output) for command, output in matches]

    def run(self, operator: Operator, command: str) -> str:
        words = shlex.split(command.replace("$STORAGE", STORAGE).replace("$TOPIC", TOPIC))
        words[words.index("fss-exporter.yml")] = str(operator.config)
        return ask(*words[1:], "--oci.config-file", operator.key_file).out

    def test_shows_what_really_happens(self, operator: Operator) -> None:
        (again, unchanged), (edited, diff) = self.blocks()
        assert "Done: 11 of 11.\n" in self.run(
            operator, again.replace(" plan ", " apply ").replace(" --detailed-exitcode", "")
        )
        assert self.run(operator, again) == unchanged
        sdk = clients(operator.region).monitoring
        (connections,) = sdk.list_alarms(STORAGE, display_name="fss-mount-target-connections").data
        sdk.update_alarm(connections.id, {"severity": "INFO", "pendingDuration": "PT1M"})
        operator.configure("limits: {mount_targets: {mt-home: {connections: 4096}}}")
        assert self.run(operator, edited) == diff

    def test_the_command_the_demo_prints_makes_alarms_there(self, tmp_path: Path) -> None:
        with running(tmp_path, "--region-only") as demo:
            demo.printed("(Ctrl-C)")
            printed = demo.printed(r"(?s)(fss-exporter alarms apply .*?)\n\n").replace("\\\n", " ")
            answer = ask_process(*shlex.split(printed)[1:])
        assert answer.code == 0, answer.err
        assert re.search(r"^Done: (\d+) of \1\.$", answer.out, re.MULTILINE)
