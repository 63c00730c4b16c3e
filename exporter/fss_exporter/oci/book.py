"""What is known of one OCI metric in one region: the newest point of each series, and sums that take each minute once. Pure.

An answer only ever adds: a series that is not in it keeps its point until that is too old, one that comes late is taken when it
comes. Whether the answer was good is the caller's business; a failed call leaves the book as it is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from fss_exporter.oci.inventory import Inventory
from fss_exporter.oci.metrics import OciMetric, is_success
from fss_exporter.oci.owners import Key, Labels, key_of, labels_of
from fss_exporter.oci.window import FURTHEST_MINUTES, MINUTE, Minutes

Points = dict[int, float]
"""Values by the minute they are of."""


class Point(NamedTuple):
    """The newest minute of a gauge: labels, epoch seconds of its end, value in the exported unit."""

    labels: Labels
    minute: int
    value: float


class Sum(NamedTuple):
    """A counter: labels and what it has added up to."""

    labels: Labels
    value: float


@dataclass(slots=True)
class _Adding:
    """A counter at work. What its first answer brought is held back for one poll, so that it is seen at 0 first."""

    labels: Labels
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


class Clockwork:
    """From OCI's time stamps to minutes. An answer repeats a handful of them thousands of times."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def minute(self, stamp: str) -> int:
        """Epoch seconds of a time stamp; raises ValueError for anything but a whole minute."""
        found = self._known.get(stamp)
        if found is None:
            seconds = datetime.fromisoformat(stamp).timestamp()
            found = int(seconds)
            if found % MINUTE or found != seconds or "T" not in stamp:
                raise ValueError(f"not a minute: {stamp}")
            if len(self._known) > 10_000:
                self._known.clear()
            self._known[stamp] = found
        return found


class Book:
    """One metric of one region.

    Args:
        metric: which.
        region: the region's name.
        start: minutes that end at or before this, in epoch seconds, are none of this exporter's counters.
        clockwork: shared by all books.
    """

    def __init__(self, metric: OciMetric, region: str, *, start: int, clockwork: Clockwork) -> None:
        self.metric = metric
        self._region = region
        self._start = start
        self._clockwork = clockwork
        self._key_of = key_of(metric)
        self._inventory = Inventory()
        self._labels: dict[Key, Labels | None] = {}
        self._points: dict[Key, Point] = {}
        self._sums: dict[Key, _Adding] = {}

    @property
    def points(self) -> tuple[Point, ...]:
        """The newest point of each series, however old."""
        return tuple(self._points.values())

    @property
    def sums(self) -> tuple[Sum, ...]:
        """Every counter."""
        return tuple(Sum(adding.labels, adding.total) for adding in self._sums.values())

    @property
    def unknown(self) -> frozenset[Key]:
        """Keys of streams whose owner is not in the inventory."""
        return frozenset(key for key, labels in self._labels.items() if labels is None)

    def use(self, inventory: Inventory) -> None:
        """Names and owners are now these; series whose owner is gone are gone."""
        self._inventory = inventory
        self._labels = {}
        self._points = {
            key: point._replace(labels=labels)
            for key, point in self._points.items()
            if (labels := self._named(key)) is not None
        }
        for key in list(self._sums):
            labels = self._named(key)
            if labels is None:
                del self._sums[key]
            else:
                self._sums[key].labels = labels

    def open(self) -> None:
        """A new answer begins: what was held back counts from now on."""
        for adding in self._sums.values():
            adding.total += adding.held_back
            adding.held_back = 0.0

    def take(
        self, streams: Iterable[Any], now_minute: int, seen: set[Key], watch: dict[Key, Points] | None = None
    ) -> Taken:
        """Take one answer, or one part of it.

        Args:
            streams: elements of the answer's JSON.
            now_minute: end of the newest complete minute; a point behind it is not complete and is not taken.
            seen: keys that other parts of the same answer had; grows.
            watch: gets the points of every stream, for calculations.
        """
        skipped: Counter[str] = Counter()
        count, newest = 0, None
        for stream in streams:
            count += 1
            try:
                key = self._key_of(stream["dimensions"])
                points = self._read(stream["aggregatedDatapoints"], now_minute)
                reason = self._refusal(key, seen)
            except (AttributeError, KeyError, TypeError, ValueError):
                reason = "broken"
            if reason:
                skipped[reason] += 1
                continue
            if points:
                latest = self._enter(key, points)
                newest = latest if newest is None or latest > newest else newest
                if watch is not None:
                    watch[key] = points
        return Taken(count, newest, {reason: number for reason, number in skipped.items() if reason != "twin"})

    def forget(self, now_minute: int, stale_seconds: float) -> None:
        """Drop points that are too old to be shown, and minutes that are too old to come."""
        oldest = now_minute - stale_seconds
        self._points = {key: point for key, point in self._points.items() if point.minute >= oldest}
        for adding in self._sums.values():
            adding.minutes.forget_before(now_minute - FURTHEST_MINUTES * MINUTE)

    def _read(self, datapoints: Iterable[Any], now_minute: int) -> Points:
        minute_of = self._clockwork.minute
        points: Points = {}
        for datapoint in datapoints:
            minute, value = minute_of(datapoint["timestamp"]), datapoint["value"]
            if type(value) is not float:
                value = _number(value)
            if minute <= now_minute and value - value == 0:  # neither infinite nor NaN
                points[minute] = value
        return points

    def _refusal(self, key: Key, seen: set[Key]) -> str:
        """Why a stream is left out; empty where it is not."""
        if key not in self._labels:
            if not all(isinstance(part, str) for part in key):
                return "broken"
            self._labels[key] = self._named(key)
        if self._labels[key] is None:
            return "unknown_resource"
        if "errorType" in self.metric.dimensions and is_success(key[-1]):
            return "success_event"
        if key in seen:  # LDAP metrics are published for the mount target and for the connector alike
            return "twin" if self.metric.owner == "ldap" else "duplicate"
        seen.add(key)
        return ""

    def _named(self, key: Key) -> Labels | None:
        return labels_of(self.metric, self._region, self._inventory, key)

    def _enter(self, key: Key, points: Points) -> int:
        labels = self._labels[key]
        assert labels is not None  # noqa: S101  # refused otherwise
        latest = max(points)
        if self.metric.gauge is not None:
            known = self._points.get(key)
            if known is None or latest >= known.minute:
                self._points[key] = Point(labels, latest, points[latest] * self.metric.scale)
        if self.metric.counter is not None:
            self._add(key, labels, points)
        return latest

    def _add(self, key: Key, labels: Labels, points: Points) -> None:
        adding = self._sums.get(key)
        born = adding is None
        if adding is None:
            adding = self._sums[key] = _Adding(labels, Minutes(self._start))
        amount = sum(points[minute] for minute in sorted(points) if adding.minutes.take(minute))
        if born:
            adding.held_back = amount * self.metric.per_minute
        else:
            adding.total += amount * self.metric.per_minute


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"not a number: {value!r}")
    return float(value)
