"""How long the rules take for a fleet: a real prometheus, generated clients, seconds for each group.

Every client mounts four exports and has every operation in use; the series generated are those the rules select. Samples
are 30 s apart and carry time stamps, so five minutes of history are there as soon as they are loaded. Then prometheus evaluates the
shipped files once a minute, as in production. Needs about 4 GB of memory for every million series.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
RULE_FILES = ("recording.yml", "alerts.yml")
MOUNTS = 4
MOUNT_TARGETS = 50
PARTS = 200
BUDGET_S = 5.0
STEP_S, SAMPLES_BEFORE, SAMPLES = 30, 3, 14

OPERATIONS = (
    "ACCESS COMMIT CREATE FSINFO FSSTAT GETATTR LINK LOOKUP MKDIR MKNOD NULL PATHCONF READ READDIR READDIRPLUS READLINK "
    "REMOVE RENAME RMDIR SETATTR SYMLINK WRITE"
).split()
BY_OPERATION = {
    "fss_client_estimated_io_operations_total": OPERATIONS,
    "fss_client_estimated_io_operations_lower_bound_total": ["READ", "WRITE"],
    "fss_client_estimated_io_operations_upper_bound_total": ["READ", "WRITE"],
    "fss_client_operations_total": ["GETATTR", "READ", "SETATTR", "WRITE"],
    "fss_client_rtt_seconds_total": ["GETATTR", "READ", "SETATTR", "WRITE"],
    "fss_client_queue_seconds_total": ["GETATTR", "READ", "SETATTR", "WRITE"],
    "fss_client_retransmissions_total": ["GETATTR", "READ", "WRITE"],
    "fss_client_errors_total": ["COMMIT", "READ", "WRITE"],
}
BY_MOUNT = (
    "fss_client_read_bytes_total",
    "fss_client_written_bytes_total",
    "fss_client_estimated_lock_io_operations_total",
)
BY_ADDRESS = (
    "fss_client_peak_estimated_iops",
    "fss_client_transport_sends_total",
    "fss_client_transport_receives_total",
)
OF_MOUNT_TARGET = (
    "fss_mount_target_iops",
    "fss_mount_target_iops_limit",
    "fss_mount_target_estimated_iops",
    "fss_mount_target_read_bytes_per_second",
    "fss_mount_target_read_bytes_per_second_limit",
    "fss_mount_target_write_bytes_per_second",
    "fss_mount_target_write_bytes_per_second_limit",
    "fss_mount_target_connections",
    "fss_mount_target_connections_limit",
)


def client_series(client: int) -> Iterator[str]:
    """What the rules select of one client's agent."""
    scraped = f'job="fss",instance="client-{client}:10949"'
    yield f"fss_exporter_build_info{{{scraped}}}"
    yield f'fss_collector_success{{{scraped},collector="nfs"}}'
    for number in range(MOUNTS):
        address = f"10.80.{(client + number) % MOUNT_TARGETS}.10"
        mount = f'{scraped},address="{address}",server="{address}",export="/export/{number}"'
        for name, operations in BY_OPERATION.items():
            yield from (f'{name}{{{mount},operation="{operation}"}}' for operation in operations)
        yield from (f"{name}{{{mount}}}" for name in BY_MOUNT)
        yield from (f'{name}{{{scraped},address="{address}"}}' for name in BY_ADDRESS)
        options = 'protocol="tcp",nconnect="1",rsize="1048576",wsize="1048576"'
        yield f'fss_client_mount_info{{{mount},mount_point="/mnt/{number}",{options}}}'


def cloud_series() -> Iterator[str]:
    """What the rules select of the poller."""
    for number in range(MOUNT_TARGETS):
        target = f'job="poller",instance="poller:10949",region="eu-1",mount_target_id="ocid1.mt.{number}",mount_target="mt-{number}"'
        yield f'fss_mount_target_info{{{target},address="10.80.{number}.10",state="ACTIVE"}}'
        yield f'fss_export_info{{{target},file_system_id="ocid1.fs.{number // 2}",file_system="fs-{number // 2}",state="ACTIVE"}}'
        yield from (f"{name}{{{target}}}" for name in OF_MOUNT_TARGET)
    for kind in ("read", "write"):
        for size in ("0B_to_8KiB", "8KiB_to_64KiB", "64KiB_to_1MiB"):
            yield f'fss_latency_objective_seconds{{job="poller",kind="{kind}",size="{size}"}}'
    yield 'fss_latency_objective_seconds{job="poller",kind="metadata",size=""}'


