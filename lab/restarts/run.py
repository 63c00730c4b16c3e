"""Pollers that are killed, followed by another one, and given a wrong clock: does each minute of OCI count once?

Real pollers poll a demo region that checks their signatures. Each trial begins with a ledger of a few minutes. A poller that nobody
disturbs begins with a copy of it. Then the trial disturbs the others, and ends time. What their counters of bytes have above and
below the points that the region has published is surplus and missing. All other counters must equal those of the undisturbed
poller. No counter on a page of a process may go back. The exit code is 1 if anything is wrong.
"""

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from lab.restarts.clock import SPEED, FastClock
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from tests.clock import NOON
from tests.processes import get, serving_url, wait_for
from tests.region import Region, small

POLL_S = 10.0  # the shortest interval of polls that settings may have: a minute of the fast clock
SETTLED_S = 120.0  # that the counters may take to be whole after the end of time
_JUDGES_EACH = 4  # kills
STEPS_S = (90.0, -90.0, 600.0, -600.0, 3600.0, -3600.0, 86_400.0, -86_400.0)

BYTES = {"read": "ReadThroughput", "write": "WriteThroughput"}

Counters = dict[str, float]  # by series


@dataclass
class Poller:
    """A process that polls, and is started again after it has ended."""

    command: Sequence[str]
    folder: Path
    starts: int = 0
    went_back: set[str] = field(default_factory=set)
    seen: Counters = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None
    url: str = ""

    def start(self) -> None:
        self.starts += 1
        log = self.folder / f"log{self.starts}"
        with log.open("wb") as output:
            self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=output)
        self.url = wait_for(partial(serving_url, self.process, log), f"a poller, see {log}")

    def send(self, number: signal.Signals) -> None:
        assert self.process
        self.process.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.process.wait(30)

    def counters(self) -> Counters:
        """The counters of mount targets. A poller that stands by has none."""
        page = get(f"{self.url}/metrics")
        now = {
            series: float(value)
            for series, _, value in (line.rpartition(" ") for line in page.splitlines())
            if series.startswith("fss_mount_target_") and series.partition("{")[0].endswith("_total")
        }
        self.went_back |= {series for series, value in now.items() if value < self.seen.get(series, 0.0)}
        self.seen = now or self.seen
        return now

    @property
    def leads(self) -> bool:
        """Whether it leads and has polled."""
        page = get(f"{self.url}/metrics")
        return "fss_oci_leader 1.0\n" in page and 'fss_collector_success{collector="oci"} 1.0' in page

    def end(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait(30)


@dataclass(frozen=True)
class Outcome:
    """What one trial found.

    Attributes:
        trial: what disturbed the pollers, and how often.
        minutes: of OCI that were counted.
        series: counters that were compared.
        surplus, missing: bytes above and below what the region published.
        different: counters that differ from those of the undisturbed poller, with both values.
        went_back: counters that went back on a page of a process.
    """

    trial: str
    minutes: int
    series: int
    surplus: float
    missing: float
    different: Mapping[str, tuple[float | None, float | None]]
    went_back: frozenset[str]

    @property
    def is_right(self) -> bool:
        return not (self.surplus or self.missing or self.different or self.went_back)


class Trial:
    """One region, a poller that nobody disturbs, and those that the trial disturbs."""

    def __init__(self, folder: Path, pollers: int, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.clock = FastClock.make(folder / "clock", NOON)
        shutil.copy(folder / "clock", folder / "right-clock")
        self.right_clock = FastClock(folder / "right-clock")
        self.region = Region(small(), now=self.clock.of_oci, wall=self.clock.of_oci, calls_per_second={})
        self.kept = folder / "kept"
        self._number = pollers

    def play(self, disturb: Callable[["Trial"], None], name: str) -> Outcome:
        with ExitStack() as stack:
            stack.enter_context(self.region)
            self._keep_some_minutes(stack)
            shutil.copytree(self.kept, self.folder / "undisturbed")
            self.undisturbed = self._poller("right-clock", self.folder / "undisturbed", "undisturbed", stack)
            self.pollers = [
                self._poller("clock", self.kept, f"poller{number}", stack, standby=self._number > 1)
                for number in range(self._number)
            ]
            for poller in (self.undisturbed, *self.pollers):
                poller.start()
            wait_for(lambda: self.shown, "counters")
            disturb(self)
            self.clock.set_wrong_by(0.0)
            self.clock.stop()
            self.right_clock.stop()
            return self._judged(name)

    def _keep_some_minutes(self, stack: ExitStack) -> None:
        self.kept.mkdir()
        first = self._poller("clock", self.kept, "first", stack)
        first.start()
        wait_for(lambda: sum(first.counters().values()) > 0, "the first counted minutes")
        first.send(signal.SIGTERM)

    def _poller(self, clock: str, directory: Path, name: str, stack: ExitStack, *, standby: bool = False) -> Poller:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        config = self.region.account.write_config(folder, self.region.tenancy.region)
        settings = folder / "settings.yml"
        settings.write_text(
            f"oci: {{config_file: {config}, endpoint: '{self.region.url}', calls_per_second: 9.9, poll_interval: {POLL_S:.0f}s,"
            f" ledger_directory: {directory}, services: [], standby: {str(standby).lower()}}}"
        )
        flags = ["--no-collector.nfs", "--collector.oci", "--web.listen-address=127.0.0.1:0"]
        command = [sys.executable, "-m", "lab.restarts.poller", str(self.folder / clock), "serve", *flags]
        poller = Poller([*command, f"--config.file={settings}"], folder)
        stack.callback(poller.end)
        return poller

    @property
    def shown(self) -> Counters:
        """The counters of the poller that leads. None while no poller or two show them."""
        shown = [counters for poller in self.pollers if (counters := poller.counters())]
        return shown[0] if len(shown) == 1 else {}

    @property
    def ledger(self) -> Path:
        (file,) = self.kept.glob("*.ledger.json")
        return file

    def pause(self, least_s: float, most_s: float) -> None:
        """Let time pass, and look at the pages meanwhile."""
        until = time.monotonic() + self.chance.uniform(least_s, most_s)
        while (left := until - time.monotonic()) > 0:
            for poller in self.pollers:
                with suppress(OSError):
                    poller.counters()
            time.sleep(min(0.5, left))

    def _truth(self) -> Counters:
        """Bytes that the region published since the ledger began, by direction and mount target."""
        first = json.loads(self.ledger.read_text())["start"] // 60 + 1
        self.minutes = range(first, self.region.minute + 1)
        truth: Counters = {}
        for target in small().mount_targets:
            for direction, throughput in BYTES.items():
                metric = f"MountTarget{throughput}"
                points = (
                    self.region.truth(metric, target.name, minute, throughput=throughput) for minute in self.minutes
                )
                truth[f"{direction} {target.name}"] = sum(60 * point for point in points if point is not None)
        return truth

    def _counted(self) -> Counters:
        """Bytes that the poller counted, by direction and mount target."""
        counted: Counters = {}
        for series, value in self.shown.items():
            if found := re.match(r'fss_mount_target_(read|write)_bytes_total\{.*mount_target="([^"]+)"', series):
                counted[f"{found[1]} {found[2]}"] = value
        return counted

    def _differences(self) -> tuple[Counters, dict[str, tuple[float | None, float | None]]]:
        truth, counted = self._truth(), self._counted()
        wrong = {key: value - truth[key] for key, value in counted.items() if value != truth[key]}
        own, right = self.shown, self.undisturbed.counters()
        different = {
            key: (own.get(key), right.get(key)) for key in own.keys() | right.keys() if own.get(key) != right.get(key)
        }
        return wrong, different

    def _judged(self, name: str) -> Outcome:
        until = time.monotonic() + SETTLED_S
        while any(self._differences()) and time.monotonic() < until:
            time.sleep(1)
        wrong, different = self._differences()
        assert self._counted(), "no poller shows counters of bytes"
        return Outcome(
            name,
            len(self.minutes),
            len(self.shown),
            sum(value for value in wrong.values() if value > 0),
            -sum(value for value in wrong.values() if value < 0),
            different,
            frozenset().union(*(poller.went_back for poller in (self.undisturbed, *self.pollers))),
        )


def kill(trial: Trial, times: int) -> None:
    """Kill the poller at any moment, and each second time right behind a write of its ledger.

    Now and then it lives until it has judged minutes, because after 15 minutes without it they are unknown, as documented.
    """
    (poller,) = trial.pollers
    for number in range(times):
        trial.pause(0.0, POLL_S)
        if number % 2:
            written = trial.ledger.stat().st_ino
            wait_for(lambda: trial.ledger.stat().st_ino != written, "a write of the ledger")  # noqa: B023
        if number % _JUDGES_EACH == 0:
            judged = _judged_minutes(poller)
            wait_for(lambda: _judged_minutes(poller) > judged, "a judged minute")  # noqa: B023
        poller.send(signal.SIGKILL)
        poller.start()


def _judged_minutes(poller: Poller) -> float:
    return sum(
        value for series, value in poller.counters().items() if series.startswith("fss_mount_target_verdicts_total")
    )


def take_over(trial: Trial, times: int) -> None:
    """End, kill or stop the leader, so that the other poller leads."""
    for number in islice(cycle((signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)), times):
        leader = wait_for(lambda: next((poller for poller in trial.pollers if poller.leads), None), "a leader")
        assert leader
        (other,) = (poller for poller in trial.pollers if poller is not leader)
        trial.pause(0.0, POLL_S / 2)
        leader.send(number)
        wait_for(lambda: other.leads, "the other one to lead")  # noqa: B023
        if number == signal.SIGSTOP:
            leader.send(signal.SIGCONT)
            wait_for(lambda: not leader.counters(), "the earlier leader to stand by")  # noqa: B023
        else:
            leader.start()


def step(trial: Trial, times: int) -> None:
    """Set the clock of the host wrong and right again, at any moment of a poll."""
    for number in range(times):
        trial.clock.set_wrong_by(0.0 if number % 2 else STEPS_S[number // 2 % len(STEPS_S)])
        trial.pause(0.5 * POLL_S, 2 * POLL_S)


TRIALS = {"kills": (kill, 1, 50), "takeovers": (take_over, 2, 24), "steps": (step, 1, 16)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (_, _, times) in TRIALS.items():
        parser.add_argument(f"--{name}", type=int, default=times, help="how many. 0 leaves the trial out")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = [(name, number) for name in TRIALS if (number := getattr(options, name))]

    def play(name: str, number: int) -> Outcome:
        disturb, pollers, _ = TRIALS[name]
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(Path(folder), pollers, random.Random(options.seed))
            return trial.play(lambda played: disturb(played, number), f"{number} {name}")

    with ThreadPoolExecutor(len(chosen) or 1) as pool:
        outcomes = list(pool.map(lambda row: play(*row), chosen))
    return report(outcomes)


def report(outcomes: Sequence[Outcome]) -> int:
    headings = ("trial", "minutes of OCI", "counters", "surplus bytes", "missing bytes", "differ", "went back")
    table = Table(*headings, box=MARKDOWN, title=f"a minute of OCI in {60 / SPEED:.0f} s")
    for row in outcomes:
        numbers = (row.minutes, row.series, row.surplus, row.missing, len(row.different), len(row.went_back))
        table.add_row(row.trial, *(f"{number:,.0f}" for number in numbers))
    console = Console(width=120)
    console.print(table)
    for row in outcomes:
        for series, values in sorted(row.different.items())[:20]:
            print(f"{row.trial}: {series} is {values[0]}, and {values[1]} without a disturbance")
        for series in sorted(row.went_back)[:20]:
            print(f"{row.trial}: {series} went back")
    return 0 if all(row.is_right for row in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
