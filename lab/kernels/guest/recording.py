"""Record drawn workloads: mountstats about once a second beside a capture, with nothing else on the mounts."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from lab.kernels.guest.drawn import SEED, Program, Workload, drawn
from lab.kernels.guest.lab import HERE, OPTIONS, OUT, A, B, mount, run, say, wait

_LOOK_S = 1.0
_CAPTURED_S = 5.0  # libpcap hands over a packet after a second at most


class _Mountstats(threading.Thread):
    """Mountstats of each second: seconds since the epoch, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[tuple[float, str]] = []
        self._ends = threading.Event()
        self._look()

    def _look(self) -> None:
        self.looks.append((round(time.time(), 3), Path("/proc/self/mountstats").read_text()))

    def run(self) -> None:
        while not self._ends.wait(_LOOK_S):
            self._look()

    def end(self) -> list[tuple[float, str]]:
        self._ends.set()
        self.join()
        self._look()
        return self.looks


def _command(program: Program) -> list[str]:
    return [sys.executable, str(HERE / "drawn.py"), program.name, json.dumps(program.arguments)]


def record_all() -> None:
    """Record every drawn workload, or those that `lab.only` names by their number."""
    only = {int(number) for number in OPTIONS.get("lab.only", "").split("+") if number}
    for number, workload in enumerate(drawn(SEED), 1):
        if not only or number in only:
            _record(workload)


def _record(workload: Workload) -> None:
    _mount_both(workload.options)
    for program in workload.before:
        run(*_command(program))
    run("sync")
    _unmount_both()
    _mount_both(workload.options)
    folder = OUT / workload.name
    folder.mkdir()
    with (folder / "tcpdump.txt").open("w") as said:
        capture = subprocess.Popen(
            ["tcpdump", "-i", "vc0", "-U", "-n", "-s", "0", "-B", "65536", "-w", folder / "packets.pcap", "tcp"],
            stderr=said,
        )
    wait("tcpdump", lambda: "listening" in (folder / "tcpdump.txt").read_text())
    looks = _Mountstats()
    looks.start()
    programs = [subprocess.Popen(_command(program)) for program in workload.during]
    codes = [program.wait() for program in programs]
    run("sync")
    recorded = {"looks": looks.end(), "mountinfo": Path("/proc/self/mountinfo").read_text()}
    time.sleep(_CAPTURED_S)
    capture.send_signal(signal.SIGINT)
    capture.wait()
    about = {"name": workload.name, "kind": workload.kind, "options": workload.options}
    ran = [[program.name, program.arguments] for program in workload.during]
    (folder / "recording.json").write_text(json.dumps(about | {"programs": ran, "codes": codes} | recorded))
    say(workload.name, "ended with", codes, "looks", len(looks.looks))
    run("sh", "-c", "rm -rf /mnt/a/* /mnt/b/*")
    _unmount_both()


def _mount_both(options: str) -> None:
    mount(A, "a", "/mnt/a", options)
    mount(B, "b", "/mnt/b", options)


def _unmount_both() -> None:
    run("umount", "/mnt/a", "/mnt/b")
