"""Hostile HTTP clients: each function attacks a server until its process is killed."""

import base64
import random
import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path

GET = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
USERS = 100  # users of a server with users
PATIENCE_S = 10.0  # a connection or a scrape that takes longer than this is lost: the scrape timeout of Prometheus


@dataclass(frozen=True)
class Target:
    """The server under attack.

    Attributes:
        port: on 127.0.0.1.
        authority: the certificate of its CA. None means plain HTTP.
        user, password: what a right scrape sends. `user` may hold `{}`, for the number of the scrape.
    """

    port: int
    authority: Path | None = None
    user: str = ""
    password: str = ""

    @cached_property
    def context(self) -> ssl.SSLContext | None:
        """TLS of a client that trusts the server."""
        return ssl.create_default_context(cafile=str(self.authority)) if self.authority else None

    def connect(
        self, receive_buffer: int = 0, address: str = "127.0.0.1", *, shake_hands: bool = True
    ) -> socket.socket:
        """An open connection from an address; with a small `receive_buffer` the kernel keeps little of an answer for it."""
        opened = socket.socket()
        try:
            if receive_buffer:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            opened.settimeout(PATIENCE_S)
            opened.bind((address, 0))
            opened.connect(("127.0.0.1", self.port))
            if self.context and shake_hands:
                return self.context.wrap_socket(opened, server_hostname="localhost")
        except OSError:
            opened.close()
            raise
        return opened


Attacker = Callable[[Target], None]


def _hold(connections: int, connect: Callable[[], socket.socket], greet: Callable[[socket.socket], object]) -> None:
    """Hold connections, each greeted once; open another for each that the server closes."""
    poll = select.poll()
    held: dict[int, socket.socket] = {}
    while True:
        while len(held) < connections:
            with suppress(OSError):
                opened = connect()
                held[opened.fileno()] = opened
                poll.register(opened, select.POLLRDHUP)
                opened.settimeout(0)
                greet(opened)
        for number, _ in poll.poll(100):
            poll.unregister(number)
            held.pop(number).close()


def _fill(held: list[socket.socket], connections: int, connect: Callable[[], socket.socket]) -> None:
    """Connect until so many connections are held. A refused one is tried again."""
    while len(held) < connections:
        with suppress(OSError):
            held.append(connect())
            held[-1].settimeout(0)


def _drive(connections: int, connect: Callable[[], socket.socket], step: Callable[[socket.socket], object]) -> None:
    """Hold connections and take the next step with each in turn, twenty times a second; a step that fails ends it."""
    held: list[socket.socket] = []
    while True:
        _fill(held, connections, connect)
        for opened in list(held):
            try:
                step(opened)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                continue
            except OSError:
                held.remove(opened)
                opened.close()
        time.sleep(0.05)


def silent(target: Target) -> None:
    """2,000 connections that say nothing."""
    _hold(2000, lambda: target.connect(shake_hands=False), lambda _: None)


def drips(target: Target) -> None:
    """2,000 connections that send a byte now and then, and connect again when they are closed."""
    _drive(2000, lambda: target.connect(shake_hands=False), lambda opened: opened.send(b"G"))


def resets(target: Target) -> None:
    """One request after another, each ended before, while or after its answer comes. Every other one is reset."""
    for number in count():
        path = (b"/metrics", b"/metrics", b"/nothing", b"/", f"/metrics?name[]={number}".encode())[number % 5]
        with suppress(OSError), closing(target.connect(4096)) as opened:
            opened.sendall(GET.replace(b"/metrics", path))
            if number % 5 in {1, 2}:
                opened.recv(1000)
            if number % 2:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def non_readers(target: Target) -> None:
    """400 connections that ask and never read."""
    _hold(400, lambda: target.connect(4096), lambda opened: opened.send(GET))


def gzip_non_readers(target: Target) -> None:
    """64 connections that ask for gzip and never read."""
    zipped = GET.replace(b"Host: a", b"Host: a\r\nAccept-Encoding: gzip")
    _hold(64, lambda: target.connect(4096), lambda opened: opened.send(zipped))


def slow_readers(target: Target) -> None:
    """200 connections that take 1 kB of their answers every 50 ms."""

    def connect() -> socket.socket:
        opened = target.connect(4096)
        opened.send(GET)
        return opened

    def read(opened: socket.socket) -> None:
        if not opened.recv(1024):
            raise ConnectionResetError

    _drive(200, connect, read)


def pipelining_unread(target: Target) -> None:
    """200 connections with 1,000 requests each that never read."""

    def pour(opened: socket.socket) -> None:
        with suppress(OSError):
            opened.send(GET * 1000)

    _hold(200, lambda: target.connect(4096), pour)


def _converse(connections: int, connect: Callable[[], socket.socket], said: Callable[[], bytes]) -> None:
    """Hold connections that say something whenever they can, and read all answers."""
    held: list[socket.socket] = []
    while True:
        _fill(held, connections, connect)
        readable, writable, _ = select.select(held, held, [])
        for opened in {*readable, *writable}:
            try:
                if opened in writable:
                    opened.send(said())
                if opened in readable and not opened.recv(1 << 20):
                    raise ConnectionResetError
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                continue
            except OSError:
                held.remove(opened)
                opened.close()


