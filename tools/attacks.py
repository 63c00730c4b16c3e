"""Hostile HTTP clients against a running server: how much memory they take, and how long a scrape waits meanwhile.

Each attack runs in a process of its own against a server that has just started. Meanwhile a scraper asks for `/metrics`
every 0.1 s, on a new connection and on one that stays open in turn. At the end, with the attack still going on, the
server gets SIGTERM. `make attacks` prints the table of docs/security.md; `--command 'SERVER --port {port}'` attacks
another server.
"""

import argparse
import multiprocessing
import os
import random
import select
import shlex
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tools.bench import Host, free_port

GET = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
PATIENCE_S = 10.0
"""A scrape that takes longer than this is lost: the scrape timeout of Prometheus."""


def connect(port: int, receive_buffer: int = 0) -> socket.socket:
    """An open connection; with a small `receive_buffer` the kernel keeps little of an answer for it."""
    opened = socket.socket()
    if receive_buffer:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    opened.settimeout(PATIENCE_S)
    opened.connect(("127.0.0.1", port))
    return opened


def keep_open(port: int, count: int, greet: Callable[[socket.socket], object], receive_buffer: int = 0) -> None:
    """Hold `count` connections, each greeted once; open another for each that the server closes."""
    poll = select.poll()
    held: dict[int, socket.socket] = {}
    while True:
        while len(held) < count:
            with suppress(OSError):
                opened = connect(port, receive_buffer)
                held[opened.fileno()] = opened
                poll.register(opened, select.POLLRDHUP)
                opened.settimeout(0)
                greet(opened)
        for number, _ in poll.poll(100):
            poll.unregister(number)
            held.pop(number).close()


def silent(port: int) -> None:
    """2,000 connections that say nothing."""
    keep_open(port, 2000, lambda _: None)


def drips(port: int) -> None:
    """2,000 connections that send a byte now and then, and connect again when they are closed."""
    held: list[socket.socket] = []
    while True:
        while len(held) < 2000:
            with suppress(OSError):
                held.append(connect(port))
                held[-1].settimeout(0)
        for opened in list(held):
            try:
                opened.send(b"G")
            except OSError:
                held.remove(opened)
                opened.close()
        time.sleep(0.05)


