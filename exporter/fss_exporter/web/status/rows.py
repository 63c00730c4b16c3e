"""The content of the status page as frozen rows, with numbers in base units and without text for a browser."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum

from fss_exporter.model.thresholds import CRITICAL_RATIO, WARNING_RATIO


class Level(IntEnum):
    """How much a person should care, in rising order."""

    UNKNOWN = 0
    FINE = 1
    WARNING = 2
    CRITICAL = 3

    @property
    def word(self) -> str:
        """The level as a word."""
        return self.name.lower()


class Quantity(StrEnum):
    """A quantity with a ceiling. The value is the heading."""

    IOPS = "IOPS"
    READ = "Read"
    WRITE = "Write"
    LATENCY = "Latency"
    CONNECTIONS = "Connections"


MEASURED = "measured"
ESTIMATED_FROM_OCI = "estimated from OCI"
ESTIMATED_FROM_CLIENTS = "estimated from this host's mounts"


@dataclass(frozen=True, slots=True)
class Usage:
    """One quantity against its ceiling.

    Attributes:
        quantity: name of the quantity, with a fixed unit (operations/s, bytes/s, seconds, connections).
        value: measured or estimated value.
        limit: ceiling in the same unit. None without a published or configured ceiling.
        source: origin of the value in words.
        age_seconds: age of the value. None for a present value.
        bounds: least and most possible value. None for an exact value.
        note: exact meaning, e.g. the size bucket of a latency.
        warning_ratio, critical_ratio: shares of the limit for a warning and for a critical alert.
    """

    quantity: Quantity
    value: float
    limit: float | None = None
    source: str = ""
    age_seconds: float | None = None
    bounds: tuple[float, float] | None = None
    note: str = ""
    warning_ratio: float = WARNING_RATIO
    critical_ratio: float = CRITICAL_RATIO

    @property
    def ratio(self) -> float | None:
        """Share of the ceiling in use. None without a ceiling."""
        return self.value / self.limit if self.limit else None

    @property
    def level(self) -> Level:
        """Level of the share."""
        ratio = self.ratio
        if ratio is None:
            return Level.UNKNOWN
        if ratio >= self.critical_ratio:
            return Level.CRITICAL
        return Level.WARNING if ratio >= self.warning_ratio else Level.FINE


def _worst(usages: Iterable[Usage]) -> Level:
    return max((usage.level for usage in usages), default=Level.UNKNOWN)


@dataclass(frozen=True, slots=True)
class MountTargetRow:
    """A mount target with the load from OCI and from clients.

    Attributes:
        name, region, address, shape, state: values of the inventory. The address is empty if unknown or not unique.
        usages: in the order of `Quantity`. IOPS appear once for each source with a figure.
    """

    name: str
    region: str
    address: str
    shape: str
    state: str
    usages: tuple[Usage, ...]

    @property
    def level(self) -> Level:
        """The worst level of all quantities."""
        return _worst(self.usages)

    @property
    def nearest(self) -> Usage | None:
        """The usage with the highest share of a ceiling. None without a known ceiling or value."""
        return max((usage for usage in self.usages if usage.limit), key=lambda usage: usage.ratio or 0.0, default=None)

    @property
    def utilisation(self) -> float:
        """The highest share of any ceiling, which orders the page. 0 if nothing is known."""
        return (self.nearest and self.nearest.ratio) or 0.0

    def of(self, quantity: Quantity) -> tuple[Usage, ...]:
        """Return the usages of one quantity."""
        return tuple(usage for usage in self.usages if usage.quantity is quantity)


@dataclass(frozen=True, slots=True)
class AddressRow:
    """A mounted address of this host.

    Attributes:
        address: the address.
        mount_target: display name. Empty if this exporter does not poll OCI.
        peak: busiest second of the last minute. The limit is the mount target's, or the standard shape's (see note).
    """

    address: str
    mount_target: str
    peak: Usage


@dataclass(frozen=True, slots=True)
class MountRow:
    """The load of one export on this host, over the time that the page states.

    Attributes:
        server, export, address, mount_points: names of the mount.
        iops: estimated mount-target IOPS with bounds.
        share: share of all mounts of this host, 0 to 1. None without load.
        top_operation: operation with the highest cost. Empty without load.
        read_bytes_per_second, write_bytes_per_second: payload.
        rtt_seconds, queue_seconds: mean times of an operation on network and server, and in the client. None without operations.
    """

    server: str
    export: str
    address: str
    mount_points: tuple[str, ...]
    iops: Usage
    share: float | None
    top_operation: str
    read_bytes_per_second: float
    write_bytes_per_second: float
    rtt_seconds: float | None
    queue_seconds: float | None


@dataclass(frozen=True, slots=True)
class CollectorRow:
    """One of the exporter's collectors or background loops.

    Attributes:
        name: value of the `collector` label.
        success: whether the last round had no error and the loop is not stalled.
        duration_seconds: time of the last reading. None if unknown.
        succeeded_seconds_ago: time since the last round without an error. None before the first.
    """

    name: str
    success: bool
    duration_seconds: float | None = None
    succeeded_seconds_ago: float | None = None


@dataclass(frozen=True, slots=True)
class RegionRow:
    """The poller's report on one region. None means not known yet.

    Attributes:
        success: whether OCI answered every query and inventory call of the last poll.
        polled_seconds_ago, duration_seconds: of the last poll.
        inventory_age_seconds: age of the last complete inventory.
        newest_data_age_seconds, oldest_data_age_seconds: over all OCI metrics.
        failed_metrics: OCI metrics with a failed last query.
    """

    region: str
    success: bool
    polled_seconds_ago: float | None
    duration_seconds: float | None
    inventory_age_seconds: float | None
    newest_data_age_seconds: float | None
    oldest_data_age_seconds: float | None
    failed_metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatusPage:
    """Everything on the page.

    Attributes:
        version: version of the exporter.
        now: time of the collection.
        rates_over_seconds: time that the client rates cover. None in the exporter's first second.
        problems: sentences about gaps of the monitoring.
        discovering: regions without a complete first inventory.
    """

    version: str
    now: datetime
    mount_targets: tuple[MountTargetRow, ...]
    addresses: tuple[AddressRow, ...]
    mounts: tuple[MountRow, ...]
    collectors: tuple[CollectorRow, ...]
    regions: tuple[RegionRow, ...]
    rates_over_seconds: float | None
    problems: tuple[str, ...]
    discovering: tuple[str, ...]

    def count(self, level: Level) -> int:
        """How many mount targets are at a level."""
        return sum(row.level is level for row in self.mount_targets)

    @property
    def failing(self) -> tuple[CollectorRow, ...]:
        """The failing or stalled collectors."""
        return tuple(row for row in self.collectors if not row.success)

    def found(self, search: str) -> tuple[MountTargetRow, ...]:
        """The mount targets with this text in their name, region, address, shape or state."""
        wanted = search.casefold()
        return tuple(
            row
            for row in self.mount_targets
            if wanted in f"{row.name}\n{row.region}\n{row.address}\n{row.shape}\n{row.state}".casefold()
        )
