"""A tracefs in memory that behaves like the kernel's where it matters, and a client whose calls it sees.

Modelled on Linux 6.1 and 6.12 (kernel/trace/trace_events_hist.c, trace_events_trigger.c): a trigger is added by appending
and all are lost by truncation; a table holds `size=` rows and drops what is new beyond them; rows are sorted by hits; an
instance cannot be removed while one of its files is open; what is not understood is EINVAL.
"""

import errno
import fnmatch
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from fss_kernel_counting.tracefs import Files

ROOT = Path("/fake/tracing")

MODERN: Mapping[str, Mapping[str, int]] = {
    "nfs/nfs_readpage_done": {"dev": 4, "fhandle": 4, "arg_count": 4, "res_count": 4, "error": 4},
    "nfs/nfs_writeback_done": {"dev": 4, "fhandle": 4, "arg_count": 4, "res_count": 4, "error": 4},
    "sunrpc/rpc_stats_latency": {"client_id": 4, "progname": 4, "procname": 4, "rtt": 8, "execute": 8},
    "sunrpc/rpc_clnt_new": {"client_id": 4, "addr": 4, "program": 4},
    "sched/sched_switch": {"prev_pid": 4},
}

BEFORE_5_6: Mapping[str, Mapping[str, int]] = {
    "nfs/nfs_readpage_done": {"dev": 4, "status": 4},
    "nfs/nfs_writeback_done": {"dev": 4, "status": 4},
    "nfs/nfs_initiate_read": {"dev": 4, "count": 8},
    "nfs/nfs_initiate_write": {"dev": 4, "count": 8},
    "sched/sched_switch": {"prev_pid": 4},
}

# Events of the tables by thread. Each event also has the thread that it happened in: `common_pid` and `comm`.
BY_PROCESS: Mapping[str, Mapping[str, int]] = {
    "nfs/nfs_initiate_read": {"dev": 4, "fileid": 8, "count": 4},
    "nfs/nfs_initiate_write": {"dev": 4, "fileid": 8, "count": 4},
    "nfs/nfs_rename_enter": {"dev": 4},
    "nfs/nfs_atomic_open_enter": {"dev": 4},
    "sunrpc/rpc_stats_latency": {"client_id": 4, "version": 4, "progname": 4, "procname": 4},
    "sunrpc/rpc_clnt_new": {"client_id": 4, "addr": 4, "program": 4},
    "writeback/writeback_dirty_folio": {"name": 32, "ino": 8},
    "task/task_newtask": {"common_pid": 4, "pid": 4, "comm": 16, "clone_flags": 8},
    "sched/sched_process_exec": {"filename": 4, "pid": 4},
    "cgroup/cgroup_attach_task": {"common_pid": 4, "dst_root": 4, "dst_path": 4, "pid": 4},
    "cgroup/cgroup_notify_populated": {"common_pid": 4, "root": 4, "path": 4, "val": 4},
    "sched/sched_switch": {"prev_pid": 4},
}

_TRIGGER = re.compile(
    r"hist:keys=([\w.=,]+?)(?::vals=(\w+))?((?::\w+=\w+(?:,\w+=\w+)*)?(?::onmatch\([\w.]+\)\.trace\([\w,$]+\))?):size=(\d+)"
    r"(?: if (.+))?"
)
_OF_ANY_EVENT = frozenset(("common_pid", "comm"))

Event = Mapping[str, int | str]


@dataclass
class Trigger:
    keys: tuple[str, ...]
    value: str
    size: int
    condition: str
    action: str = ""
    rows: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    dropped: int = 0
    paused: bool = False
    last: dict[int | str, int] = field(default_factory=dict)

    def see(self, event: Event, times: int = 1) -> None:
        if self.paused or not _holds(self.condition, event):
            return
        key = tuple(_shown(name, event) for name in self.keys)
        if key not in self.rows:
            if len(self.rows) == self.size:
                self.dropped += 1
                return
            self.rows[key] = [0, 0]
        row = self.rows[key]
        row[0] = (row[0] + times) % 2**64
        row[1] = (row[1] + times * int(event[self.value] if self.value else 0)) % 2**64
        self.last[event.get("ino", event.get("fileid", 0))] = int(event.get("common_pid", 0))

    @property
    def text(self) -> str:
        values = ",".join(("hitcount", *([self.value] if self.value else [])))
        condition = f" if {self.condition}" if self.condition else ""
        state = "paused" if self.paused else "active"
        rows = sorted(self.rows.items(), key=lambda row: row[1][0])
        return (
            "# event histogram\n#\n"
            f"# trigger info: hist:keys={','.join(self.keys)}:vals={values}:sort=hitcount:size={self.size}{self.action}{condition} "
            f"[{state}]\n#\n\n"
            + "".join(self._line(key, row) for key, row in rows)
            + f"\nTotals:\n    Hits: {sum(row[0] for _, row in rows)}\n    Entries: {len(rows)}\n"
            + f"    Dropped: {self.dropped}\n"
        )

    def _line(self, key: tuple[str, ...], row: list[int]) -> str:
        inside = ", ".join(f"{name.partition('.')[0]}: {text}" for name, text in zip(self.keys, key, strict=True))
        value = f"  {self.value}: {row[1]:10}" if self.value else ""
        return f"{{ {inside} }} hitcount: {row[0]:10}{value}\n"


