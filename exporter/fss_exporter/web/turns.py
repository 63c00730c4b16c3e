"""Who may have a password hashed next, so that a client that asks often never keeps another one out."""

import asyncio
from collections import deque
from ipaddress import IPv6Address, ip_address

WAITING = 48
"""All clients together. Fewer than the connections that are open at once, so that a scraper always finds a free one."""

_IPV6_NETWORK = 64
"""Bits. A host has as many IPv6 addresses as it likes, all in one network of this size (RFC 4291, section 2.5.4)."""


class TooManyWait(Exception):
    """The client has too many passwords waiting to be hashed."""


def client_of(address: str) -> str:
    """What stands for one client: its IPv4 address, or the network of its IPv6 address."""
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
    """Lets one work at a time, and the clients that wait in turn: who asks once never waits for all of who asks often."""

    def __init__(self) -> None:
        self._busy = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def acquire(self, client: str) -> None:
        """Wait for a turn.

        Raises:
            TooManyWait: `WAITING` others wait, and no client has more of them than this one.
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
        """Let the next client have its turn."""
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
        """Send the newest request away of the client that has most of them."""
        longest = max(self._waiting.values(), key=len)
        if len(longest) <= len(self._waiting.get(client, ())) + 1:
            raise TooManyWait
        displaced = longest.pop()
        if not displaced.done():
            displaced.set_exception(TooManyWait())
