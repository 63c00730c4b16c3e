"""A host whose exports come and go, as with an automounter or a CSI driver (make test-memory): 1,000 in a day, and 10,000 in five minutes."""

import subprocess
import sys
from pathlib import Path

import pytest

LARGEST_MIB = 45
EXPORTS = 1000

BURST_SECONDS, BURST_EACH_SECOND = 300, 33
LARGEST_MIB_OF_A_BURST = 128  # the limit of the chart

SCRIPT = """
import os, sys
from pathlib import Path
from fss_exporter.web.exposition import negotiate, write
from tests.fss_exporter.nfs.records import mountinfo, mountstats
from fss_exporter.cli import runtime, serve
from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags

root, exports, now = Path(sys.argv[1]), int(sys.argv[2]), 0.0
(root / "1").mkdir(parents=True)

def mounts(*numbers, second):
    names = [{"device": f"10.0.{n % 200}.3:/csi/volume-{n}", "mount_point": f"/var/lib/pods/{n}"} for n in numbers]
    info = [mountinfo(superblock=f"0:{40 + n % 50}", address=f"10.0.{n % 200}.3", **one) for n, one in zip(numbers, names)]
    stats = [mountstats({"READ": 5 * second, "OPEN": 1}, age=second, **one) for one in names]
    (root / "1" / "mountinfo").write_text("".join(info))
    (root / "1" / "mountstats").write_text("".join(stats))

mounts(second=0)
agent = NfsAgent(NfsFlags(procfs=root), clock=lambda: now)
for number in range(exports):
    for second in (0, 40):
        mounts(number, second=second)
        now += 43.2
        agent.ticker.tick()
        assert agent.ticker.loop.heartbeat.success
    if number % 10 == 9:
        size = len(write(list(agent.collector.collect()), negotiate(""), compress=False))
resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
print(resident / 2**20, len(agent.ticker.accounts.mounts), size)
"""

BURST = """
import os, sys
from pathlib import Path
from fss_exporter.web.exposition import negotiate, write
from tests.fss_exporter.nfs.records import mountinfo, mountstats, write_procfs
from fss_exporter.cli import runtime, serve
from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags

root, seconds, each_second = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def mounts(*numbers):
    names = [{"device": f"10.0.{n % 200}.3:/csi/volume-{n}", "mount_point": f"/var/lib/pods/{n}"} for n in numbers]
    info = [mountinfo(superblock=f"0:{40 + n}", address=f"10.0.{n % 200}.3", **one) for n, one in zip(numbers, names)]
    write_procfs(root, "".join(mountstats({"READ": 5}, age=0, **one) for one in names), "".join(info))

def resident_mib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

mounts(0)
agent, largest = NfsAgent(NfsFlags(procfs=root, network="n", network_bandwidth=1)), 0.0
agent.start()
agent.ticker.stop()
for second in range(seconds):
    mounts(0, *range(second * each_second + 1, (second + 1) * each_second + 1))
    agent.ticker.tick()
    assert agent.ticker.loop.heartbeat.success
    if second % 15 == 0:
        page = write(list(agent.collector.collect()), negotiate(""), compress=True)
        largest = max(largest, resident_mib())
print(largest, len(agent.ticker.accounts.mounts))
"""


@pytest.mark.timeout(600)
def test_a_burst_of_ten_thousand_exports_stays_within_the_limit_of_the_chart(tmp_path: Path) -> None:
    numbers = [str(BURST_SECONDS), str(BURST_EACH_SECOND)]
    command = [sys.executable, "-c", BURST, str(tmp_path / "proc"), *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)

    assert done.returncode == 0, done.stderr
    largest_mib, mounts = map(float, done.stdout.split())
    assert mounts > 1000
    assert largest_mib <= LARGEST_MIB_OF_A_BURST


@pytest.mark.timeout(600)
def test_a_day_with_a_thousand_exports_stays_within_45_mib(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "proc"), str(EXPORTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)

    assert done.returncode == 0, done.stderr
    resident_mib, mounts, _ = map(float, done.stdout.split())
    assert mounts <= EXPORTS / 24 + 2
    assert resident_mib <= LARGEST_MIB
