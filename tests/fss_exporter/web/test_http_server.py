import _thread
import gc
import logging
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any

import pytest
from tests.fss_exporter.web.serving import serving
from tests.processes import PATIENCE_S, wait_for

from fss_exporter.web.http_server import _Connection
from fss_exporter.web.messages import Request, Response, text


def mirror(request: Request) -> Response:
    """Says what it was asked."""
    return text(
        200, f"{request.method} {request.path} ?{request.query} {request.headers.get('x-test')} {request.client}"
    )


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(b"GET /\r\n\r\n", 400, id="HTTP/0.9"),
        pytest.param(b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, id="HTTP/2"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, id="HTTP/2 preface"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 400, id="no host"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, id="two hosts"),
        pytest.param(b"G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="nul in the method"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nbroken line\r\n\r\n", 400, id="a header without colon"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", 400, id="nul in a header"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400, id="negative length"),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, id="two lengths"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, id="chunk of no length"
        ),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, id="unknown encoding"),
        pytest.param(b"GET http://[/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="a target that is no URL"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, id="TLS to a plain port"),
        pytest.param(b"\xff" * 10_000 + b"\r\n\r\n", 400, id="rubbish"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n" + b"a" * 5000, 413, id="large body"),
    ],
)
def test_a_malformed_request_is_refused_and_the_next_one_served(sent: bytes, expected: int) -> None:
    with serving() as served:
        answer = served.exchange(sent)

        assert answer.startswith(f"HTTP/1.1 {expected} ".encode())
        assert b"\r\nconnection: close\r\n" in answer.lower()
        assert served.get("/").status == 200


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"\xff" * 1_048_576, id="rubbish"),
        pytest.param(b"GET /" + b"a" * 1_048_576 + b" HTTP/1.1\r\nHost: a\r\n\r\n", id="target"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 1_048_576 + b"\r\n\r\n", id="one header"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: 1\r\n" * 200_000 + b"\r\n", id="many headers"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n" + b"a" * 1_048_576, id="body"),
    ],
)
def test_a_request_of_1_mib_is_cut_off(sent: bytes) -> None:
    with serving() as served:
        with served.connect() as opened, suppress(ConnectionError):
            opened.sendall(sent)
            while opened.recv(65536):
                pass
        wait_for(lambda: not len(served.server.connections), "the connection to be closed")
        assert served.get("/").status == 200


