"""How long requests have waited for an address that answers none."""

import math

import pytest
from tests.fss_exporter.nfs.records import OPTIONS, Names, mountinfo, mountstats
from tests.recordings import RECORDINGS, load

from fss_exporter.model.client_state import Wait
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.nfs.unanswered import Unanswered

SECOND: Names = {"mount_point": "/mnt/b", "device": "10.0.0.3:/b"}


def look(*, connects: int = 1, sends: int = 100, receives: int = 100, asked: int = 50, ended: int = 50) -> str:
    """One record; `asked` GETATTRs began, `ended` GETATTRs ended and were sent once each."""
    line = f"tcp 800 1 {connects} 0 0 {sends} {receives} 0 0 0 2 0 0"
    return mountstats({"GETATTR": ended}, revalidations=asked, xprt=(line,))


REPLIED = look(sends=99, receives=99, asked=49, ended=49)


def waits(*looks: str, info: str | None = None, seconds: int = 1) -> list[float | None]:
    """Seconds waited for 10.0.0.3 after each look, one in so many seconds."""
    return [wait.seconds for wait in told(*looks, info=info, seconds=seconds)]


def told(*looks: str, info: str | None = None, seconds: int = 1) -> list[Wait]:
    unanswered, result = Unanswered(), []
    mounts = parse_mountinfo(mountinfo() if info is None else info)
    for number, text in enumerate(looks):
        unanswered.add(join(parse_mountstats(text), mounts), float(number * seconds))
        result.append(unanswered.waits()["10.0.0.3"])
    return result


def test_an_address_whose_connections_cannot_be_read_has_no_wait() -> None:
    unanswered = Unanswered()
    text = mountstats({"GETATTR": 1}, xprt=("quic 1 2 3",))
    unanswered.add(join(parse_mountstats(text), parse_mountinfo(mountinfo())), 0.0)

    assert unanswered.waits() == {}


def test_who_asks_nothing_waits_for_nothing() -> None:
    assert waits(look(), look(), look()) == [0, 0, 0]


@pytest.mark.parametrize(
    "waiting",
    [look(sends=101), look(asked=51), look(connects=2)],
    ids=["sent", "attributes are to be asked for", "a connection is opened for it"],
)
def test_a_request_without_a_reply_waits_until_there_is_any(waiting: str) -> None:
    answered = look(connects=3, sends=101, receives=101, asked=51, ended=51)

    assert waits(REPLIED, look(), waiting, waiting, waiting, answered, answered) == [0, 0, 1, 2, 3, 0, 0]


def test_a_request_that_was_killed_waits_no_more() -> None:
    killed = look(connects=2, asked=51, ended=51)

    assert waits(REPLIED, look(), look(connects=2, asked=51), killed, killed) == [0, 0, 1, 0, 0]


def test_one_that_was_killed_does_not_end_the_wait_of_another() -> None:
    ended = look(asked=52, ended=51)

    assert waits(REPLIED, look(), look(asked=52), ended, ended) == [0, 0, 1, 2, 3]


def test_transmissions_of_what_ended_are_not_taken_for_one_that_waits() -> None:
    ended = look(sends=101, ended=51)

    assert waits(REPLIED, look(), look(sends=101), ended, ended) == [0, 0, 1, 0, 0]


BOTH = mountinfo() + mountinfo(superblock="0:41", **SECOND)


def other(*, sends: int = 100, receives: int = 100) -> str:
    """The record of another mount of the server, which shares the connection."""
    return mountstats({"GETATTR": 5}, xprt=(f"tcp 800 1 1 0 0 {sends} {receives} 0 0 0 2 0 0",), **SECOND)


def test_nobody_knows_whether_a_mount_that_goes_takes_the_wait_with_it() -> None:
    before, waiting = look() + other(), look(sends=101) + other(sends=101)

    assert waits(REPLIED, before, waiting, look(sends=101), info=BOTH) == [0, 0, 1, None]


def test_a_mount_that_comes_or_goes_while_nothing_is_asked_leaves_what_is_known() -> None:
    old_gap = look(sends=120), look(sends=120) + other(sends=120), look(sends=120)

    assert waits(look(sends=119, receives=99), *old_gap, info=BOTH) == [None, 0, 0, 0]


def test_a_mount_that_comes_leaves_a_wait() -> None:
    waiting = look(sends=101)

    assert waits(REPLIED, look(), waiting, waiting + other(sends=101), info=BOTH) == [0, 0, 1, 2]


OLD_GAP = look(sends=105)


def test_a_gap_at_the_first_look_is_not_known_until_a_sign_shows_a_hang_which_may_be_older_than_it_shows() -> None:
    for sign in (look(sends=106), look(sends=105, asked=51), look(sends=105, connects=2)):
        looks = told(OLD_GAP, OLD_GAP, sign, *[sign] * 6)

        assert looks == [*[Wait(None)] * 7, *[Wait(seconds, may_be_longer=True) for seconds in (5, 6)]]


def test_a_reply_after_the_first_look_tells_that_nothing_waits() -> None:
    assert waits(OLD_GAP, OLD_GAP, look(sends=106, receives=101, asked=51, ended=51), OLD_GAP)[1:3] == [None, 0]


def test_a_gap_of_the_past_is_idle_after_the_longest_pause_of_the_mount() -> None:
    for options, pause_s in (
        ("timeo=600,retrans=2", 180),
        ("timeo=50,retrans=4", 25),
        ("timeo=600,retrans=30", 600),
        ("", 180),
        ("proto=udp,timeo=11,retrans=3", 8.8),
        (f"proto=udp,timeo=600,retrans={'9' * 18}", 60),
    ):
        record = OLD_GAP.replace(OPTIONS, f"rw,vers=3,{options}")
        for seconds, wait in ((math.ceil(pause_s) - 1, None), (math.ceil(pause_s), 0)):
            assert waits(record, record, seconds=seconds) == [None, wait], options


@pytest.mark.parametrize(("name", "longest"), [("r_server_killed", 12), ("r2_blackhole", 24)])
def test_a_recorded_outage_is_seen_while_it_lasts(name: str, longest: int) -> None:
    seen = [wait.seconds or 0 for wait in recorded(f"kernel-6.1/{name}")]

    assert max(seen) == longest
    assert (seen[0], seen[-1]) == (0, 0)


@pytest.mark.parametrize("name", ["w_idle", "w_umount_mount", "m_nconnect4", "n_v4.1", "k_mixed"])
def test_recorded_clients_that_are_answered_do_not_wait(name: str) -> None:
    assert set(recorded(f"kernel-6.1/{name}")) == {Wait(0)}


def test_an_agent_that_starts_in_a_recorded_outage_never_calls_it_fine() -> None:
    seen = recorded("kernel-6.1/r2_blackhole", skipped=9)

    assert seen[:5] == [Wait(None)] * 5
    assert all(wait.may_be_longer for wait in seen if wait.seconds)
    assert max(wait.seconds or 0 for wait in seen) == 17


def recorded(folder: str, skipped: int = 0) -> list[Wait]:
    unanswered, result = Unanswered(), []
    for at, reading in list(load(RECORDINGS / folder).readings())[skipped:]:
        unanswered.add(reading, at)
        result.append(longest_wait(unanswered, reading))
    return result


def longest_wait(unanswered: Unanswered, reading: Reading) -> Wait:
    waits = unanswered.waits()
    assert waits.keys() == {superblock.key.address for superblock in reading.superblocks}
    return max(waits.values(), key=lambda wait: 0.5 if wait.seconds is None else wait.seconds)
