"""The kernel's tracefs: a private instance, its triggers and its tables. Set up by trying, never by kernel version.

The kernel refuses to remove an instance while one of its `hist` files is open. So an agent notices a second agent.
"""

import errno
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from fss_exporter.errors import SourceError
from fss_exporter.nfs.exact.files import FILES, Files

OF_SIZES: Final = "fss-exporter"
OF_LATENCY: Final = "fss-exporter-latency"
OF_PROCESSES: Final = "fss-exporter-processes"
OF_WRITERS: Final = "fss-exporter-writers"
OF_IOSTAT: Final = "fss-exporter-iostat"
OF_IOSTAT_WRITERS: Final = "fss-exporter-iostat-writers"
INSTANCES: Final = (OF_SIZES, OF_LATENCY, OF_PROCESSES, OF_WRITERS, OF_IOSTAT)
"""Names of the instances. Each is fixed, so that one left behind by a killed program is found."""

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
"""Where tracefs is, today and on older distributions."""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

_SMALLEST_BUFFER_KIB = "4"
# Nothing is written to the trace buffer, and by default each CPU of the host has 1.4 MB of it.


class Unavailable(SourceError):
    """Exact mode cannot be set up here. The message says why and what to do."""


class NotYet(Unavailable):
    """The NFS client has not been loaded: there is nothing to count before the first mount."""


_REMEDIES: Mapping[int, str] = {
    errno.EACCES: "only root may trace: run the exporter as uid 0, no capability is needed",
    errno.EPERM: "kernel lockdown (mode confidentiality) or a security module forbids tracing",
    errno.EROFS: "read-only for this process: under systemd add ReadWritePaths=-{root}/instances, in a container mount it writable",
    errno.EBUSY: "another fss-exporter counts on this host already: stop it",
    errno.ENOSPC: "no room: raise the memory limit, or leave exact mode off",
    errno.ENOMEM: "no memory: raise the memory limit, or leave exact mode off",
}


def advice(error: OSError, root: Path) -> Unavailable:
    """What an operation on tracefs failed with, as a reason with a remedy."""
    remedy = _REMEDIES.get(error.errno or 0, "see docs/cost-model.md for what exact mode needs")
    return Unavailable(f"{error.filename or root}: {error.strerror}; {remedy.format(root=root)}")


def find(places: tuple[Path, ...] = PLACES, files: Files = FILES) -> Path:
    """Where tracefs is mounted.

    Args:
        places: to look at.
        files: how the kernel's files are reached.

    Raises:
        Unavailable: in none of these places, or not for this process.
    """
    for place in places:
        try:
            if files.is_there(place / "events"):
                return place
        except OSError as error:
            raise advice(error, place) from error
    looked = " or ".join(map(str, places))
    raise Unavailable(f"no tracefs at {looked}: mount -t tracefs tracefs {places[0]}, or name it with --path.tracefs")


def fields(root: Path, event: str, files: Files = FILES) -> Mapping[str, int]:
    """Size in bytes of each field of an event. Empty where the kernel has no such event.

    Args:
        root: where tracefs is mounted.
        event: `system/event`.
        files: how the kernel's files are reached.

    Raises:
        Unavailable: it cannot be read.
    """
    try:
        text = files.text(root / "events" / event / "format")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise advice(error, root) from error
    found = {}
    for line in text.splitlines():
        declaration, _, rest = line.strip().removeprefix("field:").partition(";")
        size = rest.partition("size:")[2].partition(";")[0]
        if line.strip().startswith("field:") and size.isdecimal():
            found[declaration.split()[-1].partition("[")[0]] = int(size)
    return found


def check_hist(root: Path, files: Files = FILES) -> None:
    """Whether events of this kernel have `hist` beside `trigger`.

    Args:
        root: where tracefs is mounted.
        files: how the kernel's files are reached.

    Raises:
        Unavailable: they do not.
    """
    try:
        trigger = files.first(root, "events/*/*/trigger")
        counts = trigger is not None and files.is_there(trigger.parent / "hist")
    except OSError as error:
        raise advice(error, root) from error
    if not counts:
        raise Unavailable(
            f"{root}: this kernel cannot count in tables (it is built without CONFIG_HIST_TRIGGERS, as Debian 11's is); "
            "use a kernel that can, or leave exact mode off"
        )


def check_client(root: Path, events: str = "nfs", name: str = "NFS client", files: Files = FILES) -> None:
    """Check, by looking only, that this kernel can count events of a client.

    Args:
        root: where tracefs is mounted.
        events: the client's folder of events.
        name: of the client, for the message.
        files: how the kernel's files are reached.

    Raises:
        NotYet: the client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """
    check_hist(root, files)
    try:
        loaded = files.is_there(root / "events" / events)
    except OSError as error:
        raise advice(error, root) from error
    if not loaded:
        raise NotYet(f"{root}: the {name} is not loaded. Counting begins with the first NFS mount")


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold back signals that end a program while triggers are set or removed: half of them must not stay behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Instance:
    """An instance of our own. It counts from its first trigger until it is removed.

    Args:
        root: where tracefs is mounted.
        name: of the instance, one of `INSTANCES`.
        files: how the kernel's files are reached.

    Raises:
        Unavailable: it cannot be made. One that a dead agent left behind is removed first, a living one's is not.
    """

    def __init__(self, root: Path, name: str, files: Files = FILES) -> None:
        self.path = root / "instances" / name
        self._files = files
        self._open: dict[str, int] = {}
        try:
            with suppress(FileNotFoundError):
                files.rmdir(self.path)
            files.mkdir(self.path)
        except OSError as error:
            raise advice(error, root) from error
        try:
            files.write(self.path / "buffer_size_kb", _SMALLEST_BUFFER_KIB)
            files.write(self.path / "tracing_on", "0")
        except OSError as error:
            self.remove()
            raise advice(error, root) from error

    def add_trigger(self, event: str, trigger: str) -> None:
        """Set a trigger and hold its table open.

        Raises:
            OSError: the kernel does not take it (EINVAL: it does not understand it).
        """
        folder = self.path / "events" / event
        self._files.append(folder / "trigger", trigger)
        if event not in self._open:
            self._open[event] = self._files.open(folder / "hist")

    def read(self, event: str) -> str:
        """The tables of an event as text, one look.

        Raises:
            OSError: the event is gone.
        """
        return self.raw(event).decode("utf-8", "replace")

    def raw(self, event: str) -> bytes:
        """The tables of an event as the kernel prints them: names of threads are any bytes.

        Raises:
            OSError: the event is gone.
        """
        return self._files.read(self._open[event])

    def clear(self, event: str) -> None:
        """Remove the triggers of an event, so that another event loses the reference to their variables."""
        with suppress(OSError):
            self._files.clear(self.path / "events" / event / "trigger")

    def remove(self) -> None:
        """Close everything and remove the instance with its triggers. Nothing happens if it is gone."""
        for handle in self._open.values():
            self._files.close(handle)
        self._open.clear()
        with suppress(OSError):
            self._files.rmdir(self.path)
