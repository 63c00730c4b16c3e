"""The points that Monitoring holds at a moment: those of the tenancy, late or missing on demand, and posted ones."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from zlib import crc32

from fss_exporter.demo.region.activity import Activity, chance
from fss_exporter.demo.region.faults import FaultBoard
from fss_exporter.demo.region.metric_streams import PublishedMetric, PublishedStream, published_metrics

Observation = tuple[float, int]  # A raw value and the number of observations of the value

RETENTION_MINUTES = 90 * 1440  # Longest history of any resolution. Documented: MetricData.


@dataclass(frozen=True, slots=True)
class Definition:
    """One stream as ListMetrics shows it."""

    namespace: str
    resource_group: str | None
    compartment_id: str
    name: str
    dimensions: Mapping[str, str]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Posted:
    """A custom metric stream and the posted observations by minute."""

    definition: Definition
    observations: dict[int, list[Observation]]

    def __call__(self, minute: int) -> Sequence[Observation]:
        """Return observations of a minute."""
        return self.observations.get(minute, ())


class PointStore:
    """Every stream of a region.

    Args:
        activity: the requests of the tenancy.
        faults: late and missing points.

    Attributes:
        spelling: the spelling of a documented metric name in a minute.
    """

    def __init__(self, activity: Activity, faults: FaultBoard) -> None:
        self._activity = activity
        self._faults = faults
        self._streams: dict[tuple[str, str], list[tuple[int, PublishedStream]]] = {}
        self._posted: dict[tuple[object, ...], Posted] = {}
        self._lock = Lock()
        self.spelling: Callable[[str, int], str] = lambda name, _minute: name

    def documented(self, namespace: str, name: str, minute: int) -> PublishedMetric | None:
        """Return the metric of a namespace with this exact name now."""
        for metric in published_metrics():
            if metric.namespace == namespace and self.spelling(metric.name, minute) == name:
                return metric
        return None

    def streams(self, metric: PublishedMetric) -> list[tuple[int, PublishedStream]]:
        """Return streams of a metric, each with the number that decides gaps and delays."""
        key = metric.namespace, metric.name
        if key not in self._streams:
            self._streams[key] = [
                (crc32(repr((metric.name, sorted(stream.dimensions.items()))).encode()), stream)
                for stream in metric.streams(self._activity)
            ]
        return self._streams[key]

    def published(self, number: int, stream: PublishedStream, minute: int) -> float | None:
        """Return the value a stream publishes for a minute, sooner or later. None where no value comes."""
        if not self._activity.lives(stream.resource_id, minute):
            return None
        gaps = self._faults.spoiling("gaps", minute)
        if gaps is not None and chance(number, minute, 1) < gaps.share:
            return None
        return stream.value(minute)

    def arrival(self, number: int, minute: int) -> float:
        """Return epoch seconds from which the point of a minute can be read."""
        late = self._faults.spoiling("late", minute)
        if late is None:
            return minute * 60.0
        pair_complete = minute + 1 - minute % 2
        return pair_complete * 60.0 + chance(number, minute // 2, 2) * max(0.0, late.seconds - 60)

    def post(self, definition: Definition, minute: int, observation: Observation) -> None:
        """Add one observation of a custom metric."""
        dimensions = tuple(sorted(definition.dimensions.items()))
        key = definition.namespace, definition.resource_group, definition.name, definition.compartment_id, dimensions
        with self._lock:
            posted = self._posted.setdefault(key, Posted(definition, defaultdict(list)))
            posted.observations[minute].append(observation)
            for old in [at for at in posted.observations if at < minute - RETENTION_MINUTES]:
                del posted.observations[old]

    def custom(self, namespace: str, resource_group: str | None, name: str) -> list[Posted]:
        """Return posted streams of one metric."""
        with self._lock:
            return [posted for key, posted in self._posted.items() if key[:3] == (namespace, resource_group, name)]

    def definitions(
        self, minute: int, scope: frozenset[str], named: Callable[[str], object], *, first_only: bool = False
    ) -> Iterator[Definition]:
        """Yield streams of some compartments, also of deleted resources. Documented: definitions are kept for 90 days.

        Args:
            minute: decides the spelling of names.
            scope: OCIDs of the compartments.
            named: whether the name of a metric is wanted.
            first_only: one stream of each metric is enough. A large tenancy has 100,000 streams.
        """
        for metric in published_metrics():
            name = self.spelling(metric.name, minute)
            if not named(name):
                continue
            known = self._streams.get((metric.namespace, metric.name))
            streams = metric.streams(self._activity) if known is None else (stream for _, stream in known)
            for stream in streams:
                if stream.compartment_id in scope:
                    where = metric.namespace, None, stream.compartment_id
                    yield Definition(*where, name, stream.dimensions, metric.metadata)
                    if first_only:
                        break
        with self._lock:
            posted = list(self._posted.values())
        definitions = (entry.definition for entry in posted)
        yield from (one for one in definitions if one.compartment_id in scope and named(one.name))


@dataclass(frozen=True, slots=True)
class ArrivedPoints:
    """Raw observations of one of the tenancy's own streams, as far as they have arrived at a moment."""

    store: PointStore
    number: int
    stream: PublishedStream
    now: float

    def __call__(self, minute: int) -> Sequence[Observation]:
        """Return observations of a minute, none before they arrive."""
        if self.store.arrival(self.number, minute) > self.now:
            return ()
        value = self.store.published(self.number, self.stream, minute)
        return () if value is None else ((value, 1),)
