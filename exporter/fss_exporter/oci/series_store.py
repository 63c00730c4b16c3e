"""What is known of one OCI metric in one region: the newest point of each series, and sums that take each minute once. Pure.

An answer only ever adds: a series that is not in it keeps its point until that is too old, one that comes late is taken when it
comes. Whether the answer was good is the caller's business; a failed call leaves the book as it is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from fss_exporter.catalogue.metric import Metric, Series
from fss_exporter.oci.labels import Found, Key, RegionLabels
from fss_exporter.oci.metric_table import is_success
from fss_exporter.oci.oci_metric import OciMetric
from fss_exporter.oci.shared_series import Column, SharedSeries
from fss_exporter.oci.streams import Point, Stream
from fss_exporter.oci.window import MINUTE, Minutes

SKIPPED: Final = ("broken", "unknown_resource", "success_event", "duplicate")
"""Why a stream may be left out."""

Points = dict[int, float]
"""Values by the minute they are of."""


@dataclass(slots=True)
class _Adding:
    """A counter at work. What its first answer brought is held back for one poll, so that it is seen at 0 first."""

    series: SharedSeries
    minutes: Minutes
    total: float = 0.0
    held_back: float = 0.0


@dataclass(frozen=True, slots=True)
class Taken:
    """What one answer brought.

    Attributes:
        streams: how many streams were in it.
        newest: end of the newest complete minute in it; None without any point.
        skipped: streams that were left out, by reason.
    """

    streams: int
    newest: int | None
    skipped: Mapping[str, int]


class MinuteStamps:
    """From OCI's time stamps to minutes. An answer repeats a handful of them thousands of times."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def minute(self, stamp: str) -> int:
        """Epoch seconds of a time stamp.

        Raises:
            ValueError: it is not a whole minute.
        """
        found = self._known.get(stamp)
        if found is None:
            seconds = datetime.fromisoformat(stamp).timestamp()
            found = int(seconds)
            if found % MINUTE or found != seconds or "T" not in stamp:
                raise ValueError(f"not a minute: {stamp}")
            if len(self._known) > 1_000:  # a window has 180 at the most
                self._known.clear()
            self._known[stamp] = found
        return found


