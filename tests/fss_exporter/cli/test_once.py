"""`fss-exporter once`: a scrape without a listener, whose counters go on from run to run."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from itertools import count
from pathlib import Path

import pytest
from tests.exposition_text import families_of
from tests.fss_exporter.nfs.records import Names, mountinfo, mountstats
from tests.processes import get, node_exporter, require
from tests.prompt import ask

from fss_exporter.nfs import kept_state
from fss_exporter.samples import Samples
from fss_exporter.sealed_json import seal, unseal

AGES = count(1000, 1000)  # each look is older than the last by more than a test takes, however busy the machine is

SECOND: Names = {"device": "10.0.0.4:/b", "mount_point": "/mnt/b"}


def host(root: Path, *, removes: int = 100, age: int | None = None, second: tuple[int, int] | None = None) -> Path:
    """A procfs with one mount, or two: REMOVEs and age of each."""
    first = next(AGES) if age is None else age
    stats, info = mountstats({"REMOVE": removes, "READ": removes}, age=first, read_bytes=4096 * removes), mountinfo()
    if second is not None:
        stats += mountstats({"REMOVE": second[0]}, age=second[1], **SECOND)
        info += mountinfo(superblock="0:41", address="10.0.0.4", **SECOND)
    (root / "1").mkdir(parents=True, exist_ok=True)
    (root / "1" / "mountinfo").write_text(info)
    (root / "1" / "mountstats").write_text(stats)
    return root


def removes(text: str) -> dict[str, float]:
    """REMOVEs by export."""
    return {
        labels["export"]: value
        for labels, value in Samples(families_of(text)).all("fss_client_operations_total")
        if labels["operation"] == "REMOVE"
    }


def write(root: Path, output: Path, *flags: object) -> dict[str, float]:
    answer = ask("once", "--path.procfs", root, "--out", output, *flags)
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    return removes(output.read_text())


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--nfs.mounts-include=a{99999999999}"], "not a regular expression: error: decimal literal invalid"),
        (
            ["--nfs.mounts-exclude=" + 2000 * "(" + 2000 * ")"],
            "not a regular expression: error: exceed the maximum number of nested",
        ),
        (["--nfs.mounts-exclude=(?!a)b"], "--nfs.mounts-exclude=(?!a)b: not a regular expression: error: look-around"),
        (["--path.procfs=/nowhere"], "--path.procfs=/nowhere: not a directory"),
        (["--out=/nowhere/a.prom"], "--out=/nowhere/a.prom: /nowhere: No such file or directory"),
        (["--out="], "'--out': the path is empty"),
    ],
)
def test_wrong_flags_are_one_line(flags: list[str], complaint: str, tmp_path: Path) -> None:
    answer = ask("once", "--path.procfs", host(tmp_path), *flags)

    assert answer.code == 2
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1


def test_counters_that_cannot_be_read_are_a_failure_and_leave_the_file_as_it_is(tmp_path: Path) -> None:
    output = tmp_path / "fss.prom"
    write(host(tmp_path / "proc"), output)
    before = output.read_text()
    (tmp_path / "proc" / "1" / "mountstats").unlink()

    answer = ask("once", "--path.procfs", tmp_path / "proc", "--out", output)
    assert answer.code == 1
    assert answer.err.startswith("fss-exporter: cannot read ")
    assert len(answer.err.splitlines()) == 1
    assert output.read_text() == before


def test_a_device_or_a_link_stays_as_it_is(tmp_path: Path) -> None:
    """A user without a wish for a file writes `--out /dev/null`. As root the command must not replace the device."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "elsewhere")
    for output in (pipe, link):
        answer = ask("once", "--path.procfs", host(tmp_path / "proc"), "--out", output)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err == f"fss-exporter: --out={output}: not a regular file. Omit --out for standard output\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe", "proc"]


def test_a_link_that_the_owner_of_the_directory_puts_in_the_way_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root writes into a directory of another user, for example of node_exporter, who can exchange the temporary folder."""
    root, secret, folder = host(tmp_path / "proc"), tmp_path / "secret", tmp_path / "folder"
    secret.write_text("secret")
    secret.chmod(0o600)
    folder.mkdir()
    (folder / "fss.prom").symlink_to(secret)
    (folder / "fss.prom.state").symlink_to(secret)
    monkeypatch.setattr("tempfile.TemporaryDirectory", lambda **_: nullcontext(str(folder)))

    answer = ask("once", "--path.procfs", root, "--out", tmp_path / "fss.prom")
    assert (answer.code, secret.read_text(), secret.stat().st_mode & 0o777) == (2, "secret", 0o600)


def test_a_full_disk_is_a_failure_that_leaves_the_files_as_they_are_and_no_others(tmp_path: Path) -> None:
    root, output = tmp_path / "proc", tmp_path / "fss.prom"
    write(host(root), output)
    before = output.read_bytes()
    small = require("prlimit", "util-linux"), "--fsize=8192"  # enough for the state
    command = [*small, require("fss-exporter", "this project"), "once", f"--path.procfs={root}", f"--out={output}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)

    assert (done.returncode, done.stderr) == (1, f"fss-exporter: {output}: cannot be written: File too large\n")
    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fss.prom", "fss.prom.state", "proc"]


def test_a_signal_while_the_files_are_replaced_leaves_no_others(tmp_path: Path) -> None:
    root, output = host(tmp_path / "proc"), tmp_path / "fss.prom"
    script = """
