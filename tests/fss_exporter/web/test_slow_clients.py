"""Clients that are slow, silent or many: none of them keeps a scrape out, and none of them stays for ever."""

import logging
import resource
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection
from itertools import count
from pathlib import Path

import pytest
from tests.fss_exporter.web.certificates import Authority
from tests.fss_exporter.web.serving import Served, serving
from tests.processes import NEVER_S, PATIENCE_S, PROMPT_S, wait_for

from fss_exporter.web.http_server import ServerLimits
from fss_exporter.web.messages import Request, Response, text
from fss_exporter.web.tls import ServerTls
from fss_exporter.web.web_config_reload import WebConfigReload

# No time-out closes a connection while a scrape waits: where the scrape is answered, it did not wait for one.
PATIENT = ServerLimits(request_seconds=NEVER_S, idle_seconds=NEVER_S, send_seconds=NEVER_S)

LARGE = b"x" * 16 * 1024 * 1024  # more than all buffers between the server and a client that does not read


SLOW = b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 1_000_000  # a request that a client sends byte by byte


def application(request: Request) -> Response:
    # bytes() of a bytearray, because clients with the same body share its bytes
    return Response(200, bytes(bytearray(LARGE))) if request.path == "/large" else text(200, "ok")


def is_prompt(served: Served, context: ssl.SSLContext | None = None) -> bool:
    begun = time.monotonic()
    assert served.get("/", context=context).status == 200
    return time.monotonic() - begun < PROMPT_S


def send_bytes(connections: list[socket.socket], at: int) -> None:
    """Send one more byte of a request on each connection."""
    for connection in connections:
        with suppress(OSError):
            connection.sendall(SLOW[at : at + 1])


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection on which it sends nothing."""
    connection.settimeout(0)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def await_close(connection: socket.socket) -> None:
    """Return when the server has closed a connection; time out where it does not."""
    connection.settimeout(PATIENCE_S)
    with suppress(ConnectionResetError):
        while connection.recv(65536):
            pass


def https(folder: Path) -> tuple[Callable[[], ServerTls | None], ssl.SSLContext]:
    """A server's certificate as the server takes it, and a client that trusts it."""
    authority = Authority(folder)
    server = authority.sign("server")
    web = folder / "web.yml"
    web.write_text(f"tls_server_config: {{cert_file: {server.certificate}, key_file: {server.key}}}")
    return WebConfigReload(web).tls, ssl.create_default_context(cafile=str(authority.pair.certificate))


