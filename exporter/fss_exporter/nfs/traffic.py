"""From what two looks at the accounts differ by to traffic."""

from collections.abc import Mapping
from copy import deepcopy

from fss_exporter.model.estimate import NOTHING, Bounds
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.nfs.superblocks import SeriesKey
from fss_exporter.nfs.totals import MountTotals, OperationTotals

Totals = Mapping[SeriesKey, MountTotals]

_NONE_YET = MountTotals()


def snapshot(totals: Totals) -> dict[SeriesKey, MountTotals]:
    """The totals as they are now; accounts go on changing."""
    return deepcopy(dict(totals))


def traffic(before: Totals, after: Totals, seconds: float) -> dict[SeriesKey, Traffic]:
    """Traffic of each mount between two snapshots `seconds` apart; a mount not in `before` began at zero."""
    return {key: mount_traffic(before.get(key, _NONE_YET), totals, seconds) for key, totals in after.items()}


def mount_traffic(before: MountTotals, after: MountTotals, seconds: float) -> Traffic:
    """Traffic of one mount.

    Raises:
        ValueError: no time lies between.
    """
    if seconds <= 0:
        raise ValueError(f"{seconds} s between two looks")
    locks = after.lock_io_operations
    return Traffic(
        operations={
            name: _rate(before.operations.get(name) or OperationTotals(), totals, seconds)
            for name, totals in after.operations.items()
        },
        read_bytes=(after.read_bytes - before.read_bytes) / seconds,
        written_bytes=(after.written_bytes - before.written_bytes) / seconds,
        lock_iops=None if locks is None else (locks - (before.lock_io_operations or 0)) / seconds,
    )


def _rate(old: OperationTotals, new: OperationTotals, seconds: float) -> OperationTraffic:
    return OperationTraffic(
        operations=(new.operations - old.operations) / seconds,
        iops=_cost_rate(old.cost or NOTHING, new.cost, seconds),
        retransmissions=(new.retransmissions - old.retransmissions) / seconds,
        timeouts=(new.timeouts - old.timeouts) / seconds,
        errors=None if new.errors is None else (new.errors - (old.errors or 0)) / seconds,
        queue_seconds=(new.queue_ms - old.queue_ms) / 1000 / seconds,
        rtt_seconds=(new.rtt_ms - old.rtt_ms) / 1000 / seconds,
        execute_seconds=(new.execute_ms - old.execute_ms) / 1000 / seconds,
    )


def _cost_rate(old: Bounds, new: Bounds | None, seconds: float) -> Bounds | None:
    if new is None:
        return None
    return Bounds(*((now - then) / seconds for then, now in zip(old, new, strict=True)))
