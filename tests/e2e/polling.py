"""A poller that lives through hours, a minute at a time, and how much memory it uses meanwhile."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.clock import Clock
from tests.fss_exporter.oci.world import START
from tests.region import Region, small

POLLS_A_SAMPLE = 10

POLLS = """
import gc, json, os, sys
from pathlib import Path
import circuitbreaker
from fss_exporter.oci.polling.account import Account
from fss_exporter.settings import load
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.oci.calls import SelfMetrics

now, samples = 0.0, int(sys.argv[3])
clock = circuitbreaker.monotonic = lambda: now
settings = load(None, {"oci.config_file": sys.argv[1], "oci.endpoint": sys.argv[2]})
account = None
for number, line in enumerate(sys.stdin):
    now = float(line)
    if account is None:
        account = Account(settings, SelfMetrics(), now=clock, clock=clock, wait=lambda _: False)
        collector = OciCollector(lambda: [account], now=clock)
    account.inventories.run_round()
    account.polls.run_round()
    assert account.polls.success
    assert list(collector.collect())
    if number % samples < samples - 1:
        print("polled", flush=True)
        continue
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    print(json.dumps([sys.getallocatedblocks(), resident]), flush=True)
"""


class Memory(NamedTuple):
    """In use by the poller after a poll and a scrape.

    Attributes:
        blocks: of the interpreter; unlike pages they tell one object from none.
        resident_bytes: of the process.
    """

    blocks: int
    resident_bytes: int


def poll(folder: Path, minutes: int) -> list[Memory]:
    """Polls of the demo region by the real SDK, each followed by a scrape: a sample after every tenth of them.

    Every tenth poll also takes the inventory anew, as it does with the default intervals.
    """
    clock, samples = Clock(START), []
    with Region(small(), now=clock, calls_per_second={}) as region:
        api_keys = region.account.write_config(folder, region.tenancy.region)
        command = [sys.executable, "-c", POLLS, str(api_keys), region.url, str(POLLS_A_SAMPLE)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as polling:
            assert polling.stdin
            assert polling.stdout
            for _ in range(minutes):
                print(clock.now, file=polling.stdin, flush=True)
                said = polling.stdout.readline()
                assert said, "the poller ended"
                if said != "polled\n":
                    samples.append(Memory(*json.loads(said)))
                clock.now += 60.0
            polling.stdin.close()
    return samples
