# SPDX-License-Identifier: Apache-2.0
"""The points that Monitoring holds at a moment: points of the tenancy, late or missing on demand."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from fss_toolbox.demo.region.activity import Activity, chance
from fss_toolbox.demo.region.evaluate import MetricStream, Observation
from fss_toolbox.demo.region.faults import FaultBoard
from fss_toolbox.demo.region.metric_streams import PublishedMetric, PublishedStream, published_metrics


class PointStore:
    """Every stream of a region. Moments are epoch seconds."""

    def __init__(self, activity: Activity, faults: FaultBoard) -> None:
        self._activity = activity
        self._faults = faults
        self._streams: dict[tuple[str, str], list[PublishedStream]] = {}

    def spelling(self, name: str, _now: float) -> str:
        """Return the spelling of a documented metric name at a moment."""
        return name

    def streams(self, metric: PublishedMetric) -> list[PublishedStream]:
        """Return the streams of a metric."""
        key = metric.namespace, metric.name
        if key not in self._streams:
            self._streams[key] = list(metric.streams(self._activity))
        return self._streams[key]

    def selected(self, namespace: str, name: str, now: float) -> Iterator[MetricStream]:
        """Yield the streams of the metric of a namespace with this exact name."""
        for metric in published_metrics():
            if metric.namespace == namespace and self.spelling(metric.name, now) == name:
                yield from (self._held(metric, name, stream, now) for stream in self.streams(metric))

    def listed(self, scope: frozenset[str], now: float, *, first_only: bool) -> Iterator[MetricStream]:
        """Yield streams of some compartments, also of deleted resources. Documented: definitions are kept for 90 days.

        With `first_only` one stream of each metric is enough.
        """
        for metric in published_metrics():
            name = self.spelling(metric.name, now)
            # A large tenancy need not have all streams to list a few.
            streams = self._streams.get((metric.namespace, metric.name)) or metric.streams(self._activity)
            inside = (self._held(metric, name, stream, now) for stream in streams if stream.compartment_id in scope)
            yield from islice(inside, 1 if first_only else None)

    def _held(self, metric: PublishedMetric, name: str, stream: PublishedStream, now: float) -> MetricStream:
        where = metric.namespace, None, stream.compartment_id, name
        return MetricStream(*where, stream.dimensions, metric.metadata, partial(self._arrived, stream, now))

    def _end(self, minute: int) -> int:
        """Return the end of the minute with a name, in epoch minutes."""
        return minute + 1 if self._faults.spoiling("by-start", minute) else minute

    def published(self, stream: PublishedStream, minute: int) -> float | None:
        """Return the value a stream publishes for a minute, sooner or later. None where no value comes."""
        minute = self._end(minute)
        if not self._activity.lives(stream.resource_id, minute):
            return None
        gaps = self._faults.spoiling("gaps", minute)
        if gaps is not None and chance(stream.seed, minute, 1) < gaps.share:
            return None
        return stream.value(minute)

    def arrival(self, stream: PublishedStream, minute: int) -> float:
        """Return the moment from which the point of a minute can be read."""
        minute = self._end(minute)
        late = self._faults.spoiling("late", minute)
        if late is None:
            return minute * 60.0
        pair_complete = minute + 1 - minute % 2
        return pair_complete * 60.0 + chance(stream.seed, minute // 2, 2) * max(0.0, late.seconds - 60)

    def _arrived(self, stream: PublishedStream, now: float, minute: int) -> Sequence[Observation]:
        if self.arrival(stream, minute) > now:
            return ()
        value = self.published(stream, minute)
        return () if value is None else ((value, 1),)
