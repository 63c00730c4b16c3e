# SPDX-License-Identifier: Apache-2.0
"""Send requests of each kind on a real mount, and count the true number: from mountstats, and by size in exact mode."""

import ctypes
import fcntl
import mmap
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.cost_overrides import NLM
from fss_exporter.model.operations import BLOCK_BYTES, READ, WRITE, blocks
from fss_exporter.nfs.superblocks import Reading, Superblock
from fss_kernel_counting.sizes.size_counts import NO_TRANSFERS, ByAddressAndProcedure, Counts
from fss_toolbox.calibrate.calibration_steps import NFSACL, PAST_THE_END, CalibrationStep, kind_of

_MIB: Final = 1 << 20
_FILE_BYTES: Final = 16 * _MIB  # Length of the file that READs and WRITEs go through
_AT_STATX_FORCE_SYNC: Final = 0x2000
_SHORT_BYTES: Final = 4096
_ACL: Final = "system.posix_acl_access"

# Version 2, then owner, group and others as with mode 0600 (Linux, posix_acl_xattr.h).
_MINIMAL_ACL: Final = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, permissions, 0xFFFFFFFF) for tag, permissions in ((0x01, 6), (0x04, 0), (0x20, 0))
)


class RequestCounts:
    """Requests of the superblock of a directory since the first look.

    `read` reads mountstats once. `counted` reads mountstats together with the counts of exact mode since its last call, if exact
    mode is on. So only a look calls `counted`.

    Attributes:
        superblock: superblock at the last look.
        counts_calls: whether lock and ACL calls were counted at the last look.
        sizes_known: whether READs and WRITEs were counted by size at the last look.

    Raises:
        UsageError: the directory is not on an NFS mount.
    """

    def __init__(
        self,
        directory: Path,
        read: Callable[[], Reading],
        counted: Callable[[], tuple[Reading, Counts]] | None = None,
    ) -> None:
        device = directory.stat().st_dev
        self._number = f"{os.major(device)}:{os.minor(device)}"
        self._directory = directory
        self._read = read
        self._counted = counted
        self._totals: Counter[str] = Counter()
        self.counts_calls = False
        self.counts_sizes = False
        self.superblock, _ = self._counted_superblock()

    def _counted_superblock(self) -> tuple[Superblock, Counts]:
        reading, counts = (self._read(), Counts()) if self._counted is None else self._counted()
        return self._in(reading), counts

    def _in(self, reading: Reading) -> Superblock:
        for superblock in reading.superblocks:
            if superblock.number == self._number:
                return superblock
        raise UsageError(f"{self._directory}: not on an NFS mount that mountstats of this host shows")

    def read(self, step: CalibrationStep) -> dict[str, float]:
        """Requests by kind. READs and WRITEs without a counted size have the size of the step.

        Raises:
            SourceError: the mount is gone.
        """
        before = self.superblock.record.operations
        with _gone_is_an_error_of_the_source():
            self.superblock, counts = self._counted_superblock()
        self.counts_sizes = self._number in counts.superblocks and counts.has_sizes
        for name, counters in self.superblock.record.operations.items():
            grown = counters.operations - (before[name].operations if name in before else 0)
            if name not in (READ, WRITE):
                self._totals[name] += grown
            elif self.counts_sizes:
                self._add_sizes(step, name, counts)
            else:
                other = kind_of(name, _SHORT_BYTES)
                self._totals[step.name if name == step.operation else other] += grown
        self.counts_calls = counts.locks is not None and counts.acls is not None
        self._totals[NLM] += self._calls(counts.locks)
        self._totals[NFSACL] += self._calls(counts.acls)
        return dict(self._totals)

    def operations(self) -> dict[str, int]:
        """Requests of the mount so far by procedure, without a look at sizes.

        Raises:
            SourceError: the mount is gone.
        """
        with _gone_is_an_error_of_the_source():
            superblock = self._in(self._read())
        return {name: counters.operations for name, counters in superblock.record.operations.items()}

    def _add_sizes(self, step: CalibrationStep, name: str, counts: Counts) -> None:
        transfers = counts.transfers.get(name, {}).get(self._number, NO_TRANSFERS)
        for started, count in transfers.by_blocks.items():
            is_step = name == step.operation and started == blocks(step.size)
            self._totals[step.name if is_step else kind_of(name, started * BLOCK_BYTES)] += count

    def _calls(self, counted: ByAddressAndProcedure | None) -> int:
        address = self.superblock.key.address
        return sum(
            count for (of, procedure), count in (counted or {}).items() if of == address and procedure != "FREE_ALL"
        )


