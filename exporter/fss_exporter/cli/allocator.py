# SPDX-License-Identifier: Apache-2.0
"""How the C library and Python keep the memory of an exporter."""

import ctypes
import gc
from typing import Final

_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_THRESHOLD_BYTES: Final = 128 * 1024  # glibc's own beginning, which setting it makes last

# A tick of 1,000 mounts makes some 15,000 objects, none of which refers to itself.
_OBJECTS_BEFORE_A_SEARCH: Final = 20_000


def search_cycles_seldom() -> None:
    """Let Python search for cycles of objects after more new objects than by default, when the search takes a seventh of a large tick."""
    gc.set_threshold(_OBJECTS_BEFORE_A_SEARCH)


def give_large_blocks_back() -> None:
    """Let glibc give large blocks back to the system. Another C library ignores the call.

    Answers of megabytes come and go, and so do pages of thousands of mounts. By default glibc raises the size of separately mapped blocks with each answer, and keeps
    a heap for every thread. A poller then holds a tenth more memory than needed, and an agent after a burst of mounts a third more.
    Pools of Python's own allocator stay, because a few small objects that live on hold each mebibyte of them.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
    mallopt(_M_ARENA_MAX, 1)
