"""What a scrape costs, side by side with node_exporter's mountstats collector on the same procfs tree.

For each number of mounts both exporters read the same files, whose counters grow each second and before every scrape, and are asked in
turn as Prometheus asks: with `Accept-Encoding: gzip`, over a connection that stays open. CPU is what the kernel charged the process.
CPU of a minute has the scrapes of that minute and all that runs between them, as this exporter's ticks. The other figures of a scrape are
medians. Ratios count, since machines differ. A whole table of three runs goes into docs/performance.md.

A busy host whose CPU of a minute is above the largest ratio ends the bench with 1.
"""

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

from lab.benches.agent_table import Figures, with_table
from rich.console import Console
from rich.table import Table
from tests.processes import free_port

MOUNTS = (1, 10, 100, 1000)
RUNS = 3
SCRAPES = {1: 60, 10: 60, 100: 20, 1000: 6}
# Long enough for several ticks: with very many mounts they are more than ten seconds apart.
MINUTES = {1: 1, 10: 1, 100: 1, 1000: 2}

# Largest CPU of a minute with four scrapes, as a multiple of that of node_exporter. A third above what was measured on a busy machine.
LARGEST_RATIOS = {1: 5.0, 10: 2.0, 100: 1.2, 1000: 0.25}

# What no program in Python that reads each second gets below.
FLOOR = "A Python thread that wakes each second takes 3.4 ms of CPU a minute, and 5.8 ms with two reads."

INTERVALS_S = (15, 60)  # of scrapes: the usual one, and Prometheus' default
SETTLING_SECONDS = {1: 3.0, 10: 3.0, 100: 5.0, 1000: 40.0}

# Scrapes within a tenth of a second share one collection (web/scrapes.py), and every measured scrape must collect.
PAUSE_SECONDS = 0.12

# Long enough for a tick that sees a day go by: what a counter has grown by since a moment ago is short and compresses well.
DAY = 86_400

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/performance.md"

OPERATIONS = (
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR "
    "READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT"
).split()

FAILING = ("LOOKUP", "REMOVE")  # what fails in ordinary work: names that are not there


class Host:
    """A procfs tree with that many NFS mounts, twenty exports to a mount target, every operation in use, or none of an idle host."""

    def __init__(self, root: Path, mounts: int, *, is_idle: bool = False) -> None:
        self.root = root
        self._is_idle = is_idle
        self._mounts = mounts
        self._second = 0
        (root / "1").mkdir(parents=True)
        (root / "self").symlink_to("1")
        (root / "stat").write_text("cpu 0 0 0 0 0 0 0 0 0 0\nbtime 0\n")
        shutil.copy("/proc/self/limits", root / "1" / "limits")
        (root / "1" / "mountinfo").write_text("".join(self._mountinfo(number) for number in range(mounts)))
        self.advance()

    def advance(self, seconds: int = 1) -> None:
        """Let time pass: every counter grows, on each mount at a pace of its own. On an idle host only the age does."""
        self._second += seconds
        fresh = self.root / "1" / "mountstats.new"
        fresh.write_text("".join(self._record(number) for number in range(self._mounts)))
        fresh.replace(self.root / "1" / "mountstats")

    @property
    def _work(self) -> int:
        """Seconds with work so far."""
        return 0 if self._is_idle else self._second

    def _names(self, number: int) -> tuple[str, str, str]:
        return f"10.20.{number // 20}.7", f"/export/volume-{number:04d}", f"/mnt/volume-{number:04d}"

    def _mountinfo(self, number: int) -> str:
        address, export, mount_point = self._names(number)
        return (
            f"{100 + number} 20 0:{40 + number} / {mount_point} rw,relatime shared:1 - nfs {address}:{export} "
            f"rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,"
            f"mountaddr={address},mountvers=3,mountport=2048,mountproto=tcp,local_lock=none,addr={address}\n"
        )

    def _record(self, number: int) -> str:
        address, export, mount_point = self._names(number)
        operations = "".join(
            f"\t{name:>12}: {self._operation(number, place, name)}\n" for place, name in enumerate(OPERATIONS, start=1)
        )
        payload = 40_960 * (10_000_000 + self._work * (997 + number % 89))
        return (
            f"device {address}:{export} mounted on {mount_point} with fstype nfs statvers=1.1\n"
            "\topts:\trw,vers=3,rsize=1048576,wsize=1048576,namlen=255,acregmin=3,acregmax=60,acdirmin=30,acdirmax=60,"
            f"hard,proto=tcp,timeo=600,retrans=2,sec=sys,mountaddr={address},mountvers=3,mountport=2048,mountproto=tcp,"
            "local_lock=none\n"
            f"\tage:\t{7_000_000 + self._second}\n\tcaps:\tcaps=0x3fc7,wtmult=512,dtsize=1048576,bsize=0,namlen=255\n"
            "\tsec:\tflavor=1,pseudoflavor=1\n"
            f"\tevents:\t{' '.join(str(81_733 * place + self._work) for place in range(27))} \n"
            f"\tbytes:\t{payload} {payload} 0 0 {payload} {payload} {payload // 4096} {payload // 4096} \n"
            "\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"
            f"\txprt:\ttcp 900 1 1 0 0 {40_000_000 + self._work} {40_000_000 + self._work} 0 91 0 16 2 3\n"
            f"\tper-op statistics\n{operations}\n"
        )

    def _operation(self, number: int, place: int, name: str) -> str:
        count = 1_000_003 * place + number + self._work * (7 * place + number % 17 + 1)
        errors = count // 100 if name in FAILING else 0
        times = f"{count // 7} {count // 2} {count // 2 + count // 7}"
        return f"{count} {count} 0 {count * 104} {count * 128} {times} {errors}"


