"""Replies of which two in a hundred come 200 ms late: an agent with a p99 objective, before the delay and during it."""

import json
import subprocess
import time
from pathlib import Path

from lab.kernels.guest.lab import OUT, run, say, scrape, shell, start_agent

_SCRAPES = OUT / "late"
_WELL_S, _LATE_S, _SCRAPE_S = 45, 150, 15
# A guest without KVM computes slowly, so the reader rests.
_READ = "while :; do dd if=/mnt/a/late of=/dev/null bs=4k count=30 iflag=direct 2>/dev/null; sleep 0.2; done"


def replies() -> None:
    """Read 4 KiB at a time. netem lets 98 of 100 packets of the server pass and delays the others. The mount /mnt/a is there."""
    _SCRAPES.mkdir()
    settings = OUT / "late.yml"
    settings.write_text("latency_objectives: {p99: {read: 50ms}}\n")
    run(*shell("dd if=/dev/zero of=/mnt/a/late bs=4k count=30 conv=fsync"))
    agent = start_agent("sizes", f"--config.file={settings}")
    reader = subprocess.Popen(shell(_READ), start_new_session=True)
    began = time.monotonic()
    say("reads begin")
    _scrape_until(began, began + _WELL_S)
    run("modprobe", "sch_netem")
    run(*"ip netns exec srv tc qdisc add dev vs0 root netem delay 200ms reorder 98%".split())
    say("replies are delayed")
    delayed_s = time.monotonic() - began
    _scrape_until(began, began + _WELL_S + _LATE_S)
    run(*"ip netns exec srv tc qdisc del dev vs0 root".split())
    subprocess.run(["kill", "--", f"-{reader.pid}"], check=False)
    reader.wait()
    agent.terminate()
    agent.wait()
    Path("/mnt/a/late").unlink()
    (_SCRAPES / "delayed.json").write_text(json.dumps(delayed_s))


def _scrape_until(began: float, until: float) -> None:
    while (now := time.monotonic()) < until:
        (_SCRAPES / f"{now - began:07.1f}.prom").write_text(scrape("sizes"))
        time.sleep(_SCRAPE_S)
