"""The open connections: a time limit for each wait, and the choice of a connection to close above the limit."""

import asyncio
import logging
import resource
from collections import Counter
from dataclasses import dataclass, replace
from enum import IntEnum
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NamedTuple, Protocol

from fss_exporter.log_once import LogOnce

_RESERVED_DESCRIPTORS = 64  # For files, OCI and the sockets the kernel accepts before an old connection is closed
_SCRAPER_NEEDS_SECONDS = 0.25  # Seconds from a connection to the last byte of the request, on a busy host
_HARD_LIMIT = 4  # Times the limit of unsent bytes. Above, clients that take their responses are closed too
_IPV6_NETWORK = 64
"""Bits of a host's IPv6 network. A host can use any number of addresses in the network (RFC 4291, section 2.5.4)."""


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
    return str(ip_network((int(parsed), _IPV6_NETWORK), strict=False))


class WaitsFor(IntEnum):
    """The next event that a connection waits for."""

    FIRST_BYTE = 0
    """The client of a new connection must send something."""
    REQUEST = 1
    """A handshake or the rest of a request."""
    CLIENT_READS = 2
    """The client must take the response."""
    NEXT_REQUEST = 3
    """The first byte of the next request."""
    ANSWER = 4
    """The application."""


_SHORT_WAITS = (WaitsFor.FIRST_BYTE, WaitsFor.REQUEST, WaitsFor.CLIENT_READS)  # A scraper ends them at once


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on all clients together, and on the time of each step of a client."""

    # most open connections. Above the limit a new connection replaces a connection of the client with the most connections
    connections: int = 256
    # most bytes of untaken responses. Above the limit, clients that take nothing for a moment are closed. Above four times the
    # limit, the clients with the largest responses are closed
    unsent_bytes: int = 8 * 1024 * 1024
    # for the first byte of a connection, for a TLS handshake, and from the first byte of a request to the end
    request_seconds: float = 5.0
    idle_seconds: float = 180.0  # between two requests. Longer than the usual scrape intervals
    answer_seconds: float = 60.0  # for the application's answer
    send_seconds: float = 15.0  # for the client to take the response

    def within_descriptors(self) -> "ConnectionLimits":
        """Return these limits with no more connections than the process may open files."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return self
        return replace(self, connections=max(1, min(self.connections, soft - _RESERVED_DESCRIPTORS)))

    def seconds(self, waits_for: WaitsFor) -> float:
        """How long a connection may wait for this."""
        request = self.request_seconds
        return (request, request, self.send_seconds, self.idle_seconds, self.answer_seconds)[waits_for]


class Connection(Protocol):
    """The part of a connection that `Connections` uses."""

    client_key: str  # from `client_of`

    @property
    def unsent_bytes(self) -> int:
        """Bytes of the response that the client has not taken."""

    def abort(self) -> None:
        """Close the connection now."""


class _Wait(NamedTuple):
    """The start of a wait (seconds of the event loop's clock), and the timer that closes the connection."""

    began: float
    expiry: asyncio.TimerHandle


class Connections:
    """All open connections. Used by the thread of the event loop only."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        # Each dict is in the order in which its connections began to wait.
        self._waiting: dict[WaitsFor, dict[Connection, _Wait]] = {one: {} for one in WaitsFor}
        self._held = Counter[str]()  # open connections by client
        self._log_once = LogOnce(logging.getLogger(__name__))

    def __len__(self) -> int:
        """Connections open now."""
        return sum(map(len, self._waiting.values()))

    def enter(self, connection: Connection, waits_for: WaitsFor) -> None:
        """Note that a connection, known or new, begins to wait for something."""
        is_new = not self.leave(connection)
        self._held[connection.client_key] += 1
        loop = asyncio.get_running_loop()
        self._waiting[waits_for][connection] = _Wait(
            loop.time(), loop.call_later(self._limits.seconds(waits_for), self.close, connection)
        )
        if is_new and len(self) > self._limits.connections:
            self._make_room(connection)
        if waits_for is WaitsFor.CLIENT_READS:
            self._bound_unsent()

    def leave(self, connection: Connection) -> bool:
        """Forget a connection. Return whether the connection was known."""
        for waiting in self._waiting.values():
            if wait := waiting.pop(connection, None):
                wait.expiry.cancel()
                self._held[connection.client_key] -= 1
                if not self._held[connection.client_key]:
                    del self._held[connection.client_key]
                return True
        return False

    def close(self, connection: Connection) -> None:
        """Close a connection now."""
        self.leave(connection)
        connection.abort()

    def among(self, *waits_for: WaitsFor) -> list[Connection]:
        """Return the connections in any of these waits."""
        return [connection for one in waits_for for connection in self._waiting[one]]

    def _make_room(self, newcomer: Connection) -> None:
        """Close the connection with the longest wait of the client with the most connections.

        Never close a connection whose answer is in preparation.

        The order is: 1. any wait for the client that is longer than a scraper needs, 2. waits for the next request, 3. the
        waits that most connections have, so that many silent clients do not close a scraper in its handshake.
        """
        client = max(self._held, key=self._held.__getitem__)
        longest = {one: found for one in WaitsFor if (found := self._longest(one, newcomer, client))}
        short = [one for one in _SHORT_WAITS if one in longest]

        def began(one: WaitsFor) -> float:
            return self._waiting[one][longest[one]].began

        slowest = min(short, key=began, default=None)
        if slowest is not None and asyncio.get_running_loop().time() - began(slowest) > _SCRAPER_NEEDS_SECONDS:
            loser = longest[slowest]
        elif WaitsFor.NEXT_REQUEST in longest:
            loser = longest[WaitsFor.NEXT_REQUEST]
        elif short:
            loser = longest[max(short, key=lambda one: (self._number(one, newcomer), -began(one)))]
        else:
            loser = newcomer
        self.close(loser)
        self._log_once.failed("crowded", f"too many connections of {client}: closing the one with the longest wait")

    def _number(self, waits_for: WaitsFor, newcomer: Connection) -> int:
        waiting = self._waiting[waits_for]
        return len(waiting) - (newcomer in waiting)

    def _longest(self, waits_for: WaitsFor, newcomer: Connection, client: str) -> Connection | None:
        of_client = (one for one in self._waiting[waits_for] if one.client_key == client and one is not newcomer)
        return next(of_client, None)

    def _bound_unsent(self) -> None:
        """Close connections with many unsent bytes, first those that take nothing, of the client with the most bytes.

        A client with less than an equal share of the bytes does not pay for other clients' answers.
        """
        now, limit = asyncio.get_running_loop().time(), self._limits.unsent_bytes
        reading = self._waiting[WaitsFor.CLIENT_READS]
        held = {connection: connection.unsent_bytes for connection in reading}
        if sum(held.values()) <= limit:
            return
        of_client = Counter[str]()
        for connection, unsent in held.items():
            of_client[connection.client_key] += unsent
        largest_first = sorted(held, key=lambda one: (of_client[one.client_key], held[one]), reverse=True)
        stalled = [
            one
            for one in largest_first
            if now - reading[one].began > _SCRAPER_NEEDS_SECONDS and of_client[one.client_key] > limit / len(of_client)
        ]
        for candidates, most in ((stalled, limit), (largest_first, _HARD_LIMIT * limit)):
            for connection in candidates:
                if sum(held.values()) <= most or len(held) == 1:
                    break
                if held.pop(connection, None) is not None:
                    self.close(connection)
                    self._log_once.failed("unsent", "clients do not take their responses: closing the slowest of them")
