# SPDX-License-Identifier: Apache-2.0
"""The kernel's tracefs: a private instance with triggers and tables. The set-up tries, and never asks for the kernel's version.

The kernel refuses to remove an instance while a `hist` file of the instance is open. So an agent notices a second agent.
"""

import errno
import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from fss_exporter.errors import SourceError
from fss_exporter.flag_records import TRACEFS_PLACES

_CHUNK = 1 << 18
_FIELD = re.compile(r"field:([^;]*?)(\w+)(?:\[[^;]*\])?;\s*offset:(\d+);\s*size:(\d+);\s*signed:([01]);")
_NUMBER = re.compile(r"^ID: (\d+)$", re.MULTILINE)


class Files:
    """Files of tracefs. Everything may raise OSError with the file's name."""

    def is_there(self, path: Path) -> bool:
        """Whether a file or directory exists."""
        try:
            path.stat()
        except FileNotFoundError:
            return False
        return True

    def text(self, path: Path) -> str:
        """Read a small file."""
        return path.read_text()

    def mkdir(self, path: Path) -> None:
        """Make an instance."""
        path.mkdir()

    def rmdir(self, path: Path) -> None:
        """Remove an instance. The kernel answers EBUSY while a file of the instance is open."""
        path.rmdir()

    def write(self, path: Path, text: str) -> None:
        """Set a value."""
        _write(path, text, os.O_WRONLY)

    def append(self, path: Path, text: str) -> None:
        """Add a trigger. Truncation at opening would remove the other triggers."""
        _write(path, text, os.O_WRONLY | os.O_APPEND)

    def clear(self, path: Path) -> None:
        """Remove all triggers of an event, unless another trigger needs their variables."""
        os.close(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC))

    def open(self, path: Path) -> int:
        """A file to be read again and again."""
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, handle: int) -> bytes:
        """Return the present content of an open file from the beginning."""
        os.lseek(handle, 0, os.SEEK_SET)
        chunks = []
        while chunk := os.read(handle, _CHUNK):
            chunks.append(chunk)
        return b"".join(chunks)

    def open_pipe(self, path: Path) -> int:
        """A file whose records are gone once they are read."""
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def pages(self, handle: int, size: int, most: int) -> list[bytes]:
        """Return the pages of `size` bytes that wait in a pipe, at most so many."""
        pages: list[bytes] = []
        with suppress(BlockingIOError):
            while len(pages) < most and (page := os.read(handle, size)):
                pages.append(page)
        return pages

    def all(self, root: Path, pattern: str) -> list[Path]:
        """Return the paths below `root` that match the pattern, in order."""
        return sorted(root.glob(pattern))

    def close(self, handle: int) -> None:
        """Let a file go."""
        os.close(handle)


FILES = Files()


def _write(path: Path, text: str, flags: int) -> None:
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.write(handle, f"{text}\n".encode())
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(handle)


class ProcessNames(NamedTuple):
    """Names in tracefs of a program that counts by process."""

    looks: str  # the instance with the tables of each look
    births: str  # the instance that records births
    writers: str  # the instance of the join
    joint: str  # the synthetic event of the join


OF_SIZES: Final = "fss-exporter"
OF_LATENCY: Final = "fss-exporter-latency"
OF_AGENT: Final = ProcessNames("fss-exporter-processes", "fss-exporter-births", "fss-exporter-writers", "nfswho")
OF_COMMAND: Final = ProcessNames(
    "fss-exporter-iostat", "fss-exporter-iostat-births", "fss-exporter-iostat-writers", "nfswho_iostat"
)

# Names of the instances. The names are fixed, so that an instance of a killed program is found.
INSTANCES: Final = (OF_SIZES, OF_LATENCY, *OF_AGENT[:3], *OF_COMMAND[:3])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the kernel's files are, and the access to tracefs."""

    tracefs: tuple[Path, ...] = TRACEFS_PLACES  # possible mount points
    sysfs: Path = Path("/sys")
    procfs: Path = Path("/proc")  # with the processes of the host
    pod_logs: Path = Path("/var/log/pods")  # folder that the kubelet makes for the logs of pods
    files: Files = FILES


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

