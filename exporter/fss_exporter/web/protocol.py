"""One connection: uvicorn's HTTP/1.1 protocol (with h11), with a time limit for each step and a bound on unsent bytes.

docs/decisions/http-server.md gives the additions to uvicorn and the reasons. tests/web/test_attacks.py runs attacks.
"""

import asyncio
import asyncio.sslproto
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from fss_exporter.log_once import LogOnce
from fss_exporter.web.asgi import CONNECTION, Asgi
from fss_exporter.web.connections import ConnectionLimits, Connections, WaitsFor, client_of

if TYPE_CHECKING:
    from fss_exporter.web.tls import ServerTls  # few exporters need pydantic

UNREAD_BYTES = 16 * 1024
"""Most bytes of a request's head, and of requests sent ahead of their answers. A client above the limit is closed."""
_ESTABLISHED = 1  # TCP_ESTABLISHED in net/tcp_states.h of Linux
_BAD_REQUEST = b"this is not HTTP/1.1 as the exporter reads it\n"

asyncio.sslproto.SSLProtocol.max_size = 32 * 1024  # bytes read at once, a buffer of each connection; 256 KiB otherwise


@dataclass(slots=True)
class Shared:
    """State that all connections of a server share."""

    uvicorn: Config  # configuration of the protocol
    state: ServerState  # uvicorn's own list of connections and requests
    tls: Callable[[], "ServerTls | None"]  # asked for each new connection. None for plain HTTP
    limits: ConnectionLimits  # numbers, bytes and times
    connections: Connections  # all that are open
    log_once: LogOnce  # for errors of clients
    is_stopping: bool = False  # whether new connections are refused


def uvicorn_config(application: Asgi) -> Config:
    """Return uvicorn's configuration without log, time limits and loop, because the exporter has all three."""
    return Config(
        application,
        loop="none",
        interface="asgi3",
        lifespan="off",
        ws="none",
        log_config=None,
        log_level=logging.CRITICAL,  # the exporter logs errors of clients and of the application itself, once
        access_log=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=UNREAD_BYTES,
    )


