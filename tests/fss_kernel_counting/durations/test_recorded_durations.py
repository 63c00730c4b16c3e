"""Durations of a real client's requests: seven superblocks of NFSv3 and NFSv4, busy at once."""

import pytest
from tests import latency_accuracy
from tests.latency_accuracy import EXECUTE, LatencyRecording, Pair

RECORDINGS = latency_accuracy.load_all()
PAIRS = [pair for recording in RECORDINGS for pair in recording.pairs()]


def test_there_are_recordings_of_both_versions() -> None:
    assert len(PAIRS) >= 7
    assert {pair.mount.rpartition(" ")[2] for pair in PAIRS} == {"(nfs)", "(nfs4)"}


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_counts_of_every_operation_and_sums_to_a_millisecond_are_those_of_mountstats(pair: Pair) -> None:
    assert pair.counted == pair.seen > 400
    assert not pair.unequal
    assert pair.difference_ms < 1


def test_the_histograms_of_the_agent_have_every_request_that_mountstats_has() -> None:
    assert list(latency_accuracy.misses()) == []


@pytest.mark.parametrize(
    "listing",
    [
        (
            "/sys/fs/nfs/0:38:\nlrwxrwxrwx 1 root root 0 Nov 22 00:00 nfs_client -> ../../kernel/sunrpc/rpc-clients/clnt-6\n"
            "lrwxrwxrwx 1 root root 0 Nov 22 10:05 nfs_state_client -> ../../kernel/sunrpc/rpc-clients/clnt-2\n"
        ),
        "/sys/fs/nfs/0:38/nfs_client -> ../../../kernel/sunrpc/rpc-clients/clnt-6\n",
        "0:38 nfs_client /sys/kernel/sunrpc/rpc-clients/clnt-6\n0:38 lockd_client /sys/kernel/sunrpc/rpc-clients/clnt-5\n",
    ],
)
def test_a_listing_of_newer_kernels_tells_the_client_of_a_superblock(listing: str) -> None:
    assert list(latency_accuracy.superblock_links(listing)) == [("0:38", "clnt-6")]


def test_an_altered_table_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    text = LatencyRecording.text

    def altered(recording: LatencyRecording, name: str) -> str:
        whole = text(recording, name)
        return (
            whole.replace("hitcount:          1 ", "hitcount:          2 ", 1) if f"after-{EXECUTE}" in name else whole
        )

    monkeypatch.setattr(LatencyRecording, "text", altered)
    assert list(latency_accuracy.misses())
