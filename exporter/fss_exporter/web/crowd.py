"""Who is connected, what each waits for, and who has to go when they are too many."""

import asyncio
import logging
from enum import Enum

from fss_exporter.web.limits import Limits
from fss_exporter.web.sparingly import Sparingly

_LOG = logging.getLogger(__name__)


class Phase(Enum):
    """What a connection waits for. Where room is short, connections are given up in this order."""

    CLOSING = 0
    """The client, to say goodbye in turn, as TLS wants it."""
    NEW = 1
    """A handshake or its first request: the client has had nothing yet."""
    SENDING = 2
    """The client, to take its response."""
    IDLE = 3
    """The next request."""
    ANSWERING = 4
    """The application. Never given up."""


_GIVEN_UP = (Phase.CLOSING, Phase.NEW, Phase.SENDING, Phase.IDLE)

Connection = asyncio.Task[None]


class Crowd:
    """The open connections, each a task.

    Args:
        limits: how many there may be, and how many bytes they may leave untaken.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # Bytes yet to be sent, by connection, in the order in which they entered their phase.
        self._phases: dict[Phase, dict[Connection, int]] = {phase: {} for phase in Phase}
        self._leaving: set[Connection] = set()
        self._left = asyncio.Event()
        self._fault = Sparingly(_LOG)
        self.step = max(1, min(32, limits.connections // 8))
        """How many to let in before the others have their turn: a small part of all, so that a newcomer has been heard
        long before it has waited longest."""

    def __len__(self) -> int:
        """Connections open now, those about to be closed included."""
        return self._staying + len(self._leaving)

    @property
    def _staying(self) -> int:
        return sum(map(len, self._phases.values()))

    def enter(self, connection: Connection, phase: Phase, unsent_bytes: int = 0) -> None:
        """A connection begins to wait for something else; a new one is known from here on."""
        self._forget(connection)
        self._phases[phase][connection] = unsent_bytes
        sending = self._phases[Phase.SENDING]
        while len(sending) > 1 and sum(sending.values()) > self._limits.unsent_bytes:
            self._give_up_first(Phase.SENDING)
            self._fault("unsent", "clients do not take their responses: closing the one that takes longest")

    def leave(self, connection: Connection) -> None:
        """A connection is closed."""
        self._forget(connection)
        self._leaving.discard(connection)
        self._left.set()

    async def make_room(self) -> None:
        """Return when one more fits, having given up whoever waited longest."""
        limit = self._limits.connections
        while self._staying >= limit or len(self._leaving) > self.step:
            self._left.clear()
            if self._staying >= limit and self.give_up_one():
                self._fault("crowded", f"{limit} connections are open: closing the one that has waited longest")
            else:
                await self._left.wait()

    def give_up_one(self) -> bool:
        """Close whoever has waited longest; False where the application works for all of them."""
        return any(self._give_up_first(phase) for phase in _GIVEN_UP)

    async def disperse(self, patience_seconds: float) -> None:
        """Close all, those that are being served after some patience."""
        for phase in (Phase.CLOSING, Phase.NEW, Phase.IDLE):
            while self._give_up_first(phase):
                pass
        if remaining := [*self._leaving, *(one for ones in self._phases.values() for one in ones)]:
            await asyncio.wait(remaining, timeout=patience_seconds)
            for connection in remaining:
                connection.cancel()
            await asyncio.gather(*remaining, return_exceptions=True)

    def _give_up_first(self, phase: Phase) -> bool:
        for connection in self._phases[phase]:
            del self._phases[phase][connection]
            self._leaving.add(connection)
            return connection.cancel()
        return False

    def _forget(self, connection: Connection) -> None:
        for connections in self._phases.values():
            connections.pop(connection, None)
