"""What Monitoring holds at a moment: streams of the tenancy and of users, with points that may come late or never."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from zlib import crc32

from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.faults import FaultBoard
from fss_exporter.demo.region.namespaces import Namespace, Row, Stream
from fss_exporter.demo.region.traffic import chance

Observation = tuple[float, int]
"""A raw value and how often it was observed."""

RETENTION_MINUTES = 7 * 1440
"""How long one-minute data can be asked for, documented: MetricData."""


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
    """A custom metric stream and what was posted to it, by minute."""

    definition: Definition
    observations: dict[int, list[Observation]]

    def __call__(self, minute: int) -> Sequence[Observation]:
        """Observations of a minute."""
        return self.observations.get(minute, ())


class Feed:
    """Every stream of a region.

    Args:
        activity: what the tenancy's resources do.
        namespaces: which metrics follow from it.
        faults: what is late, missing or spelt differently.
        seed: another seed, other gaps.
    """

    def __init__(
        self, activity: Activity, namespaces: tuple[Namespace, ...], faults: FaultBoard, seed: int = 0
    ) -> None:
        self._activity = activity
        self._rows = {(namespace.name, row.name): row for namespace in namespaces for row in namespace.rows}
        self._faults = faults
        self._seed = seed
        self._streams: dict[tuple[str, str], list[tuple[int, Stream]]] = {}
        self._posted: dict[tuple[str, str | None, str, str, tuple[tuple[str, str], ...]], Posted] = {}
        self._lock = Lock()

    def spelling(self, name: str, minute: int) -> str:
        """How a documented metric name is spelt in a minute."""
        return name.replace("bySize", "BySize") if self._faults.spoiling("name-case", minute) else name

    def documented(self, namespace: str, name: str, minute: int) -> Row | None:
        """The row of a metric that goes by this exact name now."""
        row = self._rows.get((namespace, name)) or self._rows.get((namespace, name.replace("BySize", "bySize")))
        return row if row is not None and self.spelling(row.name, minute) == name else None

    def streams(self, namespace: str, row: Row) -> list[tuple[int, Stream]]:
        """Streams of a row, each with the number its gaps and delays are drawn by."""
        key = namespace, row.name
        if key not in self._streams:
            self._streams[key] = [
                (crc32(repr((row.name, sorted(stream.dimensions.items()))).encode()) ^ self._seed, stream)
                for stream in row.streams(self._activity)
            ]
        return self._streams[key]

    def published(self, number: int, stream: Stream, minute: int) -> float | None:
        """The value a stream publishes for a minute, sooner or later; None where it never does."""
        if not self._activity.lives(stream.resource_id, minute):
            return None
        if self._faults.spoils_data:
            gaps = self._faults.spoiling("gaps", minute)
            if gaps is not None and chance(number, minute, 1) < gaps.share:
                return None
        return stream.value(minute)

    def arrival(self, number: int, minute: int) -> float:
        """When the point of a minute can be read, epoch seconds."""
        late = self._faults.spoiling("late", minute) if self._faults.spoils_data else None
        if late is None:
            return minute * 60.0
        pair_complete = minute + 1 - minute % 2
        return pair_complete * 60.0 + chance(number, minute // 2, 2) * max(0.0, late.seconds - 60)

    def readings(self, number: int, stream: Stream, now: float) -> "Reader":
        """Raw observations of a stream as far as they have arrived."""
        return Reader(self, number, stream, now)

    def post(self, definition: Definition, minute: int, observation: Observation) -> None:
        """Take one observation of a custom metric."""
        dimensions = tuple(sorted(definition.dimensions.items()))
        key = definition.namespace, definition.resource_group, definition.compartment_id, definition.name, dimensions
        with self._lock:
            posted = self._posted.setdefault(key, Posted(definition, defaultdict(list)))
            posted.observations[minute].append(observation)
            for old in [at for at in posted.observations if at < minute - RETENTION_MINUTES]:
                del posted.observations[old]

    def custom(self, namespace: str, resource_group: str | None, name: str) -> list[Posted]:
        """Posted streams of one metric."""
        with self._lock:
            wanted = namespace, resource_group, name
            return [posted for key, posted in self._posted.items() if (key[0], key[1], key[3]) == wanted]

    def definitions(self, minute: int) -> Iterator[Definition]:
        """Every stream there is or was, posted ones last. Documented: definitions are kept for 90 days."""
        for (namespace, _), row in self._rows.items():
            name = self.spelling(row.name, minute)
            for _, stream in self.streams(namespace, row):
                yield Definition(namespace, None, stream.compartment_id, name, stream.dimensions, row.metadata)
        with self._lock:
            posted = list(self._posted.values())
        yield from (entry.definition for entry in posted)


@dataclass(frozen=True, slots=True)
class Reader:
    """Raw observations of one of the tenancy's own streams at a moment."""

    feed: Feed
    number: int
    stream: Stream
    now: float

    def __call__(self, minute: int) -> Sequence[Observation]:
        """Observations of a minute, none before they arrive."""
        if self.feed.arrival(self.number, minute) > self.now:
            return ()
        value = self.feed.published(self.number, self.stream, minute)
        return () if value is None else ((value, 1),)
