"""Every round runs on a real file system; the counters come from a mountstats that names it."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fss_toolbox.calibrate.fake_procfs import procfs_with_mount

from fss_exporter.errors import SourceError, UsageError
from fss_exporter.nfs.procfs import Procfs
from fss_kernel_counting.sizes.size_counts import CountedTransfers, Counts
from fss_toolbox.calibrate.calibration_steps import (
    IDLE,
    PAST_THE_END,
    STEPS,
    CalibrationStep,
    costs_by_kind,
    steps_of,
    table_cost,
)
from fss_toolbox.calibrate.nfs_requests import NfsRequests, RequestCounts
from fss_toolbox.calibrate.own_directory import opened, own_directory

ORDERED = [step for step in STEPS if step != IDLE]


@pytest.fixture
def procfs(tmp_path: Path) -> Procfs:
    return Procfs(procfs_with_mount(tmp_path / "proc", tmp_path, "10.80.4.40"), "self")


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_every_step_sends_its_rounds_and_leaves_nothing(tmp_path: Path, procfs: Procfs) -> None:
    (tmp_path / "mount").mkdir()
    with own_directory(tmp_path / "mount") as own, opened(own) as descriptor:
        sender = NfsRequests(descriptor, RequestCounts(own, procfs.read))
        for step in ORDERED:
            sender.prepare(step)
            for _ in range(3):
                sender.send(step)
        sender.close()
    assert list((tmp_path / "mount").iterdir()) == []


def test_files_stay_in_the_directory_whatever_another_user_puts_in_its_place(tmp_path: Path, procfs: Procfs) -> None:
    victim, parent = tmp_path / "victim", tmp_path / "parent"
    for folder in (victim, parent):
        folder.mkdir()
    for name in ("data", "short", "file"):
        (victim / name).write_text("kept")
    before = {path: path.stat() for path in victim.iterdir()}
    with pytest.raises(SourceError, match="not the directory"), own_directory(parent) as own, opened(own) as descriptor:  # noqa: PT012
        sender = NfsRequests(descriptor, RequestCounts(own, procfs.read))
        own.rename(parent / "away")
        own.symlink_to(victim)
        for step in ORDERED:
            sender.prepare(step)
            sender.send(step)
        sender.close()
    assert {path: (path.stat().st_mode, path.read_text()) for path in victim.iterdir()} == {
        path: (was.st_mode, "kept") for path, was in before.items()
    }
    assert {path.name for path in (parent / "away").iterdir()} >= {"data", "short", "file"}


def test_more_removes_than_creates_end_as_used_up(tmp_path: Path, directory: int, procfs: Procfs) -> None:
    by_name = {step.name: step for step in STEPS}
    sender = NfsRequests(directory, RequestCounts(tmp_path, procfs.read))
    sender.prepare(by_name["CREATE"])
    sender.send(by_name["CREATE"])
    sender.prepare(by_name["REMOVE"])
    sender.send(by_name["REMOVE"])
    with pytest.raises(FileNotFoundError):
        sender.send(by_name["REMOVE"])


@pytest.mark.parametrize("step", ORDERED, ids=lambda step: step.name)
def test_counts_are_by_kinds_that_have_a_cost(
    step: CalibrationStep, tmp_path: Path, directory: int, procfs: Procfs
) -> None:
    sender = NfsRequests(directory, RequestCounts(tmp_path, procfs.read))
    stats = tmp_path / "proc" / "self" / "mountstats"
    stats.write_text(stats.read_text().replace(": 5 5 ", ": 12 12 "))
    counts = sender.counts(step)
    assert counts.keys() <= costs_by_kind().keys()
    if step.operation not in ("NLM", "NFSACL", "FSSTAT"):
        assert counts[step.name] == 7


def test_calls_that_mountstats_does_not_count_are_returned(
    tmp_path: Path, directory: int, procfs: Procfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "setxattr", lambda *_: None)
    by_name = {step.name: step for step in STEPS}
    sender = NfsRequests(directory, RequestCounts(tmp_path, procfs.read))
    for name, calls in (("NLM", 2), ("NFSACL", 2)):
        sender.prepare(by_name[name])
        assert sender.send(by_name[name]) == {name: calls}
    sender.close()


@pytest.mark.parametrize("kept", ["all", "posix"])
def test_locks_that_the_client_keeps_are_no_calls(kept: str, tmp_path: Path, directory: int, procfs: Procfs) -> None:
    stats = tmp_path / "proc" / "self" / "mountstats"
    stats.write_text(stats.read_text().replace("local_lock=none", f"local_lock={kept}"))
    sender = NfsRequests(directory, RequestCounts(tmp_path, procfs.read))
    step = next(step for step in STEPS if step.name == "NLM")
    sender.prepare(step)
    assert sender.send(step) == {}
    sender.close()


def test_a_server_without_the_acl_protocol_gets_no_calls(
    tmp_path: Path, directory: int, procfs: Procfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "setxattr", refuse)
    sender = NfsRequests(directory, RequestCounts(tmp_path, procfs.read))
    step = next(step for step in STEPS if step.name == "NFSACL")
    sender.prepare(step)
    assert sender.send(step) == {}
    sender.close()


def test_a_folder_that_is_not_on_an_nfs_mount_is_refused(procfs: Procfs) -> None:
    with pytest.raises(UsageError, match="not on an NFS mount"):
        RequestCounts(Path("/proc"), procfs.read)


def test_a_mount_that_goes_away_is_an_error_of_the_source(tmp_path: Path, directory: int, procfs: Procfs) -> None:
    sender = NfsRequests(directory, RequestCounts(tmp_path, procfs.read))
    (tmp_path / "proc" / "self" / "mountstats").write_text("")
    with pytest.raises(SourceError, match="not on an NFS mount"):
        sender.counts(ORDERED[0])


class TestExactMode:
    """Where the kernel counts sizes and lock calls, they are the true numbers."""

    def test_sizes_and_calls_are_those_that_the_kernel_counted(
        self, tmp_path: Path, directory: int, procfs: Procfs
    ) -> None:
        number = procfs.read().superblocks[0].number
        sizes = CountedTransfers(3, 34, 0, {1: 2, 32: 1})
        calls = {("10.80.4.40", "LOCK"): 7, ("10.80.4.40", "FREE_ALL"): 1, ("10.9.9.9", "LOCK"): 5}
        counted = Counts(frozenset({number}), {"READ": {number: sizes}}, locks=calls, acls={}, has_sizes=True)
        requests = RequestCounts(tmp_path, procfs.read, lambda: (procfs.read(), counted))
        step = next(step for step in STEPS if step.name == "READ 1 MiB")
        counts = requests.read(step)
        assert counts["READ 1 MiB"] == 1
        assert counts["READ 32 KiB"] == 2
        assert counts["NLM"] == 7
        assert NfsRequests(directory, requests).send(next(step for step in STEPS if step.name == "FSSTAT")) == {}

    def test_a_check_for_other_programs_between_two_looks_takes_no_counts_away(
        self, tmp_path: Path, procfs: Procfs
    ) -> None:
        number = procfs.read().superblocks[0].number
        work = Counts(frozenset({number}), {"READ": {number: CountedTransfers(9, 9, 0, {1: 9})}}, has_sizes=True)
        counted = iter((Counts(), work, Counts(frozenset({number}), has_sizes=True)))
        requests = RequestCounts(tmp_path, procfs.read, lambda: (procfs.read(), next(counted)))
        step = next(step for step in STEPS if step.name == "READ 32 KiB")
        requests.operations()
        requests.operations()
        assert requests.read(step)["READ 32 KiB"] == 9


@pytest.mark.parametrize("largest", [32768, 262144])
def test_a_mount_with_small_transfers_gets_no_larger_step(largest: int) -> None:
    """A larger request would be several on the wire, and their cost would be blamed on one."""
    steps = steps_of(largest, largest)
    assert max(step.size for step in steps) == largest
    assert len({step.name for step in steps}) == len(steps)
    past = next(step for step in steps if step.name == PAST_THE_END)
    assert past.io_operations == table_cost("READ", largest)
