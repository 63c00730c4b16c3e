"""Eighteen workloads at once on a real client: who gets the load of each."""

import pytest
from tests.who_recordings import METADATA, READS, WRITTEN, Shares, WhoRecording, load_all

V3, V42 = load_all()
ALL = pytest.mark.parametrize("recording", [V3, V42], ids=lambda one: one.name)


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
    found = _given(V42, METADATA)

    assert {shares.wrong for shares in found.values()} == {0}
    assert sum(one.right for one in found.values()) / sum(one.truth for one in found.values()) > 0.66
