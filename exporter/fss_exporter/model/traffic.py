# SPDX-License-Identifier: Apache-2.0
"""Rates of a mount or a mount target by operation and class, and their means.

Every figure is per second, so that mounts with different observation times can be added.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE, class_of


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
    costs = [rate.iops for rate in rates if rate.iops is not None]
    figures = {}
    for name in _FIGURES:
        values = [value for rate in rates if (value := getattr(rate, name)) is not None]
        figures[name] = sum(values) if values else None
    iops = Bounds.total(costs) if costs else None
    return OperationTraffic(sum(rate.operations for rate in rates), iops, **figures)


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


def _grouped(rates: Iterable[tuple[str, OperationTraffic]]) -> dict[str, OperationTraffic]:
    groups: dict[str, list[OperationTraffic]] = defaultdict(list)
    for name, rate in rates:
        groups[name].append(rate)
    return {name: added(group) for name, group in groups.items()}


def _ratio(payload: float, rate: OperationTraffic | None) -> float | None:
    return payload / rate.operations if rate is not None and rate.operations else None