class SeriesStore:
    """One metric of one region.

    Args:
        metric: which.
        owners: of the region; they have to know an inventory before the book does.
        start: minutes that end at or before this, in epoch seconds, are none of this exporter's counters.
        clockwork: shared by all books.
    """

    def __init__(self, metric: OciMetric, owners: RegionLabels, *, start: int, clockwork: MinuteStamps) -> None:
        self.metric = metric
        self._owners = owners.of(metric)
        self._start = start
        self._minute_of = clockwork.minute
        self._has_successes = "errorType" in metric.dimensions
        self._points: dict[Key, tuple[int, SharedSeries, float]] = {}
        self._sums: dict[Key, _Adding] = {}

    @property
    def points(self) -> Mapping[int, Column]:
        """The newest point of each gauge, by the end of its minute, however old."""
        by_minute: dict[int, tuple[list[Series], list[float]]] = {}
        for minute, series, value in self._points.values():
            column = by_minute.get(minute)
            if column is None:
                column = by_minute[minute] = [], []
            column[0].append(series)
            column[1].append(value)
        columns = {minute: Column(tuple(series), tuple(values)) for minute, (series, values) in by_minute.items()}
        return MappingProxyType(columns)

    @property
    def slowest(self) -> int | None:
        """End of the newest minute of the series that is furthest behind; None where there is none."""
        return min((minute for minute, _, _ in self._points.values()), default=None)

    @property
    def sums(self) -> Column:
        """Every counter."""
        adding = self._sums.values()
        return Column(tuple(one.series for one in adding), tuple(one.total for one in adding))

    @property
    def unknown(self) -> frozenset[Key]:
        """Keys of streams whose owner is not in the inventory."""
        return self._owners.unknown

    def look_again(self) -> None:
        """RegionLabels may have other names now, and series whose owner is gone are gone."""
        for key, (minute, series, value) in list(self._points.items()):
            owner = self._owners.get(key)
            if owner is None:
                del self._points[key]
            else:
                self._points[key] = minute, _named_anew(self.metric.gauge, series, owner), value
        for key, adding in list(self._sums.items()):
            owner = self._owners.get(key)
            if owner is None:
                del self._sums[key]
            else:
                adding.series = _named_anew(self.metric.counter, adding.series, owner)

    def open(self) -> None:
        """A new answer begins: what was held back counts from now on."""
        for adding in self._sums.values():
            adding.total += adding.held_back
            adding.held_back = 0.0

    def take(
        self, streams: Iterable[Stream | None], now_minute: int, seen: set[Key], watch: dict[Key, Points] | None = None
    ) -> Taken:
        """Take one answer, or one part of it.

        Args:
            streams: of the answer; None for one that is not as documented.
            now_minute: end of the newest complete minute; a point behind it is not complete and is not taken.
            seen: keys that other parts of the same answer had; grows.
            watch: gets the points of every stream, for calculations.
        """
        self._start = min(self._start, now_minute)  # the clock may have been ahead when the exporter started
        skipped: Counter[str] = Counter()
        count, newest = 0, 0
        for stream in streams:
            count += 1
            if stream is None:
                skipped["broken"] += 1
                continue
            try:
                owner = self._owners.find(stream.dimensions)
                points = self._read(stream.points, now_minute)
            except (KeyError, TypeError, ValueError):
                skipped["broken"] += 1
                continue
            reason = self._refusal(owner, seen)
            if reason:
                skipped[reason] += 1
            elif points:
                latest = max(points)
                self._enter(owner, points, latest)
                newest = max(newest, latest)
                if watch is not None:
                    watch[owner.key] = points
        skipped.pop("twin", None)
        return Taken(count, newest or None, skipped)

    def forget(self, now_minute: int, stale_seconds: float) -> None:
        """Drop points that are too old to be shown."""
        oldest = now_minute - stale_seconds
        for key in [key for key, (minute, _, _) in self._points.items() if minute < oldest]:
            del self._points[key]

    def _read(self, given: Iterable[Point], now_minute: int) -> Points:
        minute_of = self._minute_of
        points: Points = {}
        for point in given:
            minute, value = minute_of(point.timestamp), point.value
            if minute <= now_minute and value - value == 0:  # neither infinite nor NaN
                points[minute] = value
        return points

    def _refusal(self, owner: Found, seen: set[Key]) -> str:
        """Why a stream is left out; empty where it is not."""
        if owner.labels is None:
            return "unknown_resource"
        if self._has_successes and is_success(owner.key[-1]):
            return "success_event"
        if owner.key in seen:  # LDAP metrics are published for the mount target and for the connector alike
            return "twin" if self.metric.owner == "ldap" else "duplicate"
        seen.add(owner.key)
        return ""

    def _enter(self, owner: Found, points: Points, latest: int) -> None:
        gauge, key = self.metric.gauge, owner.key
        if gauge is not None:
            known = self._points.get(key)
            if known is None:
                self._points[key] = latest, SharedSeries(gauge, owner.labels or ()), points[latest] * self.metric.scale
            elif latest >= known[0]:
                self._points[key] = latest, known[1], points[latest] * self.metric.scale
        if self.metric.counter is not None:
            self._add(self.metric.counter, owner, points)

    def _add(self, counter: Metric, owner: Found, points: Points) -> None:
        adding = self._sums.get(owner.key)
        if adding is None:
            adding = self._sums[owner.key] = _Adding(SharedSeries(counter, owner.labels or ()), Minutes(self._start))
            adding.held_back = self._amount(points, adding.minutes)
        else:
            adding.total += self._amount(points, adding.minutes)

    def _amount(self, points: Points, minutes: Minutes) -> float:
        return sum(points[minute] for minute in sorted(points) if minutes.take(minute)) * self.metric.per_minute


def _named_anew(metric: Metric | None, series: SharedSeries, owner: Found) -> SharedSeries:
    if metric is None or owner.labels is None or series.labels == owner.labels:
        return series
    return SharedSeries(metric, owner.labels)
