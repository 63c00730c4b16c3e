"""A host whose first act is `rm -rf`, as increase() of a real prometheus sees the deletes: hours of a simulated agent, then a real agent."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import pytest
from tests.exposition_text import collected
from tests.fss_exporter.nfs.fed_accounts import reading
from tests.fss_exporter.nfs.records import mountinfo, mountstats, write_procfs
from tests.processes import Prometheus, exporter, free_port, prometheus, prometheus_of, wait_for

from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.nfs.ticker import Ticker

# Seconds: the mount is made and a tree is deleted at once, 100 files a second; the mount idles until the end.
BORN, DELETES_UNTIL, END = 1000, 1090, 4600

TRUTH = {"REMOVE": 9000, "RMDIR": 900, "READDIRPLUS": 900, "LOOKUP": 9000}


@cache
def look(second: int) -> Reading:
    """The host's NFS files at a second, read once for all simulations. No agent changes a reading."""
    if second < BORN:
        return reading(info="")
    done = min(1.0, (second - BORN + 1) / (DELETES_UNTIL - BORN))
    counts = {name: round(count * done) for name, count in TRUTH.items()}
    return reading(mountstats(counts, age=second - BORN), info=mountinfo())


@dataclass
class Simulation:
    """An agent, scraped by servers.

    Attributes:
        servers: by name, interval and offset in seconds.
        zero_answers: as in `--nfs.scrapers`.
        restarts: seconds at which the agent starts again.
        down: seconds in which the servers are down.
    """

    servers: Mapping[str, tuple[int, int]]
    zero_answers: int = 1
    restarts: frozenset[int] = frozenset()
    down: range = range(0)
    lines: list[str] = field(default_factory=list)
    _second: int = 0

    def run(self, epoch: int) -> str:
        """OpenMetrics text of every scrape; second 0 is at `epoch`, Unix seconds."""
        ticker, collector = self._agent()
        for second in range(0, END, 1):
            if second in self.restarts:
                ticker, collector = self._agent()
            self._second = second
            ticker.tick()
            for name, (interval, offset) in self.servers.items():
                if second % interval == offset and second not in self.down:
                    self.lines.extend(self._scrape(name, collector, epoch + second))
        return "".join(self.lines) + "# EOF\n"

    def _agent(self) -> tuple[Ticker, NfsCollector]:
        ticker = Ticker(lambda: look(self._second), 1.0, lambda: float(self._second))
        return ticker, NfsCollector(ticker, zero_answers=self.zero_answers)

    def _scrape(self, server: str, collector: NfsCollector, at: int) -> Iterator[str]:
        for family in collected(collector):
            if family.name == "fss_client_operations":
                for sample in family.samples:
                    labels = {"server_name": server, **sample.labels}.items()
                    text = ",".join(f'{label}="{value}"' for label, value in labels)
                    yield f"{sample.name}{{{text}}} {sample.value} {at}\n"


SIMULATIONS = {
    "one server": Simulation({"a": (60, 7)}),
    "every six minutes": Simulation({"a": (360, 7)}),
    "two servers": Simulation({"a": (60, 7), "b": (60, 41)}, zero_answers=2),
    "two servers every six minutes": Simulation({"a": (360, 7), "b": (360, 100)}, zero_answers=2),
    "server down while the mount is born": Simulation({"a": (60, 7)}, down=range(900, 1500)),
    "agent restarted later": Simulation({"a": (60, 7)}, restarts=frozenset({2000, 3000})),
}


def value(server: Prometheus, query: str) -> float:
    """The one value of a query."""
    return wait_for(lambda: server.value(query), "the blocks") or 0.0


@pytest.mark.parametrize("simulation", SIMULATIONS.values(), ids=SIMULATIONS)
def test_increase_by_operation_is_within_one_scrape_of_the_truth(simulation: Simulation, tmp_path: Path) -> None:
    epoch = int(time.time()) - 3 * 3600
    with prometheus_of([simulation.run(epoch)], tmp_path) as server:
        for name in simulation.servers:
            for operation, truth in TRUTH.items():
                series = f'fss_client_operations_total{{server_name="{name}",operation="{operation}"}}'
                query = f"increase({series}[{END}s] @ {epoch + END})"
                deletes = value(server, query)
                # increase() extrapolates by up to one interval at the end of its range.
                assert deletes == pytest.approx(truth, rel=0.15), (name, operation)


