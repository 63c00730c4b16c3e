"""The kernel's own counts against packet captures of a real client: equal, to the unit."""

from pathlib import Path

import pytest
from tests.exact_recordings import ExactRecording, cost, load_all

from fss_exporter.model.operations import READ, WRITE

ALL = [pytest.param(recording, id=f"{recording.kernel}-{recording.name}") for recording in load_all()]


@pytest.mark.parametrize("recording", ALL)
@pytest.mark.parametrize("operation", [READ, WRITE])
def test_added_up_over_one_second_looks_the_cost_is_that_of_the_packets(
    recording: ExactRecording, operation: str, tmp_path: Path
) -> None:
    accounts = recording.accounts(recording.sysfs(tmp_path))

    assert cost(accounts, operation) == (recording.cost[operation],) * 3


@pytest.mark.parametrize("recording", ALL)
@pytest.mark.parametrize("operation", [READ, WRITE])
def test_over_the_whole_interval_the_cost_is_that_of_the_packets(
    recording: ExactRecording, operation: str, tmp_path: Path
) -> None:
    ends = (recording.looks[0], recording.looks[-1])
    accounts = recording.accounts(recording.sysfs(tmp_path), looks=ends)

    assert cost(accounts, operation) == (recording.cost[operation],) * 3


@pytest.mark.parametrize("recording", ALL)
def test_every_interval_passes_every_check(recording: ExactRecording, tmp_path: Path) -> None:
    counted = recording.counted(recording.sysfs(tmp_path))

    assert counted.failed == {}
    assert set(counted.exact.values()) == {True}


@pytest.mark.parametrize("recording", ALL)
def test_the_cost_by_server_is_that_of_the_packets(recording: ExactRecording, tmp_path: Path) -> None:
    accounts = recording.accounts(recording.sysfs(tmp_path))
    by_server = {
        key.address: {name.lower(): mount.operations[name].cost for name in (READ, WRITE)}
        for key, mount in accounts.mounts.items()
    }

    for address, truth in recording.truth["by_server"].items():
        assert {name: bounds and bounds.point for name, bounds in by_server[address].items()} == {
            name: truth[name] for name in ("read", "write")
        }


@pytest.mark.parametrize("recording", ALL)
def test_the_sizes_are_those_of_the_packets(recording: ExactRecording, tmp_path: Path) -> None:
    counted = recording.counted(recording.sysfs(tmp_path))

    for operation, histogram in ((READ, "read_hist"), (WRITE, "write_hist")):
        seen: dict[int, int] = {}
        for (_, name), transfers in counted.sizes.items():
            for blocks, count in transfers.by_blocks.items() if name == operation else ():
                seen[blocks] = seen.get(blocks, 0) + count
        wire: dict[int, int] = {}
        for size, count in recording.truth[histogram].items():
            blocks = max(1, -(-int(size) // 32768))
            wire[blocks] = wire.get(blocks, 0) + count
        assert seen == wire


@pytest.mark.parametrize("recording", ALL)
def test_lock_calls_are_those_of_the_packets_by_server_and_procedure(recording: ExactRecording, tmp_path: Path) -> None:
    """Those of a lock server on the client's own host are not part of it."""
    counted = recording.counted(recording.sysfs(tmp_path))

    seen = {place: count for place, count in counted.locks.items() if count}
    assert seen == {
        (address, procedure): count
        for address, truth in recording.truth["by_server"].items()
        for procedure, count in truth["nlm"].items()
    }


def test_a_single_look_late_moves_units_between_intervals_and_loses_none(tmp_path: Path) -> None:
    """Replies fall on either side of a look that takes time; nothing adds up."""
    (mixed,) = (recording for recording in load_all() if recording.name == "h9_mixed")
    every_third = (*mixed.looks[::3], mixed.looks[-1])
    accounts = mixed.accounts(mixed.sysfs(tmp_path), looks=every_third)

    assert sum(cost(accounts, operation)[1] for operation in (READ, WRITE)) == 13252