def _shown(name: str, event: Event) -> str:
    """A key as the kernel prints it: numbers padded on the left, strings on the right."""
    plain, _, width = name.partition(".buckets=")
    if name == "common_pid.execname":
        return f"{event['comm']:<16}[{event['common_pid']:10}]"
    if plain.endswith(".log2"):
        number = int(event[plain.removesuffix(".log2")])
        return f"~ 2^{(number - 1).bit_length() if number else 0:<2}"
    value = event[plain]
    if isinstance(value, str):
        return f"{value:<50}"
    if width:
        lower = value // int(width) * int(width)
        return f"~ {lower}-{lower + int(width) - 1}"
    return f"{value:10}"


def _holds(condition: str, event: Event) -> bool:
    if not condition:
        return True
    if " && " in condition:
        return all(_holds(part, event) for part in condition.split(" && "))
    if " || " in condition:
        return any(_holds(part, event) for part in condition.split(" || "))
    if condition.startswith("!("):
        return not _holds(condition[2:-1], event)
    name, sign, right = condition.split(" ", 2)
    value = event[name]
    text = right.strip('"')
    if sign == "~":
        return fnmatch.fnmatchcase(str(value), text)
    numbers = {"&": int.__and__, ">": int.__gt__}
    return bool(numbers[sign](int(value), int(text))) if sign in numbers else str(value) == text


