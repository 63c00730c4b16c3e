# SPDX-License-Identifier: Apache-2.0
"""Read the NFS mounts and settings of this client, connect to the mount targets, and count directories.

Every probe has a deadline, and no probe touches a mount point in this process.
"""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fss_exporter.addresses import is_forwarder, is_loopback
from fss_exporter.errors import SourceError
from fss_exporter.flag_records import PROCFS, KernelFlags, ProcfsFlags, argument, flag
from fss_exporter.instance_metadata import METADATA_URL, read_instance_metadata
from fss_exporter.model.limits import NFS_PORT
from fss_exporter.nfs.fstab import read_fstab
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.records import whole_number
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.units import latency
from fss_toolbox.doctor.client_facts import LARGE_DIRECTORY, ClientFacts, Connect, Directory
from fss_toolbox.doctor.forwarders import targets_behind
from fss_toolbox.doctor.kernel_counting import exactness_of, read_text

SYSCTLS: Final = ("sunrpc.tcp_slot_table_entries", "sunrpc.tcp_max_slot_table_entries", "net.ipv4.tcp_rmem")

_HANDSHAKES: Final = 3
_COUNTER: Final = """
import os, sys
from itertools import islice
try:
    print(sum(1 for _ in islice(os.scandir(sys.argv[1]), int(sys.argv[2]) + 1)))
except OSError as error:
    sys.exit(error.strerror)
"""


@dataclass(frozen=True, kw_only=True)
class ClientFlags(ProcfsFlags, KernelFlags):
    """The flags of `doctor` about this client; times in seconds."""

    directories: tuple[str, ...] = argument(nargs=-1, metavar="[DIRECTORY]...")
    connect: bool = flag("--connect/--no-connect", "Open a TCP connection to each mount target.", default=True)
    deadline: float = flag("--deadline", "Longest time of each probe of this client.", 2.0, written="2s", type=latency)
    metadata_url: str = flag("--metadata-url", "URL of the instance metadata. Empty: do not ask.", METADATA_URL)
    fstab: Path | None = flag(
        "--path.fstab", "File of mounts.  [default: /etc/fstab, if it is that of the host]", metavar="FILE"
    )

    @property
    def places(self) -> tuple[Path, ...]:
        """Folders to look for tracefs in. Empty with another host's procfs, because the kernel is another kernel."""
        return self.tracefs_places if self.tracefs is not None or self.procfs == PROCFS else ()


def read_client(flags: ClientFlags, source: Procfs, availability_domains: Mapping[str, str]) -> ClientFacts:
    """Read the facts about this client. An unreadable fact is left out or carries the error.

    The account knows the availability domains by address of a mount target.
    """
    reading, error = None, ""
    try:
        reading = source.read_in_time()
    except SourceError as failed:
        error = str(failed)
    fstab, fstab_error = None, ""
    try:
        fstab = read_fstab(flags.procfs, flags.pid, flags.fstab)
    except SourceError as failed:
        fstab_error = str(failed)
    servers = _servers(reading) if flags.connect and reading else ()
    counted = (count_entries(path, LARGE_DIRECTORY, flags.deadline) for path in flags.directories)
    return ClientFacts(
        reading=reading,
        reading_error=error,
        kernel=read_text(flags.procfs / "sys/kernel/osrelease").strip(),
        fstab=fstab,
        fstab_error=fstab_error,
        sysctls=read_sysctls(flags.procfs),
        connects={server: connect(*server, flags.deadline) for server in servers},
        directories=tuple(counted),
        exactness=exactness_of(flags.places, flags.sysfs) if flags.places else None,
        instance=read_instance_metadata(flags.metadata_url, flags.deadline) if flags.metadata_url else None,
        availability_domains=availability_domains,
        forwarded=targets_behind(flags.procfs, _local_servers(reading)) if reading else {},
    )


def _local_servers(reading: Reading) -> frozenset[str]:
    """Return the addresses of servers on this host without a known mount target: TLS forwarders and loopback addresses."""
    mounted = {
        mount.address
        for superblock in reading.superblocks
        for mount in superblock.mounts
        if superblock.key.address in {mount.address, superblock.key.server}
    }
    return reading.unresolved | {address for address in mounted if is_loopback(address)}


def _servers(reading: Reading) -> tuple[tuple[str, int], ...]:
    """Return address and port of each server. TLS forwarders are left out, because a forwarder runs on this host."""
    devices = {
        (mount.address, whole_number(mount.options.get("port")) or NFS_PORT)
        for superblock in reading.superblocks
        for mount in superblock.mounts
        if mount.address and not is_forwarder(mount.address)
    }
    return tuple(sorted(devices))


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
        except (UnicodeError, OverflowError) as error:  # a name that is too long, or a port above 65535
            return Connect(None, str(error))
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
    values = {}
    for name in SYSCTLS:
        words = read_text(procfs / "sys" / name.replace(".", "/")).split()
        if words and (last := whole_number(words[-1])):
            values[name] = last
    return values
