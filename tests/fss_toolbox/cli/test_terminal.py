"""What reaches a terminal, and terminals that are narrow, old or closed."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fss_toolbox.cli.alarms_operator import STORAGE, Operator
from tests.fss_toolbox.demo.sdk import clients
from tests.local_server import Quiet, serving
from tests.prompt import Answer, ask, ask_each

from fss_exporter.cli import terminal
from fss_toolbox.tables import as_json

# Clears the screen, sets the title, colours in C1, reverses the direction, breaks the line.
CLEAR = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\u2028\r"


def check(answer: Answer) -> None:
    said = answer.out + answer.err
    assert said, "nothing was said, so nothing is shown"
    assert [character for character in said if not character.isprintable() and character != "\n"] == []


@pytest.fixture
def hostile_server() -> Iterator[str]:
    """Answers everything with an error full of escape sequences."""

    class Hostile(Quiet):
        def get(self) -> None:
            self.send_response(200 if "ok" in self.path else 500, "\x9b31m")
            self.end_headers()
            self.wfile.write(f"{CLEAR}# no metrics {CLEAR}".encode())

    with serving(Hostile) as address:
        yield f"http://{address}"


class TestNothingFromOutsideSteersATerminal:
    @pytest.mark.parametrize("output", ["table", "json"])
    def test_a_saved_mountstats_file(self, tmp_path: Path, output: str) -> None:
        saved = tmp_path / f"saved{CLEAR.replace('/', '')}"
        saved.write_text(f"device {CLEAR}:/x mounted on {CLEAR} with fstype nfs statvers=1.1\n\tage: {CLEAR}\n")
        check(ask("iostat", "--from", saved, "--to", saved, "--output", output))

    @pytest.mark.parametrize("path", ["/metrics", "/ok"])
    def test_an_answer_of_another_exporter(self, hostile_server: str, path: str) -> None:
        check(ask("iostat", "--url", f"{hostile_server}{path}", "0.01", "1"))

    @pytest.mark.parametrize("path", ["", "/ok"])
    def test_an_answer_of_prometheus(self, hostile_server: str, path: str) -> None:
        check(ask("plan", "--prometheus", f"{hostile_server}{path}"))

    @pytest.mark.parametrize(
        "text", [CLEAR, json.dumps({"jobs": [{"jobname": CLEAR, "read": CLEAR}]}), json.dumps({"jobs": CLEAR})]
    )
    def test_a_fio_report(self, tmp_path: Path, text: str) -> None:
        report = tmp_path / f"report{CLEAR}"
        report.write_text(text)
        check(ask("fio", report))

    @pytest.mark.parametrize(
        "text",
        [
            json.dumps({"oci": {"compartments": [CLEAR], "regions": [CLEAR]}}),
            json.dumps({CLEAR: 1, "oci": {CLEAR: 2}, "addresses": {CLEAR: CLEAR}}),
            json.dumps({"oci": {"compartments": [CLEAR]}, "limits": {"mount_targets": {CLEAR: {"iops": 1}}}}),
            f"oci: {CLEAR}",
        ],
    )
    def test_a_configuration(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / f"config{CLEAR}.yml"
        file.write_text(text)
        check(ask("config", "check", file))
        check(ask("doctor", "--no-account", "--metadata-url", "", "--config.file", file))

    def test_an_alarm_edited_by_an_operator(self, operator: Operator) -> None:
        operator.alarms("apply")
        monitoring = clients(operator.region).monitoring
        for alarm in monitoring.list_alarms(STORAGE).data:
            monitoring.update_alarm(alarm.id, {"body": CLEAR, "notificationTitle": CLEAR})
        check(operator.alarms("plan"))
        check(operator.alarms("apply"))

    def test_a_flag(self) -> None:
        check(ask("iostat", f"--{CLEAR}"))
        check(ask(CLEAR))
        check(ask("iostat", "--url", f"http://{CLEAR}/"))

    def test_what_discover_finds(self, account_flags: tuple[str, ...]) -> None:
        for answer in (ask("discover", *account_flags), ask("discover", *account_flags, "--output", "config")):
            check(answer)

    def test_json_keeps_the_value(self) -> None:
        shown = as_json({"name": f"grün {CLEAR}\U000e0001"})
        assert all(character.isprintable() or character == "\n" for character in shown)
        assert "grün" in shown
        assert json.loads(shown) == {"name": f"grün {CLEAR}\U000e0001"}

    def test_a_log_line_of_a_command_without_a_log(self) -> None:
        failure = (ValueError, ValueError(CLEAR), None)
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "said %s", (CLEAR,), failure)
        text = terminal.LogLines().format(record)
        assert text.startswith("said \\x1b[2J")
        assert all(character.isprintable() or character == "\n" for character in text)

    def test_a_line_break_in_a_name_begins_no_line(self, tmp_path: Path) -> None:
        file = tmp_path / "c.yml"
        file.write_text(json.dumps({"x\nfss-exporter: all is well": 1}))
        answer = ask("config", "check", file)
        assert answer.err.count("\n") == 1
        assert answer.code == 2


def closed(stream: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command started with a stream closed."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {stream}', "sh", sys.executable, "-m", "fss_exporter", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


PRINTING = (["--version"], ["plan", "--reads", "5"])


class TestATerminalThatIsNotThere:
    @pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
    def test_a_closed_standard_output_is_one_line_and_exit_code_1(self, arguments: list[str]) -> None:
        done = closed(">&-", *arguments)
        assert done.stderr == "fss-exporter: the output cannot be written: standard output is closed\n"
        assert done.returncode == 1

    @pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
    def test_a_closed_standard_error_does_no_harm(self, arguments: list[str]) -> None:
        done = closed("2>&-", *arguments)
        assert done.returncode == 0
        assert done.stdout

    def test_a_complaint_without_a_standard_error_keeps_its_exit_code(self) -> None:
        assert closed("2>&-", "nonsense").returncode == 2
        assert closed(">&- 2>&- <&-", "nonsense").returncode == 2

    @pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
    def test_a_pipe_whose_reader_went_away_is_quiet(self, arguments: list[str]) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            command = [sys.executable, "-m", "fss_exporter", *arguments]
            done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
        finally:
            os.close(writer)
        assert (done.returncode, done.stderr) == (1, "")


class TestATerminalThatIsOdd:
    def test_any_number_of_columns(self) -> None:
        lines = (["plan", "--reads", "5"], ["--help"], ["iostat", "--help"])
        questions = [
            (line, {"COLUMNS": columns})
            for columns in ("0", "1", "3", "-5", "wide", "", "99999999999", "00")
            for line in lines
        ]
        for question, answer in zip(questions, ask_each(*questions), strict=True):
            assert (answer.code, answer.err) == (0, ""), question
            assert answer.out, question

    @pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
    def test_an_encoding_without_our_characters(self, tmp_path: Path, encoding: str) -> None:
        file = tmp_path / "→ grün 東京.yml"
        file.write_text("oci: {}")
        command = [sys.executable, "-m", "fss_exporter", "config", "check", str(file)]
        environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=120)
        assert (done.returncode, done.stderr) == (0, b"")
        # click takes ascii for a mistake and writes UTF-8
        assert ("→".encode() if encoding == "ascii" else b"\\u2192") in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_does_not_end_the_clean_up(number: signal.Signals) -> None:
    script = f"""
