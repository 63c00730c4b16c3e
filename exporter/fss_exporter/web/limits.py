"""How much one client, and all of them together, may take of the exporter."""

import resource
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes and times of the HTTP side.

    Attributes:
        connections: open at once; a newcomer beyond it takes the place of the connection that has waited longest.
        head_bytes: request line and headers.
        body_bytes: request body; no endpoint of the exporter wants one.
        unsent_bytes: of all responses that clients have yet to take; beyond it the one that takes longest is given up.
        handshake_seconds: for TLS, at the beginning and at the end.
        head_seconds: from the first byte (on a new connection: from its opening) to the end of the request.
        idle_seconds: between two requests on one connection; longer than the usual scrape intervals.
        answer_seconds: for the application to answer.
        send_seconds: for the client to take the response.
    """

    connections: int = 256
    head_bytes: int = 16 * 1024
    body_bytes: int = 1024
    unsent_bytes: int = 128 * 1024 * 1024
    handshake_seconds: float = 5.0
    head_seconds: float = 5.0
    idle_seconds: float = 180.0
    answer_seconds: float = 60.0
    send_seconds: float = 15.0


_RESERVED_DESCRIPTORS = 64


def affordable(limits: Limits = Limits()) -> Limits:
    """The limits, with no more connections than the process may have descriptors, less those the rest needs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits
    return replace(limits, connections=max(1, min(limits.connections, soft - _RESERVED_DESCRIPTORS)))
