# SPDX-License-Identifier: Apache-2.0
"""Find process, pod or unit, and user of a thread in the kernel's tables, with one look at `/proc`.

The kernel uses thread numbers again, and a row keeps the name of the first thread with the number. A shell can also become
another program. So an identity is kept with the name and the start time of the thread, and is found again after a change of
either. Of a thread that ended before the first look, the row tells the name, up to 15 bytes, and its birth the control group.

The control group names the pod or the systemd unit, and the node's folder of pod logs names the pod, without the API
server. The kubelet makes `/var/log/pods/<namespace>_<name>_<uid>/` for each pod before the first container starts.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from fss_kernel_counting.processes.attribution import KERNEL, UNKNOWN_WRITER, Thread
from fss_kernel_counting.processes.births import FamilyTree
from fss_kernel_counting.processes.control_groups import group_of
from fss_kernel_counting.processes.job_numbers import JobNumbers

_FOLDER: Final = re.compile(r"([a-z0-9-]{1,63})_([a-z0-9.-]{1,253})_([0-9a-f-]{32,36})")


class Pod(NamedTuple):
    """Namespace and name of a pod of this node."""

    namespace: str
    name: str


class Pods:
    """Names of pods by uid from the folder of pod logs, read again in a round with an unknown uid.

    `is_readable` says whether the folder could be read at the last look.
    """

    def __init__(self, folder: Path) -> None:
        self.is_readable = True
        self._folder = folder
        self._names: dict[str, Pod] = {}
        self._is_fresh = False

    def begin(self) -> None:
        """Begin a round, in which an unknown uid is worth another look."""
        self._is_fresh = False

    def of(self, uid: str) -> Pod:
        """Return namespace and name. The uid stands for the name of a pod without a folder."""
        if uid not in self._names and not self._is_fresh:
            self._look()
            self._is_fresh = True
        return self._names.get(uid) or Pod("", uid)

    def _look(self) -> None:
        try:
            folders = [folder.name for folder in self._folder.iterdir()]
        except OSError:
            self.is_readable = False
            return
        self.is_readable = True
        matches = filter(None, map(_FOLDER.fullmatch, folders))
        self._names = {uid: Pod(namespace, name) for namespace, name, uid in (match.groups() for match in matches)}


_KERNEL_THREAD: Final = 0x00200000  # PF_KTHREAD of include/linux/sched.h, field 9 of /proc/PID/stat

# The parent of the kernel's threads, which every host has under this number and no container has.
_KTHREADD: Final = "2"

_MOST_KEPT: Final = 20_000
_RESERVED: Final = frozenset((KERNEL.name, UNKNOWN_WRITER.name, "other"))


class Identity(NamedTuple):
    """The labels of a load: name of the process, and pod or unit."""

    process: str  # name of the process, of a thread whose process is gone the name of the thread
    namespace: str = ""  # namespace of the pod; empty outside of pods
    pod: str = ""  # name of the pod, its uid where the name is not known
    unit: str = ""  # systemd unit outside of pods


class SeenThread(NamedTuple):
    """Labels, user and job of a thread, as last seen in `/proc`."""

    identity: Identity
    user: int | None  # number of the user; None where the thread was gone
    job: str = ""  # number of the batch job, or its SLUID. Empty outside of jobs
    is_placed: bool = False  # whether the control group is known, so that an empty pod, unit or job means none


class Identities:
    """Identities of threads, remembered while the tables name the threads. `procfs` has the host's processes.

    `job_numbers` finds the numbers of jobs in environments, for a command of root. `is_readable` says whether the last look saw the processes of the host. In a container `/proc` has others under the same numbers,
    and then only the names of the kernel's tables count.
    """

    def __init__(
        self, procfs: Path, pods: Pods, family_tree: FamilyTree, job_numbers: JobNumbers | None = None
    ) -> None:
        self.is_readable = True
        self._procfs = procfs
        self._pods = pods
        self._family_tree = family_tree
        self._job_numbers = job_numbers
        self._seen: dict[Thread, tuple[_Stat, SeenThread]] = {}

    def find(self, threads: Iterable[Thread]) -> dict[Thread, SeenThread]:
        """Return the identity of each thread with load since the last look."""
        self._pods.begin()
        kthreadd = self._stat(_KTHREADD)
        self.is_readable = kthreadd is not None and kthreadd.is_kernel
        seen = {thread: self._of(thread) for thread in threads}
        while len(self._seen) > _MOST_KEPT:
            del self._seen[next(iter(self._seen))]
        numbers = self._job_numbers
        if numbers is None:
            return seen
        return {thread: one._replace(job=numbers.named(one.job)) for thread, one in seen.items()}

    def _of(self, thread: Thread) -> SeenThread:
        if not thread.number:
            return SeenThread(Identity(thread.name), None, is_placed=True)
        last_stat, seen = self._seen.get(thread, (None, None))
        stat = self._stat(str(thread.number)) if self.is_readable else None
        if stat is None:
            return seen or self._gone(thread)
        if seen is None or stat != last_stat:
            seen = self._resolved(str(thread.number), stat)
            if seen.identity.namespace or not seen.identity.pod:
                # A pod without a name may have one at the next look.
                self._seen[thread] = stat, seen
        return seen

    def _gone(self, thread: Thread) -> SeenThread:
        """Return what row and birth tell of a thread that ended before the first look, or that `/proc` does not show."""
        if thread.is_worker:
            return SeenThread(Identity(KERNEL.name), None, is_placed=True)
        name = shown(self._family_tree.name(thread.number) or thread.name)
        control_groups = self._family_tree.control_groups(thread.number) if self.is_readable else ""
        return self._placed(name, control_groups, None)

    def _resolved(self, number: str, stat: "_Stat") -> SeenThread:
        if stat.is_kernel:
            return SeenThread(Identity(KERNEL.name), 0, is_placed=True)
        status = dict(line.split(":", 1) for line in self._text(number, "status").split("\n") if ":" in line)
        leader = self._stat(status.get("Tgid", number).strip())
        user = status.get("Uid", "").split()
        name = shown((leader or stat).name)
        seen = self._placed(name, self._text(number, "cgroup"), int(user[0]) if user else None)
        if self._job_numbers is not None:
            self._job_numbers.learn(number, seen.job)
        return seen

    def _placed(self, name: str, control_groups: str, user: int | None) -> SeenThread:
        group = group_of(control_groups)
        pod = self._pods.of(group.pod_uid) if group.pod_uid else None
        identity = Identity(name, unit=group.unit) if pod is None else Identity(name, pod.namespace, pod.name)
        return SeenThread(identity, user, group.job, is_placed=bool(control_groups))

    def _stat(self, number: str) -> "_Stat | None":
        return _parsed(self._text(number, "stat"))

    def _text(self, number: str, name: str) -> str:
        try:
            return (self._procfs / number / name).read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""


class _Stat(NamedTuple):
    name: str
    is_kernel: bool  # whether the thread belongs to the kernel
    started: int  # clock ticks from boot to the start of the thread


def _parsed(text: str) -> _Stat | None:
    """Parse the fields of `/proc/PID/stat` (proc(5)). The name is in parentheses and may contain parentheses."""
    _, _, rest = text.partition("(")
    name, parenthesis, after = rest.rpartition(")")
    fields = after.split()
    if not parenthesis or len(fields) < 20 or not (fields[6].isdecimal() and fields[19].isdecimal()):
        return None
    return _Stat(name, bool(int(fields[6]) & _KERNEL_THREAD), int(fields[19]))


def shown(name: str) -> str:
    """Return the name of a process as a label. A name that looks like a row of the exporter gets a mark."""
    return f"{name} (process)" if name in _RESERVED else name
