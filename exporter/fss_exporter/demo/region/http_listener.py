"""An HTTP/1.1 listener on the standard library's server: one thread for each connection, closed when the region stops."""

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.refusal import Refusal
from fss_exporter.demo.region.wire import ApiRequest, headers_of, refused

LARGEST_BODY = 1 << 20  # Longest body that is read, bytes

Respond = Callable[[ApiRequest], tuple[int, Mapping[str, str], bytes]]


class _ConnectionHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one segment; two would wait for each other's acknowledgement
    server: "_Server"

    def handle(self) -> None:
        self.server.connections.add(self.connection)
        try:
            super().handle()
        except (ConnectionError, ValueError):  # the client, or stop(), closed the connection
            self.close_connection = True
        finally:
            self.server.connections.discard(self.connection)

    def _answer(self) -> None:
        try:
            status, headers, content = self.server.respond(self._request())
        except Refusal as no:
            self.close_connection = True  # the body was not read
            answer = refused(no)
            status, headers, content = answer.status, headers_of(answer, answer.content, ""), answer.content
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        if len(content) < int(headers["content-length"]):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _answer  # noqa: N815 - names of the standard library

    def _request(self) -> ApiRequest:
        length = self.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or "transfer-encoding" in self.headers:
            raise refusal.cannot_parse("Content-Length is not a number of bytes.")
        if int(length) > LARGEST_BODY:
            raise refusal.too_large(f"A body of {length} bytes is longer than {LARGEST_BODY}.")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return ApiRequest(self.command, self.path, headers, self.rfile.read(int(length)))

    def log_message(self, *_: Any) -> None:
        """Requests are not logged."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], respond: Respond) -> None:
        super().__init__(address, _ConnectionHandler)
        self.respond = respond
        self.connections: set[socket.socket] = set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that closes its connection in the middle of an answer is no error of the region."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class HttpListener:
    """Answers requests with a function until it is stopped. It can be started again."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._server: _Server | None = None

    def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError where the address cannot be listened on."""
        self._server = _Server((host, port), self._respond)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="demo-region", daemon=True).start()

    def stop(self) -> None:
        """Close the listener and every connection."""
        if self._server is None:
            return
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._server.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # closed in the meantime
                continue
        self._server = None

    @property
    def url(self) -> str:
        """`http://HOST:PORT`."""
        if self._server is None:
            raise RuntimeError("the region is not started")
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"
