# SPDX-License-Identifier: Apache-2.0
"""Read NFS mounts that only other mount namespaces have, such as a mount that a container made itself.

The kernel shows mounts and counters by mount namespace. A process of the other namespace shows those of its own. The name of a
namespace (`/proc/PID/ns/mnt`) needs CAP_SYS_PTRACE, which an agent does not have. But everyone may read `mountinfo`, and
root may read `mountstats` of the processes of root. A mount has a number of its own, so the first line of `mountinfo` tells namespaces apart.

A superblock whose counters no process shows to this user is present and not read. One without any mount, whose files are still
open after `umount -l`, is detached: sysfs lists it since Linux 6.5, and no file has its counters.

A search finds a mount up to a minute after its birth. A mount that is younger than the last search and was in no reading
since has not been counted, so all its calls count from zero.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fss_exporter.errors import SourceError
from fss_exporter.nfs.procfs import HOST_PID, Procfs
from fss_exporter.nfs.superblocks import Reading

# Time between two searches for namespaces. A search reads the first page of `mountinfo` of each process.
SEARCH_SECONDS: Final = 60.0

# Highest share of one core for searching. On a host with very many namespaces the agent searches less often.
LARGEST_CPU_SHARE: Final = 0.005

_PAGE_BYTES: Final = 4096
_NFS: Final = re.compile(
    rb"^\d+ \d+ (\d{1,10}:\d{1,10}) [^\n]* - nfs4? ", re.MULTILINE
)  # superblock of a line of mountinfo


@dataclass(slots=True)
class _Namespace:
    """A mount namespace, as one root directory shows it."""

    superblocks: frozenset[str]  # `major:minor` of the NFS mounts
    processes: list[str]  # numbers of its processes


class EveryNamespace:
    """Readings of the host's mounts, with the mounts that only other mount namespaces have.

    Args:
        host: reads the host's mounts.
        of_process: returns a reader of the mounts of another process, by its number.
        clock: seconds that never go back.
        cpu_clock: CPU time of the calling thread, seconds.
    """

    def __init__(
        self,
        host: Procfs,
        of_process: Callable[[str], Procfs],
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._host = host
        self._of_process = of_process
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._search_s = 0.0  # CPU time of the last search
        self._searched_at: float | None = None
        self._is_due = False  # whether mounts of the last reading may now be those of another process
        self._of_host: frozenset[str] = frozenset()  # `major:minor` of the host's superblocks
        self._read_since: frozenset[str] = frozenset()  # `major:minor` of the superblocks since the last search
        self._others: dict[str, Procfs] = {}  # readers of processes, by number
        self._hidden: dict[str, Procfs] = {}  # readers of processes whose counters belong to another user
        # `major:minor` of superblocks without a mount at the last search, and the number of those that had none at the search before either
        self._without_mount: frozenset[str] = frozenset()
        self._detached = 0

    def read(self) -> Reading:
        """Read the present state of the client.

        Raises:
            SourceError: the host's mounts cannot be read.
        """
        reading = of_host = self._host.read()
        self._is_due |= not self._of_host <= of_host.present  # a container may still have what the host has unmounted
        self._of_host = of_host.present
        read_before, unread_s = self._read_since, 0.0
        now = self._clock()
        if self._wants_search(now):
            if self._searched_at is not None:
                unread_s = now - self._searched_at
            self._read_since, self._searched_at = frozenset(), now
            self._search(of_host.present)
        for number, other in list(self._others.items()):
            try:
                further = other.read(of_host.present)
            except SourceError:  # the process has ended, and another one may still have the mounts
                del self._others[number]
                self._is_due = True
                continue
            if further.present <= reading.present:
                del self._others[number]
            else:
                reading = joined(reading, further, self._host.wanted.most)
        for number, other in list(self._hidden.items()):
            try:
                reading = joined(reading, other.read_mounts(), self._host.wanted.most)
            except SourceError:
                del self._hidden[number]
                self._is_due = True
        self._read_since |= {superblock.number for superblock in reading.superblocks}
        slowed_s = max(0.0, self._pause_s - SEARCH_SECONDS)
        reading = reading._replace(detached=self._detached, search_slowed_s=slowed_s)
        return _unread_for(reading, unread_s, read_before) if unread_s else reading

    def _wants_search(self, now: float) -> bool:
        if self._searched_at is None:
            return True
        return now >= self._searched_at + (self._pause_s if self._is_due else max(SEARCH_SECONDS, self._pause_s))

    @property
    def _pause_s(self) -> float:
        """Shortest time between two searches, so that they keep their share of a core."""
        return self._search_s / LARGEST_CPU_SHARE

    def _search(self, of_host: frozenset[str]) -> None:
        """Choose the processes to read: few that together show every superblock beside those of the host."""
        began = self._cpu_clock()
        others: dict[str, Procfs] = {}
        hidden: dict[str, Procfs] = {}
        covered, unreadable = of_host, []
        mounted_on_host, namespaces = _namespaces(self._host.root)
        mounted = mounted_on_host.union(*(namespace.superblocks for namespace in namespaces.values()))
        self._note_detached(_listed(self._host.sysfs) - mounted)
        for namespace in namespaces.values():
            if namespace.superblocks <= covered:
                continue
            number = next((number for number in namespace.processes if self._may_read(number)), None)
            if number is None:
                unreadable.append(namespace)
                continue
            others[number] = self._others.get(number) or self._of_process(number)
            covered |= namespace.superblocks
        for namespace in unreadable:
            if not namespace.superblocks <= covered:
                number = namespace.processes[0]
                hidden[number] = self._hidden.get(number) or self._of_process(number)
                covered |= namespace.superblocks
        self._others, self._hidden, self._is_due = others, hidden, False
        self._search_s = self._cpu_clock() - began

    def _note_detached(self, without_mount: frozenset[str]) -> None:
        """Note the superblocks that sysfs lists and no namespace has. One of them may just be on its way out, so two searches must say so."""
        self._detached = len(self._without_mount & without_mount)
        self._without_mount = without_mount

    def _may_read(self, number: str) -> bool:
        """Whether the kernel shows the counters of a process to this user."""
        try:
            os.close(os.open(self._host.root / number / "mountstats", os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return False
        return True


def _listed(sysfs: Path) -> frozenset[str]:
    """Return the `major:minor` of the superblocks that sysfs lists. Empty before Linux 6.5, and in another network namespace."""
    try:
        names = os.listdir(sysfs / "fs" / "nfs")  # noqa: PTH208  # as below
    except OSError:
        return frozenset()
    return frozenset(name for name in names if ":" in name)


def _namespaces(root: Path) -> tuple[frozenset[str], Mapping[bytes, _Namespace]]:
    """Return the superblocks of the host, and the other mount namespaces with NFS by the first line of their mountinfo."""
    found: dict[bytes, _Namespace] = {}
    host, of_host = _look(root / HOST_PID, {})
    without: dict[bytes, None] = {host: None}
    for name in os.listdir(root):  # noqa: PTH208  # a Path for each of thousands of processes takes twice the time
        if not name.isdecimal():
            continue
        first_line, superblocks = _look(root / name, found.keys() | without.keys())
        if first_line in found:
            found[first_line].processes.append(name)
        elif superblocks:
            found[first_line] = _Namespace(superblocks, [name])
        else:
            without[first_line] = None
    return of_host, found


def _look(folder: Path, seen_lines: Collection[bytes]) -> tuple[bytes, frozenset[str]]:
    """Return the first line of mountinfo of a process, and its NFS superblocks. Both are empty for an ended process.

    The superblocks are empty for a line that was seen, because one page is then enough.
    """
    try:
        descriptor = os.open(folder / "mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        try:
            pieces = [os.read(descriptor, _PAGE_BYTES)]
            first_line = pieces[0].partition(b"\n")[0]
            if first_line in seen_lines:
                return first_line, frozenset()
            while piece := os.read(descriptor, _PAGE_BYTES * 64):
                pieces.append(piece)
        finally:
            os.close(descriptor)
    except OSError:
        return b"", frozenset()
    return first_line, frozenset(number.decode() for number in _NFS.findall(b"".join(pieces)))


def joined(reading: Reading, further: Reading, most: int | None) -> Reading:
    """Return a reading with the superblocks of another namespace, at most so many superblocks together."""
    hidden = [superblock for superblock in further.superblocks if superblock.number not in reading.present]
    room = len(hidden) if most is None else max(0, most - len(reading.superblocks))
    left_out = frozenset(superblock.number for superblock in hidden[room:])
    return reading._replace(
        superblocks=(*reading.superblocks, *hidden[:room]),
        present=reading.present | (further.present - left_out),
        left_out=max(reading.left_out, further.left_out) + len(left_out),
    )


def _unread_for(reading: Reading, unread_s: float, read_before: Collection[str]) -> Reading:
    """Return a reading in which the superblocks that no earlier reading had are unread for some seconds."""
    superblocks = (
        superblock if superblock.number in read_before else superblock._replace(unread_s=unread_s)
        for superblock in reading.superblocks
    )
    return reading._replace(superblocks=tuple(superblocks))
