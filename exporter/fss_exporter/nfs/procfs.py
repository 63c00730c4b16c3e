# SPDX-License-Identifier: Apache-2.0
"""Reads mountinfo and mountstats from procfs. No mount point is ever touched: a dead server would hang the reader."""

import logging
import math
import os
from collections.abc import Collection
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from fss_exporter.addresses import NO_ADDRESSES, AddressMap
from fss_exporter.background import within
from fss_exporter.errors import SourceError
from fss_exporter.nfs.mount_services import BY_NAME, Services
from fss_exporter.nfs.mountinfo import EVERY_MOUNT, MountFilter, parse_mountinfo
from fss_exporter.nfs.mountstats import MountstatsParser, decode
from fss_exporter.nfs.records import Mountstats
from fss_exporter.nfs.superblocks import UNMATCHED, MountTable, Reading

log = logging.getLogger(__name__)


class RawTexts(NamedTuple):
    """The texts of the kernel's files at one reading."""

    mountinfo: str
    mountstats: str


HOST_PID = "1"
OWN_PID = "self"
READING_SECONDS = 30.0  # longest wait of a command for a reading, which takes milliseconds, or hangs

_YOUNG_S = 60  # a superblock that is older than the longest pause between two readings is the same as before

_FIRST_WORDS = (b"device ", b"no device ")  # show_vfsstat in fs/proc_namespace.c of Linux
_PIECE_BYTES = 1 << 16
_RECORD_BYTES = 9000

# A record of NFSv3 has 3 kB, one of NFSv4 8 kB, and 30,000 mounts of other file systems have a line each.
_OTHER_MOUNTS_BYTES = 1 << 22


