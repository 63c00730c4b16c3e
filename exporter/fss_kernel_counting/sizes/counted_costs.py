# SPDX-License-Identifier: Apache-2.0
"""The cost source of exact mode: the kernel's counts by size give the cost of READs and WRITEs."""

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import Metric

from fss_exporter.background import Worker
from fss_exporter.catalogue import family, histogram
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.estimate import Bounds, TransferChange, estimated_cost
from fss_exporter.model.operations import BLOCK_BYTES, READ, WRITE
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.accounts import Tick, TickCosts
from fss_exporter.nfs.collector import Answer
from fss_kernel_counting.sizes.size_counts import (
    NO_TRANSFERS,
    ByAddressAndProcedure,
    CountedTransfers,
    Counts,
    exact_cost,
)
from fss_kernel_counting.sizes.size_reader import ExactReader

# 32 KiB to 1 MiB, the kernel's largest transfer: few, and each at a step of the cost.
_BOUNDS_BLOCKS = (1, 2, 4, 8, 16, 32)

# Exported at zero for every visible mount, so that a reader who takes rates sees the first call.
LOCK_PROCEDURES = ("LOCK", "UNLOCK", "TEST", "CANCEL", "GRANTED_RES")
ACL_PROCEDURES = ("GETACL", "SETACL")


def _no_seconds() -> dict[str, float]:
    return {"exact": 0.0, "estimated": 0.0}


@dataclass(slots=True)
class CountedTotals:
    """Totals of everything counted."""

    sizes: dict[tuple[str, str], CountedTransfers] = field(default_factory=dict)  # by address and operation
    # by operation, of superblocks without a visible mount. Empty until the counting begins
    invisible: dict[str, CountedTransfers] = field(default_factory=dict)
    locks: Counter[tuple[str, str]] = field(default_factory=Counter)  # calls by address and procedure
    acls: Counter[tuple[str, str]] = field(default_factory=Counter)  # calls by address and procedure
    failed: Counter[str] = field(default_factory=Counter)  # by check
    active: bool = False  # whether the counting was in place at the last reading
    # by mount of the last reading: whether its last interval was counted
    exact: dict[SeriesKey, bool] = field(default_factory=dict)
    # by mount and mode: seconds in which READs and WRITEs were counted (`exact`), and in which they were `estimated`
    seconds: dict[SeriesKey, dict[str, float]] = field(default_factory=lambda: defaultdict(_no_seconds))

    def add(self, counts: Counts, mounts: Mapping[str, SeriesKey], seconds: float) -> None:
        """Add one interval. `mounts` are keys by `major:minor`, of superblocks with a known cost."""
        self.active = counts.active
        self.failed.update(counts.failed)
        if counts.has_sizes:
            self._add_sizes(counts, mounts)
        for operation in (READ, WRITE) if counts.active else ():
            before = self.invisible.get(operation, NO_TRANSFERS)
            self.invisible[operation] = before.plus(counts.invisible.get(operation, NO_TRANSFERS))
        addresses = {key.address for key in mounts.values()}
        _add_calls(self.locks, counts.locks, addresses, LOCK_PROCEDURES)
        _add_calls(self.acls, counts.acls, addresses, ACL_PROCEDURES)
        self.exact = {}
        for number, key in mounts.items():
            self.exact[key] = self.exact.get(key, True) and number in counts.superblocks
        for key, exact in self.exact.items():
            self.seconds[key]["exact" if exact else "estimated"] += seconds

    def keep(self, with_series: Collection[SeriesKey]) -> None:
        """Drop the totals of mounts without series, and the totals of addresses without a mount."""
        gone = [key for key in self.seconds if key not in with_series]
        if not gone:
            return
        for key in gone:
            del self.seconds[key]
        addresses = {key.address for key in gone} - {key.address for key in self.seconds}
        self.sizes = {place: sizes for place, sizes in self.sizes.items() if place[0] not in addresses}
        for calls in (self.locks, self.acls):
            for place in [place for place in calls if place[0] in addresses]:
                del calls[place]

    def _add_sizes(self, counts: Counts, mounts: Mapping[str, SeriesKey]) -> None:
        for operation in (READ, WRITE):
            for number, transfers in counts.transfers.get(operation, {}).items():
                if number in mounts and number in counts.superblocks:
                    place = (mounts[number].address, operation)
                    self.sizes[place] = self.sizes.get(place, NO_TRANSFERS).plus(transfers)
            for address in {mounts[number].address for number in counts.superblocks if number in mounts}:
                self.sizes.setdefault((address, operation), NO_TRANSFERS)


def _add_calls(
    totals: Counter[tuple[str, str]],
    calls: ByAddressAndProcedure | None,
    addresses: Iterable[str],
    announced: tuple[str, ...],
) -> None:
    if calls is None:
        return
    for address in addresses:
        for procedure in announced:
            totals.setdefault((address, procedure), 0)
    totals.update(calls)


