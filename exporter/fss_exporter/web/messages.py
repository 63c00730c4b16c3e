# SPDX-License-Identifier: Apache-2.0
"""A request and a response between server and application."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """One whole request."""

    method: str  # in capitals, as sent
    path: str  # percent-decoded, without query, starts with a slash
    query: str  # the part after `?`, as sent
    headers: Mapping[str, str]  # by name in lower case. Repeated ones are joined with a comma
    client: str = ""  # address of the client, who has a rate limit of its own


@dataclass(frozen=True, slots=True)
class Response:
    """One whole response. The server adds length and date, and handles the connection."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
    is_refusal: bool = False  # whether too many requests wait, so that this one has no answer


Application = Callable[[Request], Response]  # called in the thread of the connection. Several threads call at a time


def text(status: int, message: str, *headers: tuple[str, str]) -> Response:
    """Return a response of one line with a newline."""
    return Response(status, f"{message}\n".encode(), headers=headers)


def refusal(message: str) -> Response:
    """Return the response to a request that is one too many."""
    return replace(text(503, message, ("Retry-After", "1")), is_refusal=True)
