"""Which connection is closed when there are too many, by a clock that the test moves."""

import asyncio
from collections.abc import Callable

import pytest

from fss_exporter.web.connections import ConnectionLimits, Connections, WaitsFor


class Fake:
    """A connection that notes that it was closed."""

    def __init__(self, unsent_bytes: int = 0, client: str = "10.0.0.1") -> None:
        self.client_key = client
        self.unsent_bytes = unsent_bytes
        self.closed = False

    def abort(self) -> None:
        self.closed = True


def with_clock(run: Callable[[Callable[[float], None]], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test in an event loop whose time passes only when the test says so."""
    now = 100.0

    def pass_seconds(seconds: float) -> None:
        nonlocal now
        now += seconds

    async def in_loop() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        run(pass_seconds)

    asyncio.run(in_loop())


def enter(connections: Connections, waits_for: WaitsFor, unsent_bytes: int = 0, client: str = "10.0.0.1") -> Fake:
    entered = Fake(unsent_bytes, client)
    connections.enter(entered, waits_for)
    return entered


def test_a_client_that_never_asked_is_closed_before_a_scraper_between_two_scrapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(connections=2))
        scraper = enter(connections, WaitsFor.NEXT_REQUEST)
        pass_seconds(15)
        silent = enter(connections, WaitsFor.REQUEST)
        pass_seconds(1)
        enter(connections, WaitsFor.REQUEST)

        assert (silent.closed, scraper.closed) == (True, False)

    with_clock(run, monkeypatch)


def test_a_newcomer_that_has_had_no_time_to_ask_outlives_an_idle_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scraper must not be closed for the next newcomer while clients that asked once hold all places."""

    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(connections=2))
        idle = enter(connections, WaitsFor.NEXT_REQUEST)
        scraper = enter(connections, WaitsFor.REQUEST)
        pass_seconds(0.1)
        enter(connections, WaitsFor.REQUEST)

        assert (idle.closed, scraper.closed) == (True, False)

    with_clock(run, monkeypatch)


def test_of_newcomers_the_one_that_has_waited_longest_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(connections=2))
        does_not_read = enter(connections, WaitsFor.CLIENT_READS)
        pass_seconds(0.01)
        silent = enter(connections, WaitsFor.REQUEST)
        pass_seconds(0.01)
        enter(connections, WaitsFor.REQUEST)

        assert (does_not_read.closed, silent.closed) == (True, False)

    with_clock(run, monkeypatch)


def test_a_crowd_of_silent_clients_does_not_close_a_scraper_in_its_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(connections=5))
        scraper = enter(connections, WaitsFor.FIRST_BYTE)
        connections.enter(scraper, WaitsFor.REQUEST)
        silent = [enter(connections, WaitsFor.FIRST_BYTE) for _ in range(8)]
        pass_seconds(0.01)

        assert not scraper.closed
        assert [client.closed for client in silent] == [True] * 4 + [False] * 4

    with_clock(run, monkeypatch)


def test_a_connection_that_is_being_answered_is_never_closed_for_a_newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(connections=2))
        answered = [enter(connections, WaitsFor.ANSWER) for _ in range(2)]
        pass_seconds(10)
        newcomer = enter(connections, WaitsFor.REQUEST)

        assert newcomer.closed
        assert not any(connection.closed for connection in answered)
        assert len(connections) == 2

    with_clock(run, monkeypatch)


@pytest.mark.parametrize("waits_for", [one for one in WaitsFor if one is not WaitsFor.ANSWER])
def test_a_client_with_many_connections_loses_its_own(waits_for: WaitsFor, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(connections=5))
        scraper = enter(connections, WaitsFor.NEXT_REQUEST, client="10.0.0.9")
        pass_seconds(60)
        crowd = [enter(connections, waits_for) for _ in range(6)]
        other = enter(connections, WaitsFor.REQUEST, client="10.0.0.2")

        assert [connection.closed for connection in crowd] == [True] * 3 + [False] * 3
        assert [scraper.closed, other.closed] == [False, False]
        assert len(connections) == 5

    with_clock(run, monkeypatch)


def test_a_slow_scraper_is_not_closed_for_another_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(unsent_bytes=100))
        scraper = enter(connections, WaitsFor.CLIENT_READS, 40, client="10.0.0.9")
        pass_seconds(1)
        crowd = [enter(connections, WaitsFor.CLIENT_READS, 30) for _ in range(3)]
        pass_seconds(1)
        last = enter(connections, WaitsFor.CLIENT_READS, 30)

        assert not scraper.closed
        assert [connection.closed for connection in (*crowd, last)] == [True, True, False, False]

    with_clock(run, monkeypatch)


def test_responses_that_clients_do_not_take_are_bounded_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(unsent_bytes=100))
        readers = []
        for _ in range(4):
            pass_seconds(1)
            readers.append(enter(connections, WaitsFor.CLIENT_READS, unsent_bytes=40))

        assert [reader.closed for reader in readers] == [True, True, False, False]

    with_clock(run, monkeypatch)


def test_a_client_that_reads_is_not_closed_for_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(pass_seconds: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(unsent_bytes=100))
        stalled = enter(connections, WaitsFor.CLIENT_READS, unsent_bytes=90)
        pass_seconds(1)
        scraper = enter(connections, WaitsFor.CLIENT_READS, unsent_bytes=30)
        pass_seconds(0.1)
        newcomer = enter(connections, WaitsFor.CLIENT_READS, unsent_bytes=90)

        assert [one.closed for one in (stalled, scraper, newcomer)] == [True, False, False]

    with_clock(run, monkeypatch)


def test_beyond_four_times_the_bound_the_largest_response_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(unsent_bytes=100))
        scraper = enter(connections, WaitsFor.CLIENT_READS, unsent_bytes=30)
        others = [enter(connections, WaitsFor.CLIENT_READS, unsent_bytes=190) for _ in range(3)]

        assert not scraper.closed
        assert [other.closed for other in others] == [True, True, False]

    with_clock(run, monkeypatch)


def test_one_response_may_be_larger_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: Callable[[float], None]) -> None:
        connections = Connections(ConnectionLimits(unsent_bytes=100))

        assert not enter(connections, WaitsFor.CLIENT_READS, unsent_bytes=1000).closed

    with_clock(run, monkeypatch)
