# SPDX-License-Identifier: Apache-2.0
"""Read a file of a bounded size. A configuration file, a certificate or a key is regular: no read waits for a pipe or a device."""

import errno
import os
import stat
from io import BufferedIOBase
from typing import IO, Final

LARGEST_BYTES: Final = 1 << 20  # a configuration or a certificate is a few kilobytes. Anything larger is another file

# A reading of 300 mounts is half a megabyte, and the ledger of 2,000 mount targets three. Anything larger is another file.
LARGEST_DATA_BYTES: Final = 256 << 20


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: `strerror` says why the file cannot be read.
    """
    with open(path, "rb", opener=_without_waiting) as file:  # Path.open has no opener
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return read_bounded(file, LARGEST_BYTES)


def read_bounded(file: IO[bytes] | BufferedIOBase, largest: int = LARGEST_DATA_BYTES) -> bytes:
    """Return the rest of a file, which may be a pipe.

    Raises:
        OSError: the file has more bytes than `largest`, or cannot be read. `strerror` says which.
    """
    content = file.read(largest + 1)
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"larger than {largest >> 20} MiB. Is this the right file?")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
