"""One connection's HTTP/1.1: whole requests in, whole responses out, every wait with an end.

h11 speaks the protocol; this module only moves bytes and watches the clock. A client that sends or reads slowly costs
one coroutine and some kilobytes until its time is up, never a thread.
"""

import asyncio
import email.utils
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import unquote, urlsplit, urlunsplit

import h11

from fss_exporter.web.crowd import Phase
from fss_exporter.web.limits import Limits
from fss_exporter.web.messages import Application, Request, Response, text

# h11 looks at the size of a head after each piece, so the pieces are small against `Limits.head_bytes`.
_CHUNK_BYTES = 4096
_PIECE_BYTES = 256 * 1024


class Refused(Exception):
    """The request cannot be served; the client gets the response and the connection ends."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class Conversation:
    """HTTP on one open connection.

    Args:
        reader: bytes of the client.
        writer: bytes to the client.
        peer: address of the client.
        application: turns requests into responses.
        limits: sizes and times.
        enter: told of each change of phase, and of how many bytes are to be sent in it.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        peer: str,
        application: Application,
        limits: Limits,
        enter: Callable[[Phase, int], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._peer = peer
        self._application = application
        self._limits = limits
        self._enter = enter
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.head_bytes)

    async def run(self) -> None:
        """Serve requests until the client has enough or a limit is met.

        Raises:
            Refused: the last request could not be served; the client has been told.
            OSError: the client is gone, or did not take its response in time (`TimeoutError`).
        """
        patience = self._limits.head_seconds
        try:
            while request := await self._next_request(patience):
                self._enter(Phase.ANSWERING, 0)
                response = await self._answer(request)
                await self._send(response, with_body=request.method != "HEAD")
                if self._http.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
                    return
                self._http.start_next_cycle()
                self._enter(Phase.IDLE, 0)
                patience = self._limits.idle_seconds
        except Refused as refused:
            await self._refuse(refused)
            raise

    async def _next_request(self, patience: float) -> Request | None:
        """The next whole request; None where the client has none, or sends none while it may be idle."""
        started = bool(self._http.trailing_data[0])
        try:
            async with asyncio.timeout(self._limits.head_seconds if started else patience) as deadline:
                head, body = None, bytearray()
                while True:
                    event = self._next_event()
                    if event is h11.NEED_DATA:
                        received = await self._receive()
                        if not started:
                            started = True
                            deadline.reschedule(asyncio.get_running_loop().time() + self._limits.head_seconds)
                        self._http.receive_data(received)
                    elif isinstance(event, h11.Request):
                        head = await self._acceptable(event)
                    elif isinstance(event, h11.Data):
                        body += event.data
                        if len(body) > self._limits.body_bytes:
                            raise Refused(413, f"request bodies end at {self._limits.body_bytes} bytes here")
                    elif isinstance(event, h11.EndOfMessage) and head is not None:
                        return self._request(head, bytes(body))
                    else:
                        return None
        except TimeoutError:
            if not started:
                return None
            raise Refused(408, f"the request did not arrive within {self._limits.head_seconds:g} s") from None

    def _next_event(self) -> object:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as broken:
            raise Refused(broken.error_status_hint, f"not HTTP/1.1 as this server reads it: {broken}") from broken

    async def _receive(self) -> bytes:
        received = await self._reader.read(_CHUNK_BYTES)
        if not received and (self._http.their_state is h11.SEND_BODY or self._http.trailing_data[0]):
            raise ConnectionResetError("the client left in the middle of its request")
        return received

    async def _acceptable(self, head: h11.Request) -> h11.Request:
        """The head, after the client has been asked for the body if it waits for that."""
        if head.http_version not in {b"1.0", b"1.1"}:
            raise Refused(505, "this server speaks HTTP/1.1")
        if self._http.they_are_waiting_for_100_continue:
            self._writer.write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            await self._writer.drain()
        return head

    def _request(self, head: h11.Request, body: bytes) -> Request:
        path, _, query = _origin_form(head.target.decode("ascii")).partition("?")
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return Request(head.method.decode("ascii"), unquote(path), query, headers, self._peer, body)

    async def _answer(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(self._limits.answer_seconds):
                return await self._application(request)
        except TimeoutError:
            return text(503, f"no answer within {self._limits.answer_seconds:g} s")

    async def _send(self, response: Response, *, with_body: bool, close: bool = False) -> None:
        self._enter(Phase.SENDING, len(response.body))
        head = h11.Response(
            status_code=response.status,
            reason=HTTPStatus(response.status).phrase,
            headers=[
                ("Date", email.utils.formatdate(usegmt=True)),
                ("Content-Type", response.content_type),
                ("Content-Length", str(len(response.body))),
                *response.headers,
                *([("Connection", "close")] if close else []),
            ],
        )
        data = self._http.send(head) or b""
        if with_body:
            data += self._http.send(h11.Data(data=response.body)) or b""
        self._http.send(h11.EndOfMessage())
        await self._write(memoryview(data))

    async def _write(self, data: memoryview) -> None:
        # Piece by piece, because the transport copies what the client does not take at once.
        async with asyncio.timeout(self._limits.send_seconds):
            for start in range(0, len(data), _PIECE_BYTES):
                self._writer.write(data[start : start + _PIECE_BYTES])
                await self._writer.drain()

    async def _refuse(self, refused: Refused) -> None:
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        await self._send(text(refused.status, str(refused)), with_body=True, close=True)
        await self._let_finish()

    async def _let_finish(self) -> None:
        """Read on for a moment: closing with bytes unread makes the kernel throw away the response on its way."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(1.0):
                if self._writer.can_write_eof():
                    self._writer.write_eof()
                while await self._reader.read(65536):
                    pass


def _origin_form(target: str) -> str:
    """A request target without scheme and host, which a client that thinks us a proxy puts before it."""
    if target.startswith("/"):
        return target
    try:
        absolute = urlsplit(target)
    except ValueError as broken:
        raise Refused(400, f"not a request target: {broken}") from broken
    return urlunsplit(("", "", absolute.path or "/", absolute.query, ""))
