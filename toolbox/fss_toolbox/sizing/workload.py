# SPDX-License-Identifier: Apache-2.0
"""The traffic of a stated workload, from rates and sizes, and the same mix with another load or other costs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import (
    FIXED_COSTS,
    LARGEST_TRANSFER_BYTES,
    READ,
    READ_CLASS,
    WRITE,
    WRITE_CLASS,
    class_of,
    nlm_io_operations,
    read_io_operations,
    write_io_operations,
)
from fss_exporter.model.traffic import OperationTraffic, Traffic

_RATES: Final = tuple(figure.name for figure in fields(OperationTraffic) if figure.name != "iops")

_NLM_PREFIX: Final = "NLM_"

# Procedures of the Network Lock Manager. `NLM_LOCK` stands for its LOCK (X/Open XNFS, chapter 10).
_NLM_PROCEDURES: Final = ("TEST", "LOCK", "CANCEL", "UNLOCK", "GRANTED", "SHARE", "UNSHARE", "NM_LOCK", "FREE_ALL")


@dataclass(frozen=True, slots=True)
class Transfers:
    """Reads or writes of one size."""

    per_second: float  # transfers that the program requests
    size_bytes: int  # size of a transfer


def transfer_cost(operation: str, size_bytes: int, cap_bytes: int = LARGEST_TRANSFER_BYTES) -> tuple[int, int]:
    """Return READs or WRITEs on the wire and I/O operations of `size_bytes` at a time. The client splits at the cap."""
    io_operations = read_io_operations if operation == READ else write_io_operations
    whole, rest = divmod(size_bytes, cap_bytes)
    last = io_operations(rest) if rest or not whole else 0
    return whole + bool(last), whole * io_operations(cap_bytes) + last


def workload(
    reads: Transfers | None,
    writes: Transfers | None,
    operations: Mapping[str, float],
    cap_bytes: int = LARGEST_TRANSFER_BYTES,
) -> Traffic:
    """Return the traffic of a stated workload. `cap_bytes` is rsize and wsize.

    `operations` are rates by name: NFSv3 procedures except READ and WRITE, or `NLM_` and a lock procedure.

    Raises:
        ValueError: an operation has no known cost. The message names the operation.
    """
    rates = {name: _fixed(name, per_second) for name, per_second in operations.items()}
    for name, transfers in ((READ, reads), (WRITE, writes)):
        if transfers is not None:
            rates[name] = _rate(transfers.per_second, *transfer_cost(name, transfers.size_bytes, cap_bytes))
    return Traffic(
        operations=rates,
        read_bytes=reads.per_second * reads.size_bytes if reads else 0.0,
        written_bytes=writes.per_second * writes.size_bytes if writes else 0.0,
    )


def _fixed(name: str, per_second: float) -> OperationTraffic:
    procedure = name.removeprefix(_NLM_PREFIX)
    if name.startswith(_NLM_PREFIX) and procedure in _NLM_PROCEDURES:
        return _rate(per_second, 1, nlm_io_operations(procedure))
    if name in (READ, WRITE):
        raise ValueError(f"{name} costs by its size: give it as reads or writes")
    if name not in FIXED_COSTS:
        raise ValueError(f"{name} is no operation of NFSv3 and no lock call such as NLM_LOCK")
    return _rate(per_second, 1, FIXED_COSTS[name])


def _rate(per_second: float, calls: int, io_operations: float) -> OperationTraffic:
    return OperationTraffic(operations=per_second * calls, iops=Bounds.exact(per_second * io_operations))


def scaled(traffic: Traffic, factor: float) -> Traffic:
    """Return the same mix with `factor` times the load."""

    def more(rates: Mapping[str, OperationTraffic]) -> dict[str, OperationTraffic]:
        return {name: _times(rate, factor) for name, rate in rates.items()}

    return Traffic(
        operations=more(traffic.operations),
        read_bytes=traffic.read_bytes * factor,
        written_bytes=traffic.written_bytes * factor,
        lock_iops=None if traffic.lock_iops is None else traffic.lock_iops * factor,
        classes=more(traffic.classes),
    )


def _times(rate: OperationTraffic, factor: float) -> OperationTraffic:
    figures = {name: value * factor for name in _RATES if (value := getattr(rate, name)) is not None}
    return replace(rate, iops=None if rate.iops is None else rate.iops.times(factor), **figures)


def plain(traffic: Traffic) -> Traffic:
    """Return READs and WRITEs with cost 1 each, as other services than OCI File Storage count."""
    transfers = {name: rate for name, rate in traffic.operations.items() if name in (READ, WRITE)}
    counted = {name: replace(rate, iops=Bounds.exact(rate.operations)) for name, rate in transfers.items()}
    return Traffic(counted, traffic.read_bytes, traffic.written_bytes)


def priced(traffic: Traffic, overrides: CostOverrides) -> Traffic:
    """Return traffic with measured costs in place of the table's."""
    if not overrides.rows:
        return traffic
    operations = {name: _priced(name, rate, overrides) for name, rate in traffic.operations.items()}
    return replace(traffic, operations=operations)


def _priced(name: str, rate: OperationTraffic, overrides: CostOverrides) -> OperationTraffic:
    if rate.iops is None:
        return rate
    if name.startswith(_NLM_PREFIX):
        each = overrides.lock_cost(name.removeprefix(_NLM_PREFIX))
    elif name in overrides.weights:
        each = overrides.weights[name]
    else:
        return replace(rate, iops=overrides.scaled(name, rate.iops))
    return replace(rate, iops=Bounds.exact(rate.operations * each))


def with_amount(mix: Traffic, whole: Traffic) -> Traffic | None:
    """Return the operations of a mix with the amount of a whole load: its bytes in each direction and its IOPS.

    READs and WRITEs follow the bytes, and other operations take the rest of the IOPS. Where the bytes cost more than all IOPS,
    the mix is scaled to the IOPS. Where the IOPS are not known, other operations stay as they are, of a part of the clients. None
    for bytes without READs or WRITEs in the mix, and for a mix without a cost.
    """
    if mix.iops is None or not mix.iops.point:
        return None
    transfers = {READ_CLASS: (mix.read_bytes, whole.read_bytes), WRITE_CLASS: (mix.written_bytes, whole.written_bytes)}
    by_class, factors = mix.by_class, dict[str, float]()
    for of_class, (own, wanted) in transfers.items():
        if wanted and not (own and of_class in by_class):
            return None
        factors[of_class] = wanted / own if own else 0.0
    others = 1.0
    if whole.iops is not None:
        costs = {of_class: rate.iops.point for of_class, rate in by_class.items() if rate.iops}
        left = whole.iops.point - sum(factors[of_class] * costs.get(of_class, 0.0) for of_class in transfers)
        cost = sum(cost for of_class, cost in costs.items() if of_class not in transfers)
        if left < 0 or cost <= 0:
            factor = whole.iops.point / mix.iops.point
            return replace(scaled(mix, factor), read_bytes=whole.read_bytes, written_bytes=whole.written_bytes)
        others = left / cost
    return Traffic(
        {name: _times(rate, factors.get(class_of(name), others)) for name, rate in mix.operations.items()},
        whole.read_bytes,
        whole.written_bytes,
        classes={of_class: _times(rate, factors.get(of_class, others)) for of_class, rate in mix.classes.items()},
    )
