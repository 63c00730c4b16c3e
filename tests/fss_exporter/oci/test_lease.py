"""One of several equal pollers leads: who, when, and for how long two of them can believe it."""

import logging
import os
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from tests.clock import Clock
from tests.processes import PROMPT_S

from fss_exporter.background import OneWithin
from fss_exporter.errors import SourceError
from fss_exporter.oci.polling.lease import RENEW_SECONDS, SILENT_SECONDS, Lease

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds from the last look of a leader until another one leads, at the latest.
TAKEN_AFTER = SILENT_SECONDS + 2 * RENEW_SECONDS


class Pollers:
    """Some pollers that look at one lease, each on its turn."""

    def __init__(self, folder: Path, number: int) -> None:
        self.path = folder / "fss-exporter.leader"
        self.clock = Clock()
        self.number = number
        self.all = [self.make(f"poller-{place}") for place in range(number)]
        self.stopped: set[int] = set()

    def make(self, name: str) -> Lease:
        return Lease(self.path, name, clock=self.clock)

    def look(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            for number, lease in enumerate(self.all):
                if number not in self.stopped:
                    with suppress(SourceError):
                        lease.renew()
            self.clock.now += RENEW_SECONDS

    def look_alone(self, number: int) -> None:
        if number not in self.stopped:
            self.all[number].renew()

    @property
    def leaders(self) -> list[int]:
        return [number for number, lease in enumerate(self.all) if lease.is_held]


@pytest.fixture
def two(tmp_path: Path) -> Pollers:
    return Pollers(tmp_path, 2)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"<html> 502 Bad gateway"])
def test_whatever_the_file_says_is_taken_over_after_half_a_minute_of_silence(two: Pollers, content: bytes) -> None:
    two.path.write_bytes(content)
    two.look(rounds=int(SILENT_SECONDS / RENEW_SECONDS))
    assert two.leaders == []
    two.look(rounds=2)
    assert len(two.leaders) == 1


