"""What an operator or a host does to an agent that counts, and what it leaves in the kernel."""

import signal
import subprocess
import time
from pathlib import Path

from lab.kernels.guest.lab import (
    HERE,
    exporter,
    instances,
    note,
    run,
    scenario,
    scrape,
    settled,
    shell,
    start_agent,
    wait,
)

_SECOND = exporter("serve", "--web.listen-address=127.0.0.1:21009", "--nfs.exact=on")
_HUNG_S = 40.0
_KINDS_OF_LOAD = (
    ("sizes and durations", ()),
    ("everything", ("--nfs.exact.processes=50", "--nfs.exact.jobs=20", "--nfs.exact.writers", "--nfs.exact.rtt")),
)


def of_agent(agent: subprocess.Popen[bytes]) -> None:
    """A second agent, a user who may not trace, kill -9 and a server that hangs."""
    note("second agent", run(*_SECOND, check=False).stderr)
    note("not root", run("setpriv", "--reuid=65534", "--clear-groups", *_SECOND, check=False).stderr)
    note("no tracefs", run(*_SECOND, "--path.tracefs=/nowhere", check=False).stderr)
    agent.kill()
    agent.wait()
    note("kill -9 leaves", instances())
    agent = start_agent("exact")
    scenario("after-kill-9", shell("dd if=/dev/zero of=/mnt/a/after bs=40000 count=40 oflag=direct"))
    run("ip", "link", "set", "vc0", "down")
    hung = subprocess.Popen(shell("ls -l /mnt/a/tree/d00 >/dev/null"))
    time.sleep(_HUNG_S)
    began = time.monotonic()
    waits = [line for line in scrape("exact").splitlines() if line.startswith("fss_client_unanswered_seconds{")]
    note("hung server", f"scrape {time.monotonic() - began:.1f} s: {' '.join(waits)}")
    run("ip", "link", "set", "vc0", "up")
    hung.wait()
    agent.terminate()
    agent.wait()


def leftovers() -> None:
    """SIGTERM under load, the next start after kill -9 with other flags, and both removals by hand."""
    for name, flags in _KINDS_OF_LOAD:
        agent = start_agent("sizes", *flags)
        settled("sizes")
        load = subprocess.Popen(
            shell("while :; do dd if=/dev/zero of=/mnt/a/load bs=100k count=20 conv=fsync; ls -lR /mnt/a; done"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(3.0)
        began = time.monotonic()
        agent.send_signal(signal.SIGTERM)
        agent.wait()
        seconds = time.monotonic() - began
        note(
            f"SIGTERM under load, {name}",
            f"ended with {agent.returncode} after {seconds:.1f} s and left {instances()}; {_told()}",
        )
        subprocess.run(["kill", "--", f"-{load.pid}"], check=False)
        load.wait()
    _killed()
    default = start_agent("default-again")
    note("next start without --nfs.exact leaves", f"{instances()}; {_told('default-again')}")
    default.terminate()
    default.wait()
    _killed()
    note("fss-exporter clean", f"{run(*exporter('clean'), check=False).stdout} leaves {instances()}")
    _killed()
    note(
        "doctor about what is left",
        _lines(run(*exporter("doctor"), check=False).stdout, "tracefs", "clean", "instance"),
    )
    by_hand = run(*shell((HERE / "removal.sh").read_text()), check=False)
    note(
        "removal by hand, as docs/exact-mode.md prints it",
        f"{by_hand.returncode} {by_hand.stderr} leaves {instances()}",
    )


def _killed() -> None:
    agent = start_agent("exact")
    settled("exact")
    agent.kill()
    agent.wait()
    note("kill -9 leaves", instances())


def _told(kind: str = "sizes") -> str:
    lines = Path(f"/out/agent-{kind}.txt").read_text().splitlines()
    return " ".join(line for line in lines[-8:] if "left" in line or "removed" in line)


def _lines(text: str, *words: str) -> str:
    return "\n".join(line for line in text.splitlines() if any(word in line for word in words))


def lockdown() -> None:
    """Lockdown in mode confidentiality, as `serve`, `iostat` and `doctor` tell it. There is no way back."""
    run("mount", "-t", "securityfs", "securityfs", "/sys/kernel/security", check=False)
    mode = Path("/sys/kernel/security/lockdown")
    if not mode.exists():
        note("lockdown confidentiality", "this kernel has no lockdown")
        return
    mode.write_text("confidentiality")
    wait("lockdown", lambda: "[confidentiality]" in mode.read_text())
    note("lockdown confidentiality, serve", run(*_SECOND, check=False).stderr)
    for words in (("iostat", "--nfs.exact=on", "1", "1"), ("iostat", "--by", "process", "1", "1")):
        note(f"lockdown confidentiality, {' '.join(words[:2])}", run(*exporter(*words), check=False).stderr)
    note("lockdown confidentiality, doctor", _lines(run(*exporter("doctor"), check=False).stdout, "lockdown", "count"))
