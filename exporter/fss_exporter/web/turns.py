"""Give clients turns for hashing a password, so that a busy client never blocks another client."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from fss_exporter.web.costly import ClientGone, TooManyWait

WAITING = 48
"""Most waiting requests of all clients. Fewer than the open connections, so that a scraper always finds a free
connection.
"""


class _Turn(NamedTuple):
    """A waiting request."""

    begins: asyncio.Future[None]
    is_gone: Callable[[], bool]  # whether the client has left

    def refuse(self, reason: Exception) -> None:
        if not self.begins.done():
            self.begins.set_exception(reason)


class _Queue:
    """Waiting requests of one client. The two newest take turns, and connections that have guessed are last.

    A guesser that connects again after each answer has most often waited longer than a scraper that has just come. The second
    newest is next every other time, so that a guesser that comes in between does not overtake the scraper for ever.
    """

    def __init__(self) -> None:
        self._fresh: deque[_Turn] = deque()
        self._guessed: deque[_Turn] = deque()
        self._second_next = False

    def __len__(self) -> int:
        return len(self._fresh) + len(self._guessed)

    def add(self, turn: _Turn, *, has_guessed: bool) -> None:
        (self._guessed if has_guessed else self._fresh).append(turn)

    def take(self) -> _Turn:
        if not self._fresh:
            return self._guessed.popleft()
        newest = self._fresh.pop()
        self._second_next = bool(self._fresh) and not self._second_next
        if not self._second_next:
            return newest
        second = self._fresh.pop()
        self._fresh.append(newest)
        return second

    def drop(self) -> _Turn:
        return self._guessed.pop() if self._guessed else self._fresh.popleft()

    def forget_gone(self) -> None:
        for turns in (self._fresh, self._guessed):
            gone = [turn for turn in turns if turn.is_gone()]
            for turn in gone:
                turns.remove(turn)
                turn.refuse(ClientGone())


class FairTurns:
    """Let one request work at a time. Waiting clients take turns, so a single request never waits for all requests of a
    busy client. Requests of clients that have left take no turn.
    """

    def __init__(self) -> None:
        self._busy = False
        self._waiting: dict[str, _Queue] = {}

    async def acquire(self, client: str, is_gone: Callable[[], bool], *, has_guessed: bool = False) -> None:
        """Wait for a turn. With `has_guessed` the other requests of the client are first.

        Raises:
            TooManyWait: `WAITING` requests wait, and all others are before this request.
            ClientGone: the client left during the wait.
        """
        if not self._busy:
            self._busy = True
            return
        self._forget_gone()
        if sum(map(len, self._waiting.values())) >= WAITING:
            self._make_room(client)
        turn = _Turn(asyncio.get_running_loop().create_future(), is_gone)
        self._waiting.setdefault(client, _Queue()).add(turn, has_guessed=has_guessed)
        await turn.begins

    def release(self) -> None:
        """Let the next client take a turn."""
        self._forget_gone()
        while self._waiting:
            client = next(iter(self._waiting))
            queue = self._waiting.pop(client)
            turn = queue.take()
            if queue:
                self._waiting[client] = queue  # behind all others
            if not turn.begins.done():
                turn.begins.set_result(None)
                return
        self._busy = False

    def _forget_gone(self) -> None:
        for queue in self._waiting.values():
            queue.forget_gone()
        self._waiting = {client: queue for client, queue in self._waiting.items() if queue}

    def _make_room(self, client: str) -> None:
        """Refuse a request of the client with the most waiting requests, this client first."""
        own = self._waiting.get(client, _Queue())
        longest = max(self._waiting.values(), key=len)
        queue = longest if len(longest) > len(own) + 1 else own
        if not queue:
            raise TooManyWait
        queue.drop().refuse(TooManyWait())