@dataclass
class Exporter:
    """A running exporter and what its scrapes cost."""

    name: str
    pid: int
    connection: HTTPConnection
    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    start_cpu_ms: float = 0.0
    body_bytes: int = 0
    resident_mib: float = 0.0
    minute_cpu_ms: dict[int, float] = field(default_factory=dict)  # by seconds between two scrapes

    def scrape(self) -> None:
        """Ask once; note time, CPU and size."""
        cpu, began = cpu_seconds(self.pid), time.perf_counter()
        self.connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
        self.body_bytes = len(self.connection.getresponse().read())
        self.wall_ms.append((time.perf_counter() - began) * 1000)
        self.cpu_ms.append((cpu_seconds(self.pid) - cpu) * 1000)

    @property
    def row(self) -> tuple[float, ...]:
        """CPU milliseconds of a minute at each interval, median wall and CPU milliseconds of a scrape, kB of the last answer, resident MiB,
        CPU milliseconds to the first answer.
        """
        return (
            *(self.minute_cpu_ms[interval] for interval in INTERVALS_S),
            statistics.median(self.wall_ms),
            statistics.median(self.cpu_ms),
            self.body_bytes / 1000,
            self.resident_mib,
            self.start_cpu_ms,
        )

    @property
    def figures(self) -> Figures:
        """What the page shows of the row."""
        often, rarely, _, _, *rest = self.row
        size, memory, start = rest
        return often, rarely, size, memory, start


def resident_mib(pid: int) -> float:
    """Resident memory of a process now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def cpu_seconds(pid: int) -> float:
    """CPU a process has used, by its own POSIX clock: nanoseconds, threads that are gone included (pid_to_clock(3))."""
    return time.clock_gettime(~pid << 3 | 2)


@contextmanager
def running(name: str, command: list[str], port: int) -> Iterator[Exporter]:
    """A started exporter that answers."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 30
            url = f"http://127.0.0.1:{port}/metrics"
            while True:
                try:
                    urllib.request.urlopen(url, timeout=10).close()
                    break
                except OSError:
                    if time.monotonic() > deadline or process.poll() is not None:
                        sys.exit(f"{name} does not answer: {' '.join(command)}")
                    time.sleep(0.005)
            start_cpu_ms = cpu_seconds(process.pid) * 1000
            with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                yield Exporter(name, process.pid, connection, start_cpu_ms=start_cpu_ms)
        finally:
            process.terminate()