class Answers:
    """An application that counts its answers: the server has then accepted as many connections at least."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, request: Request) -> Response:
        self.number += 1
        return application(request)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def many(served: Served, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as opened:
        yield [opened.enter_context(served.connect()) for _ in range(count)]


def test_connections_opened_and_left_do_not_keep_a_scrape_out_and_are_bounded() -> None:
    limits = replace(PATIENT, connections=20)
    with serving(application, limits=limits) as served, many(served, 400):
        assert is_prompt(served)
        wait_for(lambda: len(served.server.connections) <= 20, "those given up to be closed")


def test_a_connection_left_alone_is_closed() -> None:
    with serving(application, limits=ServerLimits(request_seconds=0.2)) as served, many(served, 3) as opened:
        for connection in opened:
            await_close(connection)
        wait_for(lambda: len(served.server.connections) == 0, "the connections to be closed")


def test_requests_sent_byte_by_byte_do_not_keep_a_scrape_out() -> None:
    with serving(application, limits=PATIENT) as served, many(served, 100) as opened:
        for at in range(40):
            send_bytes(opened, at)
        assert is_prompt(served)


def test_a_byte_now_and_then_buys_a_request_no_more_time() -> None:
    with serving(application, limits=ServerLimits(request_seconds=0.5)) as served, many(served, 20) as opened:
        numbers = count()

        def all_are_closed() -> bool:
            send_bytes(opened, next(numbers))
            return all(map(is_closed, opened))

        wait_for(all_are_closed, "the connections to be closed while bytes arrive")


def test_a_client_that_does_not_read_does_not_keep_a_scrape_out() -> None:
    with serving(application, limits=PATIENT) as served, many(served, 8) as opened:
        for connection in opened:
            connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        assert is_prompt(served)


def test_a_client_that_does_not_read_is_dropped() -> None:
    answers = Answers()
    with serving(answers, limits=replace(PATIENT, send_seconds=0.5)) as served, many(served, 8) as opened:
        for connection in opened:
            connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_for(lambda: answers.number == 8 and len(served.server.connections) == 0, "the clients to be dropped")


def test_responses_that_no_client_takes_are_kept_up_to_a_bound(caplog: pytest.LogCaptureFixture) -> None:
    limits = replace(PATIENT, unsent_bytes=len(LARGE))
    answers = Answers()
    with serving(answers, limits=limits) as served, many(served, 6) as opened:
        for connection in opened:
            connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        # Three connections are also open before the server has accepted the fourth.
        wait_for(lambda: answers.number == 6 and len(served.server.connections) == 3, "the oldest to be given up")

        assert is_prompt(served)
        assert served.get("/large").body == LARGE
    assert "does not take its response" in caplog.text


def test_a_slow_but_steady_reader_gets_all_of_it() -> None:
    with serving(application) as served, served.connect() as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received = 0
        while piece := connection.recv(1024 * 1024):
            received += len(piece)
            time.sleep(0.001)

    assert received > len(LARGE)


def test_silent_tls_clients_do_not_keep_a_scrape_out(tmp_path: Path) -> None:
    tls, context = https(tmp_path)
    limits = replace(PATIENT, connections=150)

    with serving(application, tls=tls, limits=limits) as served:
        with many(served, 100), many(served, 40) as stuck:
            for connection in stuck:
                connection.sendall(b"\x16\x03\x01\x02\x00\x01")
            assert is_prompt(served, context)
            assert len(stuck) <= len(served.server.connections)
        assert is_prompt(served, context)


def test_a_handshake_that_does_not_end_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tls, _ = https(tmp_path)

    limits = ServerLimits(request_seconds=0.2)
    with serving(application, tls=tls, limits=limits) as served, served.connect() as client:
        client.sendall(b"\x16")
        await_close(client)
    assert "no TLS with 127.0.0.1" in caplog.text


def test_tls_clients_that_ask_ahead_and_do_not_read_are_replaced_by_newcomers(tmp_path: Path) -> None:
    tls, context = https(tmp_path)

    limits = replace(PATIENT, connections=5)
    with serving(application, tls=tls, limits=limits) as served, ExitStack() as opened:
        for _ in range(10):
            plain = opened.enter_context(served.connect())
            secured = opened.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
            secured.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n" * 4)
        assert is_prompt(served, context)


def test_tls_clients_that_do_not_say_goodbye_keep_no_descriptor(tmp_path: Path) -> None:
    tls, context = https(tmp_path)

    # Five seconds for a handshake, and as many for the goodbye that does not come.
    with serving(application, tls=tls, limits=ServerLimits()) as served, ExitStack() as opened:
        before = open_descriptors()
        for _ in range(20):
            plain = opened.enter_context(served.connect())
            secured = opened.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
            secured.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert secured.recv(1000).startswith(b"HTTP/1.1 200 ")
        wait_for(lambda: len(served.server.connections) == 0, "the connections to be closed")
        wait_for(lambda: open_descriptors() <= before + 20, "the descriptors of the server to be closed")


def test_a_connection_in_use_is_not_given_up_for_newcomers() -> None:
    begun, go = threading.Event(), threading.Event()

    def waits(request: Request) -> Response:
        if request.path == "/wait":
            begun.set()
            assert go.wait(PATIENCE_S)
        return text(200, "ok")

    with serving(waits, limits=replace(PATIENT, connections=5)) as served:
        working = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE_S)
        working.request("GET", "/wait")
        assert begun.wait(PATIENCE_S)
        with many(served, 50):
            assert is_prompt(served)
            go.set()
            assert working.getresponse().status == 200
        working.close()


def test_crowding_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving(application, limits=replace(PATIENT, connections=5)) as served, many(served, 50) as opened:
        for connection in opened:
            connection.sendall(b"G")
        assert is_prompt(served)

    crowded = [
        record.message
        for record in caplog.records
        if "too many connections: closing one of 127.0.0.1" in record.message
    ]
    assert len(crowded) == 1


def test_a_connection_is_kept_for_the_next_request() -> None:
    with serving(application, limits=PATIENT) as served, served.connect() as connection:
        for _ in range(2):
            read_answer(connection)


def test_an_idle_connection_is_closed_after_its_time() -> None:
    with serving(application, limits=replace(PATIENT, idle_seconds=0.2)) as served, served.connect() as connection:
        read_answer(connection)
        await_close(connection)
        wait_for(lambda: len(served.server.connections) == 0, "the connection to be closed")


def read_answer(connection: socket.socket) -> None:
    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    answer = b""
    while not answer.endswith(b"ok\n"):
        piece = connection.recv(1000)
        assert piece, "closed before the end of the answer"
        answer += piece


def test_limits_fit_into_the_descriptors_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, expected in ((1024, 256), (100, 36), (10, 1), (resource.RLIM_INFINITY, 256)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert ServerLimits().within_descriptors().connections == expected
