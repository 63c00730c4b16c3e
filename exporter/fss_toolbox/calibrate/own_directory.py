"""The directory of a calibration on the mount: made with a mark, removed at the end, recognised after a kill -9."""

import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from fss_exporter.errors import SourceError, UsageError

PREFIX: Final = "fss-exporter-calibrate-"
MARK: Final = ".fss-exporter-calibrate.json"


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


def remove_leftovers(parent: Path) -> list[Path]:
    """Remove directories of killed calibrations, recognised by name and mark.

    Raises:
        UsageError: a calibration of this host still runs in a directory, or `parent` is unreadable.
        SourceError: a directory cannot be removed.
    """
    try:
        directories = [directory for directory in sorted(parent.glob(f"{PREFIX}*")) if _is_ours(directory)]
    except OSError as error:
        raise UsageError(f"{parent}: cannot be read: {error.strerror or error}") from error
    for directory in directories:
        if (pid := _running(directory)) is not None:
            raise UsageError(f"{directory}: a calibration runs there (process {pid}). Wait for its end")
    for directory in directories:
        remove(directory)
    return directories


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


def _running(directory: Path) -> int | None:
    """Return the living process of this host that works in a directory."""
    try:
        mark = json.loads((directory / MARK).read_text())
        pid = int(mark["pid"])
        if mark["host"] != socket.gethostname() or pid <= 0:
            return None
        os.kill(pid, 0)
    except PermissionError:
        return pid
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    return pid
