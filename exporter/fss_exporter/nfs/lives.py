# SPDX-License-Identifier: Apache-2.0
"""The life of a superblock, and what two records of one life say together."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.records import MOST_OPERATIONS, NfsRecord, OperationCounters, OperationTable
from fss_exporter.nfs.superblocks import Superblock
from fss_exporter.nfs.totals import AddressTotals, MountTotals

_AGE_SLACK_S: Final = 2.0

# The kernel cuts an age off to whole seconds of a clock with ticks of up to 10 ms, which a busy virtual machine can get late. A
# mount that is younger than the last reading may be another one, so its age gets no slack beyond the rounding.
_AGE_ERROR_S: Final = 1.02


@dataclass(slots=True)
class Life:
    """One life of a superblock. `at` and `until` are seconds of a monotonic clock."""

    key: SeriesKey  # labels of its series. The mounts that name an export come and go, and the series keep the first name
    superblock: Superblock  # as of the last good reading
    record: NfsRecord | None  # with every operation that was ever read. None for zero
    settled: NfsRecord | None  # the record up to which the totals have everything. None for zero
    at: float  # begin of the last good reading
    until: float  # end of the last good reading
    totals: MountTotals
    address: AddressTotals
    names: tuple[str, ...] = ()  # operations that `weights` are of. Empty if not each of them has totals
    weights: Sequence[float] = ()  # cost of each operation. 0 for those without a fixed cost
    transfers: Sequence[str] = ()  # READ and WRITE, if they have a cost by size

    def include_operations(self, weights: Mapping[str, float]) -> None:
        """Give every operation of the last reading its totals, with these fixed costs."""
        self.totals.include(self.superblock, weights)
        if self.totals.has_cost and self.address.io_operations is None:
            self.address.io_operations = 0.0
        names, counted = self.superblock.record.operations.names, self.totals.operations
        self.names = names if counted.keys() >= set(names) else ()
        self.weights = [counted[name].weight or 0 if name in counted else 0 for name in names]
        self.transfers = [name for name in names if name in counted and counted[name].estimated is not None]


def is_same_life(life: Life, new: Superblock, at: float) -> bool:
    """Whether two readings of a device number belong to one life of a superblock.

    The kernel uses a number again after an umount. So the address, the device text and the age must fit as well. The age must
    have grown by the time between the readings, even if the process was stopped for a while. For a young mount the kernel knows better.
    """
    old = life.superblock
    before = life.record or old.record
    if old.mounts[0].address != new.mounts[0].address or before.fstype != new.record.fstype:
        return False
    if new.mounts is not old.mounts and {mount.device for mount in old.mounts}.isdisjoint(
        mount.device for mount in new.mounts
    ):
        return False
    if old.life is not None and new.life is not None:
        return old.life == new.life
    slack_s = _AGE_ERROR_S if new.record.age_s <= at - life.at else _AGE_SLACK_S
    if new.record.age_s < before.age_s + (at - life.until) - slack_s:
        return False
    if new.record.operations is before.operations or new.record.age_s > at - life.at + _AGE_ERROR_S:
        return True  # nothing was asked, or the mount is older than the last reading, so that no other can have taken its number
    return not _has_fallen(before, new.record)


def _has_fallen(old: NfsRecord, new: NfsRecord) -> bool:
    """Whether any counter is lower than before, which needs a new superblock. Equal work takes other times and bytes in another life."""
    if new.read_bytes < old.read_bytes or new.written_bytes < old.written_bytes:
        return True
    if (new.revalidations or 0) < (old.revalidations or 0) or (new.vfs_locks or 0) < (old.vfs_locks or 0):
        return True
    for name, now in new.operations.items():
        before = old.operations.get(name, now)
        if now != before and any(map(operator.lt, _never_falling(now), _never_falling(before))):
            return True
    return False


def _never_falling(counters: OperationCounters) -> tuple[int, ...]:
    """Return the counters that only grow. Time in the queue can be negative, for a call that was never sent."""
    return (*counters[:5], counters.rtt_ms, counters.execute_ms, counters.errors or 0)


def growth(before: NfsRecord | None, now: OperationTable) -> list[int]:
    """Return how many of each operation completed between two records, by the place in the later table. Negative after a fall."""
    if before is None:
        return list(now.completed)
    last = before.operations
    if last.names == now.names:
        return [*map(operator.sub, now.completed, last.completed)]
    completed = dict(zip(last.names, last.completed, strict=True))
    return [count - completed.get(name, count) for name, count in zip(now.names, now.completed, strict=True)]


def with_every_operation(record: NfsRecord, before: NfsRecord | None) -> NfsRecord:
    """Return the record with every operation of the earlier one, because the kernel can cut off a record."""
    if before is None or before.operations.names == record.operations.names:
        return record
    if before.operations.keys() <= record.operations.keys() or len(before.operations) > MOST_OPERATIONS:
        return record
    return record._replace(operations=OperationTable.of({**before.operations.rows, **record.operations.rows}))
