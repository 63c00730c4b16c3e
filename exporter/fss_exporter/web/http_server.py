# SPDX-License-Identifier: Apache-2.0
"""The HTTP server: a thread for each connection, with h11 for the protocol, behind a few limits.

docs/decisions/http-server.md gives the reasons. tests/fss_exporter/web/with_attacks.py runs attacks.
"""

import _thread
import logging
import resource
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import h11

from fss_exporter.background import Event
from fss_exporter.log_once import LogOnce
from fss_exporter.web.messages import Application, Request, Response, text
from fss_exporter.web.refusals import Refusals

if TYPE_CHECKING:
    import ssl

    from fss_exporter.web.tls import ServerTls  # few exporters need TLS

HEAD_BYTES = 16 * 1024  # most bytes of a request's head
BODY_BYTES = 1024  # most bytes of a request's body. No endpoint of the exporter wants a body
_PIECE_BYTES = 32 * 1024
_BACKLOG = 4096

# Size of the kernel's buffer of a connection, which counts as memory of the exporter's cgroup and could grow to 4 MiB.
_SEND_BUFFER_BYTES = 64 * 1024

# The kernel keeps a new connection for so long until the client sends something. Silent clients cost nothing meanwhile.
_DEFER_SECONDS = 1

_SHUTDOWN_SECONDS = 0.4
_SPARE_BODIES = 3  # readers of so many different bodies never cut each other off, however large the page is
_RESERVED_DESCRIPTORS = 64  # for files, OCI and the sockets that the kernel accepts before an old connection is closed
_CLOSE = ("Connection", "close")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Limits on all clients together, and on the time of each step of a client."""

    connections: int = 256  # a further one replaces the one that has waited for its client longest
    # all different bodies together, and never less than three of the largest one. Above, the largest response is dropped
    unsent_bytes: int = 16 * 1024 * 1024
    # for the first byte of a connection, for a TLS handshake, and from the first byte of a request to the last
    request_seconds: float = 5.0
    idle_seconds: float = 180.0  # between two requests, longer than the usual scrape intervals
    send_seconds: float = 30.0  # for the client to take the response

    def within_descriptors(self) -> "ServerLimits":
        """Return these limits with no more connections than the process may open files."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return self
        return replace(self, connections=max(1, min(self.connections, soft - _RESERVED_DESCRIPTORS)))


def no_tls() -> "ServerTls | None":
    """Plain HTTP for every connection."""
    return None


