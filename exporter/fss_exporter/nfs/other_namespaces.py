# SPDX-License-Identifier: Apache-2.0
"""Read NFS mounts that only other mount namespaces have, such as a mount that a container made itself.

The kernel shows mounts and counters by mount namespace. A process of the other namespace shows those of its own.

A search finds a mount up to a minute after its birth. A mount that is younger than the last search and was in no reading
since has not been counted, so all its calls count from zero.
"""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from fss_exporter.errors import SourceError
from fss_exporter.nfs.procfs import HOST_PID, Procfs
from fss_exporter.nfs.superblocks import Reading

SEARCH_SECONDS: Final = 60.0
"""Time between two searches for namespaces. A search reads a link of each process, about a microsecond each."""

_MOST_NAMESPACES: Final = 500
_NFS: Final = b" - nfs"  # file system type in a line of mountinfo, nfs or nfs4


class EveryNamespace:
    """Readings of the host's mounts, with the mounts that only other mount namespaces have.

    Args:
        host: reads the host's mounts.
        of_process: returns a reader of the mounts of another process, by its number.
        clock: seconds that never go back.
    """

    def __init__(
        self, host: Procfs, of_process: Callable[[str], Procfs], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._host = host
        self._of_process = of_process
        self._clock = clock
        self._next_search = 0.0
        self._searched_at: float | None = None
        self._read_since: frozenset[str] = frozenset()  # `major:minor` of the superblocks since the last search
        self._others: list[Procfs] = []

    def read(self) -> Reading:
        """Read the present state of the client.

        Raises:
            SourceError: the host's mounts cannot be read.
        """
        reading = self._host.read()
        read_before, unread_s = self._read_since, 0.0
        now = self._clock()
        if now >= self._next_search:
            if self._searched_at is not None:
                unread_s = now - self._searched_at
            self._next_search, self._searched_at = now + SEARCH_SECONDS, now
            self._read_since = frozenset()
            self._others = [self._of_process(number) for number in self._namespaces()]
        for other in list(self._others):
            try:
                further = other.read()
            except SourceError:  # the process has ended, and another one may still have the mounts
                self._others.remove(other)
                self._next_search = 0.0
                continue
            if further.present <= reading.present:
                self._others.remove(other)
            else:
                reading = _joined(reading, further)
        self._read_since |= reading.present
        return _unread_for(reading, unread_s, read_before) if unread_s else reading

    def _namespaces(self) -> Iterator[str]:
        """Yield a process of each other mount namespace that has an NFS mount."""
        root = self._host.root
        known = {_namespace(root / HOST_PID)}
        for folder in root.iterdir():
            namespace = _namespace(folder) if folder.name.isdecimal() else ""
            if not namespace or namespace in known or len(known) > _MOST_NAMESPACES:
                continue
            known.add(namespace)
            try:
                has_mounts = _NFS in (folder / "mountinfo").read_bytes()
            except OSError:
                continue
            if has_mounts:
                yield folder.name


def _namespace(folder: Path) -> str:
    """Return the mount namespace of a process. Empty if the process is gone, or of another user."""
    try:
        return str((folder / "ns/mnt").readlink())
    except OSError:
        return ""


def _joined(reading: Reading, further: Reading) -> Reading:
    hidden = [superblock for superblock in further.superblocks if superblock.number not in reading.present]
    return replace(reading, superblocks=(*reading.superblocks, *hidden), present=reading.present | further.present)


def _unread_for(reading: Reading, unread_s: float, read_before: Collection[str]) -> Reading:
    """Return a reading in which the superblocks that no earlier reading had are unread for some seconds."""
    superblocks = (
        superblock if superblock.number in read_before else replace(superblock, unread_s=unread_s)
        for superblock in reading.superblocks
    )
    return replace(reading, superblocks=tuple(superblocks))