import pathlib, signal, sys
pathlib.Path.replace = lambda *_: signal.raise_signal(signal.SIGTERM)
from fss_exporter.cli.main import main
main()
"""
    command = [sys.executable, "-c", script, "once", f"--path.procfs={root}", f"--out={output}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)

    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")
    assert [path.name for path in tmp_path.iterdir()] == ["proc"]


def test_stdout_has_everything_since_each_mount(tmp_path: Path) -> None:
    answer = ask("once", "--path.procfs", host(tmp_path, second=(7, 3)))

    assert answer.code == 0
    assert removes(answer.out) == {"/a": 100, "/b": 7}
    assert 'fss_collector_success{collector="nfs"} 1.0' in answer.out
    promtool = require("promtool", "prometheus")
    lint = subprocess.run([promtool, "check", "metrics"], input=answer.out, capture_output=True, text=True, check=False)
    assert (lint.returncode, lint.stdout, lint.stderr) == (0, "", "")


def test_counters_of_a_file_go_on_from_run_to_run(tmp_path: Path) -> None:
    root, output = tmp_path / "proc", tmp_path / "fss.prom"

    assert write(host(root), output) == {"/a": 0}
    assert write(host(root, removes=104), output) == {"/a": 4}
    assert write(host(root, removes=109), output) == {"/a": 9}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fss.prom", "fss.prom.state", "proc"]


def test_a_mount_made_between_two_runs_shows_zeros_first_and_loses_nothing(tmp_path: Path) -> None:
    root, output = tmp_path / "proc", tmp_path / "fss.prom"
    write(host(root), output)

    assert write(host(root, second=(30, 0)), output) == {"/a": 0, "/b": 0}
    assert write(host(root, second=(31, 0)), output) == {"/a": 0, "/b": 31}


def test_after_a_reboot_the_counters_go_on_and_nothing_of_the_new_life_is_lost(tmp_path: Path) -> None:
    root, output = tmp_path / "proc", tmp_path / "fss.prom"
    write(host(root), output)
    write(host(root, removes=104), output)
    state = output.with_name("fss.prom.state")
    document = json.loads(unseal(state.read_bytes())) | {"boot_id": "another"}
    state.write_bytes(seal(json.dumps(document).encode()))

    assert write(host(root, removes=50, age=5), output) == {"/a": 54}


@pytest.mark.parametrize(
    ("operation", "cost", "mount", "address"),
    [("REMOVE", "io_operations: 3", 3, 5), ("READ", "factor: 2", 8, 12), ("NLM", "io_operations: 5", 8, 10)],
)
def test_a_measured_cost_counts_from_the_run_after_the_change_of_the_configuration(
    operation: str, cost: str, mount: float, address: float, tmp_path: Path
) -> None:
    """Counts by two costs in one counter would be wrong, so the mount begins with what this run adds, as after a restart."""
    root, output, measured = tmp_path / "proc", tmp_path / "fss.prom", tmp_path / "measured.yml"
    row = f"{{{cost}, date: 2026-11-01, source: test}}"
    measured.write_text(f"cost_model: {{operations: {{{operation}: {row}}}}}\n", "utf-8")

    def estimates() -> tuple[float, float]:
        """Return the estimates of the mount's class `metadata_write` and of its address."""
        lines = [line.rpartition(" ") for line in output.read_text().splitlines()]
        (of_mount,) = (
            value for name, _, value in lines if "d_io_operations_total{" in name and '"metadata_write"' in name
        )
        (of_address,) = (value for name, _, value in lines if name.startswith("fss_client_address_estimated_io_op"))
        return float(of_mount), float(of_address)

    write(host(root), output)
    assert (write(host(root, removes=104), output), estimates()) == ({"/a": 4}, (32, 40))
    with_cost = ("--config.file", measured)
    assert (write(host(root, removes=105), output, *with_cost), estimates()) == ({"/a": 1}, (mount, address))
    assert (write(host(root, removes=110), output, *with_cost), estimates()) == ({"/a": 6}, (6 * mount, 6 * address))


