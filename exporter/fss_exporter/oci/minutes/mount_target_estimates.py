# SPDX-License-Identifier: Apache-2.0
"""Estimate the IOPS of a mount target in one minute, from the metrics of the file systems behind the mount target. Pure.

Requests by size and throughput only bound each other within one minute. A metric without any stream of a file system means that
there were no such requests.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.server_estimate import (
    BUCKETS,
    estimate_metadata,
    estimate_reads_by_size,
    estimate_writes_by_size,
)
from fss_exporter.oci.ledger import Key
from fss_exporter.oci.minute_metrics import ESTIMATED_FROM, METADATA, READ_BYTES, READS, WRITE_BYTES, WRITES

_READS_BY_SIZE: Final = tuple((READS, bucket.name) for bucket in BUCKETS)
_WRITES_BY_SIZE: Final = tuple((WRITES, bucket.name) for bucket in BUCKETS)


def estimate(values: Mapping[Key, float], overrides: CostOverrides = NO_OVERRIDES) -> Bounds | None:
    """Estimate one mount target in one minute, in I/O operations per second.

    `values` are by metric, file system and further dimensions. Returns None without any value that an estimate is made of.
    """
    systems: dict[str, dict[Key, float]] = defaultdict(dict)
    for (metric, *place), value in values.items():
        if metric in ESTIMATED_FROM:
            system, *dimensions = place
            systems[system][metric, *dimensions] = value
    return Bounds.total(_of_file_system(system, overrides) for system in systems.values()) if systems else None


def _of_file_system(values: Mapping[Key, float], overrides: CostOverrides) -> Bounds:
    """Estimate one file system in one minute, from values by metric and dimension."""
    reads = [values.get(key, 0.0) for key in _READS_BY_SIZE]
    writes = [values.get(key, 0.0) for key in _WRITES_BY_SIZE]
    metadata = {key[1]: rate for key, rate in values.items() if key[0] == METADATA}
    return Bounds.total(
        (
            overrides.scaled(READ, estimate_reads_by_size(reads, values.get((READ_BYTES,)))),
            overrides.scaled(WRITE, estimate_writes_by_size(writes, values.get((WRITE_BYTES,)))),
            estimate_metadata(metadata, overrides.weights),
        )
    )
