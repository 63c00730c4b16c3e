"""Mount-target IOPS from what OCI publishes of the file systems behind each mount target. Pure.

Requests by size and throughput only bound each other within one minute, so each file system is estimated for the newest minute that
all of its streams have. A metric without any stream of the file system means that there were no such requests.
"""

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

_BUCKET_NAMES: Final = tuple(bucket.name for bucket in BUCKETS)

PointsByMetric = Mapping[str, Mapping[Key, Points]]
"""By documented metric name: points by (mount target, file system, further dimensions)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated IOPS of one mount target. `minute` is the oldest minute among the file systems."""

    minute: int
    iops: Bounds


def estimate(points_by_metric: PointsByMetric, overrides: CostOverrides = NO_OVERRIDES) -> Mapping[str, Estimate]:
    """Return the estimates by OCID of the mount target. A mount target without points has no estimate."""
    series: dict[tuple[str, str], dict[tuple[str, str], Points]] = {}
    for name in NEEDED:
        for key, points in points_by_metric.get(name, {}).items():
            series.setdefault((key[0], key[1]), {})[name, key[2] if len(key) > 2 else ""] = points
    parts: dict[str, list[tuple[int, Bounds]]] = {}
    for (target, _), streams in series.items():
        minute = _newest_common(streams.values())
        if minute is not None:
            parts.setdefault(target, []).append(
                (minute, _of_one({key: points[minute] for key, points in streams.items()}, overrides))
            )
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


def complete(answered: Iterable[str], had: Iterable[str]) -> bool:
    """Return whether OCI answered every metric that an estimate needs. Requests by size are required."""
    known = set(had)
    return {READS, WRITES} <= known and known.intersection(NEEDED) <= set(answered)


def _of_one(values: Mapping[tuple[str, str], float], overrides: CostOverrides) -> Bounds:
    """Estimate one file system in one minute, from values by metric and dimension."""
    reads = [values.get((READS, bucket), 0.0) for bucket in _BUCKET_NAMES]
    writes = [values.get((WRITES, bucket), 0.0) for bucket in _BUCKET_NAMES]
    metadata = {operation: rate for (name, operation), rate in values.items() if name == METADATA}
    return total_of(
        [
            overrides.scaled(READ, estimate_reads_by_size(reads, values.get((READ_BYTES, "")))),
            overrides.scaled(WRITE, estimate_writes_by_size(writes, values.get((WRITE_BYTES, "")))),
            estimate_metadata(metadata, overrides.weights),
        ]
    )
