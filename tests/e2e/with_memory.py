"""`make test-memory`: memory does not grow over simulated hours of the agent, tick by tick, and over polls of a region with the real SDK.

Not among the default tests, because they take half a minute. `make check` runs them beside the linters, and `make soak` has days.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.polling import poll

# What the ticks may add to resident memory, after the first tenth of them has filled what is filled once.
BOUND_BYTES = 1 << 20

TICKS_BOUND_BLOCKS = 1000  # what the ticks may add to the blocks of memory in use: one block for 20 ticks of six hours

# What 40 polls may add to the blocks of memory in use: 25 a poll, where a poll brings more than 500 points.
#
# Caches of the interpreter and the SDK still fill at less than half of that, ever more slowly.
POLLS_BOUND_BLOCKS = 1000

SCRIPT = """
import gc, json, os, sys, threading
from http.client import HTTPConnection
from pathlib import Path
from prometheus_client import CollectorRegistry
from fss_exporter.background import Event
from fss_toolbox.demo.recorded_clients import ClientMount, Clients
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.web.application import build
from fss_exporter.web.binding import bind
from fss_exporter.web.collecting import Collectors, Turns
from fss_exporter.web.http_server import HttpServer
from fss_exporter.web.scrapes import Scrapes

seconds, now = int(sys.argv[2]), 0.0
clients = Clients(Path(sys.argv[1]), (ClientMount("k_mixed", "10.80.1.10", "/export/a"),))
ticker = Ticker(Procfs(clients.root).read, 1.0, clock=lambda: now)
registry = CollectorRegistry(support_collectors_without_names=True)
registry.register(Collectors({"nfs": NfsCollector(ticker)}))
application = build(telemetry_path="/metrics", scrapes=Scrapes(registry, Turns()), page=str, waiting_for=tuple, reload=lambda: None)

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def used():
    gc.collect()
    return resident(), sys.getallocatedblocks()

def scrape(connection):
    connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    assert answer.status == 200
    answer.read()

(bound,) = bind(("127.0.0.1:0",))
port, stop = bound.getsockname()[1], Event()
serving = threading.Thread(target=HttpServer([bound], application).run, args=(stop,))
serving.start()
sizes, kept = [], HTTPConnection("127.0.0.1", port)
for second in range(seconds):
    now = float(second)
    if second % 20 == 0:
        clients.advance()
    ticker.tick()
    if second % 300 == 0:
        # One scraper keeps its connection, another comes anew each time.
        scrape(kept)
        other = HTTPConnection("127.0.0.1", port)
        scrape(other)
        other.close()
    if second % (seconds // 10) == 0:
        sizes.append(used())
sizes.append(used())
kept.close()
stop.set()
serving.join()
print(json.dumps(sizes))
"""


def ticked(folder: Path, hours: int) -> list[tuple[int, int]]:
    """Resident bytes and blocks in use of an agent, at eleven moments of so many simulated hours."""
    command = [sys.executable, "-c", SCRIPT, str(folder / "proc"), str(hours * 3600)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return [(size, blocks) for size, blocks in json.loads(ran.stdout)]


@pytest.mark.timeout(600)  # seconds of work, minutes on a machine that has other work
def test_six_hours_of_ticks_and_scrapes_add_nothing(tmp_path: Path) -> None:
    sizes = ticked(tmp_path, 6)

    assert sizes[-1][0] - sizes[1][0] < BOUND_BYTES, sizes
    assert sizes[-1][1] - sizes[1][1] < TICKS_BOUND_BLOCKS, sizes


@pytest.mark.timeout(600)
def test_an_hour_of_polls_and_scrapes_of_them_adds_next_to_nothing(tmp_path: Path) -> None:
    """`make soak` does so for a day."""
    blocks = [memory.blocks for memory in poll(tmp_path, 60)]

    assert blocks[-1] - blocks[1] < POLLS_BOUND_BLOCKS, blocks
