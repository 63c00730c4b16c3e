import importlib
import os
import re
import subprocess
import sys

import click
import pytest
from tests.prompt import ask

from fss_exporter import __version__
from fss_exporter.cli import main
from fss_exporter.errors import CloudError, ConfigError, MqlError, UsageError


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fss_exporter", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def raising(error: Exception) -> click.Group:
    @click.command()
    def fail() -> None:
        raise error

    return click.Group(commands={"fail": fail})


CHECKS_PASSWORDS = """
import threading, bcrypt
from fss_exporter.cli import main
wanted = bcrypt.hashpw(b"right", bcrypt.gensalt(4))
checked = threading.Semaphore(0)
def check():
    while True:
        bcrypt.checkpw(b"wrong", wanted)
        checked.release()
for _ in range(4):
    threading.Thread(target=check, daemon=True).start()
for _ in range(8):
    checked.acquire()
"""


@pytest.mark.parametrize("how", ["return 3", "sys.exit(3)"])
def test_a_command_ends_with_its_own_exit_code_while_daemon_threads_check_passwords(how: str) -> None:
    code = f"{CHECKS_PASSWORDS}\nimport sys\ndef run():\n    print('told')\n    {how}\nmain.run = run\nmain.main()"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "told\n", "")


def test_a_mistake_of_the_command_is_a_trace_and_exit_code_1_while_daemon_threads_check_passwords() -> None:
    code = f"{CHECKS_PASSWORDS}\ndef run():\n    raise ZeroDivisionError\nmain.run = run\nmain.main()"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr.startswith("Traceback")
    assert ended.stderr.endswith("ZeroDivisionError\n")


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_is_there_under_its_name(name: str) -> None:
    command = getattr(importlib.import_module(main.module_of(name)), name)

    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.get_short_help_str(1000) == main.COMMANDS[name]


def test_help_lists_all_commands_in_sections() -> None:
    shown = run("--help")

    assert shown.returncode == 0
    assert re.findall(r"(?m)^  ([a-z]+)  ", shown.stdout) == list(main.COMMANDS)
    assert re.findall(r"(?m)^(\w.*):\n  [a-z]", shown.stdout) == list(main.SECTIONS)


def test_help_shows_every_summary_whole() -> None:
    for arguments, summaries in ((["--help"], main.COMMANDS.values()), (["alarms", "--help"], ())):
        shown = " ".join(ask(*arguments).out.split())
        assert "... " not in shown.replace("COMMAND [ARGS]... ", "")
        assert all(summary in shown for summary in summaries)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]], ids=repr)
def test_help_and_version_import_no_command(arguments: list[str]) -> None:
    code = f"import sys; from fss_exporter.cli.main import run; run({arguments}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    heavy = {"fss_exporter.settings", "pydantic", "yaml", "rich", "oci", "prometheus_client", "asyncio", "jinja2"}
    assert heavy & set(done.stderr.split()) == set()


@pytest.mark.parametrize("arguments", [[], ["config"], ["alarms"]], ids=repr)
def test_a_group_without_a_command_shows_its_commands_and_exits_with_2(arguments: list[str]) -> None:
    bare = ask(*arguments)

    assert bare.code == 2
    assert re.search(r"(?m)^[A-Z][a-z, ]+:\n  [a-z]+  ", bare.err)


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_full_disk_is_reported_in_one_line(output: str) -> None:
    """Every command writes as this one does."""
    command = [sys.executable, "-m", "fss_exporter", "plan", "--reads", "5", "--output", output]
    with open("/dev/full", "w") as full:  # noqa: PTH123  # a device
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120)

    assert done.returncode == 1
    assert done.stderr == "fss-exporter: the output cannot be written: No space left on device\n"


def test_the_version_is_the_packages() -> None:
    assert run("--version").stdout == f"fss-exporter, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["serv"], "fss-exporter: No such command 'serv'. Did you mean 'serve'?"),
        (["alarms", "aply"], "fss-exporter alarms: No such command 'aply'. Did you mean 'apply'?"),
        (["iostat", "--limt", "3"], "fss-exporter iostat: No such option '--limt'. (Did you mean one of: '--limit'"),
        (["iostat", "-5"], "fss-exporter iostat: No such option '-5'. A number must be more than 0 (see"),
        (["--nonsense"], "fss-exporter: No such option '--nonsense'"),
        (["serve", "--nonsense"], "fss-exporter serve: No such option '--nonsense'"),
        (["serve", "extra"], "fss-exporter serve: Got unexpected extra argument (extra)"),
        (["serve", "--nfs.tick"], "fss-exporter: Option '--nfs.tick' requires an argument."),
    ],
)
def test_a_wrong_command_line_is_one_line_on_stderr_and_exit_code_2(arguments: list[str], complaint: str) -> None:
    refused = ask(*arguments)

    assert refused.code == 2
    assert refused.out == ""
    assert refused.err.startswith(complaint)
    assert refused.err.endswith(" --help)\n")
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (UsageError("--flag=x: give y"), 2, "fss-exporter: --flag=x: give y\n"),
        (
            ConfigError("c.yml", ("line 1: a", "line 2: b")),
            2,
            "fss-exporter: c.yml: line 1: a\nfss-exporter: c.yml: line 2: b\n",
        ),
        (CloudError("no answer", operation="ListMetrics"), 1, "fss-exporter: no answer\n"),
        (
            MqlError("expected [", query="Metric{", column=7),
            1,
            "fss-exporter: column 7: expected [\nfss-exporter:   Metric{\nfss-exporter:         ^\n",
        ),
        (click.Abort(), 130, ""),
    ],
)
def test_an_error_an_operator_can_act_on_is_no_stack_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, code: int, shown: str
) -> None:
    monkeypatch.setattr(main, "cli", raising(error))

    assert main.run(["fail"]) == code
    assert capsys.readouterr().err == shown


def test_a_command_whose_part_is_not_installed_says_so_and_costs_the_others_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.import_module

    def without_sdk(name: str, package: str | None = None) -> object:
        if name.endswith(".doctor"):
            raise ModuleNotFoundError("No module named 'oci'", name="oci")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without_sdk)

    monkeypatch.setattr(main, "find_spec", lambda _: None)

    assert main.run(["--help"]) == 0
    assert "(not installed: oci)" in capsys.readouterr().out
    assert main.run(["doctor", "--any-flag"]) == 2
    assert "pip install '.[oci]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "number", "offered"), [("fss-exporter io", 1, "iostat"), ("fss-exporter iostat --li", 2, "--limit")]
)
def test_commands_and_flags_are_completed(words: str, number: int, offered: str) -> None:
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(number), "_FSS_EXPORTER_COMPLETE": "bash_complete"}
    done = subprocess.run(
        ["fss-exporter"], env=os.environ | environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == f"plain,{offered}\n"
