# SPDX-License-Identifier: Apache-2.0
"""Where the ceiling of a resource really is: the largest load that stood still while latency rose and offered load grew.

A mount target at its ceiling serves the same load however much is offered, and the rest waits. So at a plateau of the load, minutes with
more offered load have more latency and no more load. A load that stands still for another reason does not have that: nothing more is
offered (a batch of constant rate, a load that stopped growing), or the server has no more latency (a client that is its own bottleneck).
The latency has to be that of the server, because a client at its own limit waits as well. A plateau below what was served at another
time is no ceiling, which rules out nights. What cannot be told apart: a batch of constant rate during which the server becomes slower for
another reason, if nothing larger was served in the six weeks.

The thresholds are decisions of this project, November 2026. Generated loads with 3 % noise show that they find a ceiling within 3 %.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import fmean, median
from typing import Final, Literal

MINUTE: Final = 60  # seconds
WINDOW_MINUTES: Final = 180  # newest minutes in which plateaus are looked for
LEAST_MINUTES: Final = 15  # known minutes of a plateau
KEPT_SECONDS: Final = 6 * 7 * 86_400  # a plateau, and what was served at most, are kept for six weeks
MOST_PLATEAUS: Final = 16  # kept plateaus of one resource, the largest ones

_BAND: Final = 1.12  # largest over smallest load of a plateau, each the median of three minutes
_GROWTH: Final = 2.0  # between the median of the minutes with less offered load and of those with more
_STILL: Final = 1.02  # the same for the load, at most
_AGREE: Final = 0.95  # plateaus of one ceiling, and the most that was served, differ by less
_GAP: Final = 5 * MINUTE  # most time between two minutes of a plateau
_BETWEEN: Final = 15 * MINUTE  # less time between two plateaus is a gap of one
_SERVED_MINUTES: Final = 10  # known minutes of what was served at most
_WEEK: Final = 7 * 86_400

# Why there is no observed ceiling. Empty if there is one.
Reason = Literal["", "too few minutes", "the load moved", "latency did not rise", "more was served"]


@dataclass(frozen=True, slots=True)
class LoadMinute:
    """One minute of one resource. Minute means, from the server."""

    end: int  # epoch seconds
    load: float  # per second, in the unit of the resource
    latency: float  # of requests, in any unit
    offered: float  # requests in flight, or clients


@dataclass(frozen=True, slots=True)
class Plateau:
    """A time in which the load stood still while latency rose and offered load grew."""

    height: float  # load per second
    began: int  # begin of the first minute, epoch seconds
    ended: int  # end of the last minute, epoch seconds

    def overlaps(self, other: "Plateau") -> bool:
        """Return whether both have a minute in common."""
        return self.began < other.ended and other.began < self.ended


@dataclass(frozen=True, slots=True)
class ObservedCeiling:
    """The largest plateau, with the plateaus that agree with it within 5 %."""

    value: float  # load per second: mean of these plateaus, weighted by their minutes
    plateaus: int  # number of these plateaus
    minutes: float  # minutes of these plateaus together
    newest: int  # end of the newest of them, epoch seconds


@dataclass(slots=True)
class LoadRecord:
    """What is kept of one resource of a mount target over weeks. Its size is bounded.

    Attributes:
        served: largest mean of ten minutes by number of the week since the epoch.
        plateaus: what was found.
    """

    served: dict[int, float] = field(default_factory=dict)
    plateaus: list[Plateau] = field(default_factory=list)

    @property
    def most_served(self) -> float:
        """Largest mean of ten minutes of all weeks. 0 before ten minutes are known."""
        return max(self.served.values(), default=0.0)

    def matters(self, load: float) -> bool:
        """Return whether a minute with this load can belong to a plateau. A plateau is near what was served at most."""
        return load * _BAND / _AGREE >= self.most_served

    def add(self, minutes: Sequence[LoadMinute], newest: int) -> Reason:
        """Look at the newest minutes, and return why they have no plateau. The minutes may be looked at again.

        Args:
            minutes: known minutes that matter, in the order of time, `WINDOW_MINUTES` at most.
            newest: end of the newest minute, epoch seconds. Older weeks are dropped by it.
        """
        for end, served in _served(minutes):
            week = end // _WEEK
            self.served[week] = max(served, self.served.get(week, 0.0))
        oldest = newest - KEPT_SECONDS
        self.served = {week: most for week, most in self.served.items() if oldest // _WEEK < week <= newest // _WEEK}
        found, reason = plateaus(minutes)
        kept = (plateau for plateau in (*self.plateaus, *found) if oldest < plateau.ended <= newest)
        highest = sorted(_joined(kept), key=lambda plateau: plateau.height, reverse=True)
        self.plateaus = sorted(highest[:MOST_PLATEAUS], key=lambda plateau: plateau.began)
        return reason

    def ceiling(self) -> ObservedCeiling | None:
        """Return the observed ceiling. None without a plateau, or if more was served at another time."""
        largest = max((plateau.height for plateau in self.plateaus), default=0.0)
        if largest <= 0 or largest < _AGREE * self.most_served:
            return None
        agreeing = [plateau for plateau in self.plateaus if plateau.height >= _AGREE * largest]
        seconds = [plateau.ended - plateau.began for plateau in agreeing]
        value = sum(plateau.height * width for plateau, width in zip(agreeing, seconds, strict=True)) / sum(seconds)
        return ObservedCeiling(value, len(agreeing), sum(seconds) / MINUTE, max(p.ended for p in agreeing))

    def reason(self, of_minutes: Reason) -> Reason:
        """Return why there is no observed ceiling, where `of_minutes` is what the newest minutes say."""
        if self.ceiling() is not None:
            return ""
        return "more was served" if self.plateaus else of_minutes


def plateaus(minutes: Sequence[LoadMinute]) -> tuple[tuple[Plateau, ...], Reason]:
    """Return the plateaus of some minutes in the order of time, and why there is none."""
    if len(minutes) < LEAST_MINUTES:
        return (), "too few minutes"
    latencies = [minute.latency for minute in minutes]
    if max(latencies) < _GROWTH * min(latencies):  # so it is nearly always
        return (), "latency did not rise"
    runs = [run for run in _runs(minutes) if len(run) >= LEAST_MINUTES]
    found = tuple(_joined(plateau for run in runs if (plateau := _plateau(run)) is not None))
    return found, "" if found else "latency did not rise" if runs else "the load moved"


def bottlenecks(records: Mapping[str, LoadRecord], stated: Mapping[str, float | None]) -> None:
    """Where several resources of a mount target stood still at one time, leave only the one that is nearest to its stated ceiling.

    The other ones stood still because the requests are the same. A resource without a stated ceiling comes last.
    """

    def share(place: tuple[str, Plateau]) -> float:
        name, plateau = place
        limit = stated.get(name)
        return plateau.height / limit if limit else 0.0

    places = [(name, plateau) for name, record in records.items() for plateau in record.plateaus]
    kept: list[tuple[str, Plateau]] = []
    for name, plateau in sorted(places, key=share, reverse=True):
        if not any(plateau.overlaps(other) for of, other in kept if of != name):
            kept.append((name, plateau))
    for name, record in records.items():
        record.plateaus = [plateau for plateau in record.plateaus if (name, plateau) in kept]


def _served(minutes: Sequence[LoadMinute]) -> Iterator[tuple[int, float]]:
    """Yield the end and the mean of each ten minutes that follow each other."""
    sums = [0.0, *accumulate(minute.load for minute in minutes)]
    for first, last in enumerate(range(_SERVED_MINUTES - 1, len(minutes))):
        if minutes[last].end - minutes[first].end <= _SERVED_MINUTES * MINUTE + _GAP:
            yield minutes[last].end, (sums[last + 1] - sums[first]) / _SERVED_MINUTES


def _runs(minutes: Sequence[LoadMinute]) -> Iterator[Sequence[LoadMinute]]:
    """Yield the longest sequences of minutes whose load is within a band, without a long gap. They may overlap."""
    loads = _smooth([minute.load for minute in minutes])
    first = 0
    low = high = loads[0]
    for last, load in enumerate(loads):
        low, high = min(low, load), max(high, load)
        has_gap = last > 0 and minutes[last].end - minutes[last - 1].end > _GAP
        if not has_gap and high <= _BAND * low:
            continue
        yield minutes[first:last]
        first, low, high = last, load, load
        while not has_gap and first > 0:  # the newest minutes before it that are in one band with it
            before = loads[first - 1]
            if max(high, before) > _BAND * min(low, before) or minutes[first].end - minutes[first - 1].end > _GAP:
                break
            first, low, high = first - 1, min(low, before), max(high, before)
    yield minutes[first:]


def _plateau(run: Sequence[LoadMinute]) -> Plateau | None:
    """Return the plateau of a run. None if latency and offered load do not grow in it, or if the load does."""
    latencies = _smooth([minute.latency for minute in run])
    offered = _smooth([minute.offered for minute in run])
    order = sorted(range(len(run)), key=offered.__getitem__)
    less, more = order[: len(run) // 2], order[(len(run) + 1) // 2 :]

    def grew(values: Sequence[float], least: float) -> bool:
        return median(values[at] for at in more) >= least * median(values[at] for at in less)

    loads = [minute.load for minute in run]
    if not (grew(latencies, _GROWTH) and grew(offered, _GROWTH)) or grew(loads, _STILL):
        return None
    return Plateau(median(loads[at] for at in more), run[0].end - MINUTE, run[-1].end)


def _joined(found: Iterable[Plateau]) -> list[Plateau]:
    """Join plateaus of one time and height: the minutes were looked at twice, or some between them are missing."""
    joined: list[Plateau] = []
    for plateau in sorted(found, key=lambda plateau: (plateau.began, plateau.ended)):
        last = joined[-1] if joined else None
        if last is None or plateau.began - last.ended > _BETWEEN or not _agree(plateau.height, last.height):
            joined.append(plateau)
            continue
        wider = max(last, plateau, key=lambda each: each.ended - each.began)
        joined[-1] = Plateau(wider.height, last.began, max(last.ended, plateau.ended))
    return joined


def _agree(one: float, other: float) -> bool:
    return min(one, other) >= _AGREE * max(one, other)


def _smooth(values: Sequence[float]) -> list[float]:
    """Return for each value the median of it and its neighbours, so that one odd minute moves nothing."""
    middle = [sorted(three)[1] for three in zip(values, values[1:], values[2:], strict=False)]
    return [fmean(values[:2]), *middle, fmean(values[-2:])] if middle else list(values)
