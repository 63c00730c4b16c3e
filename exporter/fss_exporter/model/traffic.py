"""What went over a mount or a mount target: rates by operation, and what follows from them.

Everything is per second, so that mounts looked at over unlike times can be added up.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE


@dataclass(frozen=True, slots=True)
class OperationTraffic:
    """One operation, per second.

    Attributes:
        operations: completed.
        iops: mount-target I/O operations they cost; None where no cost is known (NFSv4).
        retransmissions: transmissions beyond the first.
        timeouts: major time-outs.
        errors: ended with an error status; None where the kernel does not count them.
        queue_seconds: time spent before transmission; as it is per second, the mean number waiting.
        rtt_seconds: time spent between transmission and reply; the mean number on the wire.
        execute_seconds: time spent from start to end; the mean number in flight.
    """

    operations: float
    iops: Bounds | None = None
    retransmissions: float = 0.0
    timeouts: float = 0.0
    errors: float | None = None
    queue_seconds: float = 0.0
    rtt_seconds: float = 0.0
    execute_seconds: float = 0.0

    @property
    def mean_queue_seconds(self) -> float | None:
        """Mean time before transmission; None without operations."""
        return self.queue_seconds / self.operations if self.operations else None

    @property
    def mean_rtt_seconds(self) -> float | None:
        """Mean time from transmission to reply; None without operations."""
        return self.rtt_seconds / self.operations if self.operations else None

    @property
    def mean_execute_seconds(self) -> float | None:
        """Mean time from start to end; None without operations."""
        return self.execute_seconds / self.operations if self.operations else None


@dataclass(frozen=True, slots=True)
class Traffic:
    """All operations of one mount or of several together.

    Attributes:
        operations: by name of the procedure.
        read_bytes: payload of READs, bytes per second.
        written_bytes: payload of WRITEs, bytes per second.
        lock_iops: estimated mount-target I/O operations of locks per second, not part of the other; None if not counted.
    """

    operations: Mapping[str, OperationTraffic] = field(default_factory=dict)
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    lock_iops: float | None = None

    @property
    def all_operations(self) -> OperationTraffic:
        """All operations added up."""
        return added(self.operations.values())

    @property
    def iops(self) -> Bounds | None:
        """Mount-target I/O operations per second; None where no cost is known."""
        return self.all_operations.iops

    @property
    def mean_read_bytes(self) -> float | None:
        """Mean payload of a READ, bytes; None without READs."""
        return _ratio(self.read_bytes, self.operations.get(READ))

    @property
    def mean_written_bytes(self) -> float | None:
        """Mean payload of a WRITE, bytes; None without WRITEs."""
        return _ratio(self.written_bytes, self.operations.get(WRITE))


def added(rates: Iterable[OperationTraffic]) -> OperationTraffic:
    """Several operations, or one of several mounts, as one."""
    rates = tuple(rates)
    costs = [rate.iops for rate in rates if rate.iops is not None]
    errors = [rate.errors for rate in rates if rate.errors is not None]
    return OperationTraffic(
        operations=sum(rate.operations for rate in rates),
        iops=Bounds(*map(sum, zip(*costs, strict=True))) if costs else None,
        retransmissions=sum(rate.retransmissions for rate in rates),
        timeouts=sum(rate.timeouts for rate in rates),
        errors=sum(errors) if errors else None,
        queue_seconds=sum(rate.queue_seconds for rate in rates),
        rtt_seconds=sum(rate.rtt_seconds for rate in rates),
        execute_seconds=sum(rate.execute_seconds for rate in rates),
    )


def together(traffics: Iterable[Traffic]) -> Traffic:
    """Several mounts as one."""
    traffics = tuple(traffics)
    operations: dict[str, list[OperationTraffic]] = defaultdict(list)
    for traffic in traffics:
        for name, rate in traffic.operations.items():
            operations[name].append(rate)
    locks = [traffic.lock_iops for traffic in traffics if traffic.lock_iops is not None]
    return Traffic(
        operations={name: added(rates) for name, rates in operations.items()},
        read_bytes=sum(traffic.read_bytes for traffic in traffics),
        written_bytes=sum(traffic.written_bytes for traffic in traffics),
        lock_iops=sum(locks) if locks else None,
    )


def scaled(traffic: Traffic, factor: float) -> Traffic:
    """The same mix, `factor` times as much of it."""
    return Traffic(
        operations={name: _times(rate, factor) for name, rate in traffic.operations.items()},
        read_bytes=traffic.read_bytes * factor,
        written_bytes=traffic.written_bytes * factor,
        lock_iops=None if traffic.lock_iops is None else traffic.lock_iops * factor,
    )


def _times(rate: OperationTraffic, factor: float) -> OperationTraffic:
    return OperationTraffic(
        operations=rate.operations * factor,
        iops=None if rate.iops is None else times(rate.iops, factor),
        retransmissions=rate.retransmissions * factor,
        timeouts=rate.timeouts * factor,
        errors=None if rate.errors is None else rate.errors * factor,
        queue_seconds=rate.queue_seconds * factor,
        rtt_seconds=rate.rtt_seconds * factor,
        execute_seconds=rate.execute_seconds * factor,
    )


def times(bounds: Bounds, factor: float) -> Bounds:
    """Bounds scaled by a factor."""
    return Bounds(*(value * factor for value in bounds))


def _ratio(payload: float, rate: OperationTraffic | None) -> float | None:
    return payload / rate.operations if rate is not None and rate.operations else None
