"""The trial of one kernel, inside of the guest: server, agents, workloads beside a packet capture, and what can go wrong."""

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
A, B = "10.80.1.10", "10.80.2.20"
EXACT = "on auto"
_HERE = Path(__file__).parent
_SERVER_S = 120.0
_LOOKS_S = 240.0  # a guest is slow, and an agent looks less often where looks take much CPU
_PORTS = {"default": 21001, "exact": 21002}
_OPTIONS = {row.partition("=")[0]: row.partition("=")[2] for row in Path("/proc/cmdline").read_text().split()}
LADDER, QUICK = "lab.ladder" in _OPTIONS, "lab.quick" in _OPTIONS
SLURM = "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"


def say(*words: object) -> None:
    print(f"[{time.monotonic():.0f} s]", *words, flush=True)


def run(*words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True, text=True)
    if check and done.returncode:
        raise SystemExit(f"{words}: {done.returncode} {done.stderr}")
    return done


def wait(what: str, is_there: Callable[[], object], seconds: float = _SERVER_S) -> None:
    until = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > until:
            raise SystemExit(f"{what} never came")
        time.sleep(0.5)


def start_server() -> None:
    """Run the server in a network namespace, behind two addresses."""
    run("ip", "netns", "add", "srv")
    run("ip", "link", "add", "vc0", "type", "veth", "peer", "name", "vs0", "netns", "srv")
    for network, address in ((1, A), (2, B)):
        run("ip", "-n", "srv", "addr", "add", f"{address}/24", "dev", "vs0")
        run("ip", "addr", "add", f"10.80.{network}.2/24", "dev", "vc0")
    for words in (
        ("-n", "srv", "link", "set", "lo", "up"),
        ("-n", "srv", "link", "set", "vs0", "up"),
        ("link", "set", "vc0", "up"),
    ):
        run("ip", *words)
    ready, grace_s = Path("/out/server-is-ready"), "10"
    Path("/sys/module/lockd/parameters/nlm_grace_period").write_text(grace_s)
    command = [
        "ip",
        "netns",
        "exec",
        "srv",
        "unshare",
        "-m",
        "--propagation",
        "private",
        "sh",
        _HERE / "server.sh",
        grace_s,
        ready,
    ]
    subprocess.Popen([str(word) for word in command], stdout=(OUT / "server.txt").open("w"), stderr=subprocess.STDOUT)
    wait("the server", ready.exists)
    Path("/run/rpcbind").mkdir(exist_ok=True)
    Path("/run/lock").mkdir(exist_ok=True)
    for folder in ("sm", "sm.bak"):
        Path("/var/lib/nfs", folder).mkdir(exist_ok=True)
    run("chown", "-R", "statd", "/var/lib/nfs")
    run("rpcbind")
    run("rpc.statd", "--no-notify")


def mount(address: str, export: str, place: str) -> None:
    Path(place).mkdir(parents=True, exist_ok=True)
    run("mount", "-t", "nfs", "-o", "vers=3,proto=tcp,noacl", f"{address}:/export/{export}", place)


def exporter(*words: str) -> list[str]:
    """Return the command of the exporter. An emulated guest is slow, so the agents look as often as on a real host.

    With the ladder, an agent is told that the kernel refuses `.buckets`.
    """
    begin = "import fss_exporter.nfs.ticker as t, fss_kernel_counting.durations.latency_reader as l"
    settings = [begin, "t.LARGEST_CPU_SHARE = l.LARGEST_CPU_SHARE = 1.0"]
    if LADDER:
        settings += ["import fss_kernel_counting.sizes.size_triggers as s", "s.Buckets = s.Ladder"]
    settings += ["from fss_exporter.__main__ import main", "main()"]
    return [sys.executable, "-c", "; ".join(settings), *words]


def start_agent(kind: str, exact: str = "on") -> subprocess.Popen[bytes]:
    flags = ["serve", f"--web.listen-address=127.0.0.1:{_PORTS[kind]}", "--log.level=info"]
    if kind == "exact":
        flags += [f"--nfs.exact={exact}", "--nfs.exact.processes=50", "--nfs.exact.jobs=20", "--nfs.exact.writers"]
    with (OUT / f"agent-{kind}.txt").open("ab") as log:
        agent = subprocess.Popen(exporter(*flags), stdout=log, stderr=log)
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
    (folder / "scenario.json").write_text(json.dumps({"code": code, "seconds": seconds, "cgroup": cgroup}))
    say(name, "ended with", code, f"after {seconds:.0f} s")


