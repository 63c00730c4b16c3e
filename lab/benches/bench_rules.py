"""What the rules cost in a real prometheus: by the number of clients, and by the number of mount targets.

Every client mounts four exports and has every operation in use. One group at a time: what its rules select is generated, five
minutes of it with time stamps so that one scrape loads them, and prometheus evaluates the group as in production. In a
larger database the same series are found through the same index, and other groups run at other moments of the minute.

With --mount-targets, a real poller polls the demo region, and all groups run together on what the poller exports.

With --slow-clients, all groups but those of panels and node_exporter run together on a fleet of which so many clients are slow, and ten
mount targets are near their ceiling, so that the texts of alerts are evaluated.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from lab.benches.bench_oci import start, watch
from lab.benches.fleet_series import MOUNT_TARGETS, MOUNTS, NETWORK, Selected, of_client, of_region, selected

from fss_toolbox.demo.region import Region, large

ROOT = Path(__file__).parents[2]
PARTS = 20
BUDGET_MS = 5.0  # of CPU for a client and group. The dearest took 3.7 beside other work (28 November 2026)
STEP_S, SAMPLES = 30, 11
NEAR = 10  # mount targets near their ceiling, where clients are slow
ANSWER_LIMIT_S = 300  # a prometheus that evaluates 10,000 clients is slow to answer on a machine with other work
ROUND_S = 3  # between two evaluations of all groups together

QUIET = re.compile(
    "[^{]*(ratio|errors|retransmissions|delayed|unanswered)"
)  # 0 on a fleet that is well: no alert fires


class Growing(NamedTuple):
    """A series, its first value, and how much it grows with each sample."""

    series: str
    first: float
    growth: float


class _Server(ThreadingHTTPServer):
    """A server that ignores a scrape that Prometheus has given up, because Prometheus scrapes again."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print every other error, so that a bench without series does not wait in silence."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(of_part: Callable[[int], Iterable[Growing]], samples: int) -> Iterator[tuple[int, set[int]]]:
    """The series on a loopback port, one path for each part; and the parts that were fetched."""
    fetched: set[int] = set()
    begin = int(time.time()) - 60
    stamps = {number: (begin + number * STEP_S) * 1000 for number in range(3 - samples, 3)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            part = int(self.path.strip("/"))
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            if part in fetched:
                return
            series = list(of_part(part))
            for number, stamp in stamps.items():
                text = "".join(f"{row.series} {row.first + number * row.growth} {stamp}\n" for row in series)
                self.wfile.write(text.encode())
            fetched.add(part)

        def log_message(self, *_: object) -> None:
            """Silence: a line for each scrape says nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], fetched
    finally:
        server.shutdown()


def of_fleet(clients: int, names: Mapping[str, Selected]) -> Callable[[int], Iterator[Growing]]:
    """What a group selects of a fleet, by part."""

    def of_part(part: int) -> Iterator[Growing]:
        lines = [line for client in range(part, clients, PARTS) for line in of_client(client, names)]
        lines += of_region(names) if part == 0 else ()
        yield from (Growing(line, 0, 0) if QUIET.match(line) else Growing(line, 1000, 3000) for line in lines)

    return of_part


def of_slow_clients(clients: int, slow: int, names: Mapping[str, Selected]) -> Iterator[Growing]:
    """A fleet that is well but for its first clients, and for the mount targets of a fifth of its addresses."""
    of_part = of_fleet(clients, names)
    yield from (row for part in range(PARTS) for row in of_part(part))
    for client in range(slow):
        for at in range(client, client + MOUNTS):
            labels = f'job="fss",instance="client-{client}:10949",{NETWORK},address="10.80.{at % MOUNT_TARGETS}.10"'
            yield Growing(f'fss_client_address_seconds_total{{{labels},verdict="slow"}}', 0, STEP_S)
            why = 'state="slow",subject="latency",detail="read"'
            yield Growing(f"fss_client_address_state_evidence_ratio{{{labels},{why}}}", 3, 0)
    if slow:
        poller = 'job="fss",instance="poller:10949",region="eu-1"'
        yield Growing(f"fss_oci_warning_ratio{{{poller}}}", 0.8, 0)
        for number in range(NEAR):
            load = f'{poller},mount_target_id="ocid1.mt.{number}",mount_target="mt-{number}",resource="iops"'
            yield Growing(f"fss_mount_target_data_age_seconds{{{load}}}", 60, 0)
            for statistic in ("mean", "peak"):
                share = f'{load},statistic="{statistic}",source="measured"'
                yield Growing(f"fss_mount_target_utilisation_ratio{{{share}}}", 0.9, 0)


def of_poller(mount_targets: int, names: Iterable[str]) -> list[Growing]:
    """What a poller exports of the demo region with so many mount targets, as far as rules select it."""
    series: list[Growing] = []
    with tempfile.TemporaryDirectory() as folder, Region(large(mount_targets, 4)) as region:
        exporter = start(region, Path(folder))
        try:
            while True:
                watch(region, exporter)
                before, series = series, _selected_series(exporter.url, set(names))
                has_minutes = any(row.growth and row.series.startswith("fss_mount_target_") for row in series)
                if has_minutes and len(series) == len(before):  # counters begin at 0
                    return series
        finally:
            exporter.process.terminate()
            exporter.process.wait(10)


def _selected_series(url: str, names: Container[str]) -> list[Growing]:
    with urllib.request.urlopen(url, timeout=ANSWER_LIMIT_S) as answer:
        lines = answer.read().decode().splitlines()
    series = []
    for line in lines:
        text, _, value = line.rpartition(" ")
        name, _, labels = text.rstrip("}").partition("{")
        if name in names:
            is_growing = name.endswith("_total") and float(value) > 0 and 'verdict="bad"' not in labels
            scraped = f'{labels}{"," * bool(labels)}job="fss",instance="poller:10949"'
            series.append(Growing(f"{name}{{{scraped}}}", float(value), 60 if is_growing else 0))
    return series


def configuration(port: int, rules: Path) -> str:
    """Scrape every part, evaluate the rules."""
    scrape = {"honor_labels": True, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    return yaml.safe_dump(
        {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "2s"},
            "rule_files": [str(rules)],
            "scrape_configs": [
                {
                    "job_name": f"part-{part}",
                    "metrics_path": f"/{part}",
                    "scrape_interval": "20s",
                    "scrape_timeout": "20s",
                    **scrape,
                }
                for part in range(PARTS)
            ],
        }
    )


@contextmanager
def prometheus(directory: Path) -> Iterator[str]:
    """A running prometheus; its URL."""
    log = directory / "log"
    command = [
        "prometheus",
        f"--config.file={directory / 'prometheus.yml'}",
        f"--storage.tsdb.path={directory / 'data'}",
        "--storage.tsdb.retention.time=10y",
        "--web.listen-address=127.0.0.1:0",
    ]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as running:
        try:
            for _ in range(300):
                if match := re.search(r'msg="Listening on" address=(\S+)', log.read_text()):
                    break
                time.sleep(0.1)
            else:
                sys.exit(f"prometheus did not start:\n{log.read_text()}")
            yield f"http://{match[1]}"
        finally:
            running.kill()


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=ANSWER_LIMIT_S) as answer:
        return json.load(answer)


def counter(url: str, name: str) -> float:
    """A counter of prometheus itself, all its series together."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=ANSWER_LIMIT_S) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


@dataclass(frozen=True)
class Measured:
    """Evaluations of a group: wall seconds of each, and CPU seconds of one with its share of garbage collection."""

    series: int
    wall_s: list[float]
    cpu_s: float


def _done(url: str) -> float:
    """Evaluations so far; prometheus counts the ones it left out among the scheduled ones."""
    return counter(url, "prometheus_rule_group_iterations_total") - counter(
        url, "prometheus_rule_group_iterations_missed_total"
    )


def evaluations(url: str, rounds: int) -> tuple[list[float], float]:
    """Wall seconds of a group's evaluations that begin from now on, and CPU seconds of one."""
    now = datetime.now(UTC).isoformat()
    cpu, done = counter(url, "process_cpu_seconds_total"), _done(url)
    taken: dict[str, float] = {}
    while len(taken) < rounds:
        (group,) = ask(f"{url}/api/v1/rules")["data"]["groups"]
        for rule in group["rules"]:
            if rule.get("lastError"):
                sys.exit(f"{group['name']}: {rule['name']}: {rule['lastError']}")
        if group["lastEvaluation"] > now:
            taken[group["lastEvaluation"]] = group["evaluationTime"]
        time.sleep(0.2)
    cpu = counter(url, "process_cpu_seconds_total") - cpu
    return list(taken.values()), cpu / max(1.0, _done(url) - done)


def _scraped_parts(url: str) -> int:
    """Scraped parts so far. The generated series of a group may hold an `up` too, of another job."""
    return _count(url, 'count(up{job=~"part-.*"})')


def _count(url: str, expression: str) -> int:
    query = urllib.parse.urlencode({"query": expression})
    result = ask(f"{url}/api/v1/query?{query}")["data"]["result"]
    return int(result[0]["value"][1]) if result else 0


def measure(group: Mapping[str, Any], clients: int, rounds: int) -> Measured:
    """Load what a group selects, and let it be evaluated."""
    names = selected(group)
    ranges = any("[" in rule["expr"] for rule in group["rules"])
    fleet = of_fleet(clients, names)
    with tempfile.TemporaryDirectory() as folder, serving(fleet, SAMPLES if ranges else 3) as (port, fetched):
        directory = Path(folder)
        (directory / "rules.yml").write_text(yaml.safe_dump({"groups": [{**group, "interval": "2s"}]}))
        (directory / "prometheus.yml").write_text(configuration(port, directory / "rules.yml"))
        with prometheus(directory) as url:
            while len(fetched) < PARTS or _scraped_parts(url) < PARTS:
                time.sleep(0.2)
            series = (
                sum(1 for client in range(MOUNT_TARGETS) for _ in of_client(client, names)) * clients // MOUNT_TARGETS
            ) + sum(1 for _ in of_region(names))
            return Measured(series, *evaluations(url, rounds))


@dataclass(frozen=True)
class Pack:
    """All groups together: raw and recorded series, and CPU seconds of one evaluation, garbage collection included."""

    raw: int
    recorded: int
    alerts: int  # pending or firing, each with its text
    cpu_s: float


def measure_pack(groups: Iterable[Mapping[str, Any]], series: list[Growing], rounds: int) -> Pack:
    """Load the series, and let all groups be evaluated until nothing new is recorded, and then for some rounds."""
    # A group that has an interval of its own runs each four minutes.
    timed = [{**group, "interval": f"{ROUND_S * (4 if 'interval' in group else 1)}s"} for group in groups]
    each_round = sum(0.25 if "interval" in group else 1 for group in groups)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(lambda part: series[part::PARTS], 2 * SAMPLES) as (port, fetched),
    ):
        directory = Path(folder)
        (directory / "rules.yml").write_text(yaml.safe_dump({"groups": timed}))
        (directory / "prometheus.yml").write_text(configuration(port, directory / "rules.yml"))
        with prometheus(directory) as url:
            while len(fetched) < PARTS or _scraped_parts(url) < PARTS:
                time.sleep(0.5)
            recorded, before = -1, -2
            while recorded != before:
                time.sleep(6 * ROUND_S)
                before, recorded = recorded, _count(url, 'count({__name__=~".+:.+"})')
            cpu, done = counter(url, "process_cpu_seconds_total"), _done(url)
            time.sleep(4 * rounds * ROUND_S)
            cpu, done = counter(url, "process_cpu_seconds_total") - cpu, _done(url) - done
            alerts = _count(url, "count(ALERTS)")
    return Pack(len(series), recorded, alerts, cpu / done * each_round)