def test_without_the_zeros_of_a_new_mount_prometheus_misses_its_first_deletes(tmp_path: Path) -> None:
    """What the zeros are for: this is the fault they heal."""
    epoch = int(time.time()) - 3 * 3600
    with prometheus_of([Simulation({"a": (60, 7)}, zero_answers=0).run(epoch)], tmp_path) as server:
        query = f'increase(fss_client_operations_total{{operation="REMOVE"}}[{END}s] @ {epoch + END})'
        deletes = value(server, query)

    assert deletes < 0.75 * TRUTH["REMOVE"]


SCRAPES = """
scrape_configs:
  - job_name: fss
    scrape_interval: 1s
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""

REMOVES = 'fss_client_operations_total{operation="REMOVE"}'


class Live:
    """An agent and two servers as processes, each of which a test can restart. Each server scrapes once a second."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack, self._port = folder, stack, free_port()
        self._running: dict[str, ExitStack] = {}
        self._servers: dict[str, Prometheus] = {}
        self._counted = 0
        self._born_at: float | None = None
        self.host("", "")

    def host(self, stats: str, info: str) -> None:
        """The files of the kernel from now on."""
        write_procfs(self._folder / "proc", stats, info)

    def start(self, name: str) -> None:
        """Start `agent` or a server, and before end the process of that name."""
        if name in self._running:
            self._running[name].close()
        self._running[name] = self._stack.enter_context(ExitStack())
        if name == "agent":
            flags = (f"--web.listen-address=127.0.0.1:{self._port}", f"--path.procfs={self._folder / 'proc'}")
            running = exporter(self._folder / name, *flags, "--nfs.scrapers=2", "--nfs.exact=off")
            self._running[name].enter_context(running)
        else:
            configuration = SCRAPES.format(port=self._port)
            self._servers[name] = self._running[name].enter_context(prometheus(configuration, self._folder / name))

    def delete(self, files: int, *, age: int) -> None:
        """Delete files on the mount, which was mounted `age` seconds ago."""
        self._counted += files
        self._born_at = time.monotonic() - age
        self._grow_older()

    def _grow_older(self) -> None:
        """Let the mount have its age. A mount whose age stands still is another one for an agent."""
        if self._born_at is not None:
            age = int(time.monotonic() - self._born_at)
            self.host(mountstats({"REMOVE": self._counted}, age=age), mountinfo())

    def wait_for(self, expression: str, value: float) -> None:
        """Wait until the expression has the value in both servers."""
        for name, server in self._servers.items():
            wait_for(partial(self._has, server, expression, value), f"{expression} to be {value} in {name}")

    def wait_for_deletes(self, files: int) -> None:
        """Wait until each server computes the number of deletes. Right after a delete increase() extrapolates by up to its double."""
        for name, server in self._servers.items():
            wait_for(
                partial(self._has, server, f"increase({REMOVES}[10m])", pytest.approx(files, rel=0.2)),
                f"{files} deletes in {name}",
            )

    def _has(self, server: Prometheus, expression: str, value: object) -> bool:
        self._grow_older()
        return server.value(expression) == value


def test_two_servers_see_every_delete_of_a_new_mount_across_restarts_of_agent_and_server(tmp_path: Path) -> None:
    with ExitStack() as stack:
        live = Live(tmp_path, stack)
        for name in ("agent", "server a", "server b"):
            live.start(name)
        live.wait_for("up", 1)
        live.delete(5000, age=0)
        live.wait_for(REMOVES, 5000)
        live.wait_for_deletes(5000)

        live.start("agent")  # counters begin at zero
        live.wait_for(REMOVES, 0)
        live.delete(3000, age=600)
        live.wait_for(REMOVES, 3000)
        live.start("server a")
        live.delete(2000, age=700)
        live.wait_for(REMOVES, 5000)
        live.wait_for_deletes(10_000)
