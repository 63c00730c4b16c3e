# SPDX-License-Identifier: Apache-2.0
"""How the allocator of the C library keeps the memory of a poller."""

import ctypes
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_THRESHOLD_BYTES: Final = 128 * 1024  # glibc's own beginning, which setting it makes last


def give_large_blocks_back() -> None:
    """Let glibc give large blocks back to the system. Another C library ignores the call.

    Answers of megabytes come and go. By default glibc raises the size of separately mapped blocks with each answer, and keeps
    a heap for every thread. The process then holds a tenth more memory than needed.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
    mallopt(_M_ARENA_MAX, 1)
