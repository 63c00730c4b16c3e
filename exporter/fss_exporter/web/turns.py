"""Taking turns at work that costs something, so that many requests for it are slow or refused and nothing else is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Busy(Exception):
    """Too many wait already; whoever asked may ask again."""


class Turns:
    """At most so many at work, and so many who wait for their turn.

    Args:
        at_once: how many may work.
        waiting: how many may wait; the next one is refused at once and holds up nobody.
    """

    def __init__(self, *, at_once: int, waiting: int) -> None:
        self._most = at_once + waiting
        self._present = 0
        self._free = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and have it.

        Raises:
            Busy: too many wait already.
        """
        if self._present >= self._most:
            raise Busy
        self._present += 1
        try:
            async with self._free:
                yield
        finally:
            self._present -= 1
