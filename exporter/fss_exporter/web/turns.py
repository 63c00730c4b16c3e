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


class FairTurns:
    """Let one request work at a time. Waiting clients take turns, so a single request never waits for all requests of a
    busy client.
    """

    def __init__(self) -> None:
        self._busy = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def acquire(self, client: str) -> None:
        """Wait for a turn.

        Raises:
            TooManyWait: `WAITING` other requests wait, and no client has more waiting requests than this client.
        """
        if not self._busy:
            self._busy = True
            return
        if sum(map(len, self._waiting.values())) >= WAITING:
            self._make_room(client)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        await turn

    def release(self) -> None:
        """Let the next client take a turn."""
        while self._waiting:
            client = next(iter(self._waiting))
            queue = self._waiting.pop(client)
            turn = queue.popleft()
            if queue:
                self._waiting[client] = queue  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False

    def _make_room(self, client: str) -> None:
        """Refuse the newest request of the client with the most waiting requests."""
        longest = max(self._waiting.values(), key=len)
        if len(longest) <= len(self._waiting.get(client, ())) + 1:
            raise TooManyWait
        displaced = longest.pop()
        if not displaced.done():
            displaced.set_exception(TooManyWait())
