"""`fss-exporter demo` at the prompt: the region alone, its signals and what it refuses. with_demo.py has the whole demo."""

import re
import shutil
import signal
import socket
from pathlib import Path

import oci
import pytest
from tests.fss_toolbox.demo.demo_process import Demo, running
from tests.processes import wait_for
from tests.prompt import ask, ask_each, ask_process


def test_the_printed_query_is_a_series_that_the_rules_record() -> None:
    from fss_toolbox.cli.demo import UTILISATION

    rules = (Path(__file__).parents[3] / "rules/load.yml").read_text("utf-8")
    assert f"record: {UTILISATION}\n" in rules


def test_the_region_alone_answers_the_credentials_it_prints_and_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "--region-only", "--fault", "503:ListCompartments,times=1") as demo:
        url = demo.printed(r"(http://127\.0\.0\.1:\d+) ")
        tenancy = demo.printed(r"Tenancy +(\S+)")
        credentials = demo.printed(r"Credentials +(\S+)\n")
        demo.printed(r"(Ctrl-C)")
        assert Path(credentials).stat().st_mode & 0o077 == 0
        config = oci.config.from_file(credentials)
        assert config["tenancy"] == tenancy
        identity = oci.identity.IdentityClient(
            config, service_endpoint=url, retry_strategy=oci.retry.NoneRetryStrategy()
        )
        with pytest.raises(oci.exceptions.ServiceError, match="503"):
            identity.list_compartments(tenancy)
        assert {compartment.name for compartment in identity.list_compartments(tenancy).data} == {
            "network",
            "storage",
            "batch",
        }
        assert demo.stop(signal.SIGHUP) == 0
        assert demo.err.read_text() == ""
        assert list(demo.temporary.iterdir()) == []


def test_a_signal_while_a_large_tenancy_is_built_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path, "--region-only", "--mount-targets", "65000") as demo:
        wait_for(lambda: list(demo.temporary.glob("fss-exporter-demo-*")), "the folder of the demo")
        assert demo.stop(signal.SIGTERM) == 0
        assert list(demo.temporary.iterdir()) == []


def test_under_nohup_the_region_alone_outlives_its_terminal_and_prints_commands_that_run_without_a_path(
    tmp_path: Path,
) -> None:
    program = shutil.which("fss-exporter")
    assert program is not None
    with running(tmp_path, "--region-only", program=program, hangup=signal.SIG_IGN, PATH="/usr/bin:/bin") as demo:
        assert demo.printed(r"(?m)^    (\S+) serve ") == program
        demo.printed(r"(Ctrl-C)")
        wait_for(lambda: signal.SIGQUIT in signals(demo, "SigCgt"), "the demo waits for its signals")
        assert signal.SIGHUP in signals(demo, "SigIgn")
        assert demo.stop(signal.SIGTERM) == 0


def signals(demo: Demo, field: str) -> set[int]:
    """The signals of a mask in /proc/PID/status."""
    status = Path(f"/proc/{demo.process.pid}/status").read_text()
    mask = int(re.findall(rf"{field}:\s+(\w+)", status)[0], 16)
    return {number for number in signal.Signals if mask >> (number - 1) & 1}


def test_a_wrong_flag_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    wrong = (
        (["--fault", "429", "--fault", "slow,seconds=x"], ["seconds=x"]),
        (["--fault", "delete,resource=mt-nowhere"], ["--fault", "mt-nowhere"]),
        (["--charge", "homes"], ["--charge: no mount target with an export"]),
        (["--charge", "mt-idle", "--charge.counters", "/dev/null"], ["--charge.counters=/dev/null: ", "no lines `io`"]),
        (["--mount-targets", "0"], ["--mount-targets"]),
        (["--region-port", "99999"], ["--region-port"]),
        (["--web.listen-address", "nowhere"], ["--web.listen-address=nowhere"]),
    )
    answers = ask_each(*((["demo", *flags], {"TMPDIR": str(tmp_path)}) for flags, _ in wrong))
    for (flags, words), answer in zip(wrong, answers, strict=True):
        assert (answer.code, answer.out) == (2, ""), flags
        assert len(answer.err.splitlines()) == 1, answer.err
        assert all(word in answer.err for word in words), answer.err
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = ask_process("demo", "--region-only", "--region-port", port, TMPDIR=str(tmp_path))
    assert answer.code == 2
    assert f"--region-port={port}" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_the_help_names_every_kind_of_fault() -> None:
    from fss_toolbox.demo.region.faults import DEMO_KINDS

    shown = ask("demo", "--help").out
    for kind in (*DEMO_KINDS.wire, *DEMO_KINDS.data):
        assert re.search(rf"^ +{kind} +\S", shown, re.MULTILINE), kind
