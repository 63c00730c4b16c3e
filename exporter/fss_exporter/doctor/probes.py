"""Probes of this client. Every probe has a deadline, and no probe touches a mount point in this process."""

import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from fss_exporter.doctor.client_facts import Connect, Directory

SYSCTLS: Final = ("sunrpc.tcp_slot_table_entries", "sunrpc.tcp_max_slot_table_entries", "net.ipv4.tcp_rmem")

_HANDSHAKES: Final = 3
_COUNTER: Final = """
import os, sys
count = 0
with os.scandir(sys.argv[1]) as entries:
    for _ in entries:
        count += 1
        if count > int(sys.argv[2]):
            break
print(count)
"""


def connect(address: str, port: int, deadline_s: float) -> Connect:
    """Open and close a TCP connection three times. The shortest handshake is one round trip. No call is sent.

    The first failure ends the probe, so that a silent server costs the deadline once.
    """
    shortest = deadline_s
    for _ in range(_HANDSHAKES):
        began = time.monotonic()
        try:
            with socket.create_connection((address, port), timeout=deadline_s):
                shortest = min(shortest, time.monotonic() - began)
        except TimeoutError:
            return Connect(None, f"no answer within {deadline_s:g} s")
        except OSError as error:
            return Connect(None, error.strerror or str(error))
    return Connect(shortest)


def count_entries(path: str, limit: int, deadline_s: float) -> Directory:
    """Count a directory up to `limit` plus 1, in a child process, because a dead server hangs the listing process.

    A child that even SIGKILL does not end is left behind. The child ends when the server comes back.
    """
    child = subprocess.Popen(  # noqa: S603  # our own interpreter and text; the path is an argument
        [sys.executable, "-I", "-S", "-c", _COUNTER, path, str(limit)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = child.communicate(timeout=deadline_s)
    except subprocess.TimeoutExpired:
        child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.communicate(timeout=1.0)
        return Directory(path, None, f"no answer within {deadline_s:g} s")
    if child.returncode or not out.strip().isdigit():
        lines = err.strip().splitlines()
        return Directory(path, None, lines[-1] if lines else "the listing failed")
    return Directory(path, int(out))


def read_sysctls(procfs: Path) -> dict[str, int]:
    """Return the existing figures of `SYSCTLS`, and of several figures the last."""
    found = {}
    for name in SYSCTLS:
        text = read_text(procfs / "sys" / name.replace(".", "/"))
        words = text.split()
        if words and words[-1].isdigit():
            found[name] = int(words[-1])
    return found


def read_text(path: Path) -> str:
    """Return the text of a small file of this host. Empty for an unreadable file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
