"""A request as it came in, before anything is believed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fss_exporter.demo.region.refusal import cannot_parse, too_large

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

LARGEST_BODY = 1 << 20
"""Longest body that is read, bytes."""


@dataclass(frozen=True)
class Request:
    """One HTTP request.

    Attributes:
        method: GET, POST, ...
        path: decoded path.
        target: path and query exactly as sent: that is what is signed.
        query: query string.
        headers: by lower-case name.
        body: as sent.
    """

    method: str
    path: str
    target: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def read(cls, environ: "WSGIEnvironment") -> "Request":
        """Read it from a WSGI server.

        Raises:
            Refusal: the body is too long, or of a length there is not.
        """
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length < 0:
            raise cannot_parse("Content-Length is negative.")
        if length > LARGEST_BODY:
            raise too_large(f"A body of {length} bytes is longer than {LARGEST_BODY}.")
        return cls(
            method=environ["REQUEST_METHOD"],
            path=environ["PATH_INFO"],
            target=environ["REQUEST_URI"],
            query=environ.get("QUERY_STRING", ""),
            headers=headers_of(environ),
            body=environ["wsgi.input"].read(length) if length else b"",
        )

    @cached_property
    def text(self) -> str:
        """Target and body, to look for something in."""
        return self.target + self.body.decode("utf-8", "replace")


def headers_of(environ: "WSGIEnvironment") -> dict[str, str]:
    """The headers of a request by lower-case name."""
    found = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            found[name.replace("_", "-").lower()] = environ[name]
    return found
