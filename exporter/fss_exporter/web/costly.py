"""Limit expensive answers that differ with each request: pages, reloads, and scrapes with `name[]`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

MOST_WAITING = 16
"""Waiting requests for each kind of answer. Each keeps a connection that the server does not close for a newcomer."""


class ClientGone(Exception):
    """The client has left."""


class TooManyWait(Exception):
    """Too many requests wait for the same answer."""


@dataclass(eq=False, repr=False)
class Costly:
    """Work on one answer at a time, then rest for an equal time, so that the answers of one kind take at most half a core."""

    rest_seconds: float = 0.0  # the shortest rest
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _waiting: int = field(default=0, init=False)

    async def work(self, work: Callable[[], Awaitable[T]], is_gone: Callable[[], bool]) -> T:
        """Return the result of `work` after a wait for the turn.

        Raises:
            TooManyWait: `MOST_WAITING` requests wait already.
            ClientGone: the client left during the wait.
        """
        if self._waiting >= MOST_WAITING:
            raise TooManyWait
        must_wait = self._turn.locked()
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            if must_wait and is_gone():
                raise ClientGone
            return await work()
        finally:
            loop.call_later(max(loop.time() - began, self.rest_seconds), self._turn.release)
