"""The units: what they may do, and that uid 0 without a single capability is enough for the agent."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.processes import PATIENCE_S

from fss_exporter.cli import nfs_agent, runtime
from fss_exporter.flag_records import TRACEFS_PLACES
from fss_exporter.web.http_server import ServerLimits
from fss_kernel_counting.remains import remove
from fss_kernel_counting.tracefs import INSTANCES, Sources

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy/systemd"
NAMES = ("fss-exporter-agent", "fss-exporter-poller")


def settings(name: str) -> list[tuple[str, str]]:
    """The lines of [Service]; systemd lets a key stand several times."""
    text = (UNITS / f"{name}.service").read_text()
    service = text.partition("[Service]\n")[2].partition("[Install]")[0]
    pairs = [line.partition("=") for line in service.splitlines() if line and not line.startswith("#")]
    return [(key, value) for key, _, value in pairs]


def exposure(name: str) -> float:
    """Overall exposure as `systemd-analyze security` computes it: 0 is none, 10 is everything."""
    command = ("systemd-analyze", "security", "--offline=true", "--no-pager", UNITS / f"{name}.service")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (line,) = (line for line in done.stdout.splitlines() if "Overall exposure level" in line)
    return float(line.partition(": ")[2].split()[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_documented_exposure_is_what_systemd_computes(name: str) -> None:
    documented = re.search(
        rf"^\| `{name}` \| ([0-9.]+) \|", (ROOT / "docs/security.md").read_text(), flags=re.MULTILINE
    )
    assert documented
    # The weights move a little from one systemd to the next.
    assert float(documented[1]) == pytest.approx(exposure(name), abs=0.2)


@pytest.mark.parametrize("name", NAMES)
def test_systemd_accepts_every_line_of_a_unit(name: str, tmp_path: Path) -> None:
    """The program is put where the test may put it: everything else is verified as it is shipped."""
    for unit in UNITS.iterdir():
        (tmp_path / unit.name).write_text(
            unit.read_text().replace("/opt/fss-exporter/bin/fss-exporter", sys.executable)
        )
    command = ("systemd-analyze", "verify", tmp_path / f"{name}.service")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", NAMES)
def test_no_unit_keeps_a_capability(name: str) -> None:
    service = settings(name)
    for setting in (("CapabilityBoundingSet", ""), ("AmbientCapabilities", ""), ("NoNewPrivileges", "yes")):
        assert setting in service


def test_the_agent_is_root_by_uid_and_the_poller_has_a_dynamic_user() -> None:
    assert ("User", "root") in settings("fss-exporter-agent")
    assert ("DynamicUser", "yes") in settings("fss-exporter-poller")
    assert "User" not in dict(settings("fss-exporter-poller"))


def test_the_poller_has_a_state_directory_for_its_ledger_and_the_agent_has_none() -> None:
    poller = settings("fss-exporter-poller")
    assert [value for name, value in poller if name == "StateDirectory"] == ["fss-exporter"]
    assert ("StateDirectoryMode", "0700") in poller
    assert "StateDirectory" not in dict(settings("fss-exporter-agent"))


# Takes its time before it handles SIGHUP, as the import of modules does.
SLOW_START = """
import os, signal, time
time.sleep(0.5)
signal.signal(signal.SIGHUP, lambda *_: os.write(1, b"reloads") and os._exit(0))
signal.pause()
"""


def reload_of(unit: str, pid: int) -> int:
    """The exit code of the unit's reload, as systemd runs it."""
    (line,) = (value for key, value in settings(unit) if key == "ExecReload")
    command, option, script = line.split(" ", 2)
    environment = {**os.environ, "MAINPID": str(pid)}
    return subprocess.run([command, option, script.strip("'")], env=environment, check=False).returncode


def test_a_reload_of_the_agent_in_the_first_moments_of_the_start_waits_until_the_program_can_take_it() -> None:
    command = ["env", "--default-signal=HUP", sys.executable, "-S", "-c", SLOW_START]  # the tests may run under nohup
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert reload_of("fss-exporter-agent", program.pid) == 0
        assert program.communicate(timeout=20)[0] == "reloads"


def test_the_poller_tells_systemd_when_a_reload_does_no_harm(tmp_path: Path) -> None:
    assert ("Type", "notify") in settings("fss-exporter-poller")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(PATIENCE_S)
        command = [sys.executable, "-m", "fss_exporter", "serve", "--no-collector.nfs"]
        started = ["env", "--default-signal=HUP", f"NOTIFY_SOCKET={tmp_path}/notify", *command]
        with subprocess.Popen(started, stderr=subprocess.PIPE) as program:
            assert told.recv(100) == b"READY=1"
            program.send_signal(signal.SIGHUP)
            _, said = program.communicate(timeout=PATIENCE_S)
    assert program.returncode == 2, said


@pytest.mark.parametrize("unit", NAMES)
def test_a_reload_of_a_program_that_has_ended_fails_at_once(unit: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as program:
        program.wait()
    began = time.monotonic()
    assert reload_of(unit, program.pid) != 0
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("unit", ["fss-exporter-agent", "fss-exporter-poller"])
def test_an_end_by_a_signal_in_the_first_moments_is_followed_by_a_start(unit: str) -> None:
    # systemd counts an end by SIGHUP as a success, after which on-failure does not start again.
    assert ("Restart", "always") in settings(unit)


@pytest.mark.parametrize("unit", ["fss-exporter-agent", "fss-exporter-poller"])
def test_the_units_wait_longer_for_the_end_than_the_exporter_does_itself(unit: str) -> None:
    assert float(dict(settings(unit))["TimeoutStopSec"]) > runtime._STOP_SECONDS > nfs_agent._STOP_SECONDS


def test_a_unit_has_a_thread_for_each_connection() -> None:
    for unit in ("fss-exporter-agent", "fss-exporter-poller"):
        assert int(dict(settings(unit))["TasksMax"]) > ServerLimits().connections


def test_the_agent_has_no_network_but_the_listener_it_is_given() -> None:
    service = settings("fss-exporter-agent")
    for setting in (("PrivateNetwork", "yes"), ("RestrictAddressFamilies", "none"), ("IPAddressDeny", "any")):
        assert setting in service
    assert "--web.systemd-socket" in dict(service)["ExecStart"].split()
    assert "\nListenStream=10949\n" in (UNITS / "fss-exporter-agent.socket").read_text()


def test_each_unit_reads_the_settings_of_its_own_edition() -> None:
    assert (
        "--config.default-file=/etc/fss-exporter/agent.yml" in dict(settings("fss-exporter-agent"))["ExecStart"].split()
    )
    assert (
        "--config.file=/etc/fss-exporter/fss-exporter.yml" in dict(settings("fss-exporter-poller"))["ExecStart"].split()
    )


def test_every_instance_of_exact_mode_is_removed_after_an_agent_that_was_killed(tmp_path: Path) -> None:
    (after,) = (value for key, value in settings("fss-exporter-agent") if key == "ExecStopPost")
    assert after == "-/opt/fss-exporter/bin/fss-exporter clean"
    places = tuple(Path(f"{tmp_path}{place}") for place in TRACEFS_PLACES)
    for place in places:
        for name in (*INSTANCES, "of-another-program"):
            (place / "instances" / name).mkdir(parents=True)

    remove(Sources(tracefs=places))

    assert [[left.name for left in (place / "instances").iterdir()] for place in places] == [["of-another-program"]] * 2
    assert f"\nReadWritePaths=-{TRACEFS_PLACES[0]}/instances\n" in (ROOT / "docs/security.md").read_text()
