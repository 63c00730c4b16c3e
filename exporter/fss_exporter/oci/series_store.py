"""One OCI metric of one region: the newest point of each series, and counters that count each minute once. Pure.

An answer only adds. A series that is missing in an answer keeps the point until the point is too old. A late minute counts
on arrival. The caller decides whether a call succeeded, because a failed call must leave the store unchanged.

The name of a minute is its end, in seconds since the epoch, a multiple of 60. The point stamped 12:05:00 is the minute from
12:04 to 12:05. A minute is complete when the clock has reached the end.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fss_exporter.catalogue.metric import Metric, Series
from fss_exporter.oci.cloud_client import Points, Stream, epoch_seconds
from fss_exporter.oci.labels import Key, LabelledStream, RegionLabels
from fss_exporter.oci.metric_table import OciMetric, is_success
from fss_exporter.oci.snapshot import AnswerSummary, SeriesColumn, SharedSeries

MINUTE = 60  # seconds

FURTHEST_MINUTES = 180
"""After an outage, the minutes of the last three hours are caught up on."""


def newest_complete(now: float) -> int:
    """Return end of the newest complete minute."""
    return int(now // MINUTE) * MINUTE


class Minutes:
    """The counted minutes of one series. Minutes that end at or before `start` are already counted.

    The newest minute, and not a clock, decides which minutes are too old to remember, because a clock may jump ahead
    and back.
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


SKIPPED: Final = ("broken", "broken_point", "unknown_resource", "success_event", "duplicate")
"""Reasons to leave out a stream, or some of the stream's points (`broken_point`)."""

_NO_POINTS: Final[Points] = {}

_LARGEST: Final = 1e18  # no metric is negative, none comes near an exabyte a second; a larger value is not data


@dataclass(slots=True)
class _NewestPoint:
    """A gauge. Each poll changes the record in place, because the garbage collector searches every new record."""

    series: SharedSeries
    minute: int
    value: float


@dataclass(slots=True)
class _CounterSum:
    """A counter. The store holds back the first increase for one poll, so that Prometheus sees 0 first."""

    series: SharedSeries
    minutes: Minutes
    total: float = 0.0
    held_back: float = 0.0


class MinuteStamps(dict[str, int]):
    """Minutes by time stamp of OCI. An answer repeats a handful of time stamps thousands of times.

    A time stamp without a zone, or that is not a whole minute, raises ValueError.
    """

    def __missing__(self, stamp: str) -> int:
        seconds = epoch_seconds(stamp)
        if seconds % MINUTE:
            raise ValueError(f"not a whole minute: {stamp!r}")
        if len(self) > 1_000:  # a window has 180 at the most
            self.clear()
        self[stamp] = minute = int(seconds)
        return minute


