# SPDX-License-Identifier: Apache-2.0
"""The minutes that are counted already, and what they add up to, by OCID and metric. Pure.

A ledger lives longer than inventories, labels and settings. A resource that is missing in one listing, or that gets another
name, therefore counts each minute once. `ledger_file` keeps a ledger over a restart.

The name of a minute is its end, in seconds since the epoch, a multiple of 60. The point stamped 12:05:00 is the minute from
12:04 to 12:05. A minute is complete when the clock has reached the end.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from fss_exporter.model.minute_verdict import VERDICTS
from fss_exporter.model.observed_ceiling import LoadRecord
from fss_exporter.model.thresholds import CEILING_LEVELS, SLO_OBJECTIVES

MINUTE: Final = 60  # seconds

FURTHEST_MINUTES: Final = 180  # after an outage, the minutes of the last three hours are caught up on

# A missing minute is asked for until it comes, or until OCI has answered for so long without it. A minute without all the
# figures of a verdict is judged after so long with the figures that came.
GIVE_UP_MINUTES: Final = 15

# Kinds of minutes by name of the tallies. A plain counter has the single kind "".
KINDS: Final = {
    "verdicts": tuple(f"{objective}/{verdict}" for objective in SLO_OBJECTIVES for verdict in VERDICTS),
    "near ceiling minutes": tuple(f"{level:g}" for level in CEILING_LEVELS),
}
PLAIN: Final = ("",)

Key = tuple[str, ...]  # OCIDs and dimension values of a series


def newest_complete(now: float) -> int:
    """Return end of the newest complete minute."""
    return int(now // MINUTE) * MINUTE


class Minutes:
    """The counted minutes of one series. Minutes that end at or before `floor` are counted or too old to remember.

    The newest minute, and not a clock, decides which minutes are too old, because a clock may jump ahead and back.

    Attributes:
        floor: end of a minute, epoch seconds. The minute behind it is not counted.
        taken: bit n is set if the minute that ends n + 1 minutes after the floor is counted.
    """

    __slots__ = ("floor", "taken")

    def __init__(self, floor: int, taken: int = 0) -> None:
        self.floor = floor
        self.taken = taken

    @property
    def newest(self) -> int:
        """End of the newest counted minute, or the floor."""
        return self.floor + self.taken.bit_length() * MINUTE

    @property
    def first_missing(self) -> int:
        """End of the oldest minute that is not counted."""
        return self.floor + MINUTE

    def has(self, minute: int) -> bool:
        """Return whether a minute is counted or too old."""
        place = (minute - self.floor) // MINUTE - 1
        return place < 0 or bool(self.taken >> place & 1)

    def missing(self, until: int, since: int = 0) -> Iterator[int]:
        """Yield the ends of the minutes after `since` and until `until` that are not counted, oldest first.

        Minutes may be taken meanwhile.
        """
        first = max(self.floor, since)
        number = max(0, (until - first) // MINUTE)
        missing = ~(self.taken >> (first - self.floor) // MINUTE) & (1 << number) - 1
        while missing:
            lowest = missing & -missing
            yield first + lowest.bit_length() * MINUTE
            missing ^= lowest

    def take(self, minute: int) -> bool:
        """Count a minute. Return False if the minute was counted before or is too old."""
        place = (minute - self.floor) // MINUTE - 1
        if place < 0 or self.taken >> place & 1:
            return False
        taken = self.taken | 1 << place
        self._raise_floor(taken, max(0, taken.bit_length() - FURTHEST_MINUTES))
        return True

    def give_up(self, until: int) -> None:
        """Count no minute any more that ends at or before `until`, epoch seconds."""
        self._raise_floor(self.taken, max(0, (until - self.floor) // MINUTE))

    def _raise_floor(self, taken: int, minutes: int) -> None:
        """Raise the floor by some minutes, and then by those that are counted without a gap."""
        taken >>= minutes
        lowest_zero = ~taken & taken + 1  # adding 1 turns the 1s at the low end into 0s, and the 0 above them into a 1
        without_gap = lowest_zero.bit_length() - 1
        self.floor += (minutes + without_gap) * MINUTE
        self.taken = taken >> without_gap


@dataclass(slots=True)
class Tally:
    """What the counted minutes of one series add up to, by kind of minute. A plain counter has the single kind "".

    What a new counter counts in the first poll is held back until the next one, so that Prometheus sees 0 first.
    """

    minutes: Minutes
    totals: dict[str, float] = field(default_factory=dict)
    held_back: float | None = None  # None for a counter that is not new

    def count(self, points: Mapping[int, float], factor: float) -> None:
        """Count the points of new minutes, times a factor, in a plain counter."""
        new = (points[minute] for minute in sorted(points) if self.minutes.take(minute))
        amount = sum(new, 0.0) * factor
        if not self.totals:
            self.totals[""] = self.held_back = 0.0
        if self.held_back is None:
            self.totals[""] += amount
        else:
            self.held_back += amount

    def release(self) -> None:
        """Add the amount that was held back."""
        if self.held_back is not None:
            self.totals[""] += self.held_back
            self.held_back = None


class Tallies(dict[Key, Tally]):
    """The tallies of one metric, by series."""

    def __init__(self) -> None:
        super().__init__()
        self._gone_since: dict[Key, int] = {}  # minute of the first poll in which the resource was gone

    def forget(self, gone: Iterable[Key], now_minute: int) -> None:
        """Drop the tallies of resources that have been gone for three hours, and whose minutes cannot come again.

        `gone` has all tallies of resources that the inventory lacks. One listing may lack a resource that lives.
        """
        self._gone_since = {key: self._gone_since.get(key, now_minute) for key in gone}
        furthest = now_minute - FURTHEST_MINUTES * MINUTE
        for key, since in self._gone_since.items():
            if max(since, self[key].minutes.newest) < furthest:
                del self[key]


@dataclass(slots=True)
class ObservedLoads:
    """What is kept over weeks of the loads of one mount target, to find its ceilings."""

    shape: str  # name of the shape that the mount target had
    resources: dict[str, LoadRecord] = field(default_factory=dict)

    def of(self, resource: str) -> LoadRecord:
        """Return the record of a resource, a new one at the first time."""
        return self.resources.setdefault(resource, LoadRecord())


class Ledger:
    """What is counted in one region: a tally of each series, by name of the metric.

    Attributes:
        start: minutes that end at or before this, epoch seconds, are in no tally.
        answered: newest minute of the last answered query by name of the OCI metric, epoch seconds.
        observed: loads of the last weeks by OCID of the mount target.
        writer: name of the poller in whose file this is. Empty before the first write of a new ledger.
        refused_at: when this began in place of a file that could not be used, in seconds that never go back. None for all others.
    """

    def __init__(self, start: int) -> None:
        self.start = start
        self.answered: dict[str, int] = {}
        self.observed: dict[str, ObservedLoads] = {}
        self.writer = ""
        self.refused_at: float | None = None
        self._tallies: dict[str, Tallies] = {}

    def forget_after(self, now_minute: int) -> None:
        """Count on from `now_minute` where minutes far after it are counted: the clock was ahead, or the file is of another time."""
        self.start = min(self.start, now_minute)
        for _, tallies in self.by_metric():
            for tally in tallies.values():
                if tally.minutes.newest > now_minute + GIVE_UP_MINUTES * MINUTE:
                    tally.minutes = Minutes(now_minute)

    def go_on_elsewhere(self, start: int) -> None:
        """Count for other resources than before: what is new counts from `start` on.

        A tally that was not kept up to the end is of a resource that the last writer did not poll. Its poller has counted further,
        so the tally goes, because a counter must not go back.
        """
        written = max(self.answered.values(), default=self.start)
        kept_up = written - GIVE_UP_MINUTES * MINUTE
        for _, tallies in self.by_metric():
            for key in [key for key, tally in tallies.items() if tally.minutes.newest < kept_up]:
                del tallies[key]
        self.answered = {
            name: min(answered, self._kept_up_to(name, answered)) for name, answered in self.answered.items()
        }
        self.start = max(self.start, start)

    def count_added_from(self, start: int) -> None:
        """Count what a reload adds from `start` on. What was not kept up is silent, or was not polled for some time."""
        newest = max(self.answered.values(), default=self.start)
        for name, tallies in self.by_metric():
            kept_up = self.answered.get(name, newest) - GIVE_UP_MINUTES * MINUTE
            for tally in list(tallies.values()):  # a poll goes on meanwhile
                if tally.minutes.newest < kept_up:
                    tally.minutes = Minutes(start)
        self.start = max(self.start, start)

    def _kept_up_to(self, name: str, answered: int) -> int:
        """Return the newest minute that all tallies of a metric have, so that the next query catches up on the rest."""
        return min((tally.minutes.newest for tally in self.tallies(name).values()), default=answered)

    def tallies(self, name: str) -> Tallies:
        """Return the tallies of one metric. They are the ledger's own."""
        return self._tallies.setdefault(name, Tallies())

    def by_metric(self) -> Iterator[tuple[str, Tallies]]:
        """Yield the name of each metric with the tallies. A reload in another thread may add metrics meanwhile."""
        yield from list(self._tallies.items())
