"""How long requests have waited for an address that answers none."""

import pytest
from tests.fss_exporter.nfs.records import Names, mountinfo, mountstats
from tests.recordings import RECORDINGS, load

from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.nfs.unanswered import Unanswered

SECOND: Names = {"mount_point": "/mnt/b", "device": "10.0.0.3:/b"}


def look(*, connects: int = 1, sends: int = 100, receives: int = 100, asked: int = 50, ended: int = 50) -> str:
    """One record; `asked` GETATTRs began, `ended` GETATTRs ended and were sent once each."""
    line = f"tcp 800 1 {connects} 0 0 {sends} {receives} 0 0 0 2 0 0"
    return mountstats({"GETATTR": ended}, revalidations=asked, xprt=(line,))


def waits(*looks: str, info: str | None = None) -> list[int]:
    """Seconds waited for 10.0.0.3 after each look, one a second."""
    unanswered, result = Unanswered(), []
    mounts = parse_mountinfo(mountinfo() if info is None else info)
    for second, text in enumerate(looks):
        unanswered.add(join(parse_mountstats(text), mounts), float(second))
        result.append(unanswered.seconds()["10.0.0.3"])
    return result


def test_an_address_whose_connections_cannot_be_read_has_no_wait() -> None:
    unanswered = Unanswered()
    text = mountstats({"GETATTR": 1}, xprt=("quic 1 2 3",))
    unanswered.add(join(parse_mountstats(text), parse_mountinfo(mountinfo())), 0.0)

    assert unanswered.seconds() == {}


def test_who_asks_nothing_waits_for_nothing() -> None:
    assert waits(look(), look(), look()) == [0, 0, 0]


@pytest.mark.parametrize(
    "waiting",
    [look(sends=101), look(asked=51), look(connects=2)],
    ids=["sent", "attributes are to be asked for", "a connection is opened for it"],
)
def test_a_request_without_a_reply_waits_until_there_is_any(waiting: str) -> None:
    answered = look(connects=3, sends=101, receives=101, asked=51, ended=51)

    assert waits(look(), waiting, waiting, waiting, answered, answered) == [0, 1, 2, 3, 0, 0]


def test_a_request_that_was_killed_waits_no_more() -> None:
    killed = look(connects=2, asked=51, ended=51)

    assert waits(look(), look(connects=2, asked=51), killed, killed) == [0, 1, 0, 0]


def test_one_that_was_killed_does_not_end_the_wait_of_another() -> None:
    assert waits(look(), look(asked=52), look(asked=52, ended=51), look(asked=52, ended=51)) == [0, 1, 2, 3]


def test_transmissions_of_what_ended_are_not_taken_for_one_that_waits() -> None:
    ended = look(sends=101, ended=51)

    assert waits(look(), look(sends=101), ended, ended) == [0, 1, 0, 0]


def test_a_mount_that_goes_takes_the_wait_with_it() -> None:
    both = mountinfo() + mountinfo(superblock="0:41", **SECOND)
    other = mountstats({"GETATTR": 5}, xprt=("tcp 800 1 1 0 0 101 100 0 0 0 2 0 0",), **SECOND)

    assert waits(look() + other, look(sends=101) + other, look(sends=101), info=both) == [0, 1, 0]


@pytest.mark.parametrize(("name", "longest"), [("r_server_killed", 12), ("r2_blackhole", 24)])
def test_a_recorded_outage_is_seen_while_it_lasts(name: str, longest: int) -> None:
    seen = recorded(f"kernel-6.1/{name}")

    assert max(seen) == longest
    assert (seen[0], seen[-1]) == (0, 0)


@pytest.mark.parametrize("name", ["w_idle", "w_umount_mount", "m_nconnect4", "n_v4.1", "k_mixed"])
def test_recorded_clients_that_are_answered_do_not_wait(name: str) -> None:
    assert set(recorded(f"kernel-6.1/{name}")) == {0}


def recorded(folder: str) -> list[int]:
    unanswered, result = Unanswered(), []
    for at, reading in load(RECORDINGS / folder).readings():
        unanswered.add(reading, at)
        result.append(longest_wait(unanswered, reading))
    return result


def longest_wait(unanswered: Unanswered, reading: Reading) -> int:
    assert unanswered.seconds().keys() == {superblock.key.address for superblock in reading.superblocks}
    return max(unanswered.seconds().values())
