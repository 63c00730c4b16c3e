"""Which minutes to ask for, and which have been taken. Pure.

A minute is named by its end, in seconds since the epoch, a multiple of 60: the point stamped 12:05:00 is the minute from 12:04 to
12:05. It is complete when the clock has reached that end.
"""

from dataclasses import dataclass

MINUTE = 60

LATE_MINUTES = 4
"""A point comes up to three minutes late; so far back a series is looked for that was not seen before."""

GAUGE_MOST_MINUTES = 15
"""How far back a gauge is looked for at all."""

COUNTER_OVERLAP_MINUTES = 11
"""So many minutes before the oldest of the last `ANSWERS_REPEATED` answers are asked for again: a minute that comes up to 15
minutes late still counts."""

ANSWERS_REPEATED = 5
"""A window is asked for in so many polls. After an outage the backlog of a stream that one answer misses comes with the next."""

FURTHEST_MINUTES = 180
"""After an outage, the minutes of the last three hours are caught up on."""


@dataclass(frozen=True, slots=True)
class Window:
    """Minutes to ask for, both ends in epoch seconds; OCI includes `start` and excludes `end`."""

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
        overlap_minutes: how far back from the newest complete minute, and from `answered`, to look again.
        answered: newest complete minute at the time of the last answer; None where there was none yet.
    """
    newest = newest_complete(now)
    last = newest if answered is None else min(answered, newest)
    start = max(last - overlap_minutes * MINUTE, newest - FURTHEST_MINUTES * MINUTE)
    return Window(start + MINUTE, newest + MINUTE)


def gauge_minutes(now: float, *, newest: int | None, slowest: int | None, thorough: bool) -> int:
    """Return how many minutes back to query a gauge, which needs only the newest point of each series.

    Args:
        now: epoch seconds.
        newest: end of the newest minute any series has; None where there was none yet.
        slowest: end of the newest minute of the series that is furthest behind. A window that begins there misses
            nothing of the series that are known; None where none is.
        thorough: look for series that are not known as well. They may be late, too, and later than the others.
    """
    if newest is None or slowest is None:
        return GAUGE_MOST_MINUTES
    complete = newest_complete(now)
    back = (complete - slowest) // MINUTE + 1
    if thorough:
        back = max(back, (complete - newest) // MINUTE + LATE_MINUTES)
    return min(max(back, 2), GAUGE_MOST_MINUTES)


class Minutes:
    """The minutes of one series that have been counted.

    What is too old to know is told by the newest of them and not by a clock, which may jump ahead and come back.

    Args:
        start: minutes that end at or before this are counted already.
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