_ANY_EVENT = "events/sched/sched_switch"  # Every kernel has this event

# Nothing is written to the trace buffer, and by default each CPU of the host has 1.4 MB of it.
_SMALLEST_BUFFER_KIB = "4"


class Unavailable(SourceError):
    """Exact mode cannot be set up here. The message contains the reason and the fix."""


class NotYet(Unavailable):
    """The NFS client is not loaded, because there was no mount yet."""


_SECOND_PROGRAM = "another fss-exporter counts on this host already: stop it"

_REMEDIES: Mapping[int, str] = {
    errno.EACCES: "only root may trace: run the exporter as uid 0, no capability is needed",
    errno.EPERM: "kernel lockdown (mode confidentiality) or a security module forbids tracing",
    errno.EROFS: "read-only for this process: under systemd add ReadWritePaths=-{root}/instances, in a container mount it writable",
    errno.EBUSY: _SECOND_PROGRAM,
    errno.EEXIST: _SECOND_PROGRAM,  # it has begun between two steps of this one
    errno.ENOSPC: "no room: raise the memory limit, or leave exact mode off",
    errno.ENOMEM: "no memory: raise the memory limit, or leave exact mode off",
}


def advice(error: OSError, root: Path) -> Unavailable:
    """Return the failure of an operation on tracefs, with a remedy."""
    remedy = _REMEDIES.get(error.errno or 0, "see docs/exact-mode.md for what exact mode needs")
    return Unavailable(f"{error.filename or root}: {error.strerror}; {remedy.format(root=root)}")


@contextmanager
def advised(root: Path) -> Iterator[None]:
    """Raise Unavailable, with a remedy, in place of an OSError."""
    try:
        yield
    except OSError as error:
        raise advice(error, root) from error


def check_lockdown(sources: Sources) -> None:
    """Check that kernel lockdown allows tracing. Without the check the kernel answers "Invalid argument".

    Raises:
        Unavailable: lockdown is in mode confidentiality.
    """
    mode = ""
    with suppress(OSError):
        mode = sources.files.text(sources.sysfs / "kernel/security/lockdown").partition("[")[2].partition("]")[0]
    if mode == "confidentiality":
        raise Unavailable(
            "kernel lockdown is in mode confidentiality, which forbids tracing: boot with lockdown=integrity, "
            "or leave exact mode off"
        )


class Field(NamedTuple):
    """A field of an event."""

    offset: int  # place in the record, bytes
    size: int  # bytes
    is_text: bool  # whether the field holds offset and length of a text
    is_signed: bool


class EventFormat(NamedTuple):
    """What the kernel says of an event."""

    number: int
    fields: Mapping[str, Field]


_ABSENT: Final = EventFormat(0, {})


class Tracefs(NamedTuple):
    """A mounted tracefs."""

    root: Path  # mount point
    files: Files = FILES

    def has(self, path: str) -> bool:
        """Whether a file or directory exists.

        Raises:
            Unavailable: this process may not look.
        """
        with advised(self.root):
            return self.files.is_there(self.root / path)

    def event(self, event: str) -> EventFormat:
        """Return number and fields of an event (`system/event`). No field if the kernel lacks the event.

        Raises:
            Unavailable: the event is unreadable.
        """
        with advised(self.root):
            try:
                text = self.files.text(self.root / "events" / event / "format")
            except FileNotFoundError:
                return _ABSENT
        fields = {
            name: Field(int(offset), int(size), "__data_loc" in kind, signed == "1")
            for kind, name, offset, size, signed in _FIELD.findall(text)
        }
        number = _NUMBER.search(text)
        return EventFormat(int(number[1]), fields) if number else _ABSENT

    def check_client(self, events: str = "nfs", name: str = "NFS client") -> None:
        """Check, without setting a trigger, that this kernel can count the `events` of a client with this name.

        Raises:
            NotYet: the client is not loaded.
            Unavailable: the kernel has no `hist` beside `trigger`, or this process may not count.
        """
        if not self.has(f"{_ANY_EVENT}/hist"):
            raise Unavailable(
                f"{self.root}: this kernel cannot count in tables (it is built without CONFIG_HIST_TRIGGERS, as Debian 11's is). "
                "Use a kernel with hist triggers, or leave exact mode off"
            )
        if not self.has(f"events/{events}"):
            raise NotYet(f"{self.root}: the {name} is not loaded. Counting begins with the first NFS mount")


