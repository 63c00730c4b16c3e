"""The HTTP server: connections on bound sockets, and an end within half a second."""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from uvicorn.server import ServerState

from fss_exporter.log_once import LogOnce
from fss_exporter.web.asgi import Asgi
from fss_exporter.web.connections import ConnectionLimits, Connections, WaitsFor
from fss_exporter.web.messages import Application
from fss_exporter.web.protocol import HttpConnection, Shared, uvicorn_config

if TYPE_CHECKING:
    from fss_exporter.web.tls import ServerTls

_LOG = logging.getLogger(__name__)
_SEND_BUFFER_BYTES = 64 * 1024
"""Size of the kernel's buffer of a connection. The buffer counts as memory of the exporter's cgroup, and could grow to
4 MiB.
"""
_BACKLOG = 4096
_DEFER_SECONDS = 1
"""Seconds that the kernel keeps a new connection until the client sends something. Silent clients cost nothing
meanwhile.
"""
_SHUTDOWN_SECONDS = 0.4


def no_tls() -> "ServerTls | None":
    """Plain HTTP for every connection."""
    return None


class HttpServer:
    """Serve an application on sockets that listen. `tls` returns the TLS of a new connection, None for plain HTTP."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        application: Application,
        *,
        tls: Callable[[], "ServerTls | None"] = no_tls,
        limits: ConnectionLimits | None = None,
    ) -> None:
        limits = limits or ConnectionLimits()
        self.connections = Connections(limits)
        self._shared = Shared(
            uvicorn_config(Asgi(application)), ServerState(), tls, limits, self.connections, LogOnce(_LOG)
        )
        self._sockets = sockets

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set, then give requests in progress half a second."""
        loop = asyncio.get_running_loop()
        servers = []
        # Few at once: a newcomer's request is to be read before other newcomers can replace it.
        at_once = max(1, min(32, self._shared.limits.connections // 8))
        for bound in self._sockets:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)  # connections inherit it
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _DEFER_SECONDS)
            # Accepted sockets inherit this. Without it the body waits 40 ms for the client's delayed ACK of the head.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            servers.append(await loop.create_server(lambda: HttpConnection(self._shared), sock=bound, backlog=at_once))
            bound.listen(_BACKLOG)  # create_server has set a smaller backlog
        try:
            await stop.wait()
        finally:
            self._shared.is_stopping = True
            for bound in self._sockets:
                loop.remove_reader(bound.fileno())
            await asyncio.sleep(0)  # asyncio leaks a connection that it accepts while its server is closed
            for server in servers:
                server.close()
            await self._close_connections()

    async def _close_connections(self) -> None:
        for waiting in self.connections.among(WaitsFor.FIRST_BYTE, WaitsFor.REQUEST, WaitsFor.NEXT_REQUEST):
            self.connections.close(waiting)
        for busy in self.connections.among(WaitsFor.ANSWER, WaitsFor.CLIENT_READS):
            cast("HttpConnection", busy).shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(_SHUTDOWN_SECONDS):
                while len(self.connections):
                    await asyncio.sleep(0.01)
        for slow in self.connections.among(*WaitsFor):
            self.connections.close(slow)
        await asyncio.sleep(0.01)  # asyncio closes the sockets in its next rounds
