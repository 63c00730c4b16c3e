# SPDX-License-Identifier: Apache-2.0
"""Find the mount target behind a forwarder of in-transit TLS on this host, by the forwarder's own connections.

The forwarder of oci-fss-utils listens in a network namespace of its own, and stunnel listens on a loopback address. Both connect to
port 2051 of the mount target. `/proc/PID/net/tcp` has the sockets of a namespace, and the links of `/proc/PID/fd` say whose they are.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NamedTuple

# Port of a mount target for in-transit TLS (OCI documentation, Using In-transit TLS Encryption, read 2026-09-05).
TLS_PORT: Final = 2051

_ESTABLISHED, _LISTENS = "01", "0A"  # include/net/tcp_states.h of Linux
_ANY: Final = "0.0.0.0"  # noqa: S104  # no address to bind to


class _Socket(NamedTuple):
    local: str
    remote: str
    remote_port: int
    state: str
    inode: str


def targets_behind(procfs: Path, addresses: Collection[str], tls_port: int = TLS_PORT) -> dict[str, str]:
    """Return the address of the mount target behind each address of a forwarder. An address without clear proof has no entry."""
    found: dict[str, set[str]] = defaultdict(set)
    for processes in _by_namespace(procfs) if addresses else ():
        sockets = list(_sockets(processes[0]))
        listening = {socket.inode: _names(socket.local, addresses) for socket in sockets if socket.state == _LISTENS}
        listening = {inode: names for inode, names in listening.items() if names}
        for process in processes if listening else ():
            own = _own_sockets(process)
            remotes = {
                socket.remote
                for socket in sockets
                if socket.inode in own and socket.state == _ESTABLISHED and socket.remote_port == tls_port
            }
            for inode in own & listening.keys():
                for name in listening[inode]:
                    found[name] |= remotes
    return {address: remotes.pop() for address, remotes in found.items() if len(remotes) == 1}


def _names(local: str, addresses: Collection[str]) -> list[str]:
    """Return the wanted addresses that a listening socket serves."""
    return [address for address in addresses if local in {address, _ANY}]


def _by_namespace(procfs: Path) -> list[list[Path]]:
    """Return the processes by network namespace. Without the right to ask, a process is alone."""
    spaces: dict[str, list[Path]] = defaultdict(list)
    for process in sorted(procfs.glob("[0-9]*")):
        try:
            spaces[str((process / "ns/net").readlink())].append(process)
        except OSError:
            continue
    return list(spaces.values())


def _sockets(process: Path) -> Iterator[_Socket]:
    try:
        lines = (process / "net/tcp").read_text().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        words = line.split()
        if len(words) > 9:  # a line is whole
            (local, _), (remote, port) = _place(words[1]), _place(words[2])
            yield _Socket(local, remote, port, words[3], words[9])


def _place(text: str) -> tuple[str, int]:
    """Convert `0100007F:0801` to an address and a port. The kernel prints the address as a number of this processor."""
    address, _, port = text.partition(":")
    return str(ip_address(bytes.fromhex(address)[::-1])), int(port, 16)


def _own_sockets(process: Path) -> set[str]:
    own = set()
    try:
        for link in (process / "fd").iterdir():
            target = str(link.readlink())
            if target.startswith("socket:["):
                own.add(target[len("socket:[") : -1])
    except OSError:
        return own
    return own