class SeriesStore:
    """One metric of one region. The labels need an inventory before the first answer. All stores share the time
    stamps.

    Minutes that end at or before `start`, epoch seconds, are in no counter of this exporter. With `keeps_points`,
    summaries of answers carry all points, for calculations.
    """

    def __init__(
        self, metric: OciMetric, labels: RegionLabels, *, start: int, stamps: MinuteStamps, keeps_points: bool = False
    ) -> None:
        self.metric = metric
        self._labels = labels.of(metric)
        self._start = start
        self._stamps = stamps
        self._keeps_points = keeps_points
        self._has_successes = "errorType" in metric.dimensions
        self._points: dict[Key, _NewestPoint] = {}
        self._sums: dict[Key, _CounterSum] = {}

    @property
    def points(self) -> tuple[tuple[int, SeriesColumn], ...]:
        """The newest point of each gauge of any age, with a column for each end of a minute."""
        by_minute: dict[int, tuple[list[Series], list[float]]] = {}
        for one in self._points.values():
            column = by_minute.get(one.minute)
            if column is None:
                column = by_minute[one.minute] = [], []
            column[0].append(one.series)
            column[1].append(one.value)
        return tuple((at, SeriesColumn(tuple(series), tuple(values))) for at, (series, values) in by_minute.items())

    @property
    def slowest(self) -> int | None:
        """End of the newest minute of the latest series. None without a series."""
        return min((one.minute for one in self._points.values()), default=None)

    @property
    def sums(self) -> SeriesColumn:
        """Every counter."""
        sums = self._sums.values()
        return SeriesColumn(tuple(one.series for one in sums), tuple(one.total for one in sums))

    @property
    def unknown(self) -> frozenset[Key]:
        """Keys of streams whose resource is not in the inventory."""
        return self._labels.unknown

    def relabel(self) -> None:
        """Take over renamed resources, and drop the series of deleted resources."""
        kept: tuple[tuple[Metric | None, dict[Key, Any]], ...] = (
            (self.metric.gauge, self._points),
            (self.metric.counter, self._sums),
        )
        for metric, series in kept:
            for key, one in list(series.items()):
                known = self._labels.get(key)
                if known is None:
                    del series[key]
                elif metric is not None and known.labels is not None and known.labels != one.series.labels:
                    one.series = SharedSeries(metric, known.labels)

    def release_held_back(self) -> None:
        """Add the first increases of the last poll."""
        for one in self._sums.values():
            one.total += one.held_back
            one.held_back = 0.0

    def take(self, streams: Sequence[Stream | None], now_minute: int, before: AnswerSummary) -> AnswerSummary:
        """Take one part of an answer, and return the summary of this part and of all parts `before`.

        A stream is None if its form is undocumented. A point after `now_minute`, the newest complete minute, is incomplete and
        not taken.
        """
        self._start = min(self._start, now_minute)  # the clock may have been ahead when the exporter started
        skipped: Counter[str] = Counter()
        taken: dict[Key, Points] = {}
        newest = 0
        for stream in streams:
            try:
                known = self._labels.find(stream.dimensions) if stream else None
            except (KeyError, TypeError, ValueError):
                known = None
            if stream is None or known is None:
                skipped["broken"] += 1
                continue
            key = known.key
            reason = self._refusal(known, key in taken or key in before.points)
            if reason is not None:
                skipped[reason] += 1
                continue
            points, broken = self._read(stream, now_minute)
            if broken:
                skipped["broken_point"] += 1
            taken[key] = points if self._keeps_points else _NO_POINTS
            if points:
                latest = max(points)
                self._enter(known, points, latest)
                newest = max(newest, latest)
        return before.plus(AnswerSummary(streams=len(streams), newest=newest or None, skipped=skipped, points=taken))

    def forget(self, now_minute: int, stale_seconds: float) -> None:
        """Drop points above the maximum age."""
        oldest = now_minute - stale_seconds
        for key in [key for key, one in self._points.items() if one.minute < oldest]:
            del self._points[key]

    def _read(self, stream: Stream, now_minute: int) -> tuple[Points, int]:
        """Return the complete minutes of a stream, and the number of damaged points."""
        stamps = self._stamps
        points: Points = {}
        broken = stream.broken_points
        for point in stream.points:
            value = point.value
            try:
                minute = stamps[point.timestamp]
            except ValueError:
                broken += 1
                continue
            if not 0 <= value <= _LARGEST:
                broken += 1
            elif minute <= now_minute:
                points[minute] = value
        return points, broken

    def _refusal(self, known: LabelledStream, is_repeated: bool) -> str | None:
        """Return the reason to leave out a stream. None for a stream to take.

        A renamed replication has a stream for each name, and LDAP metrics have a second stream for the connector. The counters
        take each minute once.
        """
        if known.labels is None:
            return "unknown_resource"
        if self._has_successes and is_success(known.key[-1]):
            return "success_event"
        return "duplicate" if is_repeated and self.metric.owner not in {"replication", "ldap"} else None

    def _enter(self, stream: LabelledStream, points: Points, latest: int) -> None:
        gauge, key = self.metric.gauge, stream.key
        if gauge is not None:
            value = points[latest] * self.metric.scale
            known = self._points.get(key)
            if known is None:
                self._points[key] = _NewestPoint(SharedSeries(gauge, stream.labels or ()), latest, value)
            elif latest >= known.minute:
                known.minute, known.value = latest, value
        if self.metric.counter is not None:
            self._add(self.metric.counter, stream, points)

    def _add(self, counter: Metric, stream: LabelledStream, points: Points) -> None:
        known = self._sums.get(stream.key)
        if known is None:
            series = SharedSeries(counter, stream.labels or ())
            known = self._sums[stream.key] = _CounterSum(series, Minutes(self._start))
            known.held_back = self._amount(points, known.minutes)
        else:
            known.total += self._amount(points, known.minutes)

    def _amount(self, points: Points, minutes: Minutes) -> float:
        return sum(points[minute] for minute in sorted(points) if minutes.take(minute)) * self.metric.per_minute
