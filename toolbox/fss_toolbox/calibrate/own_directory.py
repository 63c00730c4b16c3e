# SPDX-License-Identifier: Apache-2.0
"""The directory of a calibration on the mount: made with a mark, removed at the end, recognised after a kill -9."""

import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fss_exporter.errors import SourceError, UsageError

PREFIX: Final = "fss-exporter-calibrate-"
MARK: Final = ".fss-exporter-calibrate.json"
_LARGEST_PID: Final = 1 << 22  # of Linux, PID_MAX_LIMIT
_LONGEST_MARK: Final = 500  # characters. A name of a host has at most 64


@dataclass(frozen=True, slots=True)
class KeptDirectory:
    """A directory of a calibration that this host cannot judge."""

    path: Path
    host: str  # the host that made it. Empty for a mark that does not say


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The directories of earlier calibrations, or of calibrations that run on other hosts."""

    removed: tuple[Path, ...]
    kept: tuple[KeptDirectory, ...]


@dataclass(frozen=True, slots=True)
class _Mark:
    """What a mark says about its calibration."""

    host: str = ""  # name of the host. Empty for a damaged mark
    pid: int = 0


@contextmanager
def own_directory(parent: Path) -> Iterator[Path]:
    """Make a new directory below `parent`, removed at the end, also after an exception or a signal.

    Raises:
        UsageError: the directory cannot be made.
        SourceError: the directory cannot be removed.
    """
    made = parent / f"{PREFIX}{secrets.token_hex(4)}"
    try:
        made.mkdir(mode=0o700)
        try:
            (made / MARK).write_text(json.dumps({"host": socket.gethostname(), "pid": os.getpid()}))
        except BaseException:
            # Without a mark the next run does not recognise the directory.
            (made / MARK).unlink(missing_ok=True)
            made.rmdir()
            raise
    except OSError as error:
        raise UsageError(f"{parent}: cannot make a directory: {error.strerror or error}") from error
    try:
        yield made
    finally:
        remove(made)


@contextmanager
def opened(directory: Path) -> Iterator[int]:
    """Open the directory of a calibration. The value is a descriptor.

    Users of the mount can put a link or a directory of another user in its place.

    Raises:
        SourceError: the directory is gone, a link, or without a mark.
    """
    with ExitStack() as closed:
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            closed.callback(os.close, descriptor)
            os.stat(MARK, dir_fd=descriptor, follow_symlinks=False)
        except OSError as error:
            raise SourceError(f"{directory}: not the directory that the calibration made: {error.strerror}") from error
        yield descriptor


def remove_leftovers(parent: Path) -> Leftovers:
    """Remove the directories that killed calibrations of this host left, recognised by name and mark.

    A directory of another host is kept: its calibration may still run, and no process table of this host shows that. A
    directory with a damaged mark is kept too, because another host may be about to write the mark.

    Raises:
        UsageError: a calibration of this host still runs in a directory, or `parent` is unreadable.
        SourceError: a directory cannot be removed.
    """
    try:
        directories = [directory for directory in sorted(parent.glob(f"{PREFIX}*")) if _is_ours(directory)]
    except OSError as error:
        raise UsageError(f"{parent}: cannot be read: {error.strerror or error}") from error
    marks = {directory: _mark(directory) for directory in directories}
    own = {directory: mark for directory, mark in marks.items() if mark.host == socket.gethostname()}
    for directory, mark in own.items():
        if _is_running(mark.pid):
            raise UsageError(f"{directory}: a calibration runs there (process {mark.pid}). Wait for its end")
    for directory in own:
        remove(directory)
    kept = tuple(KeptDirectory(directory, mark.host) for directory, mark in marks.items() if directory not in own)
    return Leftovers(tuple(own), kept)


def remove(directory: Path) -> None:
    """Remove the directory with all content. The mark goes last, so that the next run finds an interrupted removal.

    Raises:
        SourceError: the directory cannot be removed.
    """
    try:
        with opened(directory) as descriptor:
            _empty(descriptor)
        directory.rmdir()
    except OSError as error:
        raise SourceError(
            f"{directory}: cannot be removed: {error.strerror or error}. The next run tries again"
        ) from error


def _empty(descriptor: int) -> None:
    for name in set(os.listdir(descriptor)) - {MARK}:
        try:
            os.unlink(name, dir_fd=descriptor)
        except IsADirectoryError:
            shutil.rmtree(name, dir_fd=descriptor)
    # NFS keeps a file that a process has open under a new name. Then rmdir fails, and the mark stays.
    if os.listdir(descriptor) == [MARK]:
        os.unlink(MARK, dir_fd=descriptor)


def _is_ours(directory: Path) -> bool:
    return directory.is_dir() and not directory.is_symlink() and (directory / MARK).is_file()


def _mark(directory: Path) -> _Mark:
    """Read the mark of a directory, which another host may be writing."""
    try:
        with (directory / MARK).open() as file:
            mark = json.loads(file.read(_LONGEST_MARK))
        host, pid = mark["host"], mark["pid"]
    except (OSError, ValueError, KeyError, TypeError):
        return _Mark()
    is_valid = isinstance(host, str) and type(pid) is int and 0 < pid <= _LARGEST_PID
    return _Mark(host, pid) if is_valid else _Mark()


def _is_running(pid: int) -> bool:
    """Return whether this host has a process, perhaps of another user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