class HttpServer:
    """Serve an application on sockets that listen.

    Args:
        sockets: where to listen.
        application: answers requests.
        tls: returns the TLS of a new connection, None for plain HTTP.
        limits: limits on the clients.
        refusals: counts the clients that meet a limit.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        application: Application,
        *,
        tls: Callable[[], "ServerTls | None"] = no_tls,
        limits: ServerLimits | None = None,
        refusals: Refusals | None = None,
    ) -> None:
        self.refusals = refusals or Refusals()
        self.limits = limits or ServerLimits().within_descriptors()
        self.application = application
        self.tls = tls
        self.log_once = LogOnce(_LOG)
        self.connections = _Connections(self.limits, self.log_once, self.refusals)
        self._sockets = sockets

    def run(self, stop: Event) -> None:
        """Serve until `stop` is set, then give requests in progress half a second."""
        poll = select.poll()
        poll.register(stop, select.POLLIN)
        by_number = {bound.fileno(): bound for bound in self._sockets}
        for number, bound in by_number.items():
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)  # connections inherit it
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _DEFER_SECONDS)
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            bound.listen(_BACKLOG)
            bound.settimeout(0)  # a client may leave between poll and accept
            poll.register(number, select.POLLIN)
        while True:
            ready = [number for number, _ in poll.poll()]
            if stop.fileno() in ready:
                break
            for number in ready:
                self._accept(by_number[number])
        for bound in self._sockets:
            bound.close()
        self.connections.shut_down()

    def _accept(self, bound: socket.socket) -> None:
        try:
            opened, (host, *_) = bound.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:  # the process has no further descriptor or no memory
            self.refusals.add()
            self.log_once.failed("accept", f"a connection cannot be accepted: {error}")
            self.connections.close_longest_wait()
            time.sleep(0.01)  # the kernel keeps the connection, and poll would return at once
            return
        connection = _Connection(self, opened, host)
        self.connections.enter(connection)
        try:
            _thread.start_new_thread(connection.serve, ())  # `Thread.start` would wait until the thread runs
        except RuntimeError as error:  # the system allows no further thread
            self.refusals.add()
            self.log_once.failed("thread", f"a connection has no thread: {error}")
            connection.end()
            self.connections.close_longest_wait()


class _Connections:
    def __init__(self, limits: ServerLimits, log_once: LogOnce, refusals: Refusals) -> None:
        self._limits = limits
        self._log_once = log_once
        self._refusals = refusals
        self._lock = threading.Lock()
        # Both are in the order in which the connections began to wait for their clients. A sending one is in both.
        self._waiting: dict[_Connection, None] = {}
        self._sending: dict[_Connection, bytes] = {}
        self._open: set[_Connection] = set()
        self._is_stopping = False

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, connection: "_Connection") -> None:
        """Add a connection, which waits for its client. Close the one with the longest wait if there are too many."""
        with self._lock:
            self._open.add(connection)
            if len(self._open) > self._limits.connections:
                # Without one that waits for its client all prepare an answer, and the new one must go.
                loser = next(iter(self._waiting), connection)
                self._refusals.add()
                self._log_once.failed(
                    "crowded", f"too many connections: closing one of {loser.client}, which waits longest"
                )
                self._close(loser)
            if connection in self._open:
                self._waiting[connection] = None

    def leave(self, connection: "_Connection") -> None:
        """Forget a connection."""
        with self._lock:
            self._forget(connection)

    def close_longest_wait(self) -> None:
        """Close the connection that has waited for its client longest."""
        with self._lock:
            longest = next(iter(self._waiting), None)
            if longest is not None:
                self._close(longest)

    @contextmanager
    def answering(self, connection: "_Connection") -> Iterator[None]:
        """Spare a connection while an answer is made, so that a newcomer closes another one: here the exporter is waited for."""
        with self._lock:
            self._waiting.pop(connection, None)
        try:
            yield
        finally:
            with self._lock:
                if connection in self._open:
                    self._waiting[connection] = None
                if self._is_stopping:
                    connection.ends_after_answer = True

    @contextmanager
    def sending(self, connection: "_Connection", body: bytes) -> Iterator[None]:
        """Bound the bytes of bodies that clients do not take. Clients with the same body share its bytes."""
        with self._lock:
            self._sending[connection] = body
            while self._is_too_much():
                # Of the largest, the first is the one that takes its body for the longest time.
                largest = max(self._sending, key=lambda sender: len(self._sending[sender]))
                self._refusals.add()
                self._log_once.failed("unsent", f"{largest.client} does not take its response: closing the connection")
                self._close(largest)
        try:
            yield
        finally:
            with self._lock:
                self._sending.pop(connection, None)

    def _is_too_much(self) -> bool:
        sizes = [len(body) for body in {id(body): body for body in self._sending.values()}.values()]
        return sum(sizes) > max(self._limits.unsent_bytes, _SPARE_BODIES * max(sizes, default=0))

    def _forget(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._sending.pop(connection, None)

    def _close(self, connection: "_Connection") -> None:
        self._forget(connection)
        connection.interrupt()

    def shut_down(self) -> None:
        """Close what waits for a request, then wait a moment for the answers."""
        with self._lock:
            self._is_stopping = True
            for connection in [waiting for waiting in self._waiting if waiting not in self._sending]:
                self._close(connection)
        until = time.monotonic() + _SHUTDOWN_SECONDS
        while self._open and time.monotonic() < until:
            time.sleep(0.01)
        with self._lock:
            for connection in list(self._open):
                self._close(connection)


class _Left(Exception):
    """The client has left, or took too long for a step."""


class _Connection:
    """One connection, served by a thread of its own. Every step has a deadline."""

    def __init__(self, server: HttpServer, opened: socket.socket, client: str) -> None:
        self.client = client.removeprefix("::ffff:")
        self.ends_after_answer = False
        self._server = server
        self._socket: socket.socket | ssl.SSLSocket = opened
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)

    def interrupt(self) -> None:
        """Let the thread's wait for the client end. Any thread may call this."""
        with suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # an SSLSocket keeps its state of TLS

    def end(self) -> None:
        """Close the connection."""
        self._server.connections.leave(self)
        with suppress(OSError):
            self._socket.close()

    def serve(self) -> None:
        """Answer requests until one of the two sides ends the connection."""
        try:
            self._secure()
            seconds = self._server.limits.request_seconds
            while (request := self._request(seconds)) is not None:
                self._answer(request)
                seconds = self._server.limits.idle_seconds
                if self.ends_after_answer or self._http.our_state is not h11.DONE:
                    break
                self._http.start_next_cycle()
        except (_Left, OSError):
            pass
        except h11.RemoteProtocolError as malformed:
            self._server.log_once.failed("malformed", f"refused a request of {self.client}: {malformed}")
            with suppress(_Left, OSError, h11.LocalProtocolError):
                status = malformed.error_status_hint
                self._send(text(status, "this is not HTTP/1.1 as the exporter reads it", _CLOSE), is_head=False)
        except Exception as error:  # noqa: BLE001  # a bug of ours costs this connection
            self._server.log_once.failed(type(error).__name__, "a connection failed", level=logging.ERROR, error=error)
        finally:
            self.end()

    def _secure(self) -> None:
        tls = self._server.tls()
        if tls is None:
            return
        self._await_client(self._server.limits.request_seconds)  # silent clients cost no handshake
        self._socket.settimeout(self._server.limits.request_seconds)
        try:
            secured = tls.context.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
            self._socket = secured
            secured.do_handshake()
            if not tls.admits(secured.getpeercert()):
                raise PermissionError("the client certificate has none of the names in client_allowed_sans")
        except (OSError, ValueError) as refused:
            kind = type(refused).__name__
            self._server.log_once.failed(f"handshake {kind}", f"no TLS with {self.client}: {refused or 'it went away'}")
            raise _Left from None

    def _await_client(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise _Left

    def _request(self, seconds: float) -> Request | Response | None:
        """Return the next request, a refusal, or None if the client has left. The first byte may take `seconds`."""
        if not self._http.trailing_data[0]:
            self._await_client(seconds)
        deadline = time.monotonic() + self._server.limits.request_seconds
        head, body_bytes = self._next_event(deadline), 0
        if not isinstance(head, h11.Request):
            return None
        if self._http.they_are_waiting_for_100_continue:
            return text(417, "no request needs a body here", _CLOSE)
        while isinstance(event := self._next_event(deadline), h11.Data):
            body_bytes += len(event.data)
            if body_bytes > BODY_BYTES:
                return text(413, f"request bodies end at {BODY_BYTES} bytes here", _CLOSE)
        return self._read(head) if isinstance(event, h11.EndOfMessage) else None

    def _next_event(self, deadline: float) -> h11.Event | None:
        """Return the next part of a request. None if the client has left."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._end_step_at(deadline)
            data = self._socket.recv(HEAD_BYTES)
            if not data:
                return None
            self._http.receive_data(data)
        return event if isinstance(event, h11.Event) else None

    def _end_step_at(self, deadline: float) -> None:
        """Let the next call of the socket end at a time of the monotonic clock."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise _Left
        self._socket.settimeout(left)

    def _read(self, head: h11.Request) -> Request | Response:
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        if head.http_version not in {b"1.0", b"1.1"}:
            return text(505, "this server speaks HTTP/1.1", _CLOSE)
        if "content-length" in headers and "transfer-encoding" in headers:
            return text(400, "a request has a content length or a transfer encoding, not both", _CLOSE)
        target = head.target.decode("latin-1")
        try:
            # A client that takes this server for a proxy sends a whole URL.
            url = urlsplit(target if not target.startswith("//") else f"/{target.lstrip('/')}")
        except ValueError:
            return text(400, "not a request target", _CLOSE)
        return Request(head.method.decode("ascii"), unquote(url.path) or "/", url.query, headers, self.client)

    def _answer(self, request: Request | Response) -> None:
        if isinstance(request, Response):
            self._send(request, is_head=False)
            return
        with self._server.connections.answering(self):
            try:
                response = self._server.application(request)
            except Exception as error:  # noqa: BLE001  # a bug of ours costs this request
                kind, message = f"application {type(error).__name__}", f"{request.method} {request.path} failed"
                self._server.log_once.failed(kind, message, level=logging.ERROR, error=error)
                response = text(500, "internal error. The exporter's log says more")
        if response.is_refusal:
            self._server.refusals.add()
        self._send(response, is_head=request.method == "HEAD")

    def _send(self, response: Response, *, is_head: bool) -> None:
        close = (_CLOSE,) if self.ends_after_answer and _CLOSE not in response.headers else ()
        headers = [
            # The names of days and months are English, because nothing here sets a locale.
            ("Date", time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())),
            ("Content-Type", response.content_type),
            ("Content-Length", str(len(response.body))),
            *response.headers,
            *close,
        ]
        reason = HTTPStatus(response.status).phrase
        head = self._http.send(h11.Response(status_code=response.status, headers=headers, reason=reason.encode()))
        body = b"" if is_head else response.body
        deadline = time.monotonic() + self._server.limits.send_seconds
        with self._server.connections.sending(self, body):
            for start in range(0, max(1, len(body)), _PIECE_BYTES):  # with TLS the time counts for each piece
                self._end_step_at(deadline)
                self._socket.sendall((head if not start and head else b"") + body[start : start + _PIECE_BYTES])
        if body:
            self._http.send_with_data_passthrough(h11.Data(data=body))  # only counts the bytes
        self._http.send(h11.EndOfMessage())
