"""A pair of real pollers with one directory: started at once, killed and ended.

The pollers look ten times as often as users' pollers do, and ask without pauses, so that a test takes seconds.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.processes import PROMPT_S, get, serving_url, wait_for
from tests.region import Region, small

IN_A_HURRY = """
from fss_exporter.cli.main import run
from fss_exporter.oci.polling import account, lease, poller
poller.RENEW_SECONDS, lease.SILENT_SECONDS = 0.5, 5.0
budget = account.CallBudget
account.CallBudget = lambda _, **more: budget(1000.0, **more)
raise SystemExit(run())
"""
TARGETS = "fss_mount_target_info{"


@dataclass(frozen=True)
class Poller:
    """A running poller."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path

    @property
    def page(self) -> str:
        return get(f"{self.url}/metrics")

    @property
    def leads(self) -> bool:
        return "fss_oci_leader 1.0\n" in self.page

    @property
    def polls(self) -> bool:
        """Whether it leads and has polled."""
        return self.leads and TARGETS in self.page and 'fss_collector_success{collector="oci"} 1.0' in self.page

    @property
    def stands_by(self) -> bool:
        """Whether it knows that another one leads, and has nothing of OCI."""
        page = self.page
        return "fss_oci_leader 0.0\n" in page and 'tenancy="o' not in page

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.process.wait(PROMPT_S)


def command(settings: Path) -> list[str]:
    flags = ["--no-collector.nfs", "--collector.oci", "--oci.standby", "--web.listen-address=127.0.0.1:0"]
    return [sys.executable, "-c", IN_A_HURRY, "serve", *flags, f"--config.file={settings}"]


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Path]:
    """The configuration of both, of a region on loopback."""
    with Region(small(), calls_per_second={}) as region:
        config = region.account.write_config(tmp_path, region.tenancy.region)
        (tmp_path / "shared").mkdir()
        file = tmp_path / "settings.yml"
        file.write_text(
            f"oci: {{config_file: {config}, endpoint: '{region.url}', calls_per_second: 9.9, poll_interval: 10s,"
            f" ledger_directory: {tmp_path / 'shared'}, services: []}}"
        )
        yield file


@contextmanager
def pollers(settings: Path, number: int = 2) -> Iterator[list[Poller]]:
    """Pollers that start at once."""
    with ExitStack() as stack:
        started = []
        for _ in range(number):
            log = settings.parent / f"log{len(list(settings.parent.glob('log*')))}"
            stderr = stack.enter_context(log.open("wb"))
            process = subprocess.Popen(command(settings), stdout=subprocess.DEVNULL, stderr=stderr)
            stack.callback(partial(_end, process))
            started.append((process, log))
        yield [
            Poller(process, wait_for(partial(serving_url, process, log), f"a poller, see {log}"), log)
            for process, log in started
        ]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(PROMPT_S)


def roles(pair: Sequence[Poller]) -> tuple[Poller, Poller] | None:
    """The leader and the poller that stands by, once both know."""
    leaders = [poller for poller in pair if poller.polls]
    others = [poller for poller in pair if poller.stands_by]
    return (leaders[0], others[0]) if len(leaders) == len(others) == 1 else None


def has_roles(pair: Sequence[Poller]) -> tuple[Poller, Poller]:
    by_role = wait_for(partial(roles, pair), "a leader that polls and a poller that stands by")
    assert by_role
    return by_role


def test_of_two_that_start_at_once_one_polls_and_both_are_ready(settings: Path) -> None:
    with pollers(settings) as pair:
        _, standby = has_roles(pair)
        assert get(f"{standby.url}/-/ready") == "fss-exporter is ready.\n"
        assert get(f"{standby.url}/-/healthy") == "fss-exporter is healthy.\n"
        assert "stands by" in get(standby.url)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_leader_ends_the_other_poller_goes_on_with_its_counters(
    settings: Path, number: signal.Signals
) -> None:
    with pollers(settings) as pair:
        leader, standby = has_roles(pair)
        (file,) = (settings.parent / "shared").glob("*.ledger.json")
        kept = file.read_bytes()
        leader.send(number)
        wait_for(lambda: standby.polls, "the other one to poll")
        assert "begin at 0" not in standby.log.read_text()
        assert _start(file.read_bytes()) == _start(kept), "one ledger, from the first leader on"


def _start(ledger: bytes) -> str:
    match = re.search(rb'"start":\d+', ledger)
    assert match
    return match[0].decode()