def counted_families(totals: CountedTotals, overrides: CostOverrides, answer: Answer) -> Iterator[Metric]:
    """Return the metric families of exact mode.

    Mounts and addresses that are new in the answer show zeros. Those that the answer lacks wait for the next.
    """
    network = answer.network
    seconds = {key: by_mode for key, by_mode in totals.seconds.items() if key in answer.mounts}
    waiting = {key.address for key in totals.seconds} - {key.address for key in seconds}
    sizes = {place: transfers for place, transfers in totals.sizes.items() if place[0] not in waiting}
    locks, acls = (
        {place: 0 if place[0] in answer.at_zero else count for place, count in calls.items() if place[0] not in waiting}
        for calls in (totals.locks, totals.acls)
    )
    exact = (((network, *key), float(is_exact)) for key, is_exact in totals.exact.items() if key in seconds)
    by_mount = ("network", *SeriesKey._fields)
    by_procedure = ("network", "address", "procedure")
    yield family("fss_client_cost_exact", exact, labels=by_mount)
    yield family(
        "fss_client_cost_seconds_total",
        (
            ((network, *key, mode), 0.0 if key in answer.new_mounts else passed)
            for key, by_mode in seconds.items()
            for mode, passed in by_mode.items()
        ),
        labels=(*by_mount, "mode"),
    )
    yield _sizes(network, sizes, answer.at_zero)
    counted_locks = (((network, *place), count) for place, count in locks.items())
    yield family("fss_client_lock_operations_total", counted_locks, labels=by_procedure)
    priced = (((network, address), cost) for address, cost in _lock_costs(locks, overrides).items())
    yield family("fss_client_lock_io_operations_total", priced, labels=("network", "address"))
    counted_acls = (((network, *place), count) for place, count in acls.items())
    yield family("fss_client_acl_operations_total", counted_acls, labels=by_procedure)
    invisible = totals.invisible.items()
    yield family(
        "fss_client_invisible_operations_total",
        (((name,), transfers.operations) for name, transfers in invisible),
        labels=("operation",),
    )
    yield family(
        "fss_client_invisible_io_operations_total",
        (((name,), overrides.scaled(name, exact_cost(name, transfers)).point) for name, transfers in invisible),
        labels=("operation",),
    )
    yield family("fss_nfs_exact_active", [((), float(totals.active))])
    failed = (((check,), count) for check, count in totals.failed.items())
    yield family("fss_nfs_exact_checks_failed_total", failed, labels=("check",))


def _lock_costs(calls: ByAddressAndProcedure, overrides: CostOverrides) -> dict[str, float]:
    costs: dict[str, float] = defaultdict(float)
    for (address, procedure), count in calls.items():
        costs[address] += count * overrides.lock_cost(procedure)
    return costs


def _sizes(network: str, sizes: Mapping[tuple[str, str], CountedTransfers], at_zero: Collection[str]) -> Metric:
    histograms = []
    for (address, operation), counted in sizes.items():
        transfers = NO_TRANSFERS if address in at_zero else counted
        buckets = [
            (float(bound * BLOCK_BYTES), sum(count for blocks, count in transfers.by_blocks.items() if blocks <= bound))
            for bound in _BOUNDS_BLOCKS
        ]
        everything = (math.inf, sum(transfers.by_blocks.values()))
        histograms.append(((network, address, operation), (*buckets, everything), transfers.payload_bytes))
    return histogram("fss_client_io_size_bytes", histograms, labels=("network", "address", "operation"))


def _counted_cost(operation: str, transfers: CountedTransfers, change: TransferChange | None) -> Bounds:
    """Return the cost of counted READs or WRITEs. No table counts retransmissions by size, so each costs the mean."""
    cost = exact_cost(operation, transfers)
    if change is None or not change.retransmissions:
        return cost
    if transfers.operations:
        mean = cost.point / transfers.operations
    elif change.operations:
        mean = estimated_cost(change).point / change.operations
    else:
        return cost
    return Bounds.exact(cost.point + change.retransmissions * mean)


class CountedCosts:
    """Costs from the counts of a reader's last reading, or estimates for a superblock without counts.

    `overrides` are for lock calls. The accounts apply overrides of READs and WRITEs.
    """

    def __init__(self, reader: ExactReader, overrides: CostOverrides = NO_OVERRIDES) -> None:
        self.reader = reader
        self.totals = CountedTotals()
        self._overrides = overrides
        self._lock = threading.Lock()

    @property
    def loop(self) -> Worker:
        """The guard of the looks at the tables."""
        return self.reader.loop

    def tick_costs(self, tick: Tick) -> TickCosts:
        """Return counted costs, and estimates of superblocks without counts. Add the counts to the totals of exact mode."""
        counts = self.reader.counts
        changes = {(change.superblock, change.operation): change for change in tick.changes}
        costs = []
        for operation, by_superblock in counts.transfers.items():
            for number, transfers in by_superblock.items():
                if number in counts.superblocks and number in tick.mounts:
                    change = changes.pop((number, operation), None)
                    costs.append((number, operation, _counted_cost(operation, transfers, change)))
        for (number, operation), change in changes.items():
            is_counted = number in counts.superblocks
            cost = _counted_cost(operation, NO_TRANSFERS, change) if is_counted else estimated_cost(change)
            costs.append((number, operation, cost))
        with self._lock:
            self.totals.add(counts, tick.mounts, tick.seconds)
            self.totals.keep(tick.with_series)
        return TickCosts(costs, _lock_costs(counts.locks or {}, self._overrides))

    def families(self, answer: Answer) -> Iterable[Metric]:
        """Return the metric families of the counts so far."""
        with self._lock:
            return list(counted_families(self.totals, self._overrides, answer))
