"""What polling a large tenancy costs: calls, time, CPU, memory, and how long a scrape takes meanwhile.

The exporter runs as users run it, in a process of its own, against a loopback region in this one. Three polls: the first
makes the inventory, the second is the steady state, the third is scraped all the while. CPU and memory are what the
kernel says of the exporter's process; the time of a poll contains the region's own, which a real cloud does not share.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fss_toolbox.demo.region import Region, large

CALLS_PER_SECOND = 5
POLL_SECONDS = 60
LONGEST_ANSWER_SECONDS = 600  # a busy machine makes figures large, and the bench must still print them
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Exporter:
    """A running `fss-exporter serve --collector.oci`."""

    process: "subprocess.Popen[bytes]"
    url: str
    _last_seconds: float = 0.0

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mib(self, what: str) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024

    def series(self) -> int:
        """Number of series on the page."""
        with urllib.request.urlopen(self.url, timeout=LONGEST_ANSWER_SECONDS) as answer:
            return sum(not line.startswith(b"#") for line in answer)

    def scrape(self) -> tuple[float, int]:
        """Seconds and compressed bytes of one scrape, asked as Prometheus asks, and not of the last collection."""
        time.sleep(2 * self._last_seconds + 0.2)  # the exporter reuses a collection for 0.1 s or as long as it took
        request = urllib.request.Request(self.url, headers={"Accept-Encoding": "gzip"})
        began = time.perf_counter()
        with urllib.request.urlopen(request, timeout=LONGEST_ANSWER_SECONDS) as answer:
            size = len(answer.read())
        self._last_seconds = time.perf_counter() - began
        return self._last_seconds, size


@dataclass
class Poll:
    """What one poll was seen to cost."""

    calls: int
    seconds: float
    cpu_before: float  # since the last poll: the inventory, whose addresses are looked up one by one at the start
    cpu: float
    memory_mib: float
    scrapes: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Pace:
    """How fast the poller asks."""

    calls_per_second: float
    poll_seconds: float

    @property
    def quiet_seconds(self) -> float:
        """Without a query for so long, a poll is over. The region takes seconds for a query of a large tenancy."""
        return self.poll_seconds / 15


ORDINARY = Pace(CALLS_PER_SECOND, POLL_SECONDS)


def start(region: Region, folder: Path, pace: Pace = ORDINARY) -> Exporter:
    config = region.account.write_config(folder, region.tenancy.region)
    settings = folder / "fss-exporter.yml"
    settings.write_text(
        f"oci:\n  config_file: {config}\n  endpoint: {region.url}\n  calls_per_second: {pace.calls_per_second}\n"
        f"  poll_interval: {pace.poll_seconds}s\n  stale_after: {pace.poll_seconds + 600}s\n  read_timeout: 50s\n"
    )
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    listen = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "fss_exporter", "serve", "--no-collector.nfs", "--collector.oci"]
    flags = ["--config.file", str(settings), "--web.listen-address", listen, "--log.level", "warn"]
    return Exporter(subprocess.Popen([*command, *flags]), f"http://{listen}/metrics")


def watch(
    region: Region,
    exporter: Exporter,
    meanwhile: Callable[[Poll], None] = lambda _: None,
    quiet_seconds: float = ORDINARY.quiet_seconds,
) -> Poll:
    """The next poll, from its first query to its last."""

    def asked() -> int:
        return region.calls.get("SummarizeMetricsData", 0)

    before, cpu = asked(), exporter.cpu_seconds()
    while asked() == before:
        _alive(exporter)
        time.sleep(0.05)
    began = last = time.perf_counter()
    seen, poll = before, Poll(0, 0.0, exporter.cpu_seconds() - cpu, 0.0, 0.0)
    while time.perf_counter() - last < quiet_seconds or poll.calls == 0:
        _alive(exporter)
        meanwhile(poll)
        if asked() != seen:
            seen, last = asked(), time.perf_counter()
            poll.calls = seen - before
        poll.memory_mib = max(poll.memory_mib, exporter.memory_mib("VmRSS"))
        time.sleep(0.05)
    poll.seconds, poll.cpu = last - began, exporter.cpu_seconds() - cpu - poll.cpu_before
    return poll


def _alive(exporter: Exporter) -> None:
    if exporter.process.poll() is not None:
        raise SystemExit(f"the exporter ended with {exporter.process.returncode}")


def measure(mount_targets: int, file_systems_each: int, pace: Pace) -> None:
    with tempfile.TemporaryDirectory() as folder, Region(large(mount_targets, file_systems_each)) as region:
        exporter = start(region, Path(folder), pace)
        try:
            first = watch(region, exporter, quiet_seconds=pace.quiet_seconds)
            steady = watch(region, exporter, quiet_seconds=pace.quiet_seconds)
            alone = [exporter.scrape()[0] for _ in range(3)]
            scraped = watch(
                region, exporter, lambda poll: poll.scrapes.append(exporter.scrape()[0]), pace.quiet_seconds
            )
            peak, size, series = exporter.memory_mib("VmHWM"), exporter.scrape()[1], exporter.series()
        finally:
            exporter.process.terminate()
            exporter.process.wait(10)
    table = Table(title=f"{mount_targets} mount targets, {mount_targets * file_systems_each} file systems, one region")
    for heading in ("", "measured", "target"):
        table.add_column(heading, justify="left" if not heading else "right")
    longest = max(scraped.scrapes)
    rows = [
        ("SummarizeMetricsData calls a poll", f"{steady.calls}", "as many as answers of 2,000 streams"),
        (f"a poll at {pace.calls_per_second:g} calls/s", f"{steady.seconds:.1f} s", f"{pace.poll_seconds:g} s"),
        ("CPU of the first poll, inventory included", f"{first.cpu_before + first.cpu:.2f} s", ""),
        ("CPU of a poll", f"{steady.cpu:.2f} s", "1.5 s"),
        ("resident memory while polling", f"{steady.memory_mib:.0f} MiB", "200 MiB"),
        ("resident memory, polled and scraped", f"{scraped.memory_mib:.0f} MiB", "200 MiB"),
        ("peak of resident memory", f"{peak:.0f} MiB", ""),
        ("a scrape between polls, median", f"{statistics.median(alone):.2f} s", "1 s"),
        (
            f"a scrape during a poll, median of {len(scraped.scrapes)}",
            f"{statistics.median(scraped.scrapes):.2f} s",
            "1 s",
        ),
        ("a scrape during a poll, longest", f"{longest:.2f} s", "1 s"),
        ("a scrape, compressed", f"{size / 1e6:.1f} MB", ""),
        ("series", f"{series:,}", ""),
    ]
    for row in rows:
        table.add_row(*row)
    Console(width=110).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount-targets", type=int, default=1000)
    parser.add_argument("--file-systems", type=int, default=4, help="behind each mount target")
    parser.add_argument("--calls-per-second", type=float, default=CALLS_PER_SECOND)
    parser.add_argument("--poll-interval", type=float, default=POLL_SECONDS, help="seconds")
    arguments = parser.parse_args()
    measure(arguments.mount_targets, arguments.file_systems, Pace(arguments.calls_per_second, arguments.poll_interval))