def test_no_byte_of_a_state_can_change_unseen(tmp_path: Path) -> None:
    root, output = tmp_path / "proc", tmp_path / "fss.prom"
    write(host(root), output)
    content = output.with_name("fss.prom.state").read_bytes()
    kept_state.load(content.decode())
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        with pytest.raises(ValueError, match="checksum"):
            kept_state.load(changed.decode("utf-8", "replace"))


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 8}', '{"version": 3, "totals": 5}', "[" * 100_000])
def test_a_damaged_state_is_one_line_and_counters_begin_again(text: str, tmp_path: Path) -> None:
    root, output = tmp_path / "proc", tmp_path / "fss.prom"
    write(host(root), output)
    state = output.with_name("fss.prom.state")
    state.write_text(text)

    answer = ask("once", "--path.procfs", host(root, removes=104), "--out", output)
    assert (answer.code, answer.out) == (0, "")
    problem = "damaged, or of another version. The counters begin at 0, and this run replaces the file"
    assert answer.err == f"fss-exporter once: {state}: {problem}\n"
    assert removes(output.read_text()) == {"/a": 0}
    assert write(host(root, removes=109), output) == {"/a": 5}


def test_a_state_of_many_gigabytes_is_not_read_and_is_replaced(tmp_path: Path) -> None:
    root, output = host(tmp_path / "proc"), tmp_path / "fss.prom"
    with output.with_name("fss.prom.state").open("wb") as state:
        state.truncate(1 << 40)  # no disk has this much, and no memory

    answer = ask("once", "--path.procfs", root, "--out", output)
    assert (answer.code, removes(output.read_text())) == (0, {"/a": 0})
    assert "damaged" in answer.err


def test_an_empty_state_is_damaged_and_said_so(tmp_path: Path) -> None:
    root, output = tmp_path / "proc", tmp_path / "fss.prom"
    output.with_name("fss.prom.state").touch()

    answer = ask("once", "--path.procfs", host(root), "--out", output)
    assert (answer.code, removes(output.read_text())) == (0, {"/a": 0})
    assert "damaged" in answer.err


def test_other_users_read_the_metrics_and_not_the_state_with_texts_that_the_kernel_shows_to_root(
    tmp_path: Path,
) -> None:
    output = tmp_path / "fss.prom"
    write(host(tmp_path / "proc"), output)

    assert oct(output.stat().st_mode)[-3:] == "644"
    assert oct(output.with_name("fss.prom.state").stat().st_mode)[-3:] == "600"


def test_a_figure_of_the_last_seconds_has_no_sample_because_one_reading_cannot_know_it(tmp_path: Path) -> None:
    answer = ask("once", "--path.procfs", host(tmp_path / "proc"))

    assert "fss_client_operations_total" in answer.out
    assert "fss_client_unanswered_seconds" not in answer.out
    assert "fss_client_peak_estimated_iops" not in answer.out


def test_a_read_that_hangs_ends_the_run_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fss_exporter.nfs.procfs.READING_SECONDS", 0.2)
    root = host(tmp_path / "proc")
    fifo = root / "1" / "fifo"
    os.mkfifo(fifo)
    fifo.replace(root / "1" / "mountstats")  # to open it waits for a writer, for ever

    answer = ask("once", "--path.procfs", root)
    assert answer.code == 1
    assert "mountstats has not ended after 0 s" in answer.err


def test_a_lock_of_another_program_ends_a_run_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who may read the directory can lock it, and cron would start ever more runs that wait."""
    monkeypatch.setattr("fss_exporter.cli.once._TURN_SECONDS", 0.0)
    root, output = host(tmp_path / "proc"), tmp_path / "fss.prom"
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_SH)
        answer = ask("once", "--path.procfs", root, "--out", output)
    finally:
        os.close(directory)

    assert answer.code == 1
    assert f"another program locks {tmp_path}" in answer.err
    assert not output.exists()


def test_runs_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    root, output = host(tmp_path / "proc"), tmp_path / "fss.prom"
    write(root, output)
    host(root, removes=104)
    command = [require("fss-exporter", "this project"), "once", f"--path.procfs={root}", f"--out={output}"]
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda: codes.append(subprocess.run(command, check=False, timeout=300).returncode))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert codes == [0] * 4
    assert removes(output.read_text()) == {"/a": 4}


def test_node_exporter_takes_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "textfile"
    folder.mkdir()
    write(host(tmp_path / "proc"), folder / "fss.prom")
    write(host(tmp_path / "proc", removes=104), folder / "fss.prom")
    with node_exporter(tmp_path, "--collector.textfile", f"--collector.textfile.directory={folder}") as url:
        text = get(f"{url}/metrics")

    assert removes(text) == {"/a": 4}
    assert "node_textfile_scrape_error 0" in text
    assert f'node_textfile_mtime_seconds{{file="{folder / "fss.prom"}"}}' in text
