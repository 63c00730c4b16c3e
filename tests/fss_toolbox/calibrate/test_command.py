"""`fss-exporter calibrate` at the prompt: the plan of a dry run, and what it refuses before it sends anything."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.fss_toolbox.calibrate.fake_procfs import procfs_with_mount
from tests.processes import PATIENCE_S
from tests.prompt import Answer, ask, call_without_pause
from tests.region import Region

from fss_toolbox.calibrate.calibration_steps import STEPS
from fss_toolbox.calibrate.own_directory import MARK, PREFIX

IDLE, HOME, MEDIA = "10.80.4.40", "10.80.1.10", "10.80.3.30"


@pytest.fixture(scope="module")
def shared_region() -> Iterator[Region]:
    with Region(calls_per_second={}) as running:
        yield running


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    call_without_pause(monkeypatch)


def arguments(shared_region: Region, folder: Path, address: str) -> tuple[str, ...]:
    """The mount, the account and the counters."""
    keys = folder / "keys"
    keys.mkdir()
    mount = folder / "mount"
    mount.mkdir()
    procfs = procfs_with_mount(folder / "proc", mount, address)
    credentials = shared_region.account.write_config(keys, shared_region.tenancy.region)
    config = folder / "fss-exporter.yml"
    config.write_text("oci: {calls_per_second: 9.9}\n")  # the most that OCI allows, for commands in their own process
    where = ("--oci.endpoint", shared_region.url, "--oci.config-file", str(credentials), "--path.procfs", str(procfs))
    return ("calibrate", str(mount), *where, "--config.file", str(config))


def calibrate(shared_region: Region, folder: Path, address: str, *flags: str) -> Answer:
    answer = ask(*arguments(shared_region, folder, address), *flags)
    assert list((folder / "mount").iterdir()) == []
    return answer


def test_a_dry_run_prints_load_duration_and_price_and_sends_nothing(shared_region: Region, tmp_path: Path) -> None:
    answer = calibrate(shared_region, tmp_path, IDLE, "--dry-run")
    assert answer.code == 0, answer.err
    shown = " ".join(answer.out.split())
    for words in ("RENAME", "READ 1 MiB", "at most 5,000 IOPS", "0.01 USD", f"about {len(STEPS) * 4 + 1} minutes"):
        assert words in shown


def test_a_step_brings_the_steps_it_needs(shared_region: Region, tmp_path: Path) -> None:
    out = calibrate(shared_region, tmp_path, IDLE, "--dry-run", "--step", "remove", "--max-iops", "300").out
    assert [name for name in ("idle", "SETATTR", "CREATE", "REMOVE", "RENAME") if name in out] == [
        "idle",
        "SETATTR",
        "CREATE",
        "REMOVE",
    ]
    assert "at most 300 IOPS" in out


@pytest.mark.parametrize(
    ("address", "flags", "words"),
    [
        (HOME, (), "--other-clients"),
        (MEDIA, ("--dry-run",), "--max-iops: no IOPS ceiling is published"),
        ("10.1.2.3", ("--dry-run",), "0 mount targets have address 10.1.2.3"),
        (IDLE, ("--dry-run", "--mount-target", "ocid1.mounttarget.oc1.x.y"), "0 mount targets have ocid1"),
        (IDLE, ("--step", "COFFEE"), "no such step"),
        (IDLE, ("--out", "/nowhere/report.json"), "--out=/nowhere/report.json: cannot be written"),
    ],
)
def test_it_refuses_with_one_line_and_exit_code_2(
    address: str, flags: tuple[str, ...], words: str, shared_region: Region, tmp_path: Path
) -> None:
    answer = calibrate(shared_region, tmp_path, address, *flags)
    assert answer.code == 2
    assert answer.out == ""
    assert words in answer.err
    assert len(answer.err.splitlines()) == 1


def test_a_run_that_other_clients_forbid_removes_nothing(shared_region: Region, tmp_path: Path) -> None:
    command = arguments(shared_region, tmp_path, HOME)
    left = tmp_path / "mount" / f"{PREFIX}0badcafe"
    left.mkdir()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    (left / MARK).write_text(json.dumps({"host": socket.gethostname(), "pid": ended.pid}))
    answer = ask(*command)
    assert answer.code == 2
    assert "--other-clients" in answer.err
    assert (left / MARK).exists()


def test_an_account_without_permission_says_so(shared_region: Region, tmp_path: Path) -> None:
    shared_region.add_fault("deny:ListMountTargets")
    try:
        answer = calibrate(shared_region, tmp_path, IDLE, "--dry-run")
    finally:
        shared_region.clear_faults()
    assert answer.code == 1
    assert answer.err.startswith(
        "fss-exporter: no listed mount target has address 10.80.4.40. The list is incomplete: "
    )
    assert "ListMountTargets" in answer.err


@contextmanager
def at_work(command: tuple[str, ...]) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The real command before its first minute, and the notes that it has printed."""
    run = [sys.executable, "-m", "fss_exporter", *command, "--other-clients", "--nfs.exact=off", "--step", "GETATTR"]
    with subprocess.Popen(run, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr
        notes = []
        try:
            for line in process.stderr:
                notes.append(line)
                if "(1 of" in line:
                    break
            yield process, notes
        finally:
            process.kill()


def test_it_removes_what_earlier_runs_of_this_host_left_names_the_rest_and_a_signal_removes_its_own(
    shared_region: Region, tmp_path: Path
) -> None:
    command = arguments(shared_region, tmp_path, IDLE)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    marks = {
        "0000000a": json.dumps({"host": socket.gethostname(), "pid": ended.pid}),
        "0000000b": '{"host": "an\\u001b[31mother", "pid": 1}',
        "0000000c": "{",
    }
    ours, others, damaged = (tmp_path / "mount" / f"{PREFIX}{name}" for name in marks)
    for directory, mark in zip((ours, others, damaged), marks.values(), strict=True):
        directory.mkdir()
        (directory / MARK).write_text(mark)
    with at_work(command) as (process, notes):
        said = "".join(notes)
        assert not ours.exists()
        assert f"removed what an earlier calibration left: {ours}" in said
        assert f"{others}: kept, because a calibration of the host an" in said
        assert f"{damaged}: kept, because a calibration of a host that its mark does not" in said
        assert "\x1b" not in said
        assert len(list((tmp_path / "mount").iterdir())) == 3  # with its own
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) != 0
    assert sorted((tmp_path / "mount").iterdir()) == [others, damaged]
    assert (others / MARK).exists()
