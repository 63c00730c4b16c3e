"""A host whose exports come and go: 1,000 in a day, as with an automounter or a CSI driver, within 45 MiB (make test-memory)."""

import subprocess
import sys
from pathlib import Path

import pytest

LARGEST_MIB = 45
EXPORTS = 1000

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


@pytest.mark.timeout(600)
def test_a_day_with_a_thousand_exports_stays_within_45_mib(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "proc"), str(EXPORTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)

    assert done.returncode == 0, done.stderr
    resident_mib, mounts, _ = map(float, done.stdout.split())
    assert mounts <= EXPORTS / 24 + 2
    assert resident_mib <= LARGEST_MIB
