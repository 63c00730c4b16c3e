# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on the loopback interface that can be stopped in the middle of an answer."""

import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fss_toolbox.demo.region.wire import ApiRequest

Respond = Callable[[ApiRequest], tuple[int, Mapping[str, str], bytes]]


class _ConnectionHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one segment; two would wait for each other's acknowledgement
    server: "LoopbackServer"

    def handle(self) -> None:
        self.server.connections.add(self.connection)
        try:
            super().handle()
        except (ConnectionError, ValueError):  # the client, or stop(), closed the connection
            self.close_connection = True
        finally:
            self.server.connections.discard(self.connection)

    def _answer(self) -> None:
        length = self.headers.get("content-length", "0")
        body = self.rfile.read(int(length)) if length.isdecimal() else b""
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, answered, content = self.server.respond(ApiRequest(self.command, self.path, headers, body))
        self.send_response_only(status)  # the region has a clock of its own for the header Date
        for name, value in answered.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        if len(content) < int(answered["content-length"]):
            self.close_connection = True

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _answer  # noqa: N815 - names of the standard library

    def log_message(self, *_: Any) -> None:
        """Requests are not logged."""


class LoopbackServer(ThreadingHTTPServer):
    """Answers each request with status, headers and body of `respond`. Listens when made, or raises OSError."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], respond: Respond) -> None:
        super().__init__(address, _ConnectionHandler)
        self.respond = respond
        self.connections: set[socket.socket] = set()

    def close(self) -> None:
        """Close the listener and every connection."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with suppress(OSError):  # closed in the meantime
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that closes its connection in the middle of an answer is no error of the region."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
