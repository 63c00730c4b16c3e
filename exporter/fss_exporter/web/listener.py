"""Accepts connections, gives each its conversation, and never holds more of them than it may.

One thread, one event loop: neither a TLS handshake nor a request nor a response that does not come to an end keeps
another client waiting. Where the limit is reached, a newcomer takes the place of the connection that has waited
longest, so that connections opened and left cannot keep a scrape out.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fss_exporter.web.conversation import Conversation, Refused
from fss_exporter.web.crowd import Crowd, Phase
from fss_exporter.web.limits import Limits
from fss_exporter.web.messages import Application
from fss_exporter.web.sparingly import Sparingly

if TYPE_CHECKING:
    import ssl

_LOG = logging.getLogger(__name__)
_SHUTDOWN_SECONDS = 0.5
_ACCEPT_PAUSE_SECONDS = 0.05


class Tls(Protocol):
    """How one new connection is secured."""

    @property
    def context(self) -> "ssl.SSLContext":
        """Certificate, client CA, versions and ciphers."""

    def admits(self, certificate: Mapping[str, Any] | None) -> bool:
        """Whether a verified client certificate, as `SSLSocket.getpeercert` gives it, is one of those let in."""


def no_tls() -> Tls | None:
    """Plain HTTP for every connection."""
    return None


class Listener:
    """Serves an application on bound sockets.

    Args:
        sockets: bound, listening, non-blocking.
        application: turns requests into responses.
        tls: asked for each new connection; None for plain HTTP. May raise `FssError`: that connection is dropped.
        limits: sizes and times.
    """

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        application: Application,
        *,
        tls: Callable[[], Tls | None] = no_tls,
        limits: Limits | None = None,
    ) -> None:
        self._sockets = sockets
        self._application = application
        self._tls = tls
        self._limits = limits or Limits()
        self._crowd = Crowd(self._limits)
        self._fault = Sparingly(_LOG)

    @property
    def connections(self) -> int:
        """Connections open now, those about to be closed included."""
        return len(self._crowd)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set, then let what is being answered finish for half a second."""
        accepting = [asyncio.create_task(self._accept(bound)) for bound in self._sockets]
        try:
            await stop.wait()
        finally:
            for task in accepting:
                task.cancel()
            await asyncio.gather(*accepting, return_exceptions=True)
            for bound in self._sockets:
                bound.close()
            await self._crowd.disperse(_SHUTDOWN_SECONDS)

    async def _accept(self, bound: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        in_a_row = 0
        while True:
            await self._crowd.make_room()
            try:
                connection, address = await loop.sock_accept(bound)
            except OSError as failure:
                # Out of descriptors, mostly: whoever waits longest has to make room, and those we have go on.
                self._fault("accept", f"cannot accept a connection: {failure}", level=logging.ERROR)
                self._crowd.give_up_one()
                await asyncio.sleep(_ACCEPT_PAUSE_SECONDS)
                continue
            self._start(connection, str(address[0]))
            # With connections queued, accept() returns at once. Taking several in a row keeps the kernel's queue short;
            # then the others have their turn.
            in_a_row += 1
            if in_a_row % self._crowd.step == 0:
                await asyncio.sleep(0)

    def _start(self, connection: socket.socket, peer: str) -> None:
        task = asyncio.create_task(self._serve(connection, peer))
        self._crowd.enter(task, Phase.NEW)
        task.add_done_callback(partial(self._leave, connection))

    def _leave(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # before its first step, which is where the connection would have got an owner
            connection.close()
        self._crowd.leave(task)

    def _enter(self, phase: Phase, unsent_bytes: int) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # only conversations call this, and they run in tasks
        self._crowd.enter(task, phase, unsent_bytes)

    async def _serve(self, connection: socket.socket, peer: str) -> None:
        try:
            reader, writer = await self._connect(connection)
        except asyncio.CancelledError:
            connection.close()
            return
        except Exception as failure:  # noqa: BLE001  # this connection's end, nobody else's
            connection.close()
            self._note(peer, failure)
            return
        try:
            conversation = Conversation(
                reader, writer, peer=peer, application=self._application, limits=self._limits, enter=self._enter
            )
            await conversation.run()
            self._enter(Phase.CLOSING, 0)
            writer.close()
            async with asyncio.timeout(self._limits.handshake_seconds):
                await writer.wait_closed()
        except asyncio.CancelledError:
            writer.transport.abort()
        except Exception as failure:  # noqa: BLE001  # as above
            writer.transport.abort()
            self._note(peer, failure)

    async def _connect(self, connection: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        tls = self._tls()
        reader = asyncio.StreamReader(limit=65536, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            connection,
            ssl=tls.context if tls else None,
            ssl_handshake_timeout=self._limits.handshake_seconds if tls else None,
            ssl_shutdown_timeout=self._limits.handshake_seconds if tls else None,
        )
        # drain() then waits until the client has taken a response, not all but its last 64 KiB. A high mark of 0 would
        # stop a TLS transport for good: it pauses at the mark, not above it.
        transport.set_write_buffer_limits(high=1, low=0)
        if tls and not tls.admits(transport.get_extra_info("peercert")):
            transport.abort()
            raise PermissionError("the client certificate has none of the names in client_allowed_sans")
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    def _note(self, peer: str, failure: Exception) -> None:
        """One line for whoever looks for the reason; a client that merely went away is not worth it."""
        if isinstance(failure, ConnectionResetError | BrokenPipeError):
            return
        if isinstance(failure, Refused):
            self._fault(f"refused {failure.status}", f"refused a request of {peer} with {failure.status}: {failure}")
        elif isinstance(failure, OSError):
            self._fault(
                f"lost {type(failure).__name__}", f"lost the connection of {peer}: {str(failure) or 'too slow'}"
            )
        else:
            self._fault(
                f"bug {type(failure).__name__}", f"dropped the connection of {peer}: {failure!r}", level=logging.ERROR
            )
