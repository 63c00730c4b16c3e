"""A loopback HTTP server whose answers are as a broken or hostile service would send them."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count

Respond = Callable[[socket.socket], None]


def drip_body(connection: socket.socket) -> None:
    """A byte every 50 ms, for an hour; each one in time for a read time-out."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 72000\r\n\r\n")
    _drip(connection, b" ")


def drip_headers(connection: socket.socket) -> None:
    """Headers that never end, a byte every 50 ms."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    _drip(connection, b"x")


def gzip_bomb(connection: socket.socket) -> None:
    """100 MB of blanks in less than 1 MB."""
    body = _packed_blanks()
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"
    connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)


@cache
def _packed_blanks() -> bytes:
    return gzip.compress(b"[" + b" " * 100_000_000 + b"]", compresslevel=1)


def cut_gzip(connection: socket.socket) -> None:
    """Compressed JSON without its end."""
    body = gzip.compress(b"[" + b"1," * 5000 + b"1]")[:-30]
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"
    connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)


def same_page(connection: socket.socket) -> None:
    """A page that names itself as the next one."""
    body = b'[{"id": "x"}]'
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nopc-next-page: again\r\nConnection: close\r\n\r\n"
    connection.sendall(head.encode() + body)


def new_page(connection: socket.socket) -> None:
    """The same rows with a token that no page had before."""
    body = b'[{"id": "x"}]'
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nopc-next-page: {next(_tokens)}\r\nConnection: close\r\n\r\n"
    )
    connection.sendall(head.encode() + body)


_tokens = count()


def large(connection: socket.socket) -> None:
    """Compressed JSON of 3 MiB, which is more than a usual answer."""
    body = gzip.compress(b"[" + b" " * (3 << 20) + b"]", compresslevel=1)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"
    connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)


def _drip(connection: socket.socket, byte: bytes) -> None:
    until = time.monotonic() + 3600
    while time.monotonic() < until:
        connection.sendall(byte)
        threading.Event().wait(0.05)


@contextmanager
def hostile_server(respond: Respond) -> Iterator[str]:
    """Run it; its URL. Every connection is answered once, in a thread of its own.

    A whole answer says `Connection: close`. Else the client sends its next try on the same connection, which ends.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(65536)
                respond(connection)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):  # a close with unread bytes of the request resets the connection
                    pass

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
