"""Give clients turns for hashing a password, so that a busy client never blocks another client."""

import asyncio
from collections import deque
from ipaddress import IPv6Address, ip_address

WAITING = 48
"""Most waiting requests of all clients. Fewer than the open connections, so that a scraper always finds a free
connection.
"""

_IPV6_NETWORK = 64
"""Bits of a host's IPv6 network. A host can use any number of addresses in the network (RFC 4291, section 2.5.4)."""


class TooManyWait(Exception):
    """The client has too many passwords waiting to be hashed."""


def client_of(address: str) -> str:
    """Return the key of a client: the IPv4 address, or the network of the IPv6 address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped:  # a client of a socket that listens for both
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> _IPV6_NETWORK << _IPV6_NETWORK)}/{_IPV6_NETWORK}"


class _Queue:
    """Waiting requests of one client. The newest and the oldest take turns, and connections that have guessed are last."""

    def __init__(self) -> None:
        self._fresh: deque[asyncio.Future[None]] = deque()
        self._guessed: deque[asyncio.Future[None]] = deque()
        self._oldest_next = False

    def __len__(self) -> int:
        return len(self._fresh) + len(self._guessed)

    def add(self, turn: asyncio.Future[None], *, has_guessed: bool) -> None:
        (self._guessed if has_guessed else self._fresh).append(turn)

    def take(self) -> asyncio.Future[None]:
        if not self._fresh:
            return self._guessed.popleft()
        self._oldest_next = not self._oldest_next
        return self._fresh.pop() if self._oldest_next else self._fresh.popleft()

    def drop(self) -> asyncio.Future[None]:
        return self._guessed.pop() if self._guessed else self._fresh.popleft()


class FairTurns:
    """Let one request work at a time. Waiting clients take turns, so a single request never waits for all requests of a
    busy client.
    """

    def __init__(self) -> None:
        self._busy = False
        self._waiting: dict[str, _Queue] = {}

    async def acquire(self, client: str, *, has_guessed: bool = False) -> None:
        """Wait for a turn. With `has_guessed` the other requests of the client are first.

        Raises:
            TooManyWait: `WAITING` requests wait, and all others are before this request.
        """
        if not self._busy:
            self._busy = True
            return
        if sum(map(len, self._waiting.values())) >= WAITING:
            self._make_room(client)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, _Queue()).add(turn, has_guessed=has_guessed)
        await turn

    def release(self) -> None:
        """Let the next client take a turn."""
        while self._waiting:
            client = next(iter(self._waiting))
            queue = self._waiting.pop(client)
            turn = queue.take()
            if queue:
                self._waiting[client] = queue  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False

    def _make_room(self, client: str) -> None:
        """Refuse a request of the client with the most waiting requests, this client first."""
        own = self._waiting.get(client, _Queue())
        longest = max(self._waiting.values(), key=len)
        queue = longest if len(longest) > len(own) + 1 else own
        if not queue:
            raise TooManyWait
        displaced = queue.drop()
        if not displaced.done():
            displaced.set_exception(TooManyWait())
