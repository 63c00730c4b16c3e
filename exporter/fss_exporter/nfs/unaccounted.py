# SPDX-License-Identifier: Apache-2.0
"""Tell how many NFSv3 calls of this host no mount accounts for.

A mount that ends before a tick, and a mount after `umount -l`, is in no record of mountstats. `/proc/net/rpc/nfs` counts the calls of all
mounts together, at their start. Mountstats counts each call at its end. So the surplus of the first is the calls without a mount, and those
that have not ended. The least surplus of some minutes, without the calls in flight on average, proves calls without a mount.
"""

import math
from collections import deque
from dataclasses import dataclass
from typing import Final

# Longer than the pause between two searches for mounts of containers, because the calls of a new mount are a surplus until a search finds it.
WINDOW_SECONDS: Final = 120.0

# Windows that say how much is missing now: ten minutes.
_RECENT_WINDOWS: Final = 5

# What is missing is told from this share of the calls, and from one call a second. Decisions of this project, November 2026.
_MATERIAL_SHARE: Final = 0.1
_LEAST_CALLS_A_SECOND: Final = 1.0

# Share of its calls that the kernel may lose in a window, because CPUs add to one number without a lock. Assumption of this project.
_LOST_SHARE: Final = 0.001

_WRAP: Final = 2**32  # the kernel's counters have 32 bits


@dataclass(slots=True)
class _CallWindow:
    """What happened since a tick, `began_at` seconds of a monotonic clock."""

    began_at: float
    least_surplus: float = math.inf
    calls: int = 0  # calls that mounts account for
    execute_ms: int = 0  # time of these calls from start to end
    has_waits: bool = False  # whether calls have waited without a reply


@dataclass(frozen=True, slots=True)
class _Settled:
    """A window that has ended."""

    seconds: float
    calls: int  # calls that mounts account for
    unaccounted: int


class UnaccountedCalls:
    """Compare the calls that the kernel has started with those that ended on a mount, a tick at a time."""

    def __init__(self) -> None:
        self._total = 0
        self._is_known = False
        self._started: tuple[int, ...] | None = None
        self._ended = [0, 0]  # calls since the last tick, and their milliseconds
        self._surplus = 0.0
        self._window = _CallWindow(0.0)
        self._recent: deque[_Settled] = deque(maxlen=_RECENT_WINDOWS)

    @property
    def total(self) -> int | None:
        """Calls without a mount, at least so many. None where it is not known which calls there are."""
        return self._total if self._is_known else None

    def coverage(self) -> tuple[int, int] | None:
        """Return the calls of the last ten minutes, and those of them on a mount. Equal if little is missing, and None if not known."""
        if not self._is_known or not self._recent:
            return None
        seen, missing = (sum(getattr(window, name) for window in self._recent) for name in ("calls", "unaccounted"))
        least = _LEAST_CALLS_A_SECOND * sum(window.seconds for window in self._recent)
        is_told = seen + missing >= least and missing > _MATERIAL_SHARE * (seen + missing)
        return seen + missing, seen if is_told else seen + missing

    def ended(self, calls: int) -> None:
        """Note calls that ended on a mount."""
        self._ended[0] += calls

    def took(self, execute_ms: int) -> None:
        """Note the time of calls from start to end. The time of all calls is needed only where a window begins or ends."""
        self._ended[1] += execute_ms

    def ends_window(self, started: tuple[int, ...] | None, at: float, search_slowed_s: float) -> bool:
        """Whether the tick ends a window, or begins the first. Arguments as of `end_tick`."""
        if started is None:
            return False
        return self._started is None or at - self._window.began_at >= WINDOW_SECONDS + search_slowed_s

    def end_tick(self, started: tuple[int, ...] | None, at: float, *, search_slowed_s: float, has_waits: bool) -> None:
        """End a tick, `at` seconds of a monotonic clock.

        Args:
            started: calls by procedure that the kernel has started, read before the mounts. None if unknown, or not of the mounts that are read.
            at: time of the tick.
            search_slowed_s: seconds by which searches for mounts of containers come later than each minute.
            has_waits: whether calls wait without a reply. A wait looks like a call without a mount.
        """
        (calls, execute_ms), self._ended = self._ended, [0, 0]
        grown = None if started is None or self._started is None else _growth(self._started, started)
        self._started = started
        self._is_known = grown is not None
        if grown is None:
            self._surplus, self._window = float(self._total), _CallWindow(at)
            return
        window = self._window
        window.calls += calls
        window.execute_ms += execute_ms
        window.has_waits |= has_waits
        self._surplus += grown - calls
        window.least_surplus = min(window.least_surplus, self._surplus)
        if at - window.began_at >= WINDOW_SECONDS + search_slowed_s:
            self._settle(window, at - window.began_at)
            self._window = _CallWindow(at)

    def _settle(self, window: _CallWindow, seconds: float) -> None:
        in_flight = window.execute_ms / 1000 / seconds
        added = 0 if window.has_waits else max(0, math.floor(window.least_surplus - in_flight) - self._total)
        self._total += added
        self._recent.append(_Settled(seconds, window.calls, added))
        if (short := self._total - window.least_surplus) > 0:
            self._surplus += min(short, _LOST_SHARE * window.calls)


def _growth(before: tuple[int, ...], now: tuple[int, ...]) -> int | None:
    """Return the calls between two looks. None if the NFS client was loaded anew, which begins at 0."""
    growth = [(new - old) % _WRAP for old, new in zip(before, now, strict=False)]
    return None if len(before) != len(now) or max(growth, default=0) >= _WRAP // 2 else sum(growth)
