"""Operations on files of tracefs. Tests replace the class by a kernel in memory."""

import os
from pathlib import Path

_CHUNK = 1 << 18


class Files:
    """Files of tracefs. Everything may raise OSError with the file's name."""

    def is_there(self, path: Path) -> bool:
        """Whether a file or directory exists."""
        try:
            path.stat()
        except FileNotFoundError:
            return False
        return True

    def first(self, root: Path, pattern: str) -> Path | None:
        """Return a path below `root` that matches the pattern."""
        return next(root.glob(pattern), None)

    def text(self, path: Path) -> str:
        """The whole of a small file."""
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
