"""Answers that cost much and differ with each request: pages, and scrapes with `name[]`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class ClientGone(Exception):
    """The client has left, and nobody waits for the answer."""


class Costly:
    """Works on one answer at a time and then rests for as long, so that all of them take half a core at most."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def work(self, work: Callable[[], Awaitable[T]], is_gone: Callable[[], bool]) -> T:
        """The result of `work`, which waits for its turn.

        Raises:
            ClientGone: the client left meanwhile.
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