def _any_series(names: Mapping[str, Selected]) -> bool:
    """Whether a fleet and its mount targets have any of these."""
    return any(of_client(0, names)) or any(of_region(names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3, help="evaluations of each group after loading")
    parser.add_argument("--group", default="", help="only groups whose name holds this")
    parser.add_argument("--mount-targets", type=int, help="measure all groups on what a poller of so many exports")
    parser.add_argument("--slow-clients", type=int, help="measure all groups together, with so many slow clients")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="directory of the files")
    options = parser.parse_args()
    every = [
        (path.name, group)
        for path in sorted(options.rules.glob("*.yml"))
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
        if options.group in group["name"]
    ]
    say = partial(print, flush=True)
    if options.mount_targets:
        packed = [group for _, group in every]
        names = {name for group in packed for name in selected(group)}
        pack = measure_pack(packed, of_poller(options.mount_targets, names), options.rounds)
        say(f"{options.mount_targets} mount targets, a poller, no agents, {os.cpu_count()} cores")
        say(
            f"{pack.raw:,} raw series that rules select, {pack.recorded / options.mount_targets:.1f} recorded for each mount target"
        )
        say(f"{pack.cpu_s:.2f} s of CPU for one evaluation of all rules")
        return
    if options.slow_clients is not None:
        packed = [group for name, group in every if name not in ("panels.yml", "node_exporter.yml", "kubernetes.yml")]
        every_rule = {"rules": [rule for group in packed for rule in group["rules"]]}
        raw = {name: series for name, series in selected(every_rule).items() if ":" not in name}
        pack = measure_pack(packed, list(of_slow_clients(options.clients, options.slow_clients, raw)), options.rounds)
        say(f"{options.clients} clients x {MOUNTS} mounts, {options.slow_clients} of them slow, {os.cpu_count()} cores")
        say(f"{pack.raw:,} raw series that rules select, {pack.recorded:,} recorded, {pack.alerts:,} alerts")
        say(f"{pack.cpu_s:.2f} s of CPU for one evaluation of all rules")
        return
    groups = [(name, group) for name, group in every if _any_series(selected(group))]
    say(f"{options.clients} clients x {MOUNTS} mounts, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    say(
        "wall: median and worst of the evaluations; cpu: of one, garbage collection included, whatever else the machine does"
    )
    say(f"{'group':24} {'series':>9} {'wall s':>8} {'worst s':>8} {'cpu s':>8}")
    total: dict[str, float] = {}
    dearest = 0.0
    for name, group in groups:
        measured = measure(group, options.clients, options.rounds)
        wall = statistics.median(measured.wall_s)
        total[name] = total.get(name, 0.0) + measured.cpu_s
        dearest = max(dearest, measured.cpu_s)
        say(f"{group['name']:24} {measured.series:9,} {wall:8.2f} {max(measured.wall_s):8.2f} {measured.cpu_s:8.2f}")
    for name, cpu_s in {**total, "all files": sum(total.values())}.items():
        say(f"{name:52} {cpu_s:8.2f}")
    if 1000 * dearest / options.clients >= BUDGET_MS:
        sys.exit(f"a group takes more than {BUDGET_MS:.0f} ms of CPU a client")


if __name__ == "__main__":
    main()
