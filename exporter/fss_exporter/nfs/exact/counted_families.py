"""Convert counted totals to the metric families of exact mode."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

from fss_exporter.catalogue import CATALOGUE, Family, family
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.operations import BLOCK_BYTES
from fss_exporter.nfs.exact.counted_totals import CountedTotals
from fss_exporter.nfs.exact.counts import CountedTransfers, exact_cost

_BOUNDS_BLOCKS = (1, 2, 4, 8, 16, 32)
# 32 KiB to 1 MiB, the kernel's largest transfer: few, and each at a step of the cost.


def counted_families(totals: CountedTotals, overrides: CostOverrides) -> Iterator[Family]:
    """Families of everything counted."""
    yield from _modes(totals)
    yield _sizes(totals)
    yield _calls("fss_client_lock_operations_total", totals.locks)
    yield _lock_costs(totals.locks, overrides)
    yield _calls("fss_client_acl_operations_total", totals.acls)
    yield from _invisible(totals.invisible, overrides)
    active = family(CATALOGUE["fss_nfs_exact_active"])
    active.add_metric((), float(totals.active))
    yield active
    failed = family(CATALOGUE["fss_nfs_exact_checks_failed_total"])
    for check, count in totals.failed.items():
        failed.add_metric((check,), count)
    yield failed


def _modes(totals: CountedTotals) -> Iterator[Family]:
    exact = family(CATALOGUE["fss_client_cost_exact"])
    for key, counted in totals.exact.items():
        exact.add_metric(key, float(counted))
    yield exact
    seconds = family(CATALOGUE["fss_client_cost_seconds_total"])
    for key, spent in totals.seconds.items():
        seconds.add_metric((*key, "exact"), spent.exact)
        seconds.add_metric((*key, "estimated"), spent.estimated)
    yield seconds


def _sizes(totals: CountedTotals) -> Family:
    result = family(CATALOGUE["fss_client_io_size_bytes"])
    for (address, operation), transfers in totals.sizes.items():
        buckets = [
            (float(bound * BLOCK_BYTES), sum(n for blocks, n in transfers.by_blocks.items() if blocks <= bound))
            for bound in _BOUNDS_BLOCKS
        ]
        everything = (math.inf, sum(transfers.by_blocks.values()))
        result.add_histogram((address, operation), (*buckets, everything), transfers.payload_bytes)
    return result


def _calls(name: str, calls: Mapping[tuple[str, str], int]) -> Family:
    result = family(CATALOGUE[name])
    for labels, count in calls.items():
        result.add_metric(labels, count)
    return result


def _lock_costs(calls: Mapping[tuple[str, str], int], overrides: CostOverrides) -> Family:
    costs: dict[str, float] = defaultdict(float)
    for (address, procedure), count in calls.items():
        costs[address] += count * overrides.lock_cost(procedure)
    result = family(CATALOGUE["fss_client_lock_io_operations_total"])
    for address, cost in costs.items():
        result.add_metric((address,), cost)
    return result


def _invisible(totals: Mapping[str, CountedTransfers], overrides: CostOverrides) -> Iterator[Family]:
    operations = family(CATALOGUE["fss_client_invisible_operations_total"])
    costs = family(CATALOGUE["fss_client_invisible_io_operations_total"])
    for operation, transfers in totals.items():
        operations.add_metric((operation,), transfers.operations)
        costs.add_metric((operation,), overrides.scaled(operation, exact_cost(operation, transfers)).point)
    yield operations
    yield costs