@contextmanager
def _gone_is_an_error_of_the_source() -> Iterator[None]:
    try:
        yield
    except UsageError as gone:
        raise SourceError(str(gone)) from gone


class NfsRequests:
    """Send requests in an empty directory on an NFS mount, and count the true number of requests.

    `directory` is a descriptor: another user of the mount can put another directory in the place of the path.
    """

    def __init__(self, directory: int, requests: RequestCounts) -> None:
        self._directory = directory
        self._requests = requests
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._buffer = mmap.mmap(-1, _MIB)
        self._made = 0
        self._open: int | None = None

    def counts(self, step: CalibrationStep) -> dict[str, float]:
        """Requests so far, by kind."""
        return self._requests.read(step)

    def operations(self) -> dict[str, int]:
        """Requests of the mount so far by procedure, those of other programs included."""
        return self._requests.operations()

    @property
    def counts_sizes(self) -> bool:
        """Whether the kernel counts READ and WRITE by size."""
        return self._requests.counts_sizes

    def prepare(self, step: CalibrationStep) -> None:
        """Make the files of a step."""
        self.close()
        self._made = 0
        if step.name == PAST_THE_END:
            self._file("short", os.O_CREAT | os.O_RDWR)
            os.write(self._fd, bytes(_SHORT_BYTES))
            os.fsync(self._fd)
            self._reopen("short", os.O_RDONLY | os.O_DIRECT)
        elif step.operation in (READ, WRITE, "COMMIT"):
            self._fill(step)
        elif step.operation not in ("", "CREATE", "REMOVE", "MKDIR", "RMDIR", "LOOKUP", "FSSTAT"):
            self._file("file", os.O_CREAT | os.O_RDWR)

    def _fill(self, step: CalibrationStep) -> None:
        self._file("data", os.O_CREAT | os.O_RDWR | os.O_DIRECT)
        os.ftruncate(self._fd, _FILE_BYTES)
        if step.operation == READ:
            size = min(_MIB, int(self._requests.superblock.record.options.get("wsize", _MIB)))
            for at in range(0, _FILE_BYTES, size):
                os.pwrite(self._fd, memoryview(self._buffer)[:size], at)
            self._requests.read(CalibrationStep(kind_of(WRITE, size), WRITE, size))  # these WRITEs have this size
        self._reopen("data", os.O_RDWR | (0 if step.buffered or step.operation == "COMMIT" else os.O_DIRECT))
        os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_DONTNEED)
        if step.buffered:
            # Without read-ahead each read is one READ.
            os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_RANDOM)

    def send(self, step: CalibrationStep) -> Counter[str]:
        """Send one round. Return uncounted lock and ACL calls, by kind."""
        self._made += 1
        uncounted = getattr(self, f"_{step.operation.lower()}")(step) or Counter()
        return Counter() if self._requests.counts_calls else uncounted

    # Rounds of the operations, called by name

    def _getattr(self, _: CalibrationStep) -> None:
        """Statx with AT_STATX_FORCE_SYNC asks the server for the attributes each time."""
        result = ctypes.create_string_buffer(256)
        if self._libc.statx(self._directory, b"file", _AT_STATX_FORCE_SYNC, 0x7FF, result) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "file")

    def _lookup(self, _: CalibrationStep) -> None:
        with suppress(FileNotFoundError):
            os.stat(f"none-{self._made}-{os.getpid()}", dir_fd=self._directory)

    def _fsstat(self, _: CalibrationStep) -> None:
        os.statvfs(self._directory)

    def _setattr(self, _: CalibrationStep) -> None:
        os.fchmod(self._fd, 0o600 + self._made % 2)

    def _create(self, _: CalibrationStep) -> None:
        os.close(os.open(self._name("file"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=self._directory))

    def _remove(self, _: CalibrationStep) -> None:
        # Files of the step CREATE. OSError ENOENT ends the rounds of the minute
        os.unlink(self._name("file"), dir_fd=self._directory)

    def _rename(self, _: CalibrationStep) -> None:
        names = ("file", "renamed")
        old, new = names if self._made % 2 else names[::-1]
        os.rename(old, new, src_dir_fd=self._directory, dst_dir_fd=self._directory)

    def _link(self, _: CalibrationStep) -> None:
        os.link("file", self._name("link"), src_dir_fd=self._directory, dst_dir_fd=self._directory)

    def _symlink(self, _: CalibrationStep) -> None:
        os.symlink("file", self._name("symlink"), dir_fd=self._directory)

    def _mkdir(self, _: CalibrationStep) -> None:
        os.mkdir(self._name("folder"), dir_fd=self._directory)

    def _rmdir(self, _: CalibrationStep) -> None:
        os.rmdir(self._name("folder"), dir_fd=self._directory)

    def _write(self, step: CalibrationStep) -> None:
        os.pwrite(self._fd, memoryview(self._buffer)[: step.size], self._offset(step.size))
        if step.buffered:
            os.fsync(self._fd)

    def _read(self, step: CalibrationStep) -> None:
        at = 0 if step.name == PAST_THE_END else self._offset(step.size)
        os.preadv(self._fd, [memoryview(self._buffer)[: step.size]], at)
        if step.buffered:
            os.posix_fadvise(self._fd, at, step.size, os.POSIX_FADV_DONTNEED)

    def _commit(self, _: CalibrationStep) -> None:
        """Send a buffered WRITE of one page, and the COMMIT that makes the page stable.

        A page that fsync writes is stable at once and needs no COMMIT. A page that DONTNEED writes needs a COMMIT.
        """
        at = self._offset(_SHORT_BYTES)
        os.pwrite(self._fd, memoryview(self._buffer)[:_SHORT_BYTES], at)
        os.posix_fadvise(self._fd, at, _SHORT_BYTES, os.POSIX_FADV_DONTNEED)
        os.fsync(self._fd)

    def _nlm(self, _: CalibrationStep) -> Counter[str]:
        fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(self._fd, fcntl.LOCK_UN)
        # With nolock or local_lock the kernel keeps the locks of fcntl, and the mount target gets no call.
        is_local = self._requests.superblock.record.options.get("local_lock") in {"all", "posix"}
        return Counter() if is_local else Counter({NLM: 2})

    def _nfsacl(self, _: CalibrationStep) -> Counter[str]:
        """SETACL and GETACL. A GETACL alone is answered from the client's cache after the first."""
        try:
            os.setxattr(self._fd, _ACL, _MINIMAL_ACL)
        except OSError:  # the server has no ACL protocol
            return Counter()
        with suppress(OSError):  # an ACL that says no more than the mode is an answer as well
            os.getxattr(self._fd, _ACL)
        return Counter({NFSACL: 2})

    @property
    def _fd(self) -> int:
        assert self._open is not None  # noqa: S101  # prepare() opened the file of the step
        return self._open

    def _file(self, name: str, flags: int) -> None:
        self._open = os.open(name, flags | os.O_NOFOLLOW, 0o600, dir_fd=self._directory)

    def _reopen(self, name: str, flags: int) -> None:
        self.close()
        self._file(name, flags)

    def close(self) -> None:
        """Close the file of the last step."""
        if self._open is not None:
            os.close(self._open)
            self._open = None

    def _name(self, kind: str) -> str:
        return f"{kind}-{self._made}"

    def _offset(self, size: int) -> int:
        return (self._made * size) % _FILE_BYTES
