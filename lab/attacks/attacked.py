"""A server under attack: how much memory it takes, and how long a scrape waits meanwhile.

A busy machine makes every process wait for a processor. Server, attackers and scraper therefore run before all other
processes, where the user may do so. The kernel counts the waits that are left (`/proc/PID/schedstat`), and the figures here
leave them out: what remains is what the server and its attackers did.
"""

import base64
import multiprocessing
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import count
from pathlib import Path

from lab.attacks.attackers import GUESSES, PATIENCE_S, USERS, Attacker, Target
from tests.processes import Stopwatch

_PRIORITY = -10


@dataclass
class Outcome:
    """What one attack did.

    Attributes:
        start_mib, peak_mib: resident memory of the server before and at most.
        waits: seconds of each answered scrape, without those that a process waited for a processor.
        lost: scrapes without a whole answer.
        stop_seconds: from SIGTERM to the end of the process, counted like `waits`.
    """

    start_mib: float
    peak_mib: float = 0.0
    waits: list[float] = field(default_factory=list)
    lost: int = 0
    stop_seconds: float = 0.0


class Scraper:
    """Scrapes as Prometheus does, on a new connection and on one that stays open in turn.

    Args:
        target: the server under attack.
        users: number of users of the target that scrape in turn.
    """

    def __init__(self, target: Target, users: int = 1) -> None:
        self._target = target
        self._users = users
        self._kept = self._connection()
        self._numbers = count()

    def scrape(self) -> None:
        """One whole scrape, with the next user where the target has users.

        Raises:
            OSError: no whole answer in time.
            HTTPException: not the answer to a scrape.
        """
        number = next(self._numbers)
        connection = self._kept if number % 2 else self._connection()
        headers = {"Accept-Encoding": "gzip"}
        if self._target.user:
            secret = f"{self._target.user.format(number % self._users)}:{self._target.password}"
            headers["Authorization"] = f"Basic {base64.b64encode(secret.encode()).decode()}"
        try:
            _ask(connection, headers)
        except (OSError, HTTPException):
            connection.close()
            raise
        if connection is not self._kept:
            connection.close()

    def close(self) -> None:
        """Close the connection that stayed open."""
        self._kept.close()

    def _connection(self) -> HTTPConnection:
        port, context = self._target.port, self._target.context
        if context:
            return HTTPSConnection("localhost", port, timeout=PATIENCE_S, context=context)
        return HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)


def _ask(connection: HTTPConnection, headers: dict[str, str]) -> None:
    try:
        connection.request("GET", "/metrics", headers=headers)
        answer = connection.getresponse()
    except (ConnectionError, HTTPException):  # Prometheus asks again where a kept connection was closed meanwhile
        connection.close()
        connection.request("GET", "/metrics", headers=headers)
        answer = connection.getresponse()
    if len(answer.read()) < 100 or answer.status != 200:
        raise HTTPException(answer.status)


def attack(
    server: "subprocess.Popen[bytes]", target: Target, attacker: Attacker, seconds: float, *, end: bool = True
) -> Outcome:
    """Run one attack for that long, scrape every 0.1 s meanwhile, and end the server under attack unless `end` is False."""
    # While passwords are guessed, each scrape brings a password that the server has not checked before.
    with closing(Scraper(target, USERS if attacker in GUESSES else 1)) as scraper:
        _until_answered(server, scraper.scrape)  # it may still be busy with the attack before
        Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # forget the highest memory so far (proc(5))
        outcome = Outcome(peak_mib(server.pid))
        attacking = multiprocessing.get_context("fork").Process(target=attacker, args=(target,), daemon=True)
        attacking.start()
        try:
            until = time.monotonic() + seconds
            while time.monotonic() < until or not outcome.waits:
                stopwatch = Stopwatch(server.pid)
                try:
                    scraper.scrape()
                    outcome.waits.append(stopwatch.seconds())
                except (OSError, HTTPException):
                    outcome.lost += 1
                time.sleep(0.1)
            outcome.peak_mib = peak_mib(server.pid)
            outcome.stop_seconds = _stop(server) if end else 0.0
        finally:
            attacking.kill()
            attacking.join()
    return outcome


def _until_answered(server: "subprocess.Popen[bytes]", scrape: Callable[[], None]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            return scrape()
        except (OSError, HTTPException):
            if time.monotonic() > deadline or server.poll() is not None:
                raise
            time.sleep(0.05)


def _stop(server: "subprocess.Popen[bytes]") -> float:
    stopwatch = Stopwatch(server.pid)
    server.send_signal(signal.SIGTERM)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # ended, and /proc still has its figures
    took = stopwatch.seconds()
    server.wait()
    return took


def peak_mib(pid: int) -> float:
    """Highest resident memory of a process and its children."""
    total = 0.0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for number in (pid, *map(int, children)):
        with suppress(OSError):
            lines = Path(f"/proc/{number}/status").read_text().splitlines()
            total += next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
    return total


@contextmanager
def before_others() -> Iterator[None]:
    """Run this thread, and the threads and processes that it starts, before other processes. Only root may."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


@contextmanager
def serving(command: str, target: Target) -> Iterator["subprocess.Popen[bytes]"]:
    """A server that answers scrapes."""
    words = shlex.split(command.format(port=target.port))
    with (
        before_others(),
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as server,
    ):
        try:
            with closing(Scraper(target)) as probe:
                _until_answered(server, probe.scrape)
            yield server
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
