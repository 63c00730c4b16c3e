"""The HTTP server: uvicorn's HTTP/1.1 protocol on asyncio, with limits that hold against hostile clients.

uvicorn (with h11) parses requests and writes responses. This module adds what uvicorn does not have: a time limit for each
step, a bound on connections and on unsent bytes, a TLS configuration that may change, and an end within half a second.
docs/decisions/http-server.md says why; tests/web/test_attacks.py holds it.
"""

import asyncio
import asyncio.sslproto
import email.utils
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from fss_exporter.log_once import LogOnce
from fss_exporter.web.connections import ConnectionLimits, Connections, WaitsFor
from fss_exporter.web.messages import Application, Request, Response, text

if TYPE_CHECKING:
    import ssl

_LOG = logging.getLogger(__name__)
_UNREAD_BYTES = 16 * 1024
"""Of a request's head, and of requests sent ahead of their answers. A client that sends more is closed."""
_BODY_BYTES = 1024
"""No endpoint of the exporter wants a body."""
_SEND_BUFFER_BYTES = 64 * 1024
"""The kernel's buffer of a connection. It counts as memory of the exporter's cgroup, and may otherwise grow to 4 MiB."""
_CONNECTION = "connection"
_PIECE_BYTES = 32 * 1024
_BACKLOG = 4096
_DEFER_SECONDS = 1
"""The kernel keeps a new connection for so long until its client has sent something. Silent clients cost nothing meanwhile."""
_SHUTDOWN_SECONDS = 0.4
_LOOK_AGAIN_SECONDS = 0.05
_BAD_REQUEST = b"this is not HTTP/1.1 as the exporter reads it\n"

AsgiMessage = Mapping[str, Any]


class Tls(Protocol):
    """How one new connection is secured."""

    @property
    def context(self) -> "ssl.SSLContext":
        """Certificate, client CA, versions and ciphers."""

    def admits(self, certificate: Mapping[str, Any] | None) -> bool:
        """Whether a verified client certificate, as `SSLSocket.getpeercert` gives it, has an allowed name."""


def no_tls() -> Tls | None:
    """Plain HTTP for every connection."""
    return None


asyncio.sslproto.SSLProtocol.max_size = 32 * 1024  # bytes read at once, a buffer of each connection; 256 KiB otherwise


class HttpServer:
    """Serves an application on bound sockets.

    Args:
        sockets: bound, listening, non-blocking.
        application: turns requests into responses.
        tls: asked for each new connection; None for plain HTTP.
        limits: numbers, bytes and times.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        application: Application,
        *,
        tls: Callable[[], Tls | None] = no_tls,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self.tls = tls
        self.limits = limits or ConnectionLimits()
        self.connections = Connections(self.limits)
        self.log_once = LogOnce(_LOG)
        self.uvicorn_state = ServerState()
        self.uvicorn_config = Config(
            _Asgi(application),
            loop="none",
            interface="asgi3",
            lifespan="off",
            ws="none",
            log_config=None,
            log_level=logging.CRITICAL,  # what uvicorn would log of clients and of the application is logged here, once
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=int(self.limits.idle_seconds) + 1,  # `Connections` is first
            h11_max_incomplete_event_size=_UNREAD_BYTES,
        )
        self.is_stopping = False
        self._sockets = sockets

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set, then give the requests that are being answered half a second."""
        loop = asyncio.get_running_loop()
        servers = []
        # Few at once: a newcomer's request is to be read before other newcomers can replace it.
        at_once = max(1, min(32, self.limits.connections // 8))
        for bound in self._sockets:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)  # connections inherit it
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _DEFER_SECONDS)
            # Accepted sockets inherit this. Without it the body waits 40 ms for the client's delayed ACK of the head.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            servers.append(await loop.create_server(lambda: _Connection(self), sock=bound, backlog=at_once))
            bound.listen(_BACKLOG)  # create_server has lowered it to what it accepts at once
        try:
            await stop.wait()
        finally:
            self.is_stopping = True
            for bound in self._sockets:
                loop.remove_reader(bound.fileno())
            await asyncio.sleep(0)  # asyncio leaks a connection that it accepts while its server is closed
            for server in servers:
                server.close()
            await self._close_connections()

    async def _close_connections(self) -> None:
        for waiting in self.connections.among(WaitsFor.REQUEST, WaitsFor.NEXT_REQUEST):
            self.connections.close(waiting)
        for busy in self.connections.among(WaitsFor.ANSWER, WaitsFor.CLIENT_READS):
            cast("_Connection", busy).shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(_SHUTDOWN_SECONDS):
                while len(self.connections):
                    await asyncio.sleep(0.01)
        for slow in self.connections.among(*WaitsFor):
            self.connections.close(slow)
        await asyncio.sleep(0.01)  # asyncio closes the sockets in its next rounds


