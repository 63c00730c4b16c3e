"""Real servers for tests: started on loopback, waited for, and gone afterwards."""

import json
import os
import random
import re
import shutil
import socket
import subprocess
import sysconfig
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.exposition_text import families_of

T = TypeVar("T")

# How long a condition may take to come true on a busy machine, where all takes ten times as long as alone.
PATIENCE_S = 120.0

PROMPT_S = 60.0  # how long something may take that must not wait for another. Give the other thing `NEVER_S`

NEVER_S = 3600.0  # a time-out or a delay that no test sees the end of


def require(command: str, package: str) -> str:
    """The path of a program the tests run; a missing one is a failure that says what to install."""
    places = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))  # for fixtures of a whole module too
    path = shutil.which(command, path=places)
    assert path, f"{command} is not installed: sudo apt-get install {package}"
    return path


def wait_for(condition: Callable[[], T], what: str, patience_s: float = PATIENCE_S) -> T:
    """The condition's first true value; asked again until then.

    A long wait asks less often, because to ask takes time of the processors from what is waited for.
    """
    begun = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - begun
        assert waited < patience_s, f"waited {patience_s:.0f} s for {what}"
        time.sleep(min(1.0, max(0.05, waited / 20)))
    return value


def free_port() -> int:
    """Return a free port below the range that the kernel gives to clients, so that no connection takes the port before the server."""
    chance = random.SystemRandom()  # pytest-randomly gives `random` the same seed in each worker and for each test
    while True:
        port = chance.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Stopwatch:
    """Seconds since it was made, without those in which this thread or the server's first one waited for a processor."""

    def __init__(self, server: int) -> None:
        self._files = (Path("/proc/thread-self/schedstat"), Path(f"/proc/{server}/schedstat"))
        self._began = time.monotonic() - self._delay()

    def seconds(self) -> float:
        """Until now."""
        return max(0.0, time.monotonic() - self._delay() - self._began)

    def _delay(self) -> float:
        return sum(int(file.read_text().split()[1]) for file in self._files) / 1e9  # nanoseconds in a run queue


def get(url: str, headers: dict[str, str] | None = None) -> str:
    """The body of a page. A page of metrics in the text format is read strictly first."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=PATIENCE_S) as response:
        body = str(response.read().decode())
    if response.headers.get("Content-Type", "").startswith("text/plain; version="):
        families_of(body)
    return body


def answers(url: str) -> bool:
    """Whether a page is there yet."""
    try:
        get(url)
    except OSError:
        return False
    return True


@contextmanager
def process(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A running program; its output goes to `log`, and it is gone when the block ends."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as running:
        try:
            yield running
        finally:
            running.terminate()
            try:
                running.wait(30)
            except subprocess.TimeoutExpired:
                running.kill()


@dataclass(frozen=True)
class Prometheus:
    """A running prometheus."""

    url: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Result of an instant query: one `{metric, value}` for each series."""
        document = json.loads(get(f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"))
        result: list[dict[str, Any]] = document["data"]["result"]
        return result

    def value(self, expression: str) -> float | None:
        """The one value of an expression, None while there is no series."""
        result = self.query(expression)
        assert len(result) < 2, f"{expression} has {len(result)} series"
        return float(result[0]["value"][1]) if result else None


@contextmanager
def prometheus(configuration: str, directory: Path, *flags: str, program: str = "") -> Iterator[Prometheus]:
    """A real prometheus with this configuration and an empty database: the one that is installed, or another program."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "prometheus.yml").write_text(configuration)
    log = directory / "prometheus.log"
    command = [
        program or require("prometheus", "prometheus"),
        f"--config.file={directory / 'prometheus.yml'}",
        f"--storage.tsdb.path={directory / 'data'}",
        "--web.listen-address=127.0.0.1:0",
        *flags,
    ]
    with process(command, log):
        url = wait_for(lambda: listening_url(log), f"prometheus to listen, see {log}")
        wait_for(lambda: answers(f"{url}/-/ready"), f"prometheus to be ready, see {log}")
        yield Prometheus(url)


@contextmanager
def prometheus_of(history: Iterable[str], directory: Path) -> Iterator[Prometheus]:
    """A real prometheus with a history in OpenMetrics with times, of any age."""
    directory.mkdir(parents=True, exist_ok=True)
    text = directory / "history.om"
    text.write_text("".join(history))
    command = (require("promtool", "prometheus"), "tsdb", "create-blocks-from", "openmetrics", text, directory / "data")
    subprocess.run(command, check=True, capture_output=True)
    with prometheus("global: {}\n", directory, "--storage.tsdb.retention.time=100y") as server:
        yield server


def listening_url(log: Path) -> str:
    """The URL in the log of a program of Prometheus; empty while it does not listen."""
    for line in log.read_text().splitlines():
        if "Listening on" in line and "address=" in line:
            return "http://" + line.rpartition("address=")[2].split()[0]
    return ""


@contextmanager
def node_exporter(directory: Path, *collector: str) -> Iterator[str]:
    """A running node_exporter with the collector of these flags alone; its URL."""
    log = directory / "node_exporter.log"
    command = [
        require("prometheus-node-exporter", "prometheus-node-exporter"),
        "--collector.disable-defaults",
        *collector,
        "--web.listen-address=127.0.0.1:0",
    ]
    with process(command, log):
        yield wait_for(lambda: listening_url(log), f"node_exporter to listen, see {log}")


@contextmanager
def exporter(directory: Path, *flags: str) -> Iterator[str]:
    """A running `fss-exporter serve` on a free port; its URL."""
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "exporter.log"
    command = [require("fss-exporter", "this project"), "serve", "--web.listen-address=127.0.0.1:0", *flags]
    with process(command, log) as running:
        yield wait_for(lambda: serving_url(running, log), f"the exporter to listen, see {log}")


def serving_url(running: subprocess.Popen[bytes], log: Path) -> str:
    """The URL in the log of an exporter. Empty while it does not listen."""
    assert running.poll() is None, log.read_text()
    url = re.search(r"listening on (https?://[^/\s]+)", log.read_text())
    return url[1] if url else ""


@contextmanager
def demo(directory: Path, *flags: str) -> Iterator[str]:
    """A running `fss-exporter demo` on a free port, after its first poll of the loopback region; its URL."""
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "demo.log"
    command = [require("fss-exporter", "this project"), "demo", "--listen-address=127.0.0.1:0", *flags]
    with process(command, log):
        url = wait_for(lambda: _demo_url(log), f"the demo to say where it is, see {log}")
        polled = ("fss_mount_target_info{", "fss_mount_target_iops{", 'fss_collector_success{collector="oci"} 1.0')
        wait_for(
            lambda: all(series in get(f"{url}/metrics") for series in polled),
            f"the first poll of the demo, see {log}",
        )
        yield url


def _demo_url(log: Path) -> str:
    for line in log.read_text().splitlines():
        if line.startswith("Metrics "):
            return line.split()[1].removesuffix("/metrics")
    return ""
