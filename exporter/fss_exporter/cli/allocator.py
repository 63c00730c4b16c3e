"""Tells glibc to give large blocks back to the system.

Answers of megabytes come and go. Left alone, glibc raises the size from which it maps blocks separately with each of them, and
keeps one heap for every thread, so that the process holds on to a tenth more memory than it uses.
"""

import ctypes
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_THRESHOLD_BYTES: Final = 128 * 1024  # glibc's own beginning, which setting it makes last


def give_large_blocks_back() -> None:
    """Only glibc knows these knobs; with another C library nothing happens."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
    mallopt(_M_ARENA_MAX, 1)
