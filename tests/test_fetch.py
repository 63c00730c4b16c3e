"""One HTTP GET of a URL that an operator gives."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from fss_exporter.fetch import get


@contextmanager
def server(location: str = "") -> Iterator[tuple[str, list[str | None]]]:
    """A server that redirects to a location, or answers. Host and port, and the Authorization header of each request."""
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # http.server's name
            seen.append(self.headers.get("Authorization"))
            self.send_response(302 if location else 200)
            self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # http.server's name
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{listening.server_port}", seen
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def test_a_password_reaches_the_named_host() -> None:
    with server() as (host, seen):
        get(f"http://user:secret@{host}/")
    assert seen == ["Basic dXNlcjpzZWNyZXQ="]


def test_a_password_does_not_follow_a_redirect() -> None:
    with server() as (other, seen), server(f"http://{other}/") as (host, _):
        get(f"http://user:secret@{host}/")
    assert seen == [None]