def resets(port: int) -> None:
    """One request after another, each reset before or while its answer comes."""
    number = 0
    while True:
        number += 1
        with suppress(OSError), closing(connect(port, 4096)) as opened:
            opened.sendall(GET)
            if number % 2:
                opened.recv(1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def non_readers(port: int) -> None:
    """400 connections that ask and never read."""
    keep_open(port, 400, lambda opened: opened.send(GET), receive_buffer=4096)


def slow_readers(port: int) -> None:
    """200 connections that take 1 kB of their answers every 50 ms."""
    held: list[socket.socket] = []
    while True:
        while len(held) < 200:
            with suppress(OSError):
                held.append(connect(port, 4096))
                held[-1].settimeout(0)
                held[-1].send(GET)
        for opened in list(held):
            try:
                if not opened.recv(1024):
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                held.remove(opened)
                opened.close()
        time.sleep(0.05)


def _pour(opened: socket.socket) -> None:
    with suppress(OSError):
        opened.send(GET * 1000)


def pipelining_unread(port: int) -> None:
    """200 connections with 1,000 requests each that never read."""
    keep_open(port, 200, _pour, receive_buffer=4096)


def pipelining(port: int) -> None:
    """8 connections that ask without a pause and read all answers."""
    held: list[socket.socket] = []
    while True:
        while len(held) < 8:
            with suppress(OSError):
                held.append(connect(port))
                held[-1].settimeout(0)
        readable, writable, _ = select.select(held, held, [])
        for opened in {*readable, *writable}:
            try:
                if opened in writable:
                    opened.send(GET * 100)
                if opened in readable and not opened.recv(1 << 20):
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                held.remove(opened)
                opened.close()


def large_heads(port: int) -> None:
    """Requests with 1 MiB of headers."""
    while True:
        with suppress(OSError), closing(connect(port)) as opened:
            opened.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n" + b"X: 1\r\n" * 170_000 + b"\r\n")
            opened.recv(1000)


def filters(port: int) -> None:
    """64 connections that ask for families by ever other names and never read."""
    chance = random.Random(0)  # noqa: S311  # no secret

    def greet(opened: socket.socket) -> None:
        name = f"/metrics?name[]=fss_client_operations_total&name[]=x{chance.random()}".encode()
        opened.send(GET.replace(b"/metrics", name))

    keep_open(port, 64, greet, receive_buffer=4096)


def pages(port: int) -> None:
    """64 connections that ask for the status page and never read."""
    keep_open(port, 64, lambda opened: opened.send(GET.replace(b"/metrics", b"/")), receive_buffer=4096)


ATTACKS = (silent, drips, resets, non_readers, slow_readers, pipelining, pipelining_unread, large_heads, filters, pages)


@dataclass
class Outcome:
    """What one attack did.

    Attributes:
        start_mib, peak_mib: resident memory of the server before and at most.
        waits: seconds of each answered scrape.
        lost: scrapes without a whole answer.
        stop_seconds: from SIGTERM to the end of the process.
    """

    start_mib: float
    peak_mib: float
    waits: list[float]
    lost: int
    stop_seconds: float


def peak_mib(pid: int) -> float:
    """Highest resident memory of a process and its children."""
    total = 0.0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for number in (pid, *map(int, children)):
        with suppress(OSError):
            lines = Path(f"/proc/{number}/status").read_text().splitlines()
            total += next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
    return total


def scrape(connection: HTTPConnection) -> None:
    """One whole scrape; asked again once where the kept connection was closed meanwhile, as Prometheus does."""
    try:
        connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
    except (ConnectionError, HTTPException):
        connection.close()
        connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
    if answer.status != 200 or len(answer.read()) < 100:
        raise HTTPException(answer.status)


def attack(server: subprocess.Popen[bytes], port: int, attacker: Callable[[int], None], seconds: float) -> Outcome:
    """Run one attack for that long."""
    kept = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    scrape(kept)
    outcome = Outcome(peak_mib(server.pid), 0.0, [], 0, 0.0)
    attacking = multiprocessing.get_context("fork").Process(target=attacker, args=(port,), daemon=True)
    attacking.start()
    try:
        until, number = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            number += 1
            connection = kept if number % 2 else HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
            begun = time.monotonic()
            try:
                scrape(connection)
                outcome.waits.append(time.monotonic() - begun)
            except (OSError, HTTPException):
                outcome.lost += 1
                connection.close()
            if connection is not kept:
                connection.close()
            time.sleep(0.1)
        outcome.peak_mib = peak_mib(server.pid)
        begun = time.monotonic()
        server.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.wait(30)
        outcome.stop_seconds = time.monotonic() - begun
    finally:
        attacking.kill()
        attacking.join()
        kept.close()
    return outcome


@contextmanager
def serving(command: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server that answers on `port`."""
    words = shlex.split(command.format(port=port))
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as server:
        try:
            deadline = time.monotonic() + 30
            while True:
                try:
                    with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as probe:
                        scrape(probe)
                    break
                except (OSError, HTTPException):
                    if time.monotonic() > deadline or server.poll() is not None:
                        raise
                    time.sleep(0.05)
            yield server
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)


def run(command: str, names: list[str], seconds: float, title: str) -> None:
    """Print one row for each attack."""
    table = Table(
        "attack", "before MiB", "peak MiB", "median s", "worst s", "answered", "lost", "SIGTERM s", title=title
    )
    for attacker in ATTACKS:
        if names and attacker.__name__ not in names:
            continue
        port = free_port()
        with serving(command, port) as server:
            found = attack(server, port, attacker, seconds)
        waits = found.waits or [float("nan")]
        table.add_row(
            attacker.__name__.replace("_", " "),
            *(f"{size:.0f}" for size in (found.start_mib, found.peak_mib)),
            f"{statistics.median(waits):.3f}",
            f"{max(waits):.3f}",
            f"{len(found.waits)}",
            f"{found.lost}",
            f"{found.stop_seconds:.2f}",
        )
    Console(width=110).print(table)


def main() -> None:
    """Attack the exporter with so many mounts, or another server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mounts", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--command", default="", help="another server; {port} is replaced")
    parser.add_argument("attacks", nargs="*", help="by name; all if none is given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(folder) / "proc", options.mounts)
        exporter = (
            f"{sys.executable} -m fss_exporter serve --web.listen-address=127.0.0.1:{{port}} --path.procfs={host.root}"
        )
        title = options.command or f"fss-exporter, {options.mounts} mounts"
        run(options.command or exporter, [name.replace("-", "_") for name in options.attacks], options.seconds, title)


if __name__ == "__main__":
    main()