def find(sources: Sources) -> Tracefs:
    """Return the mounted tracefs.

    Raises:
        Unavailable: no place has tracefs, or this process or lockdown may not trace.
    """
    check_lockdown(sources)
    for place in sources.tracefs:
        tracefs = Tracefs(place, sources.files)
        if tracefs.has("events"):
            return tracefs
    looked = " or ".join(map(str, sources.tracefs))
    raise Unavailable(
        f"no tracefs at {looked}: mount -t tracefs tracefs {sources.tracefs[0]}, or name it with --path.tracefs"
    )


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold back signals that end a program while triggers are set or removed, so that no half set-up stays behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Instance:
    """A private instance with a name of `INSTANCES`, which counts from the first trigger until the removal.

    Raises:
        Unavailable: the instance cannot be made. An instance of a dead agent is removed first, an instance in use is not.
    """

    def __init__(self, tracefs: Tracefs, name: str) -> None:
        self.path = tracefs.root / "instances" / name
        self._files = tracefs.files
        self._open: dict[str, int] = {}
        with advised(tracefs.root):
            with suppress(FileNotFoundError):
                self._files.rmdir(self.path)
            self._files.mkdir(self.path)
            with self.removed_on_failure():
                self._files.write(self.path / "buffer_size_kb", _SMALLEST_BUFFER_KIB)
                self._files.write(self.path / "tracing_on", "0")

    @contextmanager
    def removed_on_failure(self) -> Iterator[None]:
        """Remove the instance if a further step of the set-up fails."""
        try:
            yield
        except BaseException:
            self.remove()
            raise

    def add_trigger(self, event: str, trigger: str) -> None:
        """Set a trigger and keep the table open.

        Raises:
            OSError: the kernel refuses the trigger (EINVAL: unknown form).
        """
        folder = self.path / "events" / event
        self._files.append(folder / "trigger", trigger)
        if event not in self._open:
            self._open[event] = self._files.open(folder / "hist")

    def record(self, events: Iterable[str], buffer_kib: int) -> list[int]:
        """Record events in a buffer of this size for each CPU. Return a pipe for each CPU.

        Raises:
            OSError: the kernel refuses.
        """
        self._files.write(self.path / "buffer_size_kb", str(buffer_kib))
        for event in events:
            self._files.write(self.path / "events" / event / "enable", "1")
        for pipe in self._files.all(self.path, "per_cpu/cpu*/trace_pipe_raw"):
            self._open[str(pipe)] = self._files.open_pipe(pipe)
        self._files.write(self.path / "tracing_on", "1")
        return list(self._open.values())

    def record_again(self, events: Iterable[str]) -> bool:
        """Switch the recording on where another program has switched it off, as `trace-cmd reset -a` does. Return whether it was off.

        Raises:
            OSError: the instance is gone, or the kernel refuses.
        """
        switches = [self.path / "tracing_on", *(self.path / "events" / event / "enable" for event in events)]
        off = [switch for switch in switches if not self._files.text(switch).startswith("1")]
        for switch in off:
            self._files.write(switch, "1")
        return bool(off)

    def read(self, event: str) -> bytes:
        """Return the present tables of an event as bytes, because names of threads can be any bytes.

        Raises:
            OSError: the event is gone.
        """
        return self._files.read(self._open[event])

    def clear(self, event: str) -> None:
        """Remove the triggers of an event, so that another event loses the reference to their variables."""
        with suppress(OSError):
            self._files.clear(self.path / "events" / event / "trigger")

    def remove(self) -> None:
        """Close everything and remove the instance with the triggers. A missing instance is no error."""
        while self._open:
            _, handle = self._open.popitem()
            self._files.close(handle)
        with suppress(OSError):
            self._files.rmdir(self.path)
