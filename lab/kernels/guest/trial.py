"""The trial of one kernel, inside of the guest: agents and workloads beside a packet capture, and what `lab.parts` names."""

import os
from collections.abc import Sequence
from pathlib import Path

from lab.kernels.guest import failures, late, outages, recording, vanishing, weight
from lab.kernels.guest.lab import (
    COUNTS,
    OPTIONS,
    OUT,
    QUICK,
    SLURM,
    A,
    B,
    exporter,
    mount,
    note,
    run,
    say,
    scenario,
    shell,
    start_agent,
    start_server,
    workload,
)

_PARTS = OPTIONS["lab.parts"].split(",")


def work(kinds: Sequence[str]) -> None:
    """Every workload on two mounts."""

    def of(name: str, words: Sequence[str], cgroup: str = "") -> None:
        scenario(name, words, cgroup, kinds)

    run(*workload("tree", "/mnt/a/tree", 240))
    Path("/proc/sys/vm/drop_caches").write_text("3")
    of(
        "tar",
        shell(
            "cd /mnt && tar cf b/tree.tar -C a tree && mkdir b/copy && tar xf b/tree.tar -C b/copy && du -s b/copy && ls -lR b/copy | wc -l"
        ),
    )
    of("dd", workload("dd", "/mnt/a", 18))
    Path("/proc/sys/vm/drop_caches").write_text("3")
    of("pool", workload("pool", "/mnt/a/tree", 4, 4), SLURM)
    of("database", workload("database", "/mnt/a/app.db", 25))
    if QUICK:
        return
    of("log", workload("log", "/mnt/b/log", 60))
    of("mapped", workload("mapped", "/mnt/a/mapped", 16, 120))
    of("stream", workload("stream", "/mnt/b/stream", 24))
    of(
        "direct",
        shell(
            "dd if=/dev/zero of=/mnt/a/odd bs=40000 count=60 oflag=direct && dd if=/mnt/a/odd of=/dev/null bs=20000 iflag=direct"
        ),
    )
    of(
        "remount",
        shell(
            "dd if=/dev/zero of=/mnt/a/ro bs=36k count=40 oflag=direct && mount -o remount,ro /mnt/a && "
            "dd if=/mnt/a/ro of=/dev/null bs=36k iflag=direct && mount -o remount,rw /mnt/a && "
            "dd if=/dev/zero of=/mnt/a/rw bs=36k count=20 oflag=direct"
        ),
    )


def beside_agents() -> None:
    """Start the agents, and run the parts that need them."""
    start_agent("default")
    agent = start_agent("exact") if COUNTS else None
    kinds = ("default", "exact") if COUNTS else ("default",)
    if "workloads" in _PARTS:
        work(kinds)
    if "unaccounted" in _PARTS:
        vanishing.unaccounted(kinds)
    if "vanishing" in _PARTS and COUNTS:
        vanishing.mounts()
    if "failures" in _PARTS and agent is not None:
        failures.of_agent(agent)
        failures.leftovers()
        failures.lockdown()


def main() -> None:
    say("kernel", os.uname().release)
    (OUT / "release").write_text(os.uname().release)
    start_server()
    if _PARTS == ["recordings"]:
        recording.record_all()
        (OUT / "ended").touch()
        return
    mount(A, "a", "/mnt/a")
    mount(B, "b", "/mnt/b")
    if not COUNTS:
        refused = exporter("serve", "--web.listen-address=127.0.0.1:21009", "--nfs.exact=on")
        note("exact mode", run(*refused, check=False).stderr)
    if "weight" in _PARTS:
        weight.idle_agents()
        weight.births()
    if "calibration" in _PARTS:
        from lab.kernels.guest import calibration  # the libraries of OCI are in this guest only

        calibration.calibrate()
    if "late" in _PARTS and COUNTS:
        late.replies()
    if "outages" in _PARTS:
        outages.starts()
    if not {"workloads", "unaccounted", "vanishing", "failures"}.isdisjoint(_PARTS):
        beside_agents()
    (OUT / "ended").touch()
    say("done")


if __name__ == "__main__":
    main()
