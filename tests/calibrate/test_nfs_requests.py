"""Every round runs on a real file system; the counters come from a mountstats that names it."""

from pathlib import Path

import pytest
from tests.calibrate.fake_procfs import procfs_with_mount

from fss_exporter.calibrate.calibration_steps import IDLE, STEPS, CalibrationStep, costs_by_kind
from fss_exporter.calibrate.nfs_requests import NfsRequests
from fss_exporter.calibrate.own_directory import own_directory
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.nfs.procfs import Procfs

ORDERED = [step for step in STEPS if step != IDLE]


@pytest.fixture
def procfs(tmp_path: Path) -> Procfs:
    return Procfs(procfs_with_mount(tmp_path / "proc", tmp_path, "10.80.4.40"), "self")


def test_every_step_sends_its_rounds_and_leaves_nothing(tmp_path: Path, procfs: Procfs) -> None:
    (tmp_path / "mount").mkdir()
    with own_directory(tmp_path / "mount") as own:
        sender = NfsRequests(own, procfs)
        for step in ORDERED:
            sender.prepare(step)
            for _ in range(3):
                sender.send(step)
        sender.close()
    assert list((tmp_path / "mount").iterdir()) == []


def test_more_removes_than_creates_end_as_used_up(tmp_path: Path, procfs: Procfs) -> None:
    by_name = {step.name: step for step in STEPS}
    sender = NfsRequests(tmp_path, procfs)
    sender.prepare(by_name["CREATE"])
    sender.send(by_name["CREATE"])
    sender.prepare(by_name["REMOVE"])
    sender.send(by_name["REMOVE"])
    with pytest.raises(FileNotFoundError):
        sender.send(by_name["REMOVE"])


@pytest.mark.parametrize("step", ORDERED, ids=lambda step: step.name)
def test_counts_are_by_kinds_that_have_a_cost(step: CalibrationStep, tmp_path: Path, procfs: Procfs) -> None:
    counts = NfsRequests(tmp_path, procfs).counts(step)
    assert counts.keys() <= costs_by_kind().keys()
    if step.operation not in ("NLM", "NFSACL", "FSSTAT"):
        assert counts[step.name] == 5


def test_calls_that_mountstats_does_not_count_are_returned(tmp_path: Path, procfs: Procfs) -> None:
    by_name = {step.name: step for step in STEPS}
    sender = NfsRequests(tmp_path, procfs)
    for name, calls in (("NLM", 2), ("NFSACL", 1)):
        sender.prepare(by_name[name])
        assert sender.send(by_name[name]) == {name: calls}
    sender.close()


def test_a_folder_that_is_not_on_an_nfs_mount_is_refused(procfs: Procfs) -> None:
    with pytest.raises(UsageError, match="not on an NFS mount"):
        NfsRequests(Path("/proc"), procfs)


def test_a_mount_that_goes_away_is_an_error_of_the_source(tmp_path: Path, procfs: Procfs) -> None:
    sender = NfsRequests(tmp_path, procfs)
    (tmp_path / "proc" / "self" / "mountstats").write_text("")
    with pytest.raises(SourceError, match="not on an NFS mount"):
        sender.counts(ORDERED[0])