def test_a_length_together_with_chunks_ends_the_connection() -> None:
    """What one server takes for a body, another takes for the next request."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with serving() as served:
        answer = served.exchange(request + smuggled)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "broken", [b"HEAD / HTTP/1.1\r\n\r\n", b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"]
)
def test_a_refused_head_request_gets_an_answer(broken: bytes) -> None:
    with serving() as served:
        assert served.exchange(broken).startswith(b"HTTP/1.1 400 ")


def test_a_refusal_is_logged_once_and_names_the_peer(caplog: pytest.LogCaptureFixture) -> None:
    with serving() as served:
        for _ in range(5):
            served.exchange(b"nonsense\r\n\r\n")

    lines = [record.message for record in caplog.records]
    assert len(lines) == 1
    assert lines[0].startswith("refused a request of 127.0.0.1: ")


def test_what_was_asked_reaches_the_application() -> None:
    with serving(mirror) as served:
        assert served.get("/a%20b?c=%20d", headers={"X-Test": "é"}).body == "GET /a b ?c=%20d é 127.0.0.1\n".encode()


def test_an_absolute_target_is_served_as_if_it_were_not() -> None:
    with serving(mirror) as served:
        answer = served.exchange(b"GET http://elsewhere:1/x?y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")

    assert b"GET /x ?y " in answer


def test_a_small_body_is_taken_and_nobody_is_invited_to_send_one() -> None:
    request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n%s\r\n"
    with serving(mirror) as served:
        assert served.exchange(request % b"" + b"abc").startswith(b"HTTP/1.1 200 ")
        assert served.exchange(request % b"Expect: 100-continue\r\n").startswith(b"HTTP/1.1 417 ")


def test_one_connection_serves_many_requests() -> None:
    with serving(mirror) as served:
        connection = HTTPConnection("127.0.0.1", served.port, timeout=120)
        for number in range(5):
            connection.request("GET", f"/{number}")
            assert f"GET /{number} ".encode() in connection.getresponse().read()
        assert len(served.server.connections) == 1
        connection.close()


def test_requests_sent_ahead_are_answered_in_order() -> None:
    with serving(mirror) as served:
        answer = served.exchange(b"".join(b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(3)))

    assert [answer.index(b"GET /%d " % number) for number in range(3)] == sorted(
        answer.index(b"GET /%d " % number) for number in range(3)
    )


def test_a_client_that_closes_its_half_gets_the_answers_it_waits_for() -> None:
    """As `nc -N` and some probes do."""
    go = threading.Event()

    def slow(request: Request) -> Response:
        assert go.wait(PATIENCE_S)
        return text(200, request.path)

    with serving(slow) as served, served.connect() as connection:
        connection.sendall(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        go.set()
        answer = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert [line for line in answer.splitlines() if line in {b"/1", b"/2"}] == [b"/1", b"/2"]


def test_an_old_client_is_answered_and_let_go() -> None:
    with serving() as served:
        answer = served.exchange(b"GET / HTTP/1.0\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\nok\n")


def test_head_is_get_without_the_body() -> None:
    with serving() as served:
        answer = served.get("/", method="HEAD")

    assert answer.status == 200
    assert answer.body == b""
    assert answer.headers["content-length"] == "3"


def test_a_bug_in_the_application_is_a_500_and_says_so_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def buggy(_: Request) -> Response:
        raise ZeroDivisionError("a bug")

    with serving(buggy) as served:
        assert served.exchange(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").startswith(b"HTTP/1.1 500 ")

    assert "a bug" in caplog.text


def test_stopping_lets_an_answer_in_the_making_finish() -> None:
    begun = threading.Event()

    def ends_after_the_server_begins_to_stop(_: Request) -> Response:
        begun.set()
        wait_for(lambda: served.server.connections._is_stopping, "the server to stop")
        return text(200, "made it")

    with serving(ends_after_the_server_begins_to_stop) as served:
        connection = HTTPConnection("127.0.0.1", served.port, timeout=120)
        connection.request("GET", "/")
        assert begun.wait(120)
    assert connection.getresponse().read() == b"made it\n"
    connection.close()


def test_a_connection_that_is_reset_after_its_answer_leaves_nothing() -> None:
    def left() -> int:
        return sum(isinstance(node, _Connection) for node in gc.get_objects())

    gc.collect()
    gc.disable()  # nothing waits for the garbage collector
    try:
        with serving() as served:
            for _ in range(20):
                with served.connect() as resetting:
                    resetting.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                    assert resetting.recv(1000)
                    resetting.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wait_for(lambda: left() == 0, "the connections to be forgotten")
    finally:
        gc.enable()


def test_a_connection_without_a_thread_is_closed_and_the_next_one_served(monkeypatch: pytest.MonkeyPatch) -> None:
    start = _thread.start_new_thread
    refused: list[object] = []

    def refuse_once(run: Callable[..., object], arguments: tuple[Any, ...]) -> int:
        if not refused:
            refused.append(run)
            raise RuntimeError("can't start new thread")
        return start(run, arguments)

    with serving() as served:
        monkeypatch.setattr(_thread, "start_new_thread", refuse_once)
        with served.connect() as connection, suppress(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\n")
            assert connection.recv(1000) == b""
        assert served.get("/").status == 200


def test_clients_that_leave_are_not_worth_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving() as served:
        served.connect().close()
        with served.connect() as leaving:
            leaving.sendall(b"GET / HTTP/1.1\r\n")
        assert served.get("/").status == 200

    assert [record.message for record in caplog.records if record.levelno > logging.INFO] == []
