# SPDX-License-Identifier: Apache-2.0
"""The NFS entries of `/etc/fstab` that should be mounted and are not. No mount point is ever touched: `mountinfo` has all that is mounted.

Layout: fstab(5). An entry counts with `nofail` and `bg`, because both only let the boot go on. It does not count with `noauto`, or if an
automounter mounts it.
"""

import logging
import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from prometheus_client.core import Metric

from fss_exporter.catalogue import family
from fss_exporter.errors import SourceError
from fss_exporter.log_once import LogOnce
from fss_exporter.nfs.mountinfo import EVERY_MOUNT, MountFilter, parse_mountinfo
from fss_exporter.nfs.mountstats import decode, unescape
from fss_exporter.nfs.procfs import HOST_PID, is_own_container
from fss_exporter.nfs.records import NFS_TYPES, NfsMount
from fss_exporter.regular_files import read_regular

FSTAB: Final = Path("/etc/fstab")

_TYPES: Final = frozenset(name.encode() for name in (*NFS_TYPES, "oci-fss"))  # oci-fss: mounts behind a TLS forwarder
_NOT_AT_BOOT: Final = frozenset(("noauto", "x-systemd.automount", "comment=systemd.automount"))
_OCTAL: Final = re.compile(rb"\\([0-3][0-7]{2})")
# Where kubelet, Docker and Podman mount the volumes of containers, which no line of fstab can mean.
_OF_CONTAINERS: Final = re.compile(r"/kubernetes\.io[~/]|/volume-subpaths/|/volumes/[^/]+/_data$")
_PATH_MAX: Final = 4096  # of Linux, so nothing is mounted on a longer path
_LOOK_SECONDS: Final = 60.0


class FstabEntry(NamedTuple):
    """One NFS line of fstab, unescaped."""

    line: int
    device: str
    mount_point: str
    options: tuple[str, ...]

    @property
    def is_mounted_at_boot(self) -> bool:
        """Whether the system mounts it without being asked."""
        return _NOT_AT_BOOT.isdisjoint(self.options)


class Fstab(NamedTuple):
    """The NFS entries of fstab."""

    entries: tuple[FstabEntry, ...]
    missing: tuple[FstabEntry, ...]  # those that should be mounted and are not
    path: Path = FSTAB


def parse_fstab(raw: bytes) -> tuple[FstabEntry, ...]:
    """Return the NFS entries. A line that no mount can come from costs only itself."""
    entries = []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        words = line.split()
        if len(words) < 3 or words[0].startswith(b"#") or _TYPES.isdisjoint(words[2].split(b",")):
            continue
        device, mount_point = map(_unescaped, words[:2])
        if mount_point.startswith("/") and len(mount_point) < _PATH_MAX:
            options = tuple(decode(b"".join(words[3:4])).split(","))
            entries.append(FstabEntry(number, device, _one_spelling(mount_point), options))
    return tuple(entries)


def missing_entries(
    entries: Collection[FstabEntry], mountinfo: str, wanted: MountFilter = EVERY_MOUNT
) -> tuple[FstabEntry, ...]:
    """Return the wanted entries that should be mounted and are not, one for each mount point.

    A mount point below a symbolic link has another name in mountinfo, and to resolve the link would touch what may hang. So an
    entry is mounted as well if its device is, at a place that neither fstab names nor a container has for its volume.
    """
    named = {entry.mount_point for entry in entries}
    by_place = {entry.mount_point: entry for entry in entries if entry.is_mounted_at_boot}
    mounts = parse_mountinfo(mountinfo).mounts
    places = {mount.mount_point for mount in mounts} | _automounters(mountinfo)
    elsewhere = {
        mount.device.rstrip("/")
        for mount in mounts
        if mount.mount_point not in named and not _OF_CONTAINERS.search(mount.mount_point)
    }
    return tuple(
        entry
        for entry in by_place.values()
        if entry.mount_point not in places
        and entry.device.rstrip("/") not in elsewhere
        and wanted.wants(NfsMount("", entry.mount_point, entry.device, "nfs", "", {}))
    )


def read_fstab(procfs: Path, pid: str, stated: Path | None, wanted: MountFilter = EVERY_MOUNT) -> Fstab:
    """Read fstab and compare it with what is mounted.

    Args:
        procfs: mount point of procfs.
        pid: process whose mounts are read.
        stated: file that the operator names as that of the host. None for the usual one.
        wanted: filter of the mounts.

    Raises:
        SourceError: the fstab of the host is not seen here, or cannot be read. The message contains the remedy.
    """
    path = stated or FSTAB
    try:
        if stated is None and not (pid == HOST_PID and _has_root_of_host(procfs)):
            raise SourceError("the file of the host is not seen here, so name it with --path.fstab")
        entries = parse_fstab(read_regular(path))
        if path.stat().st_nlink == 0:  # a unit that binds the file keeps the old one
            raise SourceError(f"{path} was replaced since the start. Restart the agent, which still has the old file")
        mountinfo = (procfs / pid / "mountinfo").read_bytes() if entries else b""
    except OSError as error:
        raise SourceError(f"cannot read {error.filename or path}: {error.strerror}") from error
    return Fstab(entries, missing_entries(entries, decode(mountinfo), wanted), path)


class FstabWatch:
    """Count the missing mounts once a minute.

    Args:
        read: reads fstab. Raises SourceError.
        clock: seconds that never go back.
    """

    def __init__(self, read: Callable[[], Fstab], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._next_look_at = -math.inf
        self._missing: tuple[FstabEntry, ...] | None = None  # None while unknown
        self._log_once = LogOnce(logging.getLogger(__name__), period_seconds=math.inf)

    def look(self) -> None:
        """Look, if the last look was a minute ago."""
        now = self._clock()
        if now < self._next_look_at:
            return
        self._next_look_at = now + _LOOK_SECONDS
        try:
            self._missing = self._read().missing
        except SourceError as error:
            self._missing = None
            self._log_once.failed(
                "fstab", f"mounts of fstab that are gone are not noticed: {error}", level=logging.INFO
            )
        else:
            self._log_once.works("fstab", "fstab can be read again")

    def families(self) -> Iterator[Metric]:
        """Return the metric. Empty if the number is unknown."""
        missing = self._missing
        if missing is not None:
            example = missing[0].mount_point if missing else ""
            yield family("fss_nfs_fstab_missing_mounts", [((example,), len(missing))], labels=("mount_point",))


def _unescaped(word: bytes) -> str:
    return decode(_OCTAL.sub(lambda found: bytes((int(found[1], 8),)), word))


def _one_spelling(path: str) -> str:
    return "/" + os.path.normpath(path).lstrip("/")


def _automounters(mountinfo: str) -> frozenset[str]:
    words = (line.split(" ") for line in mountinfo.split("\n") if " - autofs " in line)
    return frozenset(unescape(line[4]) for line in words if len(line) > 4)


def _has_root_of_host(procfs: Path) -> bool:
    """Whether this process has the root file system of process 1, and process 1 is not that of a container."""
    own = _root_mount(Path("/proc/self"))
    return bool(own) and own == _root_mount(procfs / HOST_PID) and not is_own_container(procfs)


def _root_mount(folder: Path) -> list[bytes]:
    """Return superblock and directory of what a process has as its root. Empty if it is not known."""
    lines = (line.split(b" ") for line in (folder / "mountinfo").read_bytes().split(b"\n"))
    roots = [words[2:4] for words in lines if len(words) > 4 and words[4] == b"/"]
    return roots[-1] if roots else []