import click, signal
from fss_exporter.cli.terminal import clean_up_at_the_end

def clean_up():
    signal.raise_signal({number.value})
    print("cleaned up")

@click.command()
def command():
    clean_up_at_the_end(clean_up)
    signal.raise_signal(signal.SIGINT)

command(standalone_mode=False)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "cleaned up\n", "")


def test_a_message_on_a_narrow_terminal_breaks_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    message = "fss-exporter: the file /a/path/that/is-longer/than-the-terminal cannot be read"
    lines = terminal.folded(message).splitlines()
    assert " ".join(line.strip() for line in lines) == message
    assert lines[1:] == [line for line in lines[1:] if line.startswith("  ")]


def test_help_of_serve_has_a_section_for_each_subject() -> None:
    out = ask("serve", "--help").out
    sections = re.findall(r"(?m)^(\S.*):$", out)
    assert sections == [
        "What is collected",
        "Counted by the kernel, exact mode",
        "NFS client",
        "OCI",
        "Places on this host",
        "Web server",
        "Log",
        "Further options",
    ]
    assert "--web.listen-address" in out.partition("Web server:")[2].partition("Log:")[0]


def test_help_shows_a_flag_before_the_flags_that_need_it() -> None:
    counted = ask("serve", "--help").out.partition("Counted by the kernel")[2].partition("NFS client:")[0]
    flags = re.findall(r"(?m)^  (--nfs\.exact\S*)", counted)

    assert flags[0] == "--nfs.exact"
    assert len(flags) > 1
