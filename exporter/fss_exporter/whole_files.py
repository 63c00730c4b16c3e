# SPDX-License-Identifier: Apache-2.0
"""Replace a file as a whole."""

import os
import shutil
import tempfile
import time
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Final

_ABANDONED_SECONDS: Final = 3600.0  # age of a temporary folder whose writer was killed. A write takes seconds


def replace_whole(path: Path, content: bytes, mode: int | None = None) -> None:
    """Replace a file, on the disk too: a reader finds the old content or the new one, also after a crash of the host.

    A full disk leaves no other file, and what a killed writer has left is removed after an hour. `mode` are the permissions of the
    file, None for those of the umask.

    Raises:
        OSError: the file cannot be written.
    """
    prefix = f".{path.name}.new-"
    _remove_abandoned(path.parent, prefix)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=prefix) as folder:
        temporary = Path(folder, path.name)
        with temporary.open("xb") as file:  # follows no link that the directory's owner puts here
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a crash can leave an empty file in the place of the old one
        temporary.replace(path)
    with suppress(OSError):  # some file systems sync no directory, and the file is there
        _sync(path.parent)


def _remove_abandoned(directory: Path, prefix: str) -> None:
    oldest = time.time() - _ABANDONED_SECONDS
    for folder in directory.glob(f"{escape(prefix)}*"):
        with suppress(OSError):  # another writer has ended, or removes the folder too
            if folder.lstat().st_mtime < oldest:
                shutil.rmtree(folder)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
