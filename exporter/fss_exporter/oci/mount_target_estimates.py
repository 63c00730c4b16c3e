"""Estimate mount-target IOPS from the metrics of the file systems behind each mount target. Pure.

Requests by size and throughput only bound each other within one minute, so each file system is estimated for the newest minute that
all of its streams have. A metric without any stream of the file system means that there were no such requests.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.server_estimate import (
    BUCKETS,
    estimate_metadata,
    estimate_reads_by_size,
    estimate_writes_by_size,
    total_of,
)
from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.labels import Key

READ_BYTES: Final = "FileSystemReadThroughput"
WRITE_BYTES: Final = "FileSystemWriteThroughput"
READS: Final = "FileSystemReadRequestsbySize"
WRITES: Final = "FileSystemWriteRequestsbySize"
METADATA: Final = "MetadataIOPS"

NEEDED: Final = (READ_BYTES, WRITE_BYTES, READS, WRITES, METADATA)
"""OCI metrics an estimate is made of, by documented name."""

_READS_BY_SIZE: Final = tuple((READS, bucket.name) for bucket in BUCKETS)
_WRITES_BY_SIZE: Final = tuple((WRITES, bucket.name) for bucket in BUCKETS)

PointsByMetric = Mapping[str, Mapping[Key, Points]]
"""By documented metric name: points by (mount target, file system, further dimensions)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated IOPS of one mount target. `minute` is the oldest minute among the file systems."""

    minute: int
    iops: Bounds


def estimate(points_by_metric: PointsByMetric, overrides: CostOverrides = NO_OVERRIDES) -> Mapping[str, Estimate]:
    """Return the estimates by OCID of the mount target. A mount target without points has no estimate."""
    series: dict[Key, dict[Key, Points]] = defaultdict(dict)
    for name in NEEDED:
        for key, points in points_by_metric.get(name, {}).items():
            series[key[:2]][name, *key[2:]] = points
    parts: dict[str, list[tuple[int, Bounds]]] = defaultdict(list)
    for (target, _), streams in series.items():
        minute = _newest_common(streams.values())
        if minute is not None:
            values = {key: points[minute] for key, points in streams.items()}
            parts[target].append((minute, _of_one(values, overrides)))
    return MappingProxyType(
        {
            target: Estimate(min(minute for minute, _ in found), total_of([iops for _, iops in found]))
            for target, found in parts.items()
        }
    )


def _newest_common(streams: Iterable[Points]) -> int | None:
    """Return the newest minute of all streams, mostly the newest of the first stream."""
    first, *others = streams
    for minute in sorted(first, reverse=True):
        if all(minute in points for points in others):
            return minute
    return None


def complete(answered: Iterable[str], queried: Iterable[str]) -> bool:
    """Return whether OCI answered every queried metric that an estimate needs. Requests by size are required."""
    needed = set(NEEDED).intersection(queried)
    return {READS, WRITES} <= needed <= set(answered)


def _of_one(values: Mapping[Key, float], overrides: CostOverrides) -> Bounds:
    """Estimate one file system in one minute, from values by metric and dimension."""
    reads = [values.get(key, 0.0) for key in _READS_BY_SIZE]
    writes = [values.get(key, 0.0) for key in _WRITES_BY_SIZE]
    metadata = {key[1]: rate for key, rate in values.items() if key[0] == METADATA}
    return total_of(
        [
            overrides.scaled(READ, estimate_reads_by_size(reads, values.get((READ_BYTES,)))),
            overrides.scaled(WRITE, estimate_writes_by_size(writes, values.get((WRITE_BYTES,)))),
            estimate_metadata(metadata, overrides.weights),
        ]
    )
