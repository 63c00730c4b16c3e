"""What every part of a trial uses: the server, mounts, agents, programs in control groups, and the results for the host."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from urllib.request import urlopen

OUT = Path("/out")
HERE = Path(__file__).parent
A, B = "10.80.1.10", "10.80.2.20"
INSTANCES = Path("/sys/kernel/tracing/instances")
SLURM = "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
OPTIONS = {row.partition("=")[0]: row.partition("=")[2] for row in Path("/proc/cmdline").read_text().split()}
LADDER, QUICK, COUNTS = "lab.ladder" in OPTIONS, "lab.quick" in OPTIONS, "lab.no-counting" not in OPTIONS
_SERVER_S = 120.0
_LOOKS_S = 240.0
_PORTS = {"default": 21001, "exact": 21002, "sizes": 21003, "default-again": 21004, "outages": 21005}
_EXACT = {
    "exact": ("--nfs.exact=on", "--nfs.exact.processes=50", "--nfs.exact.jobs=20", "--nfs.exact.writers"),
    "sizes": ("--nfs.exact=on",),
}


def say(*words: object) -> None:
    print(f"[{time.monotonic():.0f} s]", *words, flush=True)


def run(*words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True, text=True)
    if check and done.returncode:
        raise SystemExit(f"{words}: {done.returncode} {done.stderr}")
    return done


def shell(text: str) -> list[str]:
    return ["sh", "-c", text]


def workload(name: str, *words: object) -> list[str]:
    return [sys.executable, str(HERE / "workloads.py"), name, *map(str, words)]


def wait(what: str, is_there: Callable[[], object], seconds: float = _SERVER_S) -> None:
    until = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > until:
            raise SystemExit(f"{what} never came")
        time.sleep(0.5)


def note(trial: str, text: str, *, holds: bool = True) -> None:
    """Write what a trial showed, for the report. `holds` is whether it showed what was wanted, where the guest can tell."""
    say(trial, "->", text.strip()[-300:])
    with (OUT / "trials.jsonl").open("a") as file:
        file.write(json.dumps({"trial": trial, "shown": text.strip()[-2000:], "holds": holds}) + "\n")


def start_server() -> None:
    """Run the server in a network namespace, behind two addresses."""
    run("ip", "netns", "add", "srv")
    run("ip", "link", "add", "vc0", "type", "veth", "peer", "name", "vs0", "netns", "srv")
    for network, address in ((1, A), (2, B)):
        run("ip", "-n", "srv", "addr", "add", f"{address}/24", "dev", "vs0")
        run("ip", "addr", "add", f"10.80.{network}.2/24", "dev", "vc0")
    for words in ("-n srv link set lo up", "-n srv link set vs0 up", "link set vc0 up"):
        run("ip", *words.split())
    ready, grace_s = Path("/out/server-is-ready"), "10"
    Path("/sys/module/lockd/parameters/nlm_grace_period").write_text(grace_s)
    own_mounts = "unshare -m --propagation private sh".split()
    command = ["ip", "netns", "exec", "srv", *own_mounts, HERE / "server.sh", grace_s, ready]
    subprocess.Popen([str(word) for word in command], stdout=(OUT / "server.txt").open("w"), stderr=subprocess.STDOUT)
    wait("the server", ready.exists)
    for folder in ("/run/rpcbind", "/run/lock", "/var/lib/nfs/sm", "/var/lib/nfs/sm.bak"):
        Path(folder).mkdir(exist_ok=True)
    run("chown", "-R", "statd", "/var/lib/nfs")
    run("rpcbind")
    run("rpc.statd", "--no-notify")


def mount(address: str, export: str, place: str, options: str = "") -> None:
    Path(place).mkdir(parents=True, exist_ok=True)
    run("mount", "-t", "nfs", "-o", f"vers=3,proto=tcp,noacl{options}", f"{address}:/export/{export}", place)


def exporter(*words: str) -> list[str]:
    """Return the command of the exporter. With the ladder, the agent is told that the kernel refuses `.buckets`."""
    if not LADDER:
        return [sys.executable, "-m", "fss_exporter", *words]
    settings = "import fss_kernel_counting.sizes.size_triggers as s; s.Buckets = s.Ladder"
    return [sys.executable, "-c", f"{settings}; from fss_exporter.__main__ import main; main()", *words]


def start_agent(kind: str, *flags: str) -> subprocess.Popen[bytes]:
    """Start an agent without any capability, as the systemd unit and the chart do."""
    address = f"--web.listen-address=127.0.0.1:{_PORTS[kind]}"
    with (OUT / f"agent-{kind}.txt").open("ab") as log:
        without = "setpriv --bounding-set=-all --inh-caps=-all --no-new-privs".split()
        words = [*without, *exporter("serve", address, "--log.level=info", *_EXACT.get(kind, ()), *flags)]
        agent = subprocess.Popen(words, stdout=log, stderr=log)
    wait(f"the agent {kind}", lambda: scrape(kind) or agent.poll() is not None)
    return agent


def scrape(kind: str) -> str:
    try:
        with urlopen(f"http://127.0.0.1:{_PORTS[kind]}/metrics", timeout=30) as answer:
            return str(answer.read(), "utf-8")
    except OSError:
        return ""


def settled(kind: str) -> str:
    """Return a scrape after two more looks of every loop: some work is given to a process one look later."""
    text = ""

    def has_looked_since(then: float) -> bool:
        nonlocal text
        text = scrape(kind)
        name = "fss_collector_last_success_timestamp_seconds{"
        looks = [float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name)]
        return bool(looks) and min(looks) > then

    for _ in range(2):
        wait(f"a look of the agent {kind}", partial(has_looked_since, time.time()), _LOOKS_S)
    return text


def in_cgroup(path: str, words: Sequence[str]) -> int:
    """Run a program in a control group, as systemd or a batch scheduler does."""
    folder = Path(f"/sys/fs/cgroup{path}")
    folder.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if not child:
        (folder / "cgroup.procs").write_text(str(os.getpid()))
        os.execvp(words[0], list(words))  # noqa: S606
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _links_clients() -> bool:
    """Whether the kernel links each superblock to its RPC client."""
    return any(Path("/sys/fs/nfs").glob("*:*/nfs_client"))


def scenario(name: str, words: Sequence[str], cgroup: str = "", kinds: Sequence[str] = ("default", "exact")) -> None:
    """Run a program beside a capture, and scrape the agents before and after."""
    folder = OUT / name
    folder.mkdir()
    run("sync")
    capture = subprocess.Popen(
        ["tcpdump", "-i", "vc0", "-U", "-n", "-s", "0", "-B", "65536", "-w", folder / "packets.pcap", "tcp"],
        stderr=(folder / "tcpdump.txt").open("w"),
    )
    wait("tcpdump", lambda: "listening" in (folder / "tcpdump.txt").read_text())
    for kind in kinds:
        (folder / f"{kind}-before.prom").write_text(settled(kind))
    cgroup = cgroup or f"/system.slice/{name}.service"
    began = time.monotonic()
    code = in_cgroup(cgroup, words)
    run("sync")
    seconds = time.monotonic() - began
    for kind in kinds:
        (folder / f"{kind}-after.prom").write_text(settled(kind))
    capture.send_signal(signal.SIGINT)
    capture.wait()
    ran = {"code": code, "seconds": seconds, "cgroup": cgroup, "links_clients": _links_clients()}
    (folder / "scenario.json").write_text(json.dumps(ran))
    say(name, "ended with", code, f"after {seconds:.0f} s")


def instances() -> str:
    """Names of the instances that count or record in the kernel."""
    return " ".join(sorted(path.name for path in INSTANCES.iterdir())) or "nothing"


def cpu_s(pid: int) -> float:
    """CPU time of a process by its own POSIX clock: pid_to_clock(3)."""
    return time.clock_gettime(~pid << 3 | 2)
