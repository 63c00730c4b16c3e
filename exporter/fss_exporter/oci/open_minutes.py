"""The points of each mount target in the minutes that are not judged, and what is missing in a minute. Pure."""

from collections.abc import Callable, Container, Mapping, Set as AbstractSet
from typing import Final

from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import GIVE_UP_MINUTES, MINUTE, Key
from fss_exporter.oci.mount_target_estimates import ESTIMATED_FROM, METADATA, READS, WRITES

IOPS: Final = "MountTargetIOPS"
READ_THROUGHPUT: Final = "MountTargetReadThroughput"
WRITE_THROUGHPUT: Final = "MountTargetWriteThroughput"
CONNECTIONS: Final = "MountTargetConnections"
HEALTH: Final = "MountTargetHealth"

OWN: Final = (IOPS, READ_THROUGHPUT, WRITE_THROUGHPUT, CONNECTIONS)
"""Metrics that OCI sends of every mount target in every minute."""

LATENCY_OF: Final[Mapping[str, str]] = {
    READS: "FileSystemReadAverageLatencybySize",
    WRITES: "FileSystemWriteAverageLatencybySize",
    METADATA: "MetadataRequestAverageLatency",
}
"""Metric of the latency by metric of the requests. A minute without requests has no latency."""

REQUESTS: Final = frozenset(LATENCY_OF)
"""Metrics of requests."""

JUDGED_BY: Final = frozenset((HEALTH, *LATENCY_OF, *LATENCY_OF.values()))
"""Metrics that a verdict needs, beside one of the mount target itself."""

BY_MINUTE: Final = (*OWN, HEALTH, *ESTIMATED_FROM, *LATENCY_OF.values())
"""OCI metrics that a verdict, a load or an estimate needs minute by minute, by documented name."""

_ALONE_SECONDS: Final = 4 * MINUTE


class OpenMinutes:
    """The points of all mount targets of a region. A place is metric, then file system and further dimensions.

    `is_done` says of a mount target and a minute whether the points are of no use any more.
    """

    def __init__(self, is_done: Callable[[str, int], bool]) -> None:
        self._is_done = is_done
        self._values: dict[str, dict[int, dict[Key, float]]] = {}
        self._newest: dict[str, dict[Key, int]] = {}

    def add(self, metric: str, key: Key, points: Points) -> None:
        """Add points of one stream, whose key begins with the OCID of the mount target."""
        target, place = key[0], (metric, *key[1:])
        newest = self._newest.setdefault(target, {})
        newest[place] = max(newest.get(place, 0), *points)
        minutes = self._values.setdefault(target, {})
        for minute, value in points.items():
            if not self._is_done(target, minute):
                minutes.setdefault(minute, {})[place] = value

    def minutes(self, target: str) -> list[int]:
        """Return the ends of all minutes with points, oldest first."""
        return sorted(self._values.get(target, ()))

    def values(self, target: str, minute: int) -> Mapping[Key, float]:
        """Return the values of one minute by place."""
        return self._values.get(target, {}).get(minute, {})

    def close(self, target: str, minute: int) -> None:
        """Drop the points of a minute."""
        self._values.get(target, {}).pop(minute, None)

    def forget(self, targets: Container[str], now_minute: int) -> None:
        """Drop mount targets that are not among `targets`, and streams that ended."""
        for target in [one for one in self._newest if one not in targets]:
            del self._newest[target]
            self._values.pop(target, None)
        oldest = now_minute - GIVE_UP_MINUTES * MINUTE
        for places in self._newest.values():
            for place in [place for place, newest in places.items() if newest < oldest]:
                del places[place]

    def late(
        self, target: str, minute: int, systems: Container[str], metrics: Container[str], now_minute: int
    ) -> AbstractSet[str]:
        """Return those of some metrics whose streams a minute lacks although OCI sent them lately.

        `systems` are the file systems behind the mount target. The wait for one stream beside others of the metric and file system
        ends after four minutes, because OCI may have stopped it. Times are epoch seconds.
        """
        values, since = self.values(target, minute), minute - GIVE_UP_MINUTES * MINUTE
        sent = {place[:2] for place in values} if minute < now_minute - _ALONE_SECONDS else ()
        return {
            place[0]
            for place, newest in self._newest.get(target, {}).items()
            if newest >= since and place[0] in metrics and place[1] in systems
            if place not in values and place[:2] not in sent
        }


def is_reported(values: Mapping[Key, float]) -> bool:
    """Return whether OCI sent any own metric of the mount target in a minute."""
    return any((name,) in values for name in (*OWN, HEALTH))


def without_latency(values: Mapping[Key, float]) -> AbstractSet[str]:
    """Return the metrics of latencies that a minute lacks although there were requests."""
    return {
        LATENCY_OF[metric]
        for (metric, *place), rate in values.items()
        if metric in LATENCY_OF and rate > 0 and (LATENCY_OF[metric], *place) not in values
    }
