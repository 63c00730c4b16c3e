# SPDX-License-Identifier: Apache-2.0
"""One OCI metric of one region: the newest point of each series, and counters that count each minute once. Pure.

An answer only adds. A series that is missing in an answer keeps the point until the point is too old. A late minute counts
on arrival. The caller decides whether a call succeeded, because a failed call must leave the store unchanged.

The ledger owns what is counted. A resource that is missing in the inventory is not exported, and its minutes still count.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fss_exporter.catalogue import Declaration, Series
from fss_exporter.oci.cloud_client import Points, Stream, epoch_seconds
from fss_exporter.oci.ledger import FURTHEST_MINUTES, MINUTE, Key, Ledger, Minutes, Tally
from fss_exporter.oci.metric_table import OciMetric, is_success
from fss_exporter.oci.metrics.answers import AnswerSummary, SeriesColumn, SharedSeries
from fss_exporter.oci.metrics.labels import NOT_SELECTED, OTHER_SHARD, UNKNOWN, LabelledStream, Labels, RegionLabels

# Reasons to leave out a stream, or some of the stream's points (`broken_point`, `future_point`).
SKIPPED: Final = (
    "broken",
    "broken_point",
    "future_point",
    UNKNOWN,
    NOT_SELECTED,
    OTHER_SHARD,
    "success_event",
    "duplicate",
)

_LARGEST: Final = 1e18  # no metric is negative, none comes near an exabyte a second; a larger value is not data


@dataclass(slots=True)
class _NewestPoint:
    """A gauge. Each poll changes the record in place, because the garbage collector searches every new record."""

    series: SharedSeries
    minute: int
    value: float


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


Receive = Callable[[Key, Points], None]  # gets the key and the points, by minute, of each stream that is taken


class SeriesStore:
    """One metric of one region. The labels need an inventory before the first answer. All stores share the time
    stamps.

    `receive` gets the points of resources in the inventory, for calculations over several metrics.

    Attributes:
        metric: the metric of OCI.
        unlisted: end of the newest minute of each stream whose resource no listing has, by key.
    """

    def __init__(
        self,
        metric: OciMetric,
        labels: RegionLabels,
        *,
        ledger: Ledger,
        stamps: MinuteStamps,
        receive: Receive | None = None,
    ) -> None:
        self.metric = metric
        self._labels = labels.of(metric)
        for declared in filter(None, (metric.gauge, metric.counter)):
            declared.check(self._labels.names)
        self._ledger = ledger
        self._tallies = ledger.tallies(metric.name)
        self._stamps = stamps
        self._receive = receive
        self._has_successes = "errorType" in metric.dimensions
        self._points: dict[Key, _NewestPoint] = {}
        self._counters: dict[Key, SharedSeries] = {}  # the exported ones
        self._in_view: dict[Key, int] = {}  # minute of the last answer in which a stream was of a known resource
        # minute up to which a stream was of no known resource, before it ever was of one
        self._out_of_view: dict[Key, int] = {}
        self.unlisted: dict[Key, int] = {}

    @property
    def points(self) -> tuple[tuple[int, SeriesColumn], ...]:
        """The newest point of each gauge of any age, with a column for each end of a minute."""
        by_minute: dict[int, tuple[list[Series], list[float]]] = {}
        for point in self._points.values():
            column = by_minute.get(point.minute)
            if column is None:
                column = by_minute[point.minute] = [], []
            column[0].append(point.series)
            column[1].append(point.value)
        return tuple((at, SeriesColumn(tuple(series), tuple(values))) for at, (series, values) in by_minute.items())

    def oldest_missing(self, alive: int) -> int | None:
        """Return the end of the oldest minute that a series of the inventory lacks. None without such a series.

        A series without a minute from `alive` on, epoch seconds, is silent and lacks nothing.
        """
        lacking = [point.minute + MINUTE for point in self._points.values() if point.minute >= alive]
        counted = [self._tallies[key].minutes for key in self._counters]
        lacking += [minutes.first_missing for minutes in counted if minutes.newest >= alive]
        return min(lacking, default=None)

    @property
    def sums(self) -> SeriesColumn:
        """Every counter of a resource in the inventory."""
        values = (self._tallies[key].totals[""] for key in self._counters)
        return SeriesColumn(tuple(self._counters.values()), tuple(values))

    def relabel(self) -> None:
        """Take over renamed resources, and drop the series of deleted resources. What is counted stays in the ledger."""
        gauge, counter = self.metric.gauge, self.metric.counter
        self.unlisted = {key: minute for key, minute in self.unlisted.items() if self._is_unlisted(key)}
        if gauge is not None:
            for key, point in list(self._points.items()):
                labels = self._labels.labels(key)
                if labels is None:
                    del self._points[key]
                elif labels != point.series.labels:
                    point.series = SharedSeries(gauge, labels)
        if counter is not None:
            named = [(key, self._labels.labels(key)) for key in self._tallies]
            self._counters = {key: self._counter(counter, key, labels) for key, labels in named if labels is not None}

    def _is_unlisted(self, key: Key) -> bool:
        return self._labels.labels(key) is None and self._labels.absence(key) == UNKNOWN

    def _counter(self, counter: Declaration, key: Key, labels: Labels) -> SharedSeries:
        series = self._counters.get(key)
        return series if series is not None and series.labels == labels else SharedSeries(counter, labels)

    def release_held_back(self) -> None:
        """Add the first increases of the last poll."""
        for tally in self._tallies.values():
            tally.release()

    def take(self, streams: Sequence[Stream | None], now_minute: int, before: AnswerSummary) -> AnswerSummary:
        """Take one part of an answer, and return the summary of this part and of all parts `before`.

        A stream is None if its form is undocumented. A point after `now_minute`, the newest complete minute, is incomplete and
        not taken.
        """
        skipped: Counter[str] = Counter()
        taken: set[Key] = set()
        newest = 0
        for stream in streams:
            try:
                labelled = self._labels.find(stream.dimensions) if stream else None
            except (KeyError, TypeError, ValueError):
                labelled = None
            if stream is None or labelled is None:
                skipped["broken"] += 1
                continue
            key = labelled.key
            reason = self._refusal(labelled, key in taken or key in before.taken)
            if reason is not None:
                skipped[reason] += 1
                if labelled.labels is None:
                    self._pass_over(key, reason, self._read(stream, now_minute)[0], now_minute)
                continue
            points, reasons = self._read(stream, now_minute)
            skipped.update(reasons)
            taken.add(key)
            self._in_view[key] = now_minute
            if points:
                self._enter(labelled, points)
                newest = max(newest, *points)
        return before.plus(AnswerSummary(streams=len(streams), newest=newest or None, skipped=skipped, taken=taken))

    def _pass_over(self, key: Key, reason: str, points: Points, now_minute: int) -> None:
        """Count the minutes of a resource that is missing in one listing. Those of one that was never in view never count."""
        if reason == UNKNOWN and points:
            self.unlisted[key] = max(points)
        if key in self._tallies:
            self._count(key, points)
        elif key not in self._in_view:
            self._out_of_view[key] = now_minute

    def forget(self, now_minute: int, stale_seconds: float) -> None:
        """Drop points above the maximum age, and what is kept of deleted resources."""
        oldest = now_minute - stale_seconds
        for key in [key for key, point in self._points.items() if point.minute < oldest]:
            del self._points[key]
        furthest = now_minute - FURTHEST_MINUTES * MINUTE
        self._in_view = {key: last for key, last in self._in_view.items() if last >= furthest}
        self._out_of_view = {key: until for key, until in self._out_of_view.items() if until >= furthest}
        self.unlisted = {key: minute for key, minute in self.unlisted.items() if minute >= furthest}
        self._tallies.forget(self._tallies.keys() - self._counters.keys(), now_minute)

    def _read(self, stream: Stream, now_minute: int) -> tuple[Points, list[str]]:
        """Return the complete minutes of a stream, and the reasons to leave out points.

        The minute after `now_minute` is running, and the next poll asks for it.
        """
        stamps = self._stamps
        points: Points = {}
        broken, future = stream.broken_points, 0
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
            elif minute > now_minute + MINUTE:
                future += 1
        return points, [reason for reason, count in (("broken_point", broken), ("future_point", future)) if count]

    def _refusal(self, stream: LabelledStream, is_repeated: bool) -> str | None:
        """Return the reason to leave out a stream. None for a stream to take.

        A renamed replication has a stream for each name, and LDAP metrics have a second stream for the connector. The counters
        take each minute once.
        """
        if stream.absence is not None:
            return stream.absence
        if self._has_successes and is_success(stream.key[-1]):
            return "success_event"
        return "duplicate" if is_repeated and self.metric.owner not in {"replication", "ldap"} else None

    def _enter(self, stream: LabelledStream, points: Points) -> None:
        gauge, key = self.metric.gauge, stream.key
        until = self._out_of_view.get(key)
        in_view = points if until is None else {at: value for at, value in points.items() if at > until}
        if self._receive is not None and in_view:
            self._receive(key, in_view)
        if gauge is not None:
            latest = max(points)
            value = points[latest] * self.metric.scale
            point = self._points.get(key)
            if point is None:
                self._points[key] = _NewestPoint(SharedSeries(gauge, stream.labels or ()), latest, value)
            elif latest >= point.minute:
                point.minute, point.value = latest, value
        if self.metric.counter is not None:
            if key not in self._counters:
                self._counters[key] = SharedSeries(self.metric.counter, stream.labels or ())
            self._count(key, in_view)

    def _count(self, key: Key, points: Points) -> None:
        tally = self._tallies.get(key)
        if tally is None:
            start = max(self._ledger.start, self._out_of_view.get(key, 0))
            tally = self._tallies[key] = Tally(Minutes(start))
        tally.count(points, self.metric.per_minute)