class _Connection(H11Protocol):
    """One connection. `Connections` knows at any time what it waits for."""

    def __init__(self, server: HttpServer) -> None:
        super().__init__(server.uvicorn_config, server.uvicorn_state, {_CONNECTION: self})
        self._server = server
        self._socket_transport: asyncio.Transport | None = None
        self._waits_for = WaitsFor.REQUEST
        self._handshake: asyncio.Task[None] | None = None
        self._has_begun = False
        self.held_bytes = 0
        """Of the response's body, not yet written."""
        self._early = b""

    def _wait_for(self, waits_for: WaitsFor) -> None:
        self._waits_for = waits_for
        self._server.connections.enter(self, waits_for)

    @property
    def unsent_bytes(self) -> int:
        """Bytes of the response that the client has not taken; below TLS some more wait in the socket's transport."""
        transports = {self.transport, self._socket_transport} - {None}
        return self.held_bytes + sum(transport.get_write_buffer_size() for transport in transports if transport)

    def abort(self) -> None:
        """Close the connection now."""
        if self._socket_transport:
            self._socket_transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Serve plain HTTP, or shake hands first."""
        self._socket_transport = transport
        if self._server.is_stopping:
            transport.abort()
            return
        self._wait_for(WaitsFor.REQUEST)
        tls = self._server.tls()
        if tls is None:
            self._begin(transport)
        else:
            transport.pause_reading()
            self._handshake = self.loop.create_task(self._secure(transport, tls))

    async def _secure(self, plain: asyncio.Transport, tls: Tls) -> None:
        seconds = self._server.limits.request_seconds
        try:
            secured = await self.loop.start_tls(
                plain,
                self,
                tls.context,
                server_side=True,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=seconds,
            )
            if secured is None:
                raise ConnectionResetError("it went away")
            if not tls.admits(secured.get_extra_info("peercert")):
                raise PermissionError("the client certificate has none of the names in client_allowed_sans")
        except OSError as refused:
            peer = (plain.get_extra_info("peername") or ("a client",))[0]
            self._server.log_once.failed(
                f"handshake {type(refused).__name__}", f"no TLS with {peer}: {refused or 'it went away'}"
            )
            self._server.connections.close(self)
        else:
            self._begin(secured)

    def _begin(self, transport: asyncio.Transport) -> None:
        # The client has taken a response when this buffer is empty. With a high mark of 0 a TLS transport never resumes.
        transport.set_write_buffer_limits(high=1, low=0)
        if transport is not self._socket_transport and self._socket_transport:
            self._socket_transport.set_write_buffer_limits(high=1, low=0)
        super().connection_made(transport)
        self._has_begun = True
        self._wait_for(WaitsFor.REQUEST)
        if self._early:
            self.data_received(self._early)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._server.connections.leave(self)
        if self._has_begun:
            super().connection_lost(exc)
        self.app_state.clear()  # or this object would keep itself, and its response, until the garbage collector runs
        if self.scope:
            self.scope["state"].clear()

    def data_received(self, data: bytes) -> None:
        """Read a request; its first byte starts its time limit."""
        if len(self.conn.trailing_data[0]) + len(data) > _UNREAD_BYTES:
            self._server.connections.close(self)
            return
        if not self._has_begun:  # the request came together with the end of the handshake
            self._early += data
            return
        if self._waits_for is WaitsFor.NEXT_REQUEST:
            self._wait_for(WaitsFor.REQUEST)
        super().data_received(data)

    def handle_events(self) -> None:
        """Parse what has arrived; a whole request waits for its answer."""
        super().handle_events()
        if self.cycle and not self.cycle.response_complete and not self.cycle.more_body:
            self._wait_for(WaitsFor.ANSWER)

    def on_response_complete(self) -> None:
        """Read the next request when the client has taken this response."""
        if self.unsent_bytes:
            if self._waits_for is not WaitsFor.CLIENT_READS:
                self._wait_for(WaitsFor.CLIENT_READS)
            if self.transport is not self._socket_transport:  # TLS does not say when the socket below it is done
                self.loop.call_later(_LOOK_AGAIN_SECONDS, self.resume_writing)
        elif not self.transport.is_closing():
            self._wait_for(WaitsFor.NEXT_REQUEST)
            super().on_response_complete()

    def pause_writing(self) -> None:
        """The application waits until the client reads."""
        super().pause_writing()
        if not self.transport.is_closing():
            self._wait_for(WaitsFor.CLIENT_READS)

    def resume_writing(self) -> None:
        """The client may have taken all that was written."""
        super().resume_writing()
        if self._waits_for is not WaitsFor.CLIENT_READS or self.transport.is_closing():
            return
        if self.cycle.response_complete:
            self.on_response_complete()
        else:
            self._wait_for(WaitsFor.ANSWER)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP. uvicorn's own answer breaks off where the request was a HEAD."""
        self._server.log_once.failed("malformed", f"refused a request of {(self.client or ('a client',))[0]}: {msg}")
        head = f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(_BAD_REQUEST)}\r\nConnection: close\r\n\r\n"
        self.transport.write(head.encode() + _BAD_REQUEST)
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self._wait_for(WaitsFor.CLIENT_READS)

    def shutdown(self) -> None:
        """Close the connection when the answer it waits for is sent."""
        with suppress(h11.LocalProtocolError):
            super().shutdown()


