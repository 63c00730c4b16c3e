"""What stands on the status page, as frozen rows: numbers in base units, no text of a browser."""

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
        """The level as a person reads it."""
        return self.name.lower()


class Quantity(StrEnum):
    """What is compared with a ceiling; the value is its heading."""

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
        quantity: what it is; fixes the unit (operations/s, bytes/s, seconds, connections).
        value: in that unit.
        limit: ceiling in the same unit; None where none is published or configured.
        source: where the value comes from, in words.
        age_seconds: how old the value is; None where it is of this moment.
        bounds: least and most the value can be; None where it is exact.
        note: what exactly is meant, e.g. the size bucket of a latency.
        warning_ratio, critical_ratio: shares of the limit that warn.
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
        """Share of the ceiling in use; None without a ceiling."""
        return self.value / self.limit if self.limit else None

    @property
    def level(self) -> Level:
        """What the share means."""
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
    """A mount target with everything OCI and the clients say about its load.

    Attributes:
        name, region, address, shape, state: as in the inventory; address is empty where it is unknown or not unique.
        usages: in the order of `Quantity`; IOPS once for each source that has a figure.
    """

    name: str
    region: str
    address: str
    shape: str
    state: str
    usages: tuple[Usage, ...]

    @property
    def level(self) -> Level:
        """The worst of its quantities."""
        return _worst(self.usages)

    @property
    def nearest(self) -> Usage | None:
        """The usage that is nearest to its ceiling; None where no ceiling or no value is known."""
        return max((usage for usage in self.usages if usage.limit), key=lambda usage: usage.ratio or 0.0, default=None)

    @property
    def utilisation(self) -> float:
        """The highest share of any ceiling, the order of the page; 0 where nothing is known."""
        return (self.nearest and self.nearest.ratio) or 0.0

    def of(self, quantity: Quantity) -> tuple[Usage, ...]:
        """The usages of one quantity."""
        return tuple(usage for usage in self.usages if usage.quantity is quantity)


@dataclass(frozen=True, slots=True)
class AddressRow:
    """An address this host mounts from.

    Attributes:
        address: what is mounted.
        mount_target: its display name; empty where this exporter does not poll OCI.
        peak: the busiest second of the last minute; its limit is the mount target's, or the standard shape's (see note).
    """

    address: str
    mount_target: str
    peak: Usage


@dataclass(frozen=True, slots=True)
class MountRow:
    """The load of one export on this host, over the time the page says.

    Attributes:
        server, export, address, mount_points: what users know it by.
        iops: estimated mount-target IOPS with bounds.
        share: of all mounts of this host, 0 to 1; None while there is no load.
        top_operation: the operation that costs most; empty while there is no load.
        read_bytes_per_second, write_bytes_per_second: payload.
        rtt_seconds, queue_seconds: mean of an operation: network and server, waiting in the client; None without operations.
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
        success: whether it works: its last round had no error, and it is not stalled.
        duration_seconds: of its last reading; None where it does not say.
        succeeded_seconds_ago: time since its last round without an error; None if there was none.
    """

    name: str
    success: bool
    duration_seconds: float | None = None
    succeeded_seconds_ago: float | None = None


@dataclass(frozen=True, slots=True)
class RegionRow:
    """The poller's account of one region. None: not known yet.

    Attributes:
        success: whether every query and inventory call of the last poll was answered.
        polled_seconds_ago, duration_seconds: of the last poll.
        inventory_age_seconds: of the last complete inventory.
        newest_data_age_seconds, oldest_data_age_seconds: over all OCI metrics.
        failed_metrics: OCI metrics whose last query failed.
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
        version: of the exporter.
        now: when the numbers were collected.
        rates_over_seconds: how long the time is that client rates are taken over; None in the exporter's first second.
        problems: sentences about what the monitoring itself misses.
        discovering: regions whose first inventory is not complete.
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
        """The collectors that fail or are stalled."""
        return tuple(row for row in self.collectors if not row.success)

    def found(self, search: str) -> tuple[MountTargetRow, ...]:
        """The mount targets with this text in their name, region, address, shape or state."""
        wanted = search.casefold()
        return tuple(
            row
            for row in self.mount_targets
            if wanted in f"{row.name}\n{row.region}\n{row.address}\n{row.shape}\n{row.state}".casefold()
        )
