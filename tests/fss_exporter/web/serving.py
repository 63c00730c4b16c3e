"""The HTTP server in a thread, and clients that behave as badly as a test wants."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection

from tests.processes import PATIENCE_S

from fss_exporter.background import Event
from fss_exporter.web.binding import bind
from fss_exporter.web.http_server import HttpServer, ServerLimits, no_tls
from fss_exporter.web.messages import Application, Request, Response, text
from fss_exporter.web.tls import ServerTls
from fss_exporter.web.web_config_reload import WebConfigReload


@dataclass
class Served:
    """A server that runs.

    Attributes:
        server: the part under test.
        port: on 127.0.0.1.
    """

    server: HttpServer
    port: int

    def connect(self, timeout: float = PATIENCE_S) -> socket.socket:
        """An open connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def get(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        context: ssl.SSLContext | None = None,
        timeout: float = PATIENCE_S,
    ) -> "Answer":
        """One request on a connection of its own."""
        connection = (
            HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)
            if context
            else HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        )
        try:
            connection.request(method, path, headers=headers or {})
            return Answer.of(connection.getresponse())
        finally:
            connection.close()

    def exchange(self, sent: bytes) -> bytes:
        """Everything that comes back for these bytes until the server closes."""
        with self.connect() as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))


@dataclass(frozen=True)
class Answer:
    """A whole response."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, response: HTTPResponse) -> "Answer":
        """Read it to its end."""
        return cls(response.status, response.read(), {name.lower(): value for name, value in response.getheaders()})


def say_ok(_: Request) -> Response:
    """An application for tests of the server."""
    return text(200, "ok")


def look_twice(web_config: WebConfigReload) -> None:
    """Two rounds of the loop that watches the file: it takes a change when the files stay as they are for one round."""
    for _ in range(2):
        web_config.loop.run_once()


@contextmanager
def serving(
    application: Application = say_ok,
    *,
    tls: Callable[[], ServerTls | None] = no_tls,
    limits: ServerLimits | None = None,
) -> Iterator[Served]:
    """A server on a free port of loopback, in a thread of its own."""
    (bound,) = bind(("127.0.0.1:0",))
    port = bound.getsockname()[1]
    server = HttpServer([bound], application, tls=tls, limits=limits)
    stop = Event()
    thread = threading.Thread(target=server.run, args=(stop,), daemon=True)
    thread.start()
    try:
        yield Served(server, port)
    finally:
        stop.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