def boot_hash_of(root: Path) -> str:
    """Return twelve hexadecimal digits that are the same for all who read this kernel since its boot. Empty if the boot_id cannot be read.

    Containers see the boot_id of their host. It can serve as a secret of the host, so nobody can compute it from the hash.
    """
    try:
        boot_id = (root / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return sha256(f"fss-exporter {boot_id}".encode()).hexdigest()[:12] if boot_id else ""


class Procfs:
    """The NFS files of one process in a procfs tree.

    Args:
        root: mount point of procfs, such as `/proc` or `/host/proc`.
        pid: process whose mount namespace is read. `1` falls back to `self`, with a warning.
        address_map: mount targets behind TLS forwarders.
        services: lookup of the service of a mount.
        wanted: filter of the mounts, with the supported number.
        keep_texts: whether `texts` keeps the raw texts of the last reading.
        sysfs: mount point of sysfs, which tells apart mounts that follow each other within seconds.
    """

    def __init__(
        self,
        root: Path,
        pid: str = HOST_PID,
        address_map: AddressMap = NO_ADDRESSES,
        services: Services = BY_NAME,
        wanted: MountFilter = EVERY_MOUNT,
        *,
        keep_texts: bool = False,
        sysfs: Path = Path("/sys"),
    ) -> None:
        self.texts: RawTexts | None = None
        self.root, self.sysfs, self._pid = root, sysfs, pid
        self._address_map, self._services = address_map, services
        self.wanted = wanted
        self._keep_texts = keep_texts
        self._lives = f"{sysfs}/class/bdi"  # a folder for each superblock of NFS
        self._fell_back = False  # no `LogOnce`, because every tick passes here
        self._parser = MountstatsParser()
        self._mounts_hash = hash(b"")  # hash of mountinfo, because the text of 100,000 mounts has 30 MB
        self._table = MountTable(parse_mountinfo(""))

    def read(self, others: Collection[str] = ()) -> Reading:
        """Read the present state of the client, without the counters of `others`, superblocks by `major:minor` that another reading has.

        Raises:
            SourceError: a file cannot be read. The message contains the remedy.
        """
        try:
            reading = self._read(self._pid, others)
        except OSError as error:
            if self._pid != HOST_PID:
                raise SourceError(_advice(error)) from error
            return self._read_own(error)._replace(is_of_host=False)
        self._fell_back = False
        return reading._replace(is_of_host=not is_own_container(self.root)) if self._pid == HOST_PID else reading

    def read_mounts(self) -> Reading:
        """Read which superblocks are there, without counters.

        Raises:
            SourceError: as `read`.
        """
        try:
            self._see(_read(f"{self.root}/{self._pid}/mountinfo"))
        except OSError as error:
            raise SourceError(_advice(error)) from error
        return self._table.join(Mountstats((), ()))

    def read_in_time(self) -> Reading:
        """Read like `read`, for a command that must end: in a thread, which is left behind if the kernel does not answer.

        Raises:
            SourceError: a file cannot be read, or the reading has not ended after half a minute.
        """
        return within(READING_SECONDS, self.read, f"the reading of {self.root / self._pid / 'mountstats'}")

    def _read_own(self, reason: OSError) -> Reading:
        try:
            reading = self._read(OWN_PID, ())
        except OSError as error:
            raise SourceError(_advice(reason)) from error
        if not self._fell_back:
            self._fell_back = True
            log.warning("reading the exporter's own mounts, other mount namespaces stay invisible: %s", _advice(reason))
        return reading

    def _read(self, pid: str, others: Collection[str]) -> Reading:
        folder = f"{self.root}/{pid}"
        mountinfo, mountstats = f"{folder}/mountinfo", f"{folder}/mountstats"
        started_calls = _started_calls(folder) if pid == HOST_PID else None
        mounts = _read(mountinfo)
        text = self._counters(mountstats)
        self._see(mounts)
        if text and not text.startswith(_FIRST_WORDS):  # even without NFS there is a record of the root file system
            raise SourceError(f"{mountstats} begins with no record of a mount. Check --path.procfs")
        counters = self._parser.parse(text, self._table.wanted_besides(others))
        reading = self._table.join(counters)
        if UNMATCHED in reading.skipped:
            # A mount came between the two files.
            mounts = _read(mountinfo)
            self._see(mounts)
            reading = self._table.join(counters)
        if self._keep_texts:
            self.texts = RawTexts(decode(mounts), decode(text))
        return self._with_lives(reading)._replace(started_calls=started_calls)

    def _with_lives(self, reading: Reading) -> Reading:
        """Return the reading with the lives of young superblocks. The kernel gives device numbers again at once, but no inode of sysfs."""
        if all(superblock.record.age_s > _YOUNG_S for superblock in reading.superblocks):
            return reading
        superblocks = (
            superblock
            if superblock.record.age_s > _YOUNG_S
            else superblock._replace(life=self._life(superblock.number))
            for superblock in reading.superblocks
        )
        return reading._replace(superblocks=tuple(superblocks))

    def _life(self, number: str) -> int | None:
        try:
            return os.stat(f"{self._lives}/{number}").st_ino  # noqa: PTH116  # as `_read`
        except OSError:
            return None

    def _counters(self, path: str) -> bytes:
        """Return mountstats. Of a huge file, return as many whole records as the supported mounts can need."""
        if self.wanted.most is None:
            return _read(path)
        limit = self.wanted.most * _RECORD_BYTES + _OTHER_MOUNTS_BYTES
        raw = _read(path, limit)
        return raw if len(raw) <= limit else raw[: raw.rfind(b"\ndevice ") + 1]

    def _see(self, mounts: bytes) -> None:
        if hash(mounts) != self._mounts_hash:
            self._table = MountTable(parse_mountinfo(decode(mounts), self.wanted), self._address_map, self._services)
            self._mounts_hash = hash(mounts)


_FIRST_PID_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO in include/linux/proc_ns.h


@cache
def is_own_container(root: Path, own: Path = Path("/proc/self")) -> bool:
    """Return whether process 1 is the first of a container that also has this process, so that its mounts are not the host's.

    The namespaces of process 1 are hidden without CAP_SYS_PTRACE. So its mounts are compared, and this process in both trees.
    """
    try:
        if str((own / "ns/pid").readlink()) == _FIRST_PID_NAMESPACE or (root / OWN_PID).readlink() != own.readlink():
            return False
        # A mount has a number of its own on a host, so equal first lines are of one namespace.
        return _first_line(f"{root}/{HOST_PID}/mountinfo") == _first_line(f"{own}/mountinfo")
    except OSError:  # a saved tree
        return False


def _first_line(path: str) -> bytes:
    return _read(path).partition(b"\n")[0]


def _read(path: str, limit: float = math.inf) -> bytes:
    """Read a file to the end, or a little more than `limit` bytes. Every tick passes here, and a file object takes twice the time."""
    pieces, size = [], 0
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while size <= limit and (piece := os.read(descriptor, _PIECE_BYTES)):
                pieces.append(piece)
                size += len(piece)
        finally:
            os.close(descriptor)
    except OSError as error:
        error.filename = path  # a failed read has no name, unlike a failed open
        raise
    return b"".join(pieces)


def _started_calls(folder: str) -> tuple[int, ...] | None:
    """Return the calls of NFSv3 that the kernel has started, by procedure and without NULL, which keeps a connection. None without NFS.

    The kernel counts them for all network namespaces together: `rpc_proc_show` in net/sunrpc/stats.c of Linux. Retransmissions are no calls.
    """
    try:
        lines = _read(f"{folder}/net/rpc/nfs").splitlines()
        counts = next((line.split()[3:] for line in lines if line.startswith(b"proc3 ")), None)
        return None if counts is None else tuple(map(int, counts))
    except (OSError, ValueError):
        return None


def _advice(error: OSError) -> str:
    """Return the failure and the operator's remedy."""
    if isinstance(error, PermissionError):
        remedy = "run the exporter as root (no capability is needed)"
    elif isinstance(error, FileNotFoundError):
        remedy = "mount the host's /proc (hostPath in Kubernetes) and name it with --path.procfs"
    else:
        remedy = "check --path.procfs and --path.pid"
    return f"cannot read {error.filename}: {error.strerror}; {remedy}"