class HttpConnection(H11Protocol):
    """One connection. `Connections` always knows the next event that the connection waits for."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared.uvicorn, shared.state, {CONNECTION: self})
        self._shared = shared
        self._socket_transport: asyncio.Transport | None = None
        self._waits_for = WaitsFor.FIRST_BYTE
        self._tls: ServerTls | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._has_begun = False
        self._early = b""
        self.client_key = ""  # IPv4 address or IPv6 network of the client
        self.held_bytes = 0  # of the response's body, which stays in memory until the last piece is written
        self.was_refused = False  # whether an earlier request had no right password
        # whether the client sends nothing more: the client has left, or waits for the answer as `nc` does
        self.has_hung_up = False

    def _wait_for(self, waits_for: WaitsFor) -> None:
        self._waits_for = waits_for
        self._shared.connections.enter(self, waits_for)

    @property
    def unsent_bytes(self) -> int:
        """Bytes of the response that the client has not taken. With TLS the socket's transport holds further bytes."""
        transports = {self.transport, self._socket_transport} - {None}
        return self.held_bytes + sum(transport.get_write_buffer_size() for transport in transports if transport)

    @property
    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self.transport.is_closing()

    def abort(self) -> None:
        """Close the connection now."""
        if self._socket_transport:
            self._socket_transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Serve plain HTTP, or shake hands first."""
        self._socket_transport = transport
        self.client_key = client_of((transport.get_extra_info("peername") or ("",))[0])
        if self._shared.is_stopping:
            transport.abort()
            return
        self._tls = self._shared.tls()
        if self._tls is None:
            self._begin(transport)
        else:
            self._wait_for(WaitsFor.FIRST_BYTE)  # TLS begins with the first byte, so that silent clients cost nothing

    async def _secure(self, plain: asyncio.Transport, tls: "ServerTls", hello: bytes) -> None:
        seconds = self._shared.limits.request_seconds
        try:
            self.loop.call_soon(self.loop.call_soon, _feed, plain, hello)  # after start_tls has begun the handshake
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
            self._shared.log_once.failed(
                f"handshake {type(refused).__name__}", f"no TLS with {self.client_key}: {refused or 'it went away'}"
            )
            self._shared.connections.close(self)
            # These would keep the buffers of TLS until the garbage collector runs.
            refused.__traceback__ = None
            self.app_state.clear()
        else:
            self._begin(secured)

    def _begin(self, transport: asyncio.Transport) -> None:
        # The client has taken a piece when this buffer is empty. With a high mark of 0 a TLS transport never resumes.
        transport.set_write_buffer_limits(high=1, low=0)
        if transport is not self._socket_transport and self._socket_transport:
            self._socket_transport.set_write_buffer_limits(high=1, low=0)
        super().connection_made(transport)
        self._has_begun = True
        self._wait_for(WaitsFor.REQUEST if self._tls else WaitsFor.FIRST_BYTE)
        early, self._early = self._early, b""
        if early:
            self.data_received(early)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._shared.connections.leave(self)
        if self._has_begun:
            super().connection_lost(exc)
        self.app_state.clear()  # or this object would keep itself, and its response, until the garbage collector runs
        if self.scope:
            self.scope["state"].clear()

    def data_received(self, data: bytes) -> None:
        """Read a request. The first byte starts the time limit."""
        if len(self.conn.trailing_data[0]) + len(data) > UNREAD_BYTES:
            self._shared.connections.close(self)
            return
        if self._tls and self._socket_transport and not self._handshake:
            if _has_left(self._socket_transport):
                self._shared.connections.close(self)
                return
            self._wait_for(WaitsFor.REQUEST)
            self._socket_transport.pause_reading()
            self._handshake = self.loop.create_task(self._secure(self._socket_transport, self._tls, data))
            return
        if not self._has_begun:  # the request came together with the end of the handshake
            self._early += data
            return
        if self._waits_for in {WaitsFor.FIRST_BYTE, WaitsFor.NEXT_REQUEST}:
            self._wait_for(WaitsFor.REQUEST)
        super().data_received(data)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection for the answer to a whole request, because the client may still read. TLS has no half-closed
        connections.
        """
        self.has_hung_up = True
        return not self._tls and self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body)

    def begin_answer(self) -> None:
        """Begin to wait for the answer, after the whole request has arrived."""
        self._wait_for(WaitsFor.ANSWER)

    def pause_writing(self) -> None:
        """The answer waits until the client reads."""
        super().pause_writing()
        if not self.transport.is_closing():
            self._wait_for(WaitsFor.CLIENT_READS)

    def resume_writing(self) -> None:
        """Continue after the client has taken everything written."""
        super().resume_writing()
        if self._waits_for is WaitsFor.CLIENT_READS and not self.transport.is_closing():
            self._wait_for(WaitsFor.ANSWER)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if not self.transport.is_closing():
            self._wait_for(WaitsFor.NEXT_REQUEST)
            super().on_response_complete()
            # uvicorn's own timer would keep a connection that is reset in memory for three minutes.
            self._unset_keepalive_if_required()
            if self.has_hung_up and self.cycle.response_complete:  # no further request has begun
                self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse anything but HTTP. uvicorn's own answer breaks off after a HEAD."""
        self._shared.log_once.failed("malformed", f"refused a request of {self.client_key}: {msg}")
        head = f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(_BAD_REQUEST)}\r\nConnection: close\r\n\r\n"
        self.transport.write(head.encode() + _BAD_REQUEST)
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self._wait_for(WaitsFor.CLIENT_READS)

    def shutdown(self) -> None:
        """Close the connection after the answer in progress."""
        with suppress(h11.LocalProtocolError):
            super().shutdown()


def _feed(transport: asyncio.Transport, data: bytes) -> None:
    """Give bytes that have already been read to the protocol of TLS."""
    protocol = transport.get_protocol()
    if isinstance(protocol, asyncio.BufferedProtocol):  # else the connection is lost
        memoryview(protocol.get_buffer(len(data)))[: len(data)] = data
        protocol.buffer_updated(len(data))


def _has_left(transport: asyncio.Transport) -> bool:
    """Whether the client has closed the connection, which the kernel knows first. A handshake would be in vain."""
    state = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return bool(state != _ESTABLISHED)
