"""Compute the minutes to query, and remember the counted minutes. Pure.

The name of a minute is its end, in seconds since the epoch, a multiple of 60. The point stamped 12:05:00 is the minute from
12:04 to 12:05. A minute is complete when the clock has reached the end.
"""

from dataclasses import dataclass

MINUTE = 60

LATE_MINUTES = 4
"""Minutes to look back for unknown series, because a point comes up to three minutes late."""

GAUGE_MOST_MINUTES = 15
"""How far back a gauge is looked for at all."""

COUNTER_OVERLAP_MINUTES = 11
"""Minutes to query again before the oldest of the last `ANSWERS_REPEATED` answers. A minute that comes up to 15 minutes late
still counts.
"""

ANSWERS_REPEATED = 5
"""Polls that repeat a window. After an outage, a stream that is missing in one answer delivers the backlog in the next
answer.
"""

FURTHEST_MINUTES = 180
"""After an outage, the minutes of the last three hours are caught up on."""


@dataclass(frozen=True, slots=True)
class Window:
    """Minutes to query, both ends in epoch seconds. OCI includes `start` and excludes `end`."""

    start: int
    end: int

    @property
    def minutes(self) -> int:
        """The most points of a stream in the window."""
        return (self.end - self.start) // MINUTE


def newest_complete(now: float) -> int:
    """Return end of the newest complete minute."""
    return int(now // MINUTE) * MINUTE


def window(now: float, *, overlap_minutes: int, answered: int | None) -> Window:
    """Return the window of one query.

    Args:
        now: epoch seconds.
        overlap_minutes: minutes to repeat before the newest complete minute, and before `answered`.
        answered: newest complete minute at the time of the last answer. None before the first answer.
    """
    newest = newest_complete(now)
    last = newest if answered is None else min(answered, newest)
    start = max(last - overlap_minutes * MINUTE, newest - FURTHEST_MINUTES * MINUTE)
    return Window(start + MINUTE, newest + MINUTE)


def gauge_minutes(now: float, *, newest: int | None, slowest: int | None, thorough: bool) -> int:
    """Return the minutes back to query for a gauge, which needs only the newest point of each series.

    Args:
        now: epoch seconds.
        newest: end of the newest minute of any series. None before the first point.
        slowest: end of the newest minute of the latest series. A window from there on misses nothing of the known series. None
            without a series.
        thorough: whether to look for unknown series as well, which may be even later.
    """
    if newest is None or slowest is None:
        return GAUGE_MOST_MINUTES
    complete = newest_complete(now)
    back = (complete - slowest) // MINUTE + 1
    if thorough:
        back = max(back, (complete - newest) // MINUTE + LATE_MINUTES)
    return min(max(back, 2), GAUGE_MOST_MINUTES)


class Minutes:
    """The counted minutes of one series.

    The newest minute, and not a clock, decides which minutes are too old to remember, because a clock may jump ahead and back.

    Args:
        start: minutes that end at or before this time are already counted.
    """

    __slots__ = ("_floor", "_taken")

    def __init__(self, start: int) -> None:
        self._floor = start
        self._taken = 0  # bit n: the minute that ends n + 1 minutes after the floor

    def take(self, minute: int) -> bool:
        """Count a minute. Return False if the minute was counted before or is older than the stored minutes."""
        place = (minute - self._floor) // MINUTE - 1
        if place < 0 or self._taken >> place & 1:
            return False
        self._taken |= 1 << place
        too_old = self._taken.bit_length() - FURTHEST_MINUTES
        if too_old > 0:
            self._taken >>= too_old
            self._floor += too_old * MINUTE
        return True


Points = dict[int, float]
"""Values by the end of their minute, epoch seconds."""
