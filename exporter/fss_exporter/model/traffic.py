"""Rates of a mount or a mount target by operation and class, and their means.

Every figure is per second, so that mounts with different observation times can be added. `workload` computes the exact
traffic of known rates and sizes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import (
    FIXED_COSTS,
    LARGEST_TRANSFER_BYTES,
    READ,
    WRITE,
    class_of,
    nlm_io_operations,
    read_io_operations,
    write_io_operations,
)


@dataclass(frozen=True, slots=True)
class OperationTraffic:
    """One or several operations, per second. None is unknown."""

    operations: float  # completed
    iops: Bounds | None = None  # mount-target I/O operations. None if no cost is known (NFSv4)
    retransmissions: float | None = None  # transmissions beyond the first
    timeouts: float | None = None  # major time-outs
    errors: float | None = None  # operations with an error status. None if the kernel does not count errors
    # time before transmission. Per second, the figure is the mean number of waiting requests
    queue_seconds: float | None = None
    # time between transmission and reply. Per second, the mean number of requests on the wire
    rtt_seconds: float | None = None
    execute_seconds: float | None = None  # time from start to end. Per second, the mean number of requests in flight

    @property
    def mean_queue_seconds(self) -> float | None:
        """Mean time before transmission. None without operations."""
        return self._mean(self.queue_seconds)

    @property
    def mean_rtt_seconds(self) -> float | None:
        """Mean time from transmission to reply. None without operations."""
        return self._mean(self.rtt_seconds)

    @property
    def mean_execute_seconds(self) -> float | None:
        """Mean time from start to end. None without operations."""
        return self._mean(self.execute_seconds)

    def _mean(self, seconds: float | None) -> float | None:
        return seconds / self.operations if seconds is not None and self.operations else None


_FIGURES: Final = tuple(figure.name for figure in fields(OperationTraffic) if figure.name not in ("operations", "iops"))


@dataclass(frozen=True, slots=True)
class Traffic:
    """All operations of one mount or of several mounts together."""

    operations: Mapping[str, OperationTraffic] = field(default_factory=dict)  # by name of the procedure
    read_bytes: float = 0.0  # payload of READs, bytes per second
    written_bytes: float = 0.0  # payload of WRITEs, bytes per second
    # estimated mount-target I/O operations of locks per second, beside the operations. None if not counted
    lock_iops: float | None = None
    # by class, if the source has figures by class, else empty
    classes: Mapping[str, OperationTraffic] = field(default_factory=dict)

    @property
    def by_class(self) -> Mapping[str, OperationTraffic]:
        """Return figures by class. The function adds up the operations if the source has no figures by class."""
        return self.classes or _grouped((class_of(name), rate) for name, rate in self.operations.items())

    @property
    def all_operations(self) -> OperationTraffic:
        """All operations added up."""
        return added((self.classes or self.operations).values())

    @property
    def iops(self) -> Bounds | None:
        """Mount-target I/O operations per second. None where no cost is known."""
        return self.all_operations.iops

    @property
    def payload(self) -> float:
        """Bytes read and written per second."""
        return self.read_bytes + self.written_bytes

    @property
    def mean_read_bytes(self) -> float | None:
        """Mean payload of a READ, bytes. None without READs."""
        return _ratio(self.read_bytes, self.operations.get(READ))

    @property
    def mean_written_bytes(self) -> float | None:
        """Mean payload of a WRITE, bytes. None without WRITEs."""
        return _ratio(self.written_bytes, self.operations.get(WRITE))


def added(rates: Iterable[OperationTraffic]) -> OperationTraffic:
    """Add operations. A figure that is unknown for some operations is the sum of the known figures."""
    rates = tuple(rates)
    return _combined(rates, sum, sum(rate.operations for rate in rates))


def together(traffics: Iterable[Traffic]) -> Traffic:
    """Add several mounts."""
    traffics = tuple(traffics)
    locks = [traffic.lock_iops for traffic in traffics if traffic.lock_iops is not None]
    has_classes = any(traffic.classes for traffic in traffics)
    return Traffic(
        operations=_grouped(pair for traffic in traffics for pair in traffic.operations.items()),
        read_bytes=sum(traffic.read_bytes for traffic in traffics),
        written_bytes=sum(traffic.written_bytes for traffic in traffics),
        lock_iops=sum(locks) if locks else None,
        classes=_grouped(pair for traffic in traffics for pair in traffic.by_class.items()) if has_classes else {},
    )


def scaled(traffic: Traffic, factor: float) -> Traffic:
    """Return the same mix with `factor` times the load."""

    def more(rates: Mapping[str, OperationTraffic]) -> dict[str, OperationTraffic]:
        return {
            name: _combined((rate,), lambda values: values[0] * factor, rate.operations * factor)
            for name, rate in rates.items()
        }

    return Traffic(
        operations=more(traffic.operations),
        read_bytes=traffic.read_bytes * factor,
        written_bytes=traffic.written_bytes * factor,
        lock_iops=None if traffic.lock_iops is None else traffic.lock_iops * factor,
        classes=more(traffic.classes),
    )


def plain(traffic: Traffic) -> Traffic:
    """Return READs and WRITEs with cost 1 each, as other services than OCI File Storage count."""
    transfers = {name: rate for name, rate in traffic.operations.items() if name in (READ, WRITE)}
    counted = {name: replace(rate, iops=Bounds.exact(rate.operations)) for name, rate in transfers.items()}
    return Traffic(counted, traffic.read_bytes, traffic.written_bytes)


def _grouped(rates: Iterable[tuple[str, OperationTraffic]]) -> dict[str, OperationTraffic]:
    groups: dict[str, list[OperationTraffic]] = defaultdict(list)
    for name, rate in rates:
        groups[name].append(rate)
    return {name: added(group) for name, group in groups.items()}


def _combined(
    rates: Sequence[OperationTraffic], combine: Callable[[Sequence[float]], float], operations: float
) -> OperationTraffic:
    """Combine each figure. A figure that is unknown in every rate stays unknown."""
    costs = [rate.iops for rate in rates if rate.iops is not None]
    figures = {}
    for name in _FIGURES:
        known = [value for rate in rates if (value := getattr(rate, name)) is not None]
        figures[name] = combine(known) if known else None
    iops = Bounds(*map(combine, zip(*costs, strict=True))) if costs else None
    return OperationTraffic(operations, iops, **figures)


def _ratio(payload: float, rate: OperationTraffic | None) -> float | None:
    return payload / rate.operations if rate is not None and rate.operations else None


NLM_PREFIX = "NLM_"
NLM_PROCEDURES = ("TEST", "LOCK", "CANCEL", "UNLOCK", "GRANTED", "SHARE", "UNSHARE", "NM_LOCK", "FREE_ALL")
"""Procedures of the Network Lock Manager. `NLM_LOCK` stands for its LOCK (X/Open XNFS, chapter 10)."""


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
    procedure = name.removeprefix(NLM_PREFIX)
    if name.startswith(NLM_PREFIX) and procedure in NLM_PROCEDURES:
        return _rate(per_second, 1, nlm_io_operations(procedure))
    if name in (READ, WRITE):
        raise ValueError(f"{name} costs by its size: give it as reads or writes")
    if name not in FIXED_COSTS:
        raise ValueError(f"{name} is no operation of NFSv3 and no lock call such as NLM_LOCK")
    return _rate(per_second, 1, FIXED_COSTS[name])


def _rate(per_second: float, calls: int, io_operations: float) -> OperationTraffic:
    return OperationTraffic(operations=per_second * calls, iops=Bounds.exact(per_second * io_operations))
