"""How fast a load grows, and when it reaches a ceiling at this growth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

LEAST_DAYS: Final = 14
"""Days of history that a trend needs, because work has the shape of a week. Decision of this project, November 2026."""


class DailyPeak(NamedTuple):
    """The busiest five minutes of one day."""

    day: float  # in days, from any origin
    value: float  # in the unit of the resource


@dataclass(frozen=True, slots=True)
class Growth:
    """A straight line through daily peaks (least squares)."""

    now: float  # the line at the last day, in the unit of the resource
    per_day: float  # slope
    days: int  # days with data

    def days_until(self, ceiling: float) -> float | None:
        """Return the days until the line reaches a ceiling, 0 if it is there. None if the load does not grow."""
        if self.now >= ceiling:
            return 0.0
        return (ceiling - self.now) / self.per_day if self.per_day > 0 else None


def growth_of(peaks: Sequence[DailyPeak]) -> Growth | None:
    """Return the growth of daily peaks. None with fewer than 14 days of data."""
    count = len(peaks)
    if count < LEAST_DAYS:
        return None
    mean_day, mean = (sum(values) / count for values in zip(*peaks, strict=True))
    spread = sum((day - mean_day) ** 2 for day, _ in peaks)
    slope = sum((day - mean_day) * (value - mean) for day, value in peaks) / spread if spread else 0.0
    last = max(day for day, _ in peaks)
    return Growth(max(0.0, mean + slope * (last - mean_day)), slope, count)
