"""Eighteen workloads at once on a real client: who gets the load of each."""

from pathlib import Path

import pytest
from tests import who_accuracy
from tests.who_recordings import METADATA, READS, RECORDINGS, WRITTEN, Shares, WhoRecording, load_all

V3, V42 = load_all()
ALL = pytest.mark.parametrize("recording", [V3, V42], ids=lambda recording: recording.name)


def _given(recording: WhoRecording, kind: str) -> dict[str, Shares]:
    return {workload: shares[kind] for workload, shares in recording.shares()}


@ALL
@pytest.mark.parametrize("kind", [READS, WRITTEN])
def test_every_read_and_every_written_byte_goes_to_the_right_process(recording: WhoRecording, kind: str) -> None:
    for workload, shares in _given(recording, kind).items():
        assert shares == Shares(shares.truth, shares.truth, wrong=0, kernel=0), workload


def test_metadata_of_nfs_3_goes_to_the_right_process_but_for_renamed_open_files() -> None:
    """The one workload that removes open files leaves 20 RENAMEs and 20 REMOVEs to the kernel, which carries them out later."""
    for workload, shares in _given(V3, METADATA).items():
        left = 40 if workload == "w_storm" else 0
        assert shares == Shares(shares.truth, shares.truth - left, wrong=0, kernel=left), workload


def test_metadata_of_nfs_4_never_goes_to_another_process() -> None:
    """CLOSE and DELEGRETURN stay with the kernel."""
    rows = _given(V42, METADATA).values()

    assert {row.wrong for row in rows} == {0}
    assert sum(row.right for row in rows) / sum(row.truth for row in rows) > 0.66


def test_make_accuracy_takes_recordings_of_another_kernel_with_the_same_layout(tmp_path: Path) -> None:
    (tmp_path / "who-v3-6.12").symlink_to(RECORDINGS / V3.name)

    assert "| **who-v3-6.12, all** | 1,040 | 100.0% | 65,619,103 | 100.0% | 2,038 | 98.0% |" in who_accuracy.tables(
        tmp_path
    )
    assert [*who_accuracy.misses(tmp_path)] == [*who_accuracy.misses()] == []


def test_a_directory_without_such_recordings_has_no_table(tmp_path: Path) -> None:
    assert who_accuracy.tables(tmp_path) == ""
