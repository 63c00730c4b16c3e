# SPDX-License-Identifier: Apache-2.0
"""Read a configuration file, a certificate or a key, and never wait for a pipe or a device."""

import errno
import os
import stat

LARGEST_BYTES = 1 << 20  # a configuration or a certificate is a few kilobytes. Anything larger is another file


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: `strerror` says why the file cannot be read.
    """
    with open(path, "rb", opener=_without_waiting) as file:  # Path.open has no opener
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise OSError(errno.EFBIG, f"larger than {LARGEST_BYTES >> 20} MiB. Is this the right file?")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
