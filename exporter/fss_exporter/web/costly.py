"""Limit expensive answers that differ with each request: pages, and scrapes with `name[]`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class ClientGone(Exception):
    """The client has left."""


class Costly:
    """Work on one answer at a time, then rest for an equal time, so that all expensive answers take at most half a
    core.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def work(self, work: Callable[[], Awaitable[T]], is_gone: Callable[[], bool]) -> T:
        """Return the result of `work` after a wait for the turn.

        Raises:
            ClientGone: the client left during the wait.
        """
        await self._turn.acquire()
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            if is_gone():
                raise ClientGone
            return await work()
        finally:
            loop.call_later(loop.time() - began, self._turn.release)
