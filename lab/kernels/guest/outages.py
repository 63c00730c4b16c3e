"""A server that falls silent and starts anew: what an agent says that starts in the outage, and one that starts long after it."""

import subprocess
import time
from itertools import groupby
from pathlib import Path

from lab.kernels.guest.lab import mount, note, run, scrape, shell, start_agent

from fss_exporter.model.state import OR_MORE, State
from fss_exporter.nfs.procfs import Procfs

_ADDRESS, _PLACE = "10.80.3.30", "/mnt/outage"
_TRIES, _LONGEST_PAUSE_S = ",timeo=50,retrans=1", 10  # two tries of 5 s each
_LONG_S = 3 * _LONGEST_PAUSE_S
_LOOKED_S = 6 * _LONGEST_PAUSE_S
_SILENCE = "dev vs0 root netem loss 100%"


def starts() -> None:
    """Start an agent while a process waits for the silent server. Start another one long after the server started anew."""
    run(*f"ip -n srv addr add {_ADDRESS}/24 dev vs0".split())
    run(*"ip addr add 10.80.3.2/24 dev vc0".split())
    mount(_ADDRESS, "a", _PLACE, _TRIES)
    run("modprobe", "sch_netem")
    run(*f"ip netns exec srv tc qdisc add {_SILENCE}".split())
    hung = subprocess.Popen(shell(f"ls {_PLACE}/no-such-file"), stderr=subprocess.DEVNULL)
    time.sleep(_LONG_S)
    _start("start in a hang", ["not known", f"hanging {OR_MORE}"])
    _on_server("rpc.nfsd", 0)
    run(*f"ip netns exec srv tc qdisc del {_SILENCE}".split())
    _on_server("rpc.nfsd", 4)
    hung.wait()
    time.sleep(_LONG_S)
    sends, receives = _sends_and_receives()
    note("server that started anew", f"{sends} sends and {receives} receives", holds=sends > receives)
    _start("start long after a restart", ["not known", "idle"])
    run("umount", _PLACE)


def _on_server(*words: object) -> None:
    server = run("ip", "netns", "pids", "srv").stdout.split()[0]
    run("nsenter", f"--target={server}", "--mount", "--net", *words)


def _sends_and_receives() -> tuple[int, int]:
    (transports,) = (
        superblock.record.transports
        for superblock in Procfs(Path("/proc")).read().superblocks
        if superblock.key.address == _ADDRESS
    )
    return sum(line.sends or 0 for line in transports), sum(line.receives or 0 for line in transports)


def _start(trial: str, wanted: list[str]) -> None:
    """Start an agent, and note its words for the address in their order. A look without a state says nothing."""
    agent, words = start_agent("outages"), []
    until = time.monotonic() + _LOOKED_S
    while time.monotonic() < until:
        words.append(_word(scrape("outages")))
        time.sleep(1)
    agent.terminate()
    agent.wait()
    said = [word for word, _ in groupby(filter(None, words))]
    note(trial, f"the agent says {', then '.join(said)}", holds=said == wanted)


def _word(body: str) -> str:
    state = _value(body, "fss_client_address_state{")
    if state is None:
        return ""
    if state == State.FINE:
        return "idle" if _value(body, "fss_client_address_seconds_total{", 'verdict="idle"') else "fine"
    may_be_longer = _value(body, "fss_client_address_state_evidence_ratio{", f'detail="{OR_MORE}"') is not None
    return f"{State(int(state)).word} {OR_MORE}" if may_be_longer else State(int(state)).word


def _value(body: str, name: str, label: str = "") -> float | None:
    """Return the value of the series of the address with a label. None if there is none."""
    lines = (line for line in body.splitlines() if line.startswith(name) and f'"{_ADDRESS}"' in line and label in line)
    return next((float(line.rpartition(" ")[2]) for line in lines), None)