class _Asgi:
    """Calls an application as uvicorn does: whole requests in, whole responses out."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Mapping[str, Any], receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        request = await _whole_request(scope, receive)
        if request is None:
            return
        try:
            response = request if isinstance(request, Response) else await self._application(request)
        except Exception:  # noqa: BLE001  # a bug of ours costs this request
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            response = text(500, "internal error; the exporter's log says more")
        headers = (
            ("Date", email.utils.formatdate(usegmt=True)),
            ("Content-Type", response.content_type),
            ("Content-Length", str(len(response.body))),
            *response.headers,
        )
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": response.status, "headers": encoded})
        body = response.body
        for start in range(0, len(body), _PIECE_BYTES):  # each piece waits until the client has taken the one before
            piece, end = body[start : start + _PIECE_BYTES], start + _PIECE_BYTES
            if connection := scope["state"].get(_CONNECTION):
                connection.held_bytes = max(0, len(body) - end)
            await send({"type": "http.response.body", "body": piece, "more_body": end < len(body)})
        if not body:
            await send({"type": "http.response.body", "body": b""})


async def _whole_request(scope: Mapping[str, Any], receive: Callable[[], Any]) -> Request | Response | None:
    """The request, the response that refuses it, or None if the client has left."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    close = ("Connection", "close")
    if scope["http_version"] not in {"1.0", "1.1"}:
        return text(505, "this server speaks HTTP/1.1", close)
    if "content-length" in headers and "transfer-encoding" in headers:
        return text(400, "a request has a content length or a transfer encoding, not both", close)
    body = bytearray()
    while True:
        message: AsgiMessage = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message["body"]
        if len(body) > _BODY_BYTES:
            return text(413, f"request bodies end at {_BODY_BYTES} bytes here", close)
        if not message["more_body"]:
            break
    path = scope["path"]
    if not path.startswith("/"):  # a client that takes this server for a proxy sends a whole URL
        try:
            path = urlsplit(path).path or "/"
        except ValueError:
            return text(400, "not a request target", close)
    peer = (scope["client"] or ("",))[0]
    return Request(scope["method"], path, scope["query_string"].decode("latin-1"), headers, peer, bytes(body))
