"""A host's clock that jumps: no counter goes back, nothing is counted twice, and nothing stops."""

import json
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from tests.clock import Clock
from tests.exposition_text import collected
from tests.fss_exporter.oci.world import START
from tests.region import Region, small

from fss_exporter.errors import FssError
from fss_exporter.oci.calls import SelfMetrics
from fss_exporter.oci.polling.account import Account
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import load
from fss_toolbox.demo.recorded_clients import ClientMount, Clients

A_DAY_S = 86_400.0

JUMPING = """
import sys, threading, time
from fss_exporter.cli import main, runtime

real, jumps = time.time, iter((0, 86400, -86400, 10 * 365 * 86400, 0))
offset = 0
time.time = lambda: real() + offset

def jump(urls):
    import json, os, signal, urllib.request
    def work():
        global offset
        seen = []
        def scrape():
            body = urllib.request.urlopen(urls[0], timeout=120).read().decode()
            return dict(line.rsplit(" ", 1) for line in body.splitlines() if line[0] != "#")
        def operations(lines):
            return sum(float(value) for name, value in lines.items() if name.startswith("fss_client_operations_total"))
        def moved(before):  # another tick has come, and has seen more operations
            now, ticks = scrape(), "fss_nfs_ticks_total"
            return now if float(now[ticks]) > float(before[ticks]) and operations(now) > operations(before) else None
        for offset in jumps:
            before, until = scrape(), time.monotonic() + 100
            while not (lines := moved(before)) and time.monotonic() < until:
                time.sleep(0.02)
            seen.append(lines)
        print(json.dumps(seen), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=work).start()

served = runtime.serve
runtime.serve = lambda *parts, **more: served(*parts, **{**more, "on_listening": jump})
sys.exit(main.run(sys.argv[1:]))
"""


def test_an_agents_clock_that_jumps_moves_no_counter_back_and_stops_no_tick(tmp_path: Path) -> None:
    clients = Clients(tmp_path / "proc", (ClientMount("c_randread_1m", "10.80.2.20", "/export/a"),), interval_s=0.05)
    clients.start()
    try:
        flags = [
            "serve",
            f"--path.procfs={clients.root}",
            "--web.listen-address=127.0.0.1:0",
            "--nfs.tick=20ms",
            "--nfs.network=lab",
        ]
        command = [sys.executable, "-c", JUMPING, *flags]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    finally:
        clients.stop()
    scrapes = json.loads(ran.stdout)

    assert "level=error" not in ran.stderr
    assert len(scrapes) == 5
    counters = [name for name in scrapes[0] if "_total" in name and name.startswith("fss_")]
    assert counters
    for name in counters:
        values = [float(scrape[name]) for scrape in scrapes]
        assert values == sorted(values), name
    ticks = [float(scrape["fss_nfs_ticks_total"]) for scrape in scrapes]
    assert all(later > earlier for earlier, later in pairwise(ticks))
    cost = 'fss_client_peak_estimated_iops{address="10.80.2.20",network="lab"}'
    assert all(0 < float(scrape[cost]) < 1e6 for scrape in scrapes[1:])


class Poller:
    """A poller whose wall clock can be wrong; what it waits by cannot."""

    def __init__(self, region: Region, true: Clock, folder: Path, *, wrong_by_s: float = 0.0) -> None:
        self.wrong_by_s = wrong_by_s
        self._true = true
        flags = {
            "oci.config_file": str(region.account.write_config(folder, region.tenancy.region)),
            "oci.endpoint": region.url,
            "oci.services": (),
        }
        self._account = Account(load(None, flags), SelfMetrics(), now=self.wall, clock=true, wait=true.wait)
        self._collector = OciCollector(lambda: [self._account], now=self.wall)

    def poll(self) -> None:
        """The inventory, if it is due, and one poll."""
        self._account.inventories.run_round()
        with suppress(FssError):  # a clock that is a day off finds nothing
            self._account.polls.run_round()

    def wall(self) -> float:
        """Epoch seconds, as this host has them."""
        return self._true.now + self.wrong_by_s

    def counters(self) -> dict[tuple[str, ...], float]:
        """Every counter of mount targets on a scrape, by name and label values."""
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in collected(self._collector)
            for sample in family.samples
            if sample.name.startswith("fss_mount_target") and sample.name.endswith("_total")
        }


@pytest.mark.parametrize("jump_s", [A_DAY_S, -A_DAY_S])
def test_a_pollers_clock_that_jumps_and_comes_back_counts_every_minute_once(tmp_path: Path, jump_s: float) -> None:
    """Side by side with a poller of the same region whose clock is right."""
    true = Clock(START)
    (tmp_path / "right").mkdir()
    (tmp_path / "wrong").mkdir()
    with Region(small(), now=true, calls_per_second={}) as region:
        right = Poller(region, true, tmp_path / "right")
        wrong = Poller(region, true, tmp_path / "wrong")
        seen: dict[tuple[str, ...], float] = {}
        for minute in range(6):
            wrong.wrong_by_s = jump_s if minute in {2, 3} else 0.0
            for poller in (right, wrong):
                poller.poll()
            now = wrong.counters()
            assert [name for name, value in now.items() if value < seen.get(name, 0.0)] == []
            seen = now
            true.now += 60.0
        assert right.counters()
        assert now == right.counters()


def test_a_poller_that_was_started_with_its_clock_ahead_counts_once_that_is_mended(tmp_path: Path) -> None:
    true = Clock(START)
    with Region(small(), now=true, calls_per_second={}) as region:
        poller = Poller(region, true, tmp_path, wrong_by_s=A_DAY_S)
        poller.poll()
        poller.wrong_by_s = 0.0
        for _ in range(3):
            true.now += 60.0
            poller.poll()
        assert sum(poller.counters().values()) > 0
