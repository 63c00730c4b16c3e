# SPDX-License-Identifier: Apache-2.0
"""The OCI metrics that verdicts, loads and estimates need minute by minute, by documented name."""

from collections.abc import Mapping
from typing import Final

IOPS: Final = "MountTargetIOPS"
READ_THROUGHPUT: Final = "MountTargetReadThroughput"
WRITE_THROUGHPUT: Final = "MountTargetWriteThroughput"
CONNECTIONS: Final = "MountTargetConnections"
HEALTH: Final = "MountTargetHealth"
READ_BYTES: Final = "FileSystemReadThroughput"
WRITE_BYTES: Final = "FileSystemWriteThroughput"
READS: Final = "FileSystemReadRequestsbySize"
WRITES: Final = "FileSystemWriteRequestsbySize"
METADATA: Final = "MetadataIOPS"

# Metrics that an estimate is made of.
ESTIMATED_FROM: Final = frozenset((READ_BYTES, WRITE_BYTES, READS, WRITES, METADATA))

# Metrics that OCI sends of every mount target in every minute.
OWN: Final = (IOPS, READ_THROUGHPUT, WRITE_THROUGHPUT, CONNECTIONS)

# Metric of the latency by metric of the requests. A minute without requests has no latency.
LATENCY_OF: Final[Mapping[str, str]] = {
    READS: "FileSystemReadAverageLatencybySize",
    WRITES: "FileSystemWriteAverageLatencybySize",
    METADATA: "MetadataRequestAverageLatency",
}

REQUESTS: Final = frozenset(LATENCY_OF)  # metrics of requests

# Metrics that a verdict needs, beside one of the mount target itself.
JUDGED_BY: Final = frozenset((HEALTH, *LATENCY_OF, *LATENCY_OF.values()))

BY_MINUTE: Final = (*OWN, HEALTH, READ_BYTES, WRITE_BYTES, *LATENCY_OF, *LATENCY_OF.values())  # all of them
