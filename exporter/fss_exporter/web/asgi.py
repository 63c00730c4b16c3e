"""Adapt the application to uvicorn: whole requests in, whole responses out, in pieces that wait for the client."""

import email.utils
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fss_exporter.log_once import LogOnce
from fss_exporter.web.costly import ClientGone
from fss_exporter.web.messages import Application, Request, Response, text

if TYPE_CHECKING:
    from fss_exporter.web.protocol import HttpConnection

_log_once = LogOnce(logging.getLogger(__name__))
BODY_BYTES = 1024  # No endpoint of the exporter wants a body
_PIECE_BYTES = 32 * 1024
CONNECTION = "connection"  # The key of the `HttpConnection` in the state of a request

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asgi:
    """Calls an application as uvicorn does."""

    application: Application  # turns requests into responses

    async def __call__(self, scope: Mapping[str, Any], receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        """Answer one request (https://asgi.readthedocs.io/en/latest/specs/www.html)."""
        connection: HttpConnection | None = scope["state"].get(CONNECTION)
        request = await _whole_request(scope, receive, connection) if connection else None
        if request is None or connection is None:  # the client has left
            return
        connection.begin_answer()
        try:
            response = request if isinstance(request, Response) else await self.application(request)
        except ClientGone:
            response = text(
                503, "many ask for this, and the connection is half closed. Keep the connection open to wait"
            )
        except Exception as error:  # noqa: BLE001  # a bug of ours costs this request
            message = f"{scope['method']} {scope['path']} failed"
            _log_once.failed(type(error).__name__, message, level=logging.ERROR, error=error)
            response = text(500, "internal error. The exporter's log says more")
        connection.was_refused |= response.status == HTTPStatus.UNAUTHORIZED
        await send({"type": "http.response.start", "status": response.status, "headers": _headers(response)})
        body = response.body
        connection.held_bytes = len(body)
        for start in range(0, len(body), _PIECE_BYTES):  # each piece waits until the client has taken the piece before
            if connection.is_closing:  # asyncio logs a line for each write to a connection that is lost
                return
            await send({"type": "http.response.body", "body": body[start : start + _PIECE_BYTES], "more_body": True})
        connection.held_bytes = 0
        # This one waits as well: uvicorn reads the next request when the client has taken this response.
        await send({"type": "http.response.body", "body": b""})


def _headers(response: Response) -> list[tuple[bytes, bytes]]:
    headers = (
        ("Date", email.utils.formatdate(usegmt=True)),
        ("Content-Type", response.content_type),
        ("Content-Length", str(len(response.body))),
        *response.headers,
    )
    return [(name.encode(), value.encode()) for name, value in headers]


def _joined(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name. Repeated headers are joined with a comma (RFC 9110, section 5.3)."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in raw:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _whole_request(
    scope: Mapping[str, Any], receive: Callable[[], Any], connection: "HttpConnection"
) -> Request | Response | None:
    """Return the request, a refusal, or None if the client has left."""
    headers = _joined(scope["headers"])
    close = ("Connection", "close")
    if scope["http_version"] not in {"1.0", "1.1"}:
        return text(505, "this server speaks HTTP/1.1", close)
    if "content-length" in headers and "transfer-encoding" in headers:
        return text(400, "a request has a content length or a transfer encoding, not both", close)
    body = bytearray()
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message["body"]
        if len(body) > BODY_BYTES:
            return text(413, f"request bodies end at {BODY_BYTES} bytes here", close)
        if not message["more_body"]:
            break
    path = scope["path"]
    if not path.startswith("/"):  # a client that takes this server for a proxy sends a whole URL
        try:
            path = urlsplit(path).path or "/"
        except ValueError:
            return text(400, "not a request target", close)
    return Request(
        method=scope["method"],
        path=path,
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        client_key=connection.client_key,
        body=bytes(body),
        is_gone=lambda: connection.is_closing or connection.has_hung_up,
        was_refused=connection.was_refused,
    )