class Fleet:
    """The exposition of the fleet in parts, one more sample at each request for a part."""

    def __init__(self, clients: int) -> None:
        self._clients = clients
        self._asked = dict.fromkeys(range(PARTS), 0)
        self._start = int(time.time()) - STEP_S * SAMPLES_BEFORE
        self.series = 0

    @property
    def loaded(self) -> bool:
        return min(self._asked.values()) > SAMPLES

    def page(self, part: int) -> bytes:
        """The next sample of every series of a part; nothing once there are enough."""
        number = self._asked[part]
        self._asked[part] = number + 1
        if number >= SAMPLES:
            return b""
        end = f" {1000 + number * 3000} {(self._start + number * STEP_S) * 1000}\n"
        lines = [line for client in range(part, self._clients, PARTS) for line in client_series(client)]
        lines += cloud_series() if part == 0 else ()
        self.series += len(lines) if number == 0 else 0
        return (end.join(lines) + end).encode()


def serve(fleet: Fleet) -> ThreadingHTTPServer:
    """The fleet on a free loopback port, one path for each part."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = fleet.page(int(self.path.strip("/")))
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silence: a line for each scrape says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def configuration(port: int) -> str:
    """Scrape every part, evaluate the shipped rules once a minute."""
    scrape = {"honor_labels": True, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    return yaml.safe_dump(
        {
            "global": {"scrape_interval": "10s", "scrape_timeout": "10s", "evaluation_interval": "1m"},
            "rule_files": [str(ROOT / "rules" / name) for name in RULE_FILES],
            "scrape_configs": [
                {"job_name": f"part-{part}", "metrics_path": f"/{part}", **scrape} for part in range(PARTS)
            ],
        }
    )


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def url_of(log: Path) -> str:
    """Where prometheus listens."""
    for _ in range(200):
        if found := re.search(r'msg="Listening on" address=(\S+)', log.read_text()):
            return f"http://{found[1]}"
        time.sleep(0.1)
    sys.exit(f"prometheus did not start:\n{log.read_text()}")


def watch(url: str, fleet: Fleet, rounds: int) -> dict[str, list[float]]:
    """Seconds of each group, `rounds` evaluations after everything is loaded."""
    while not fleet.loaded:
        time.sleep(1)
    loaded = datetime.now(UTC).isoformat()
    taken: dict[str, dict[str, float]] = {}
    while min((len(times) for times in taken.values()), default=0) < rounds:
        for group in ask(f"{url}/api/v1/rules")["data"]["groups"]:
            times = taken.setdefault(group["name"], {})
            # The time stamp says when an evaluation began; one that began before has not seen everything.
            if group["lastEvaluation"] > loaded:
                times[group["lastEvaluation"]] = group["evaluationTime"]
            for rule in group["rules"]:
                if rule.get("lastError"):
                    sys.exit(f"{group['name']}: {rule['name']}: {rule['lastError']}")
        time.sleep(2)
    return {name: list(times.values()) for name, times in taken.items()}


def resident_gib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 2**20


def report(taken: dict[str, list[float]], heading: str) -> bool:
    """The table; whether every group keeps the budget."""
    table = Table("group", "median s", "worst s", title=heading)
    for name, seconds in sorted(taken.items(), key=lambda item: -max(item[1])):
        table.add_row(name, f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}")
    table.add_row("all", f"{sum(map(statistics.median, taken.values())):.2f}", "")
    Console().print(table)
    return max(max(seconds) for seconds in taken.values()) < BUDGET_S


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=2, help="evaluations of each group after loading")
    options = parser.parse_args()
    fleet = Fleet(options.clients)
    server = serve(fleet)
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        (directory / "prometheus.yml").write_text(configuration(server.server_address[1]))
        command = [
            "prometheus",
            f"--config.file={directory / 'prometheus.yml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            "--web.listen-address=127.0.0.1:0",
        ]
        log = directory / "log"
        with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as prometheus:
            try:
                taken = watch(url_of(log), fleet, options.rounds)
                heading = f"{options.clients} clients x {MOUNTS} mounts, {fleet.series:,} series, {resident_gib(prometheus.pid):.1f} GiB resident"
            finally:
                prometheus.terminate()
    server.shutdown()
    if not report(taken, heading):
        sys.exit(f"a group takes longer than {BUDGET_S:.0f} s")


if __name__ == "__main__":
    main()
