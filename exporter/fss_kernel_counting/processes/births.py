# SPDX-License-Identifier: Apache-2.0
"""Learn the control group of each process at its birth, so that the unit, pod and job of a short process are known afterwards.

A process begins in the control group of its parent. Later the kernel can move the process. With CLONE_INTO_CGROUP, as newer systemd
starts services, the child begins in another group, and the kernel names the group just before if the group was empty. So a
lineage leads to an ancestor whose `/proc` was readable, with the moves since then.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from fss_kernel_counting.trace_records import Record

_BORN: Final = "task/task_newtask"
_STARTED: Final = "sched/sched_process_exec"
_MOVED: Final = "cgroup/cgroup_attach_task"
_FILLED: Final = "cgroup/cgroup_notify_populated"

# Births, starts of programs and moves between control groups, with the fields that are used. Linux 5.10 to 7.3 have all.
EVENTS: Final[Mapping[str, frozenset[str]]] = {
    _BORN: frozenset(("common_pid", "pid", "comm", "clone_flags")),
    _STARTED: frozenset(("filename", "pid")),
    _MOVED: frozenset(("common_pid", "dst_root", "dst_path", "pid")),
    _FILLED: frozenset(("common_pid", "root", "path", "val")),
}

BUFFER_KIB: Final = 128  # for each CPU. Holds about a thousand births between two looks

# include/uapi/linux/sched.h
_CLONE_THREAD: Final = 0x00010000
_CLONE_INTO_CGROUP: Final = 0x200000000

_MOST_KEPT: Final = 50_000
_NAME_LENGTH: Final = 15


class Lineage(NamedTuple):
    """The control group of a process: that of an ancestor, with the moves since then."""

    ancestor: int  # thread of the ancestor. 0 if only the moves are known
    moves: Mapping[int, str]  # path by number of the hierarchy


class FamilyTree:
    """Lineages of the processes that were born since the start. `procfs` has the host's processes."""

    def __init__(self, procfs: Path) -> None:
        self._procfs = procfs
        self._lineages: dict[int, Lineage | None] = {}
        self._leaders: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._groups: dict[int, str] = {}

    def begin(self) -> None:
        """Read the control groups of the present processes, because one can end before it is asked for."""
        try:
            numbers = [int(name) for name in os.listdir(self._procfs) if name.isdecimal()]  # noqa: PTH208  # thousands of processes
        except OSError:
            return
        self._groups = {number: self._read(number) for number in numbers}

    def learn(self, records: Iterable[Record]) -> None:
        """Add the records of one look, in the order of time. Read the control groups of new ancestors while they live."""
        filled: dict[int, tuple[int, str]] = {}
        for record in records:
            values = record.values
            if record.event == _FILLED:
                if values["val"]:
                    # The first of several groups is the one that holds the process.
                    filled.setdefault(int(values["common_pid"]), (int(values["root"]), str(values["path"])))
            elif record.event == _BORN:
                self._born(values, filled.pop(int(values["common_pid"]), None))
            elif record.event == _STARTED:
                self._names[int(values["pid"])] = str(values["filename"]).rpartition("/")[2][:_NAME_LENGTH]
            else:
                self._moved(int(values["pid"]), int(values["dst_root"]), str(values["dst_path"]))
                filled.pop(int(values["common_pid"]), None)
        for of_process in (self._lineages, self._leaders, self._names, self._groups):
            for oldest in list(of_process)[: max(0, len(of_process) - _MOST_KEPT)]:
                del of_process[oldest]

    def forget(self) -> None:
        """Drop what is known, because births were lost: a number may belong to another process by now."""
        for of_process in (self._lineages, self._leaders, self._names, self._groups):
            of_process.clear()

    def _born(self, values: Mapping[str, int | str], filled: tuple[int, str] | None) -> None:
        child, parent, flags = int(values["pid"]), int(values["common_pid"]), int(values["clone_flags"])
        for of_process in (self._lineages, self._leaders, self._names):
            of_process.pop(child, None)  # entry of a process that had the number before
        if flags & _CLONE_THREAD:
            self._leaders[child] = self._leader(parent)
            return
        self._names[child] = str(values["comm"])
        if flags & _CLONE_INTO_CGROUP:
            self._lineages[child] = None if filled is None else Lineage(0, dict([filled]))
        else:
            self._lineages[child] = self._of(self._leader(parent))

    def _moved(self, process: int, hierarchy: int, path: str) -> None:
        before = self._of(process)
        ancestor, moves = (0, {}) if before is None else before
        self._lineages[process] = Lineage(ancestor, {**moves, hierarchy: path})

    def _leader(self, thread: int) -> int:
        return self._leaders.get(thread, thread)

    def _of(self, process: int) -> Lineage | None:
        """Return the lineage of a process. One that is older than the tree is its own ancestor."""
        if process in self._lineages:
            return self._lineages[process]
        if process not in self._groups:
            self._groups[process] = self._read(process)
        return Lineage(process, {})

    def _read(self, thread: int) -> str:
        try:
            return (self._procfs / str(thread) / "cgroup").read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""

    def name(self, thread: int) -> str:
        """Return the name of a thread's process. Empty if the thread is its own process, or unknown."""
        leader = self._leader(thread)
        return "" if leader == thread else self._names.get(leader, "")

    def control_groups(self, thread: int) -> str:
        """Return the control groups of a thread that is gone, as `/proc/PID/cgroup` showed them. Empty if unknown."""
        leader = self._leader(thread)
        if leader not in self._lineages:
            return self._groups.get(leader, "")  # older than the tree
        lineage = self._lineages[leader]
        if lineage is None:
            return ""
        lines = self._groups.get(lineage.ancestor, "").split("\n")
        moved = dict(lineage.moves)
        for place, line in enumerate(lines):
            hierarchy, _, rest = line.partition(":")
            if hierarchy.isdecimal() and int(hierarchy) in moved:
                lines[place] = f"{hierarchy}:{rest.partition(':')[0]}:{moved.pop(int(hierarchy))}"
        return "\n".join((*lines, *(f"{hierarchy}::{path}" for hierarchy, path in moved.items()))).strip("\n")
