# SPDX-License-Identifier: Apache-2.0
"""How fast a load grows, and when it reaches a ceiling at this growth."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression
from typing import Final, NamedTuple

# Days of history that a trend needs, because work has the shape of a week. Decision of this project, November 2026.
LEAST_DAYS: Final = 14

SOON_DAYS: Final = 3650.0  # a later date is no forecast


class DailyPeak(NamedTuple):
    """The busiest five minutes of one day."""

    day: float  # days since 1970
    value: float  # in the unit of the resource


@dataclass(frozen=True, slots=True)
class Growth:
    """A straight line through daily peaks (least squares)."""

    last_day: float  # the last day with data, days since 1970
    last: float  # the line on this day, in the unit of the resource
    per_day: float  # slope

    def day_of(self, ceiling: float) -> float | None:
        """Return the day on which the line reaches a ceiling, days since 1970, the last day if the line is there.

        None if the load does not grow, or not within ten years.
        """
        if self.last >= ceiling:
            return self.last_day
        days = (ceiling - self.last) / self.per_day if self.per_day > 0 else None
        return None if days is None or days > SOON_DAYS else self.last_day + days


def growth_of(peaks: Sequence[DailyPeak]) -> Growth | None:
    """Return the growth of daily peaks. None with fewer than 14 days of data."""
    if len(peaks) < LEAST_DAYS:
        return None
    days, values = zip(*peaks, strict=True)
    slope, intercept = linear_regression(days, values)
    last_day = max(days)
    return Growth(last_day, intercept + slope * last_day, slope)
