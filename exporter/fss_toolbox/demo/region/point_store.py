"""The points that Monitoring holds at a moment: points of the tenancy, late or missing on demand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fss_toolbox.demo.region.activity import Activity, chance
from fss_toolbox.demo.region.evaluate import Observation
from fss_toolbox.demo.region.faults import FaultBoard
from fss_toolbox.demo.region.metric_streams import PublishedMetric, PublishedStream, published_metrics


@dataclass(frozen=True, slots=True)
class Definition:
    """One stream as ListMetrics shows it."""

    namespace: str
    resource_group: str | None
    compartment_id: str
    name: str
    dimensions: Mapping[str, str]
    metadata: Mapping[str, str]


class PointStore:
    """Every stream of a region. `spelling` returns the spelling of a documented metric name in a minute."""

    def __init__(self, activity: Activity, faults: FaultBoard) -> None:
        self._activity = activity
        self._faults = faults
        self._streams: dict[tuple[str, str], list[PublishedStream]] = {}
        self.spelling: Callable[[str, int], str] = lambda name, _minute: name

    def documented(self, namespace: str, name: str, minute: int) -> PublishedMetric | None:
        """Return the metric of a namespace with this exact name now."""
        metrics = (metric for metric in published_metrics() if metric.namespace == namespace)
        return next((metric for metric in metrics if self.spelling(metric.name, minute) == name), None)

    def streams(self, metric: PublishedMetric) -> list[PublishedStream]:
        """Return the streams of a metric."""
        key = metric.namespace, metric.name
        if key not in self._streams:
            self._streams[key] = list(metric.streams(self._activity))
        return self._streams[key]

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
        """Return epoch seconds from which the point of a minute can be read."""
        minute = self._end(minute)
        late = self._faults.spoiling("late", minute)
        if late is None:
            return minute * 60.0
        pair_complete = minute + 1 - minute % 2
        return pair_complete * 60.0 + chance(stream.seed, minute // 2, 2) * max(0.0, late.seconds - 60)

    def arrived(self, stream: PublishedStream, now: float, minute: int) -> Sequence[Observation]:
        """Return the observations of a minute that have arrived at a moment, epoch seconds."""
        if self.arrival(stream, minute) > now:
            return ()
        value = self.published(stream, minute)
        return () if value is None else ((value, 1),)

    def definitions(
        self, minute: int, scope: frozenset[str], wanted: str | None = None, *, first_only: bool = False
    ) -> Iterator[Definition]:
        """Yield streams of some compartments, also of deleted resources. Documented: definitions are kept for 90 days.

        The minute decides the spelling of names. With `first_only` one stream of each metric is enough.
        """
        for metric in published_metrics():
            name = self.spelling(metric.name, minute)
            if wanted not in (None, name):
                continue
            known = self._streams.get((metric.namespace, metric.name))
            for stream in metric.streams(self._activity) if known is None else known:
                if stream.compartment_id in scope:
                    where = metric.namespace, None, stream.compartment_id
                    yield Definition(*where, name, stream.dimensions, metric.metadata)
                    if first_only:
                        break
