"""Replace a file as a whole."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_whole(path: Path, content: bytes, mode: int | None = None) -> None:
    """Replace a file, on the disk too: a reader finds the old content or the new one, also after a crash of the host.

    A full disk leaves no other file. `mode` are the permissions of the file, None for those of the umask.

    Raises:
        OSError: the file cannot be written.
    """
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
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


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