class Kernel(Files):
    """A kernel with tracefs.

    Args:
        events: size of each field by event.
        buckets: whether it knows `.buckets` (5.15).
        hist: whether it was built with CONFIG_HIST_TRIGGERS.

    Attributes:
        printed: what becomes of the text of a `hist` file before anybody reads it.
    """

    def __init__(
        self, events: Mapping[str, Mapping[str, int]] = MODERN, *, buckets: bool = True, hist: bool = True
    ) -> None:
        self.events = dict(events)
        self.instances: dict[str, dict[str, list[Trigger]]] = {}
        self.settings: dict[str, str] = {}
        self.switches: dict[Path, str] = {}
        self.refusals: dict[str, int] = {}
        self.handles: dict[int, tuple[str, str]] = {}
        self.printed: Callable[[str], str] = str
        self._buckets = buckets
        self._hist = hist

    # -- what happens to it

    def fire(self, event: str, times: int = 1, **values: int | str) -> None:
        for name, triggers in list(self.instances.items()):
            for trigger in triggers.get(event, []):
                trigger.see(values, times)
                if trigger.action and _holds(trigger.condition, values):
                    self._join(name, trigger.action, values)

    def _join(self, instance: str, action: str, values: Event) -> None:
        """`onmatch(a.b).trace(joint,fileid,$wpid,$c,$d)` of a WRITE."""
        match = re.search(r"onmatch\((\w+)\.(\w+)\)\.trace\((\w+),", action)
        if match is None:
            return
        for dirtied in self.instances[instance].get(f"{match[1]}/{match[2]}", []):
            if values["fileid"] in dirtied.last:
                joined = {"pid": dirtied.last[values["fileid"]], "cnt": values["count"], "dv": values["dev"]}
                self.fire(f"synthetic/{match[3]}", 1, ino=values["fileid"], **joined)

    def triggers(self, event: str) -> list[Trigger]:
        (instance,) = self.instances.values()
        return instance.setdefault(event, [])

    def unload_nfs(self) -> None:
        self.events = {event: fields for event, fields in self.events.items() if not event.startswith("nfs/")}
        for instance in self.instances.values():
            for event in [event for event in instance if event.startswith("nfs/")]:
                del instance[event]

    def refuse(self, name: str, number: int) -> None:
        """From now on, fail what is done to a file of that name."""
        self.refusals[name] = number

    # -- what is done to it

    def is_there(self, path: Path) -> bool:
        if not path.is_relative_to(ROOT):
            return False
        self._may(path)
        inside = _below(path)
        if inside == ("events",):
            return True
        if inside[0] == "instances":
            return inside[1] in self.instances
        event = "/".join(inside[1:3])
        if inside[-1] == "hist":
            return self._hist and event in self.events
        return any(pattern.startswith(event) for pattern in self.events)

    def all(self, *_: Path | str) -> list[Path]:
        """No CPU: nothing is born here."""
        return []

    def text(self, path: Path) -> str:
        self._may(path)
        if path.name == "header_page":
            return "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
        if path in self.switches:
            return f"{self.switches[path]}\n"
        event = "/".join(_below(path)[1:3])
        if event not in self.events:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        lines = (
            f"\tfield:u32 {name};\toffset:8;\tsize:{size};\tsigned:0;\n" for name, size in self.events[event].items()
        )
        return f'name: {event.partition("/")[2]}\nID: 1\nformat:\n{"".join(lines)}\nprint fmt: ""\n'

    def mkdir(self, path: Path) -> None:
        self._may(path)
        if path.name in self.instances:
            raise _error(errno.EEXIST, path)
        self.instances[path.name] = {}

    def rmdir(self, path: Path) -> None:
        self._may(path)
        if path.name not in self.instances:
            raise _error(errno.ENOENT, path)
        if any(instance == path.name for instance, _ in self.handles.values()):
            raise _error(errno.EBUSY, path)
        # Seen on 6.12 and 7.3: a trigger that another trigger needs keeps its instance.
        if any(trigger.action for triggers in self.instances[path.name].values() for trigger in triggers):
            raise _error(errno.EBUSY, path)
        del self.instances[path.name]

    def write(self, path: Path, text: str) -> None:
        self._may(path)
        if path.name == "trigger":
            # The kernel removes all triggers of an event whose file is opened with O_TRUNC, and a shell's > does that.
            self._instance(path)["/".join(_below(path)[3:5])] = []
        self.settings[path.name] = text
        self.switches[path] = text

    def clear(self, path: Path) -> None:
        self._may(path)
        self._instance(path)["/".join(_below(path)[3:5])] = []

    def append(self, path: Path, text: str) -> None:
        self._may(path)
        if path.name == "dynamic_events":
            self._define(path, text)
            return
        event = "/".join(_below(path)[3:5])
        match = _TRIGGER.fullmatch(text)
        if event not in self.events:
            raise _error(errno.ENOENT, path)
        if match is None or (".buckets" in match[1] and not self._buckets) or not 128 <= int(match[4]) <= 131072:
            raise _error(errno.EINVAL, path)
        keys = tuple(match[1].split(","))
        used = {name.partition(".")[0] for name in keys} | ({match[2]} if match[2] else set())
        if not used <= self.events[event].keys() | _OF_ANY_EVENT:
            raise _error(errno.EINVAL, path)
        trigger = Trigger(keys, match[2] or "", int(match[4]), match[5] or "", match[3])
        self._instance(path).setdefault(event, []).append(trigger)

    def _define(self, path: Path, text: str) -> None:
        """A synthetic event: `s:name type field; ...` makes one, `-:name` removes one."""
        name = f"synthetic/{text.partition(':')[2].split()[0]}"
        if text.startswith("-:"):
            if any(instance.get(name) for instance in self.instances.values()):
                raise _error(errno.EBUSY, path)
            del self.events[name]
        elif name in self.events:
            raise _error(errno.EEXIST, path)
        else:
            fields = [part.split()[-1] for part in text.partition(" ")[2].split(";")]
            self.events[name] = dict.fromkeys(fields, 4)

    def open(self, path: Path) -> int:
        self._may(path)
        self._instance(path)
        inside = _below(path)
        handle = max(self.handles, default=2) + 1
        self.handles[handle] = inside[1], "/".join(inside[3:5])
        return handle

    def read(self, handle: int) -> bytes:
        instance, event = self.handles[handle]
        if event not in self.events:
            raise _error(errno.ENODEV, Path(event))
        text = "\n\n".join(trigger.text for trigger in self.instances[instance].get(event, []))
        return self.printed(text).encode()

    def close(self, handle: int) -> None:
        del self.handles[handle]

    def _instance(self, path: Path) -> dict[str, list[Trigger]]:
        name = _below(path)[1]
        if name not in self.instances:
            raise _error(errno.ENOENT, path)
        return self.instances[name]

    def _may(self, path: Path) -> None:
        if not path.is_relative_to(ROOT):
            raise _error(errno.ENOENT, path)
        for part in (path.name, "*"):
            if part in self.refusals:
                raise _error(self.refusals[part], path)


def _below(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).parts


def _error(number: int, path: PurePath) -> OSError:
    return OSError(number, os.strerror(number), str(path))


class Playback(Kernel):
    """A kernel whose tables say what recorded ones said.

    Attributes:
        now: text of each `hist` file, by event.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now: Mapping[str, str] = {}

    def read(self, handle: int) -> bytes:
        event = self.handles[handle][1]
        return self.now[event].encode() if event in self.now else super().read(handle)