def measure(mounts: int, node_exporter: str, *, is_idle: bool) -> tuple[Exporter, Exporter]:
    """Both exporters after their scrapes."""
    ours, theirs = free_port(), free_port()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        host = Host(Path(directory) / "proc", mounts, is_idle=is_idle)
        serve = [sys.executable, "-m", "fss_exporter", "serve", f"--path.procfs={host.root}"]
        first = stack.enter_context(running("fss-exporter", [*serve, f"--web.listen-address=127.0.0.1:{ours}"], ours))
        flags = [
            "--collector.disable-defaults",
            "--collector.mountstats",
            f"--path.procfs={host.root}",
            "--log.level=error",
        ]
        address = f"--web.listen-address=127.0.0.1:{theirs}"
        second = stack.enter_context(running("node_exporter", [node_exporter, *flags, address], theirs))
        host.advance(DAY)
        time.sleep(SETTLING_SECONDS[mounts])
        for _ in range(SCRAPES[mounts]):
            host.advance()
            time.sleep(PAUSE_SECONDS)
            first.scrape()
            second.scrape()
        for interval in INTERVALS_S:
            _minutes(host, (first, second), interval, MINUTES[mounts])
        for process in (first, second):
            process.resident_mib = resident_mib(process.pid)
        return first, second


def _minutes(host: Host, exporters: tuple[Exporter, ...], interval: int, minutes: int) -> None:
    """Note the CPU of whole minutes, whose scrapes are at their begin and each `interval` seconds later."""
    before, began = [cpu_seconds(exporter.pid) for exporter in exporters], time.monotonic()
    for second in range(60 * minutes):
        host.advance()
        if second % interval == 0:
            time.sleep(PAUSE_SECONDS)
            for exporter in exporters:
                exporter.scrape()
        time.sleep(max(0.0, began + second + 1 - time.monotonic()))
    for exporter, then in zip(exporters, before, strict=True):
        exporter.minute_cpu_ms[interval] = (cpu_seconds(exporter.pid) - then) * 1000 / minutes


def main() -> None:
    """Print a table of each run, and write the page after a whole one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mounts", type=int, nargs="*", default=MOUNTS, choices=MOUNTS)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"how often; only {RUNS} or more are written")
    parser.add_argument("--idle", action="store_true", help="a host on which no counter grows; nothing is written")
    flags = parser.parse_args()
    node_exporter = subprocess.run(
        [ROOT / "lab" / "node-exporter"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    runs: dict[int, list[tuple[Figures, Figures]]] = {mounts: [] for mounts in flags.mounts}
    for _ in range(flags.runs):
        for mounts, (ours, theirs) in print_run(flags.mounts, node_exporter, is_idle=flags.idle):
            runs[mounts].append((ours.figures, theirs.figures))
    if tuple(runs) == MOUNTS and flags.runs >= RUNS and not flags.idle:
        date = f"{datetime.now(UTC):%-d %B %Y}"
        version = ".".join(platform.release().split(".")[:2])
        said = f"These are ranges of {flags.runs} runs on {os.cpu_count()} cores with Linux {version}, {date}. {FLOOR}"
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), said, runs), encoding="utf-8")
    if not flags.idle and (costly := too_costly(runs)):
        sys.exit("\n".join(costly))


def too_costly(runs: Mapping[int, Sequence[tuple[Figures, Figures]]]) -> list[str]:
    """Return a sentence for each number of mounts whose median ratio of the CPU of a minute is above the largest."""
    sentences = []
    for mounts, pairs in runs.items():
        ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in pairs)
        if ratio > LARGEST_RATIOS[mounts]:
            sentences.append(f"{mounts} mounts: {ratio:.2f} times node_exporter, at most {LARGEST_RATIOS[mounts]}")
    return sentences


def print_run(
    mounts: Iterable[int], node_exporter: str, *, is_idle: bool
) -> Iterator[tuple[int, tuple[Exporter, Exporter]]]:
    """Measure each number of mounts once, and print the table."""
    minutes = [f"CPU ms a minute, scraped each {interval} s" for interval in INTERVALS_S]
    table = Table(
        "mounts", "", *minutes, "wall ms a scrape", "CPU ms a scrape", "gzip kB", "RSS MiB", "start CPU ms", box=None
    )
    for number in mounts:
        ours, theirs = measure(number, node_exporter, is_idle=is_idle)
        for process in (ours, theirs):
            table.add_row(str(number), process.name, *(f"{value:.1f}" for value in process.row))
        table.add_row("", "ratio", *(f"{mine / other:.2f}" for mine, other in zip(ours.row, theirs.row, strict=True)))
        yield number, (ours, theirs)
    largest = ", ".join(f"{LARGEST_RATIOS[number]:g} with {number:,} mounts" for number in mounts)
    Console(width=120).print(table, f"Largest ratio of a minute with four scrapes: {largest}. {FLOOR}", sep="\n")


if __name__ == "__main__":
    main()
