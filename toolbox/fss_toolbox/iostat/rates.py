# SPDX-License-Identifier: Apache-2.0
"""Differences between two copies of totals as rates."""

from collections.abc import Mapping

from fss_exporter.model.estimate import NO_COST, Bounds
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.nfs.totals import MountTotals, OperationTotals

_NO_TOTALS = MountTotals()


def traffic(
    before: Mapping[SeriesKey, MountTotals], after: Mapping[SeriesKey, MountTotals], seconds: float
) -> dict[SeriesKey, Traffic]:
    """Return the traffic of each mount between two copies of totals `seconds` apart. A mount that is missing in `before` began at zero.

    Raises:
        ValueError: the time between the copies is not positive.
    """
    if seconds <= 0:
        raise ValueError(f"{seconds} seconds between two copies")
    return {key: _mount_traffic(before.get(key, _NO_TOTALS), totals, seconds) for key, totals in after.items()}


def _mount_traffic(before: MountTotals, after: MountTotals, seconds: float) -> Traffic:
    locks = after.lock_io_operations
    return Traffic(
        operations={
            name: _rate(before.operations.get(name) or OperationTotals(), totals, seconds, after.counts_errors)
            for name, totals in after.operations.items()
        },
        read_bytes=(after.read_bytes - before.read_bytes) / seconds,
        written_bytes=(after.written_bytes - before.written_bytes) / seconds,
        lock_iops=None if locks is None else (locks - (before.lock_io_operations or 0)) / seconds,
    )


def _rate(old: OperationTotals, new: OperationTotals, seconds: float, counts_errors: bool) -> OperationTraffic:
    cost = None
    if new.cost is not None:
        cost = Bounds(*((now - then) / seconds for then, now in zip(old.cost or NO_COST, new.cost, strict=True)))
    return OperationTraffic(
        operations=(new.operations - old.operations) / seconds,
        iops=cost,
        retransmissions=(new.retransmissions - old.retransmissions) / seconds,
        timeouts=(new.timeouts - old.timeouts) / seconds,
        errors=(new.errors - old.errors) / seconds if counts_errors else None,
        queue_seconds=(new.queue_ms - old.queue_ms) / 1000 / seconds,
        rtt_seconds=(new.rtt_ms - old.rtt_ms) / 1000 / seconds,
        execute_seconds=(new.execute_ms - old.execute_ms) / 1000 / seconds,
    )