def test_what_is_no_file_is_told_and_leaves_each_poller_what_it_is(
    two: Pollers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    two.look(rounds=2)
    two.path.unlink()
    two.path.mkdir()
    two.look(rounds=20)
    assert two.leaders == [0]
    assert "the lease cannot be kept, and this poller leads on: Is a directory" in caplog.text
    assert "the lease cannot be kept, and this poller stands by: Is a directory" in caplog.text
    two.path.rmdir()
    two.look(rounds=2)
    assert two.leaders == [0]
    assert "the lease can be kept again" in caplog.text


def test_a_file_system_without_an_answer_costs_one_thread_and_leaves_each_poller_what_it_is(
    two: Pollers, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.look(rounds=2)
    for lease in two.all:
        monkeypatch.setattr(lease, "_access", OneWithin(0.01, "the access to its file system"))
    go, read = threading.Event(), Lease._read
    monkeypatch.setattr(Lease, "_read", lambda self: (go.wait(PROMPT_S), read(self))[1])
    before = threading.active_count()
    for _ in range(5):
        for lease in two.all:
            with pytest.raises(SourceError, match="its file system"):
                lease.renew()
    assert two.leaders == [0]
    assert threading.active_count() <= before + 2
    go.set()


def test_the_first_poller_leads_and_the_second_stands_by(two: Pollers) -> None:
    two.look()
    assert two.leaders == [], "a poller leads when it reads its own name"
    two.look(rounds=100)
    assert two.leaders == [0]
    assert two.all[1].leader == "poller-0"


def test_a_leader_that_ends_hands_over_within_two_looks(two: Pollers) -> None:
    two.look(rounds=3)
    two.all[0].release()
    two.stopped = {0}
    two.look(rounds=2)
    assert two.leaders == [1]


def test_a_poller_that_ends_before_it_reads_its_own_name_leaves_no_lease(two: Pollers) -> None:
    two.look_alone(0)
    assert two.path.exists()
    two.all[0].release()
    assert not two.path.exists()


def test_a_file_system_that_does_not_answer_holds_up_no_end(two: Pollers, monkeypatch: pytest.MonkeyPatch) -> None:
    two.look(rounds=2)
    go = threading.Event()
    monkeypatch.setattr(two.all[0], "_access", OneWithin(0.01, "the access to its file system"))
    monkeypatch.setattr(Lease, "_read", lambda _: go.wait(PROMPT_S) and None)
    two.all[0].release()
    assert two.path.exists()
    go.set()


def test_a_lease_that_cannot_be_removed_is_left_without_an_error(two: Pollers, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    two.look(rounds=2)
    monkeypatch.setattr(Path, "unlink", refuse)
    two.all[0].release()
    assert two.leaders == []
    assert two.path.exists()


def test_a_poller_that_ends_while_it_stands_by_changes_nothing(two: Pollers) -> None:
    two.look(rounds=3)
    two.all[1].release()
    assert two.path.exists()
    two.look(rounds=2)
    assert two.leaders == [0]


def test_a_leader_that_was_killed_is_followed_after_half_a_minute(two: Pollers) -> None:
    two.look(rounds=3)
    two.stopped = {0}
    two.look(rounds=int(SILENT_SECONDS / RENEW_SECONDS) - 1)
    assert not two.all[1].is_held
    two.look(rounds=3)
    assert two.all[1].is_held


def test_a_leader_that_was_stopped_and_goes_on_stands_by_after_one_look(
    two: Pollers, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    two.look(rounds=3)
    two.stopped = {0}
    two.look(rounds=int(TAKEN_AFTER / RENEW_SECONDS))
    assert two.leaders == [0, 1], "the stopped one has not looked yet"
    assert not two.all[0].holds_now(), "and would write no ledger"
    two.stopped = set()
    two.look()
    assert two.leaders == [1]
    two.look(rounds=20)
    assert two.leaders == [1]
    assert [record.getMessage() for record in caplog.records] == [
        "this poller stands by: poller-0 leads",
        "this poller leads",
        "this poller leads",
        "this poller stands by: poller-1 leads",
    ], "each leader once"


def test_a_leader_that_cannot_write_leads_until_another_one_does(two: Pollers, monkeypatch: pytest.MonkeyPatch) -> None:
    two.look(rounds=3)
    write = Lease._write
    monkeypatch.setattr(Lease, "_write", lambda self: refused() if self is two.all[0] else write(self))
    for rounds, leaders in ((5, [0]), (3, [1])):
        two.look(rounds)
        assert two.leaders == leaders


def refused() -> None:
    raise OSError(30, os.strerror(30))


def test_a_leader_that_cannot_read_the_file_leads_on_beside_the_other_and_stands_by_when_it_can(
    two: Pollers, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.look(rounds=3)
    read = Lease._read
    with monkeypatch.context() as cut:
        cut.setattr(Lease, "_read", lambda self: refused() if self is two.all[0] else read(self))
        two.look(rounds=20)
        assert two.leaders == [0, 1]
    two.look()
    assert two.leaders == [1]


EVENTS = st.lists(st.tuples(st.sampled_from(["renew", "stop", "go", "restart", "delete", "pass"]), st.integers(0, 2)))


@given(events=EVENTS)
def test_after_any_events_one_leads_within_a_minute_and_stays(
    events: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    pollers = Pollers(tmp_path_factory.mktemp("lease"), 3)
    act: dict[str, Callable[[int], object]] = {
        "renew": pollers.look_alone,
        "stop": pollers.stopped.add,
        "go": pollers.stopped.discard,
        "restart": lambda number: pollers.all.__setitem__(number, pollers.make(f"poller-{number}-{pollers.clock.now}")),
        "delete": lambda _: pollers.path.unlink(missing_ok=True),
        "pass": lambda seconds: setattr(pollers.clock, "now", pollers.clock.now + 10.0 * seconds + 1),
    }
    for event, argument in events:
        act[event](argument)
    pollers.stopped = set()
    pollers.look(rounds=int(60 / RENEW_SECONDS))
    seen = []
    for _ in range(10):
        pollers.look()
        seen.append(pollers.leaders)
    assert len(seen[0]) == 1
    assert all(before == after for before, after in pairwise(seen))
    assert [path.name for path in pollers.path.parent.iterdir()] == [pollers.path.name], "no other file is left"
