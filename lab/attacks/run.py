"""Hostile HTTP clients against a running agent: how much memory they take, and how long a scrape waits meanwhile.

Each attack runs in a process of its own against a server that has just started. Meanwhile a scraper asks for `/metrics`
every 0.1 s. At the end, with the attack still going on, the server gets SIGTERM. `make attacks` prints the tables of
docs/performance.md; `--command 'SERVER --port {port}'` attacks another server.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from lab.attacks.attacked import Outcome, attack, before_others, serving
from lab.attacks.attackers import ATTACKS, LARGE_ATTACKS, TLS_ATTACKS, Attacker, Target
from lab.attacks.secured import secure
from lab.benches.bench_agent import ROOT, Host
from lab.benches.bench_oci import start, watch
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from tests.processes import free_port

from fss_toolbox.demo.region import Region, large

HEADINGS = ("attack", "before MiB", "peak MiB", "median s", "worst s", "answered", "lost", "SIGTERM s")

FEW_MOUNTS = 10  # up to here all attacks; with more mounts those whose memory grows with the answer


def agent(host: Host, flags: str = "") -> str:
    """The command of an agent on that host; `{port}` is replaced."""
    return (
        f"{sys.executable} -m fss_exporter serve --web.listen-address=127.0.0.1:{{port}} --path.procfs={host.root} "
        f"--nfs.max-mounts=10000 {flags}"
    )


def row(attacker: Attacker, outcome: Outcome) -> list[str]:
    """What one attack did, as the table shows it."""
    return [
        attacker.__name__.replace("_", " "),
        f"{outcome.start_mib:.0f}",
        f"{outcome.peak_mib:.0f}",
        f"{statistics.median(outcome.waits):.3f}",
        f"{max(outcome.waits):.3f}",
        str(len(outcome.waits)),
        str(outcome.lost),
        f"{outcome.stop_seconds:.2f}",
    ]


def run(title: str, command: str, target: Target, attackers: Sequence[Attacker], seconds: float) -> None:
    """Print one row for each attack."""
    table = Table(*HEADINGS, title=title, box=MARKDOWN)
    for attacker in attackers:
        with serving(command, target) as server:
            table.add_row(*row(attacker, attack(server, target, attacker, seconds)))
    Console(width=110).print(table)


def run_poller(mount_targets: int, attackers: Sequence[Attacker], seconds: float) -> None:
    """Print one row for each attack on one poller, between its polls."""
    table = Table(*HEADINGS, title=f"poller, {mount_targets} mount targets", box=MARKDOWN)
    with before_others(), tempfile.TemporaryDirectory() as folder, Region(large(mount_targets, 4)) as region:
        polling = start(region, Path(folder))
        try:
            for _ in range(2):
                watch(region, polling)
            target = Target(int(urlsplit(polling.url).port or 0))
            for attacker in attackers:
                last = attacker is attackers[-1]
                table.add_row(*row(attacker, attack(polling.process, target, attacker, seconds, end=last)))
        finally:
            polling.process.kill()
            polling.process.wait()
    Console(width=110).print(table)


def run_agent(mounts: int, attackers: Sequence[Attacker], tls_attackers: Sequence[Attacker], seconds: float) -> None:
    """Attack an agent with so many mounts, plain and with TLS and users."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = agent(Host(folder / "proc", mounts))
        run(f"agent, {mounts} mounts", command, Target(free_port()), attackers, seconds)
        if tls_attackers:
            target, flag = secure(folder, free_port())
            run(f"agent with TLS and users, {mounts} mounts", f"{command} {flag}", target, tls_attackers, seconds)


def run_node_exporter(attackers: Sequence[Attacker], tls_attackers: Sequence[Attacker], seconds: float) -> None:
    """Attack node_exporter on a host with 10 mounts, plain and with TLS and users."""
    path = subprocess.run(
        [ROOT / "lab" / "node-exporter"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host = Host(folder / "proc", FEW_MOUNTS)
        command = (
            f"{path} --collector.disable-defaults --collector.mountstats --log.level=error --path.procfs={host.root} "
            "--web.listen-address=127.0.0.1:{port}"
        )
        run(f"node_exporter, {FEW_MOUNTS} mounts", command, Target(free_port()), attackers, seconds)
        target, flag = secure(folder, free_port())
        run("node_exporter with TLS and users", f"{command} {flag}", target, tls_attackers, seconds)


def main() -> None:
    """Attack agents, pollers or another server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mounts", type=int, nargs="*", default=[10, 100, 1000, 5000])
    parser.add_argument("--mount-targets", type=int, nargs="*", default=[1000], help="attack pollers of so many")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--command", default="", help="another server; {port} is replaced")
    parser.add_argument(
        "--node-exporter", action="store_true", help="the same attacks on node_exporter with the same host"
    )
    parser.add_argument("--attacks", nargs="*", default=(), help="by name; all if none is given")
    options = parser.parse_args()

    def chosen(attackers: Sequence[Attacker]) -> list[Attacker]:
        names = [name.replace("-", "_") for name in options.attacks]
        return [attacker for attacker in attackers if not names or attacker.__name__ in names]

    if options.node_exporter:
        run_node_exporter(chosen(ATTACKS), chosen(TLS_ATTACKS), options.seconds)
    if options.command:
        run(options.command, options.command, Target(free_port()), chosen(ATTACKS), options.seconds)
        return
    for mounts in options.mounts:
        few = mounts <= FEW_MOUNTS
        run_agent(
            mounts, chosen(ATTACKS if few else LARGE_ATTACKS), chosen(TLS_ATTACKS if few else ()), options.seconds
        )
    for mount_targets in options.mount_targets:
        run_poller(mount_targets, chosen(LARGE_ATTACKS), options.seconds)


if __name__ == "__main__":
    main()