def pipelining(target: Target) -> None:
    """8 connections that ask without a pause and read all answers."""
    _converse(8, target.connect, lambda: GET * 100)


def large_heads(target: Target) -> None:
    """Requests with 1 MiB of headers."""
    while True:
        with suppress(OSError), closing(target.connect()) as opened:
            opened.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n" + b"X: 1\r\n" * 170_000 + b"\r\n")
            opened.recv(1000)


def filters(target: Target) -> None:
    """300 connections that ask for families by ever other names and never read."""
    chance = random.Random(0)  # no secret

    def greet(opened: socket.socket) -> None:
        name = f"/metrics?name[]=fss_client_operations_total&name[]=x{chance.random()}".encode()
        opened.send(GET.replace(b"/metrics", name))

    _hold(300, lambda: target.connect(4096), greet)


def pages(target: Target) -> None:
    """300 connections that ask for the status page and never read."""
    _hold(300, lambda: target.connect(4096), lambda opened: opened.send(GET.replace(b"/metrics", b"/")))


def reloads(target: Target) -> None:
    """300 connections that ask to read the configuration again and never read."""
    asked = GET.replace(b"GET /metrics", b"POST /-/reload")
    _hold(300, lambda: target.connect(4096), lambda opened: opened.send(asked))


def _guess_from(target: Target, connections: int, address: str) -> None:
    """Guess passwords of right users, the next one on each answer."""
    numbers = count()
    users = _names(target.user)

    def guess(opened: socket.socket) -> None:
        secret = base64.b64encode(f"{next(users)}:guess {next(numbers)}".encode())
        opened.send(GET.replace(b"Host: a", b"Host: a\r\nAuthorization: Basic " + secret))

    poll = select.poll()
    held: dict[int, socket.socket] = {}
    while True:
        while len(held) < connections:
            with suppress(OSError):
                opened = target.connect(address=address)
                held[opened.fileno()] = opened
                poll.register(opened, select.POLLIN)
                guess(opened)
        for number, _ in poll.poll(100):
            try:
                if not held[number].recv(1 << 16):
                    raise ConnectionResetError
                guess(held[number])
            except OSError:
                poll.unregister(number)
                held.pop(number).close()


def _names(user: str) -> Iterator[str]:
    return (user.format(number % USERS) for number in count())


def guesses(target: Target) -> None:
    """40 connections that guess passwords, from the address of the scraper."""
    _guess_from(target, 40, "127.0.0.1")


def guesses_elsewhere(target: Target) -> None:
    """200 connections that guess passwords, from another address."""
    _guess_from(target, 200, "127.0.0.2")


def guesses_anew(target: Target) -> None:
    """40 clients at the address of the scraper that guess passwords, each guess on a new connection. Others do not wait."""
    poll = select.poll()
    held: dict[int, socket.socket] = {}
    for number, user in enumerate(_names(target.user)):
        with suppress(OSError):
            opened = target.connect()
            secret = base64.b64encode(f"{user}:guess {number}".encode())
            opened.send(GET.replace(b"Host: a", b"Host: a\r\nAuthorization: Basic " + secret))
            if number % 4 == 0:
                opened.close()
                continue
            held[opened.fileno()] = opened
            poll.register(opened, select.POLLIN)
        for answered, _ in poll.poll(0 if len(held) < 40 else None):
            poll.unregister(answered)
            held.pop(answered).close()


def _hello(context: ssl.SSLContext) -> bytes:
    """The first message of a TLS client."""
    to_server = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), to_server, server_hostname="localhost").do_handshake()
    return to_server.read()


def broken_handshakes(target: Target) -> None:
    """One TLS handshake after another that breaks off, and each second client speaks plain HTTP."""
    context = target.context
    said = (_hello(context) if context else GET, GET)
    for number in count():
        with suppress(OSError), closing(target.connect(shake_hands=False)) as opened:
            opened.sendall(said[number % 2])


def held_handshakes(target: Target) -> None:
    """200 connections that stop in the middle of a TLS handshake."""
    context = target.context
    said = _hello(context) if context else GET
    _hold(200, lambda: target.connect(shake_hands=False), lambda opened: opened.send(said))


ATTACKS: tuple[Attacker, ...] = (
    silent,
    drips,
    resets,
    non_readers,
    gzip_non_readers,
    slow_readers,
    pipelining,
    pipelining_unread,
    large_heads,
    filters,
    pages,
    reloads,
)

# Against servers with large answers: agents with many mounts, and pollers.
LARGE_ATTACKS: tuple[Attacker, ...] = (non_readers, gzip_non_readers, resets, filters, pages, pipelining)

GUESSES: tuple[Attacker, ...] = (guesses, guesses_anew, guesses_elsewhere)

# Against a server with TLS and users; the last four are no attack on any other.
TLS_ATTACKS: tuple[Attacker, ...] = (silent, resets, non_readers, broken_handshakes, held_handshakes, *GUESSES)