def instances() -> str:
    """Names of the instances that count or record in the kernel."""
    return " ".join(sorted(path.name for path in Path("/sys/kernel/tracing/instances").iterdir()))


def note(trial: str, text: str) -> None:
    """Write what a trial showed, for the report."""
    say(trial, "->", text.strip()[-300:])
    with (OUT / "trials.jsonl").open("a") as file:
        file.write(json.dumps({"trial": trial, "shown": text.strip()[-2000:]}) + "\n")


def workload(name: str, *words: object) -> list[str]:
    return [sys.executable, str(_HERE / "workloads.py"), name, *map(str, words)]


def shell(text: str) -> list[str]:
    return ["sh", "-c", text]


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
            "mkdir -p /mnt/c && mount -t nfs -o vers=3,proto=tcp,noacl,nosharecache 10.80.2.20:/export/b /mnt/c && dd if=/dev/zero of=/mnt/c/inside bs=33000 count=20 conv=fsync && umount /mnt/c"
        ),
    )
    hidden = "mount -t nfs -o vers=3,proto=tcp,noacl,nosharecache 10.80.2.20:/export/b /mnt/h && dd if=/dev/zero of=/mnt/h/hidden bs=64k count=40 conv=fsync && ls -lR /mnt/h >/dev/null && sleep 75 && dd if=/dev/zero of=/mnt/h/again bs=64k count=20 conv=fsync && ls -lR /mnt/h >/dev/null && sleep 12"
    Path("/mnt/h").mkdir()
    of("hidden", ["unshare", "-m", "--propagation", "private", *shell(hidden)])


def failures(agent: subprocess.Popen[bytes]) -> None:
    """What an operator or a host does to an agent that counts."""
    second = exporter("serve", "--web.listen-address=127.0.0.1:21009", "--nfs.exact=on")
    note("second agent", run(*second, check=False).stderr)
    note("not root", run("setpriv", "--reuid=65534", "--clear-groups", *second, check=False).stderr)
    note("no tracefs", run(*second, "--path.tracefs=/nowhere", check=False).stderr)
    agent.kill()
    agent.wait()
    note("kill -9 leaves", instances())
    agent = start_agent("exact")
    scenario(
        "after-kill-9",
        shell("dd if=/dev/zero of=/mnt/a/after bs=40000 count=40 oflag=direct"),
        kinds=("default", "exact"),
    )
    run("ip", "link", "set", "vc0", "down")
    hung = subprocess.Popen(shell("ls -l /mnt/a/tree/d00 >/dev/null"))
    time.sleep(40)
    began = time.monotonic()
    waits = [line for line in scrape("exact").splitlines() if line.startswith("fss_client_unanswered_seconds{")]
    note("hung server", f"scrape {time.monotonic() - began:.1f} s: {' '.join(waits)}")
    run("ip", "link", "set", "vc0", "up")
    hung.wait()
    began = time.monotonic()
    agent.terminate()
    agent.wait()
    left = instances() or "nothing"
    note("SIGTERM", f"ended with {agent.returncode} after {time.monotonic() - began:.1f} s and left {left}")
    lockdown = Path("/sys/kernel/security/lockdown")
    run("mount", "-t", "securityfs", "securityfs", "/sys/kernel/security", check=False)
    if lockdown.exists():
        lockdown.write_text("confidentiality")
        note("lockdown confidentiality", run(*second, check=False).stderr)
    else:
        note("lockdown confidentiality", "this kernel has no lockdown")


def main() -> None:
    say("kernel", os.uname().release)
    (OUT / "release").write_text(os.uname().release)
    start_server()
    mount(A, "a", "/mnt/a")
    mount(B, "b", "/mnt/b")
    start_agent("default")
    if "lab.no-counting" in _OPTIONS:
        refused = exporter("serve", "--web.listen-address=127.0.0.1:21009", "--nfs.exact=on")
        note("exact mode", run(*refused, check=False).stderr)
        work(("default",))
        return
    agent = start_agent("exact")
    settled("exact")
    idle = {pid: _cpu_s(pid) for pid in (agent.pid,)}
    work(("default", "exact"))
    note("CPU of the exact agent", f"{_cpu_s(agent.pid) - idle[agent.pid]:.1f} s in the workloads")
    if not QUICK:
        failures(agent)
    say("done")


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
