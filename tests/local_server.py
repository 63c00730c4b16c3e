"""Servers of a test: each answers on a free port of loopback and is gone when the block ends."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    """Answers requests and prints no line about them. A test writes `get` or `post`."""

    def get(self) -> None:
        """Answer a GET."""
        self.answer(status=405)

    def post(self) -> None:
        """Answer a POST."""
        self.answer(status=405)

    def do_GET(self) -> None:
        """Ask the test, whose names are not those of the base class."""
        self.get()

    def do_POST(self) -> None:
        """Ask the test, whose names are not those of the base class."""
        self.post()

    def answer(
        self, body: str | bytes = b"", status: int = 200, content_type: str = "text/plain; version=0.0.4", **more: str
    ) -> None:
        """Send a whole answer. `more` holds further headers by name, with underscores for hyphens."""
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def received(self) -> bytes:
        """Read the body of the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def log_message(self, *_: object) -> None:
        """Say nothing, where the base class writes to stderr."""


@contextmanager
def serving(handler: type[Quiet]) -> Iterator[str]:
    """Let the handler answer; host and port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def instance_metadata(body: bytes, status: int = 200) -> Iterator[str]:
    """Answer like the instance metadata of OCI, and only to the header that it wants; the URL."""

    class Metadata(Quiet):
        def get(self) -> None:
            allowed = self.headers["Authorization"] == "Bearer Oracle"
            self.answer(body if allowed else b"", status if allowed else 403)

    with serving(Metadata) as address:
        yield f"http://{address}/opc/v2/instance/"
