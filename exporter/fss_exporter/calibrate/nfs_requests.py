"""Requests of each kind on a real mount, and their true number from mountstats."""

import ctypes
import fcntl
import mmap
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from fss_exporter.calibrate.calibration_steps import CalibrationStep, kind_of
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.superblocks import Superblock

_MIB: Final = 1 << 20
_AT_STATX_FORCE_SYNC: Final = 0x2000
_SHORT_BYTES: Final = 4096


class NfsRequests:
    """Sends requests in a directory on an NFS mount.

    Args:
        directory: an empty directory of its own.
        procfs: where the counters of the mount are read.
    """

    def __init__(self, directory: Path, procfs: Procfs) -> None:
        self._directory = directory
        self._procfs = procfs
        self._device = directory.stat().st_dev
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._buffer = mmap.mmap(-1, _MIB)
        self._made = 0
        self._open: int | None = None
        self.superblock = self._find()

    def _find(self) -> Superblock:
        number = f"{os.major(self._device)}:{os.minor(self._device)}"
        for one in self._procfs.read().superblocks:
            if one.number == number:
                return one
        raise UsageError(f"{self._directory}: not on an NFS mount that mountstats of this host shows")

    @property
    def connections(self) -> int:
        """Connections of this client to the mount target."""
        return max(1, len(self.superblock.record.transports))

    def counts(self, step: CalibrationStep) -> dict[str, float]:
        """Requests since the mount, by kind. READs and WRITEs have the size of the step."""
        try:
            self.superblock = self._find()
        except UsageError as gone:
            raise SourceError(str(gone)) from gone
        found: Counter[str] = Counter()
        for name, counters in self.superblock.record.operations.items():
            # READs and WRITEs beside those of the step are buffered pages.
            other = kind_of(name, _SHORT_BYTES if name in (READ, WRITE) else 0)
            found[step.name if name == step.operation else other] += counters.operations
        return dict(found)

    def prepare(self, step: CalibrationStep) -> None:
        """Make the files that a step needs, before its first minute."""
        self.close()
        self._made = 0
        make = {"READ": self._filled, "WRITE": self._filled, "COMMIT": self._filled}.get(step.operation)
        if step.name == "READ past the end":
            self._file("short", os.O_CREAT | os.O_RDWR)
            os.write(self._fd, bytes(_SHORT_BYTES))
            os.fsync(self._fd)
            self._reopen("short", os.O_RDONLY | os.O_DIRECT)
        elif make is not None:
            make(step)
        elif step.operation not in ("", "CREATE", "REMOVE", "MKDIR", "RMDIR", "LOOKUP", "FSSTAT"):
            self._file("file", os.O_CREAT | os.O_RDWR)

    def _filled(self, step: CalibrationStep) -> None:
        self._file("data", os.O_CREAT | os.O_RDWR)
        os.ftruncate(self._fd, 16 * _MIB)
        if step.operation == READ:
            for at in range(16):
                os.pwrite(self._fd, self._buffer, at * _MIB)
            os.fsync(self._fd)
        direct = 0 if step.operation == "COMMIT" else os.O_DIRECT
        self._reopen("data", os.O_RDWR | direct)

    def send(self, step: CalibrationStep) -> Counter[str]:
        """One round. Returns calls that mountstats does not count, by kind."""
        self._made += 1
        return _ROUNDS[step.operation](self, step) or Counter()

    # -- rounds

    def _getattr(self, _: CalibrationStep) -> None:
        """Statx with AT_STATX_FORCE_SYNC asks the server for the attributes each time."""
        path = os.fsencode(self._directory / "file")
        result = ctypes.create_string_buffer(256)
        if self._libc.statx(-100, path, _AT_STATX_FORCE_SYNC, 0x7FF, result) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(self._directory))

    def _lookup(self, _: CalibrationStep) -> None:
        (self._directory / f"none-{self._made}-{os.getpid()}").exists()

    def _fsstat(self, _: CalibrationStep) -> None:
        os.statvfs(self._directory)

    def _setattr(self, _: CalibrationStep) -> None:
        (self._directory / "file").chmod(0o600 + self._made % 2)

    def _create(self, _: CalibrationStep) -> None:
        os.close(os.open(self._name("file"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def _remove(self, _: CalibrationStep) -> None:
        self._first("file").unlink()

    def _rename(self, _: CalibrationStep) -> None:
        names = ("file", "renamed")
        old, new = names if self._made % 2 else names[::-1]
        (self._directory / old).rename(self._directory / new)

    def _link(self, _: CalibrationStep) -> None:
        os.link(self._directory / "file", self._name("link"))

    def _symlink(self, _: CalibrationStep) -> None:
        self._name("symlink").symlink_to("file")

    def _mkdir(self, _: CalibrationStep) -> None:
        self._name("folder").mkdir()

    def _rmdir(self, _: CalibrationStep) -> None:
        self._first("folder").rmdir()

    def _write(self, step: CalibrationStep) -> None:
        os.pwrite(self._fd, memoryview(self._buffer)[: step.size], self._offset(step.size))

    def _read(self, step: CalibrationStep) -> None:
        size = step.size or _MIB
        os.preadv(self._fd, [memoryview(self._buffer)[:size]], self._offset(step.size) if step.size else 0)

    def _commit(self, _: CalibrationStep) -> None:
        """A buffered WRITE of one page and the COMMIT that makes it stable."""
        os.pwrite(self._fd, memoryview(self._buffer)[:4096], self._offset(4096))
        os.fsync(self._fd)

    def _lock(self, _: CalibrationStep) -> Counter[str]:
        fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(self._fd, fcntl.LOCK_UN)
        return Counter({"NLM": 2})

    def _acl(self, _: CalibrationStep) -> Counter[str]:
        with suppress(OSError):  # no ACL is set, which is an answer as well
            os.getxattr(self._directory / "file", "system.posix_acl_access")
        return Counter({"NFSACL": 1})

    # -- files

    @property
    def _fd(self) -> int:
        assert self._open is not None  # noqa: S101  # prepare() opened the file of the step
        return self._open

    def _file(self, name: str, flags: int) -> None:
        self._open = os.open(self._directory / name, flags, 0o600)

    def _reopen(self, name: str, flags: int) -> None:
        self.close()
        self._file(name, flags)

    def close(self) -> None:
        """Close the file of the last step."""
        if self._open is not None:
            os.close(self._open)
            self._open = None

    def _name(self, kind: str) -> Path:
        return self._directory / f"{kind}-{self._made}"

    def _first(self, kind: str) -> Path:
        """A file of an earlier step. OSError ENOENT ends the rounds of the minute."""
        return self._directory / f"{kind}-{self._made}"

    def _offset(self, size: int) -> int:
        return (self._made * size) % (16 * _MIB)


_ROUNDS: Final[Mapping[str, Callable[..., Counter[str] | None]]] = {
    "GETATTR": NfsRequests._getattr,  # noqa: SLF001
    "LOOKUP": NfsRequests._lookup,  # noqa: SLF001
    "FSSTAT": NfsRequests._fsstat,  # noqa: SLF001
    "SETATTR": NfsRequests._setattr,  # noqa: SLF001
    "CREATE": NfsRequests._create,  # noqa: SLF001
    "REMOVE": NfsRequests._remove,  # noqa: SLF001
    "RENAME": NfsRequests._rename,  # noqa: SLF001
    "LINK": NfsRequests._link,  # noqa: SLF001
    "SYMLINK": NfsRequests._symlink,  # noqa: SLF001
    "MKDIR": NfsRequests._mkdir,  # noqa: SLF001
    "RMDIR": NfsRequests._rmdir,  # noqa: SLF001
    "WRITE": NfsRequests._write,  # noqa: SLF001
    "READ": NfsRequests._read,  # noqa: SLF001
    "COMMIT": NfsRequests._commit,  # noqa: SLF001
    "NLM": NfsRequests._lock,  # noqa: SLF001
    "NFSACL": NfsRequests._acl,  # noqa: SLF001
}
