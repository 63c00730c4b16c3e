"""What an agent costs an idle host beside node_exporter, and what the records of births cost the kernel."""

import subprocess
import time
from pathlib import Path
from statistics import mean
from urllib.request import urlopen

from lab.kernels.guest.lab import COUNTS, HERE, cpu_s, note, run, scrape, settled, start_agent, wait

from fss_kernel_counting.processes.births import BUFFER_KIB, EVENTS
from fss_kernel_counting.trace_records import RecordedEvents
from fss_kernel_counting.tracefs import OF_AGENT, Tracefs

_IDLE_S = 242
_SCRAPE_S = 11
_NODE_EXPORTER = "http://127.0.0.1:21010/metrics"
_FORKS = 250
_TURNS = 4
_PAUSE_S = 3.0


def idle_agents() -> None:
    """CPU of idle agents and of node_exporter's mountstats collector, on the mounts of this guest, with a scrape each 11 s."""
    flags = "--collector.disable-defaults --collector.mountstats --log.level=error --web.listen-address=127.0.0.1:21010".split()
    node_exporter = subprocess.Popen([str(HERE / "node_exporter"), *flags])
    wait("node_exporter", lambda: _read(_NODE_EXPORTER))
    agents = {"default": start_agent("default")}
    if COUNTS:
        agents |= {"sizes": start_agent("sizes")}
    for kind in agents:
        settled(kind)
    pids = {"node_exporter": node_exporter.pid} | {kind: agent.pid for kind, agent in agents.items()}
    before = {name: _cpu_ms(pid) for name, pid in pids.items()}
    until = time.monotonic() + _IDLE_S
    while time.monotonic() < until:
        time.sleep(_SCRAPE_S)
        _read(_NODE_EXPORTER)
        for kind in agents:
            scrape(kind)
    used = {
        name: [now - then for now, then in zip(_cpu_ms(pid), before[name], strict=True)] for name, pid in pids.items()
    }
    for name, (user, system) in used.items():
        ratio = (user + system) / sum(used["node_exporter"])
        milliseconds = f"{user / _IDLE_S:.2f} ms a second in the program and {system / _IDLE_S:.2f} in the kernel"
        note(f"idle, {name}", f"{ratio:.2f} of the CPU of node_exporter: {milliseconds}")
    for process in (node_exporter, *agents.values()):
        process.terminate()
        process.wait()


def _cpu_ms(pid: int) -> tuple[float, float]:
    """Milliseconds of CPU of a process in its program and in the kernel, which splits the exact sum by ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    share = user / max(1, user + system)
    return 1000 * cpu_s(pid) * share, 1000 * cpu_s(pid) * (1 - share)


def _read(url: str) -> bytes:
    try:
        with urlopen(url, timeout=30) as answer:
            return bytes(answer.read())
    except OSError:
        return b""


def births() -> None:
    """CPU of a fork, exec and end of a small program, with and without the records of births."""
    if not COUNTS:
        return
    _forks()
    off, on, records = [], [], 0
    for _ in range(_TURNS):
        off.append(_forks())
        recorded = RecordedEvents(Tracefs(Path("/sys/kernel/tracing")), OF_AGENT.births, EVENTS, BUFFER_KIB)
        on.append(_forks())
        records += len(recorded.read())
        recorded.end()
    added = 1000 * (mean(on) - mean(off))
    note(
        "births, microseconds of a fork with exec",
        f"without records {min(off):.1f} to {max(off):.1f}, with records {min(on):.1f} to {max(on):.1f}, "
        f"in the mean {added:,.0f} instructions more, records {records}",
    )


def _forks() -> float:
    """Microseconds for each of some births, after the kernel has ended the work that it put off."""
    time.sleep(_PAUSE_S)
    began = time.monotonic()
    run("busybox", "sh", "-c", f"i=0; while [ $i -lt {_FORKS} ]; do /bin/busybox true; i=$((i+1)); done")
    return (time.monotonic() - began) * 1e6 / _FORKS
