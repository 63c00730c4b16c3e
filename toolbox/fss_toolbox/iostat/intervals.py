# SPDX-License-Identifier: Apache-2.0
"""The intervals of `iostat`: looks at the kernel's counters, at least one each second.

A short tick mixes fewer sizes of READs and WRITEs. A process that lives shorter than a tick has no pod and no unit.
"""

import itertools
import time
from collections.abc import Callable, Iterator

_TICK_S = 1.0


def intervals(look: Callable[[], float], start: float, seconds: float, count: int | None) -> Iterator[float]:
    """Look in every tick from `start` on, and yield the length of each of `count` intervals in seconds. None: no end.

    `look` returns the monotonic time of its reading.
    """
    for _ in itertools.count() if count is None else range(count):
        end = start
        for due in _ticks(start, seconds):
            time.sleep(max(0.0, due - time.monotonic()))
            end = look()
        yield end - start
        start = end


def _ticks(start: float, interval: float) -> Iterator[float]:
    whole = int(interval / _TICK_S)
    for tick in range(1, whole + 1):
        yield start + tick * _TICK_S
    if not whole or interval - whole * _TICK_S > 0.01:
        yield start + interval
