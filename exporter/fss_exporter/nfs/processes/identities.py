"""Find process, pod or unit, and user of a thread in the kernel's tables, with one look at `/proc`.

The kernel uses thread numbers again, and a row keeps the name of the first thread with the number. So a look is kept
with the start time of the thread. A thread that ended before the first look keeps the row's name, up to 15 bytes.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from fss_exporter.nfs.processes.cgroups import NO_GROUP, group_of
from fss_exporter.nfs.processes.loads import KERNEL, UNKNOWN_WRITER, Thread
from fss_exporter.nfs.processes.pods import Pods

_KERNEL_THREAD: Final = 0x00200000
# PF_KTHREAD of include/linux/sched.h, field 9 of /proc/PID/stat.

_MOST_KEPT: Final = 20_000
_RESERVED: Final = frozenset((KERNEL.name, UNKNOWN_WRITER.name, "other"))


class Identity(NamedTuple):
    """The identity for counting a load."""

    process: str  # name of the process, of a thread whose process is gone the name of the thread
    namespace: str = ""  # of the pod; empty outside of pods
    pod: str = ""  # name of the pod, its uid where the name is not known
    unit: str = ""  # systemd unit outside of pods


class Seen(NamedTuple):
    """One thread as in `/proc`."""

    identity: Identity  # of the thread
    user: int | None  # number of the user; None where the thread was gone
    started: int  # clock ticks from boot to the start of the thread


class Identities:
    """Identities of threads, remembered while the tables name the threads.

    Args:
        procfs: mount point of procfs with the host's processes.
        pods: names of pods.

    Attributes:
        is_readable: whether the last look could read process 1, which always lives.
    """

    def __init__(self, procfs: Path, pods: Pods) -> None:
        self.is_readable = True
        self._procfs = procfs
        self._pods = pods
        self._seen: dict[Thread, Seen] = {}

    def look(self, threads: Iterable[Thread]) -> dict[Thread, Seen]:
        """Return the identity of each thread with load since the last look."""
        self._pods.begin()
        self.is_readable = self._stat("1") is not None
        found = {thread: self._of(thread) for thread in threads}
        while len(self._seen) > _MOST_KEPT:
            del self._seen[next(iter(self._seen))]
        return found

    def _of(self, thread: Thread) -> Seen:
        if not thread.number:
            return Seen(Identity(thread.name), None, 0)
        known = self._seen.get(thread)
        stat = self._stat(str(thread.number))
        if stat is None:
            return known or Seen(Identity(KERNEL.name if thread.is_worker else shown(thread.name)), None, 0)
        if known is None or known.started != stat.started:
            known = self._resolved(str(thread.number), stat)
            if known.identity.namespace or not known.identity.pod:
                # A pod without a name may have one at the next look.
                self._seen[thread] = known
        return known

    def _resolved(self, number: str, stat: "_Stat") -> Seen:
        if stat.flags & _KERNEL_THREAD:
            return Seen(Identity(KERNEL.name), 0, stat.started)
        status = dict(line.split(":", 1) for line in self._text(number, "status").splitlines() if ":" in line)
        leader = self._stat(status.get("Tgid", number).strip())
        group = group_of(self._text(number, "cgroup"))
        pod = self._pods.of(group.pod_uid) if group != NO_GROUP and group.pod_uid else None
        name = shown((leader or stat).name)
        identity = Identity(name, unit=group.unit) if pod is None else Identity(name, pod.namespace, pod.name)
        user = status.get("Uid", "").split()
        return Seen(identity, int(user[0]) if user else None, stat.started)

    def _stat(self, number: str) -> "_Stat | None":
        return _parsed(self._text(number, "stat"))

    def _text(self, number: str, name: str) -> str:
        try:
            return (self._procfs / number / name).read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""


class _Stat(NamedTuple):
    name: str
    flags: int
    started: int


def _parsed(text: str) -> _Stat | None:
    """Parse the fields of `/proc/PID/stat` (proc(5)). The name is in parentheses and may contain parentheses."""
    _, _, rest = text.partition("(")
    name, parenthesis, after = rest.rpartition(")")
    fields = after.split()
    if not parenthesis or len(fields) < 20 or not (fields[6].isdecimal() and fields[19].isdecimal()):
        return None
    return _Stat(name, int(fields[6]), int(fields[19]))


def shown(name: str) -> str:
    """Return the name of a process as a label. A name that looks like a row of the exporter gets a mark."""
    return f"{name} (process)" if name in _RESERVED else name
