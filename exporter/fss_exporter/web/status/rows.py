# SPDX-License-Identifier: Apache-2.0
"""The content of the status page as frozen rows, with numbers in base units and without text for a browser."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import Knowledge, KnownFigure, best_known
from fss_exporter.model.operations import READ, READ_CLASS, WRITE, WRITE_CLASS
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.state import (
    CONNECTIONS,
    IOPS,
    LATENCY,
    NOT_KNOWN,
    READ_BANDWIDTH,
    WRITE_BANDWIDTH,
    Evidence,
    State,
    StateNow,
    Subject,
    counted,
)
from fss_exporter.model.thresholds import CRITICAL_RATIO, WARNING_RATIO
from fss_exporter.model.traffic import Traffic
from fss_exporter.ocid import looks_like_ocid

_TRANSFERS = {READ: READ_CLASS, WRITE: WRITE_CLASS}


class Quantity(StrEnum):
    """A quantity with a ceiling. The value is the heading."""

    IOPS = "IOPS"
    READ = "Read"
    WRITE = "Write"
    BOTH = "Read and write"
    LATENCY = "Latency"
    CONNECTIONS = "Connections"


_SUBJECTS: Final[Mapping[Quantity, Subject]] = {
    Quantity.IOPS: IOPS,
    Quantity.READ: READ_BANDWIDTH,
    Quantity.WRITE: WRITE_BANDWIDTH,
    Quantity.BOTH: READ_BANDWIDTH,
    Quantity.LATENCY: LATENCY,
    Quantity.CONNECTIONS: CONNECTIONS,
}


@dataclass(frozen=True, slots=True)
class Usage:
    """One quantity against its ceiling."""

    quantity: Quantity  # name of the quantity, with a fixed unit (operations/s, bytes/s, seconds, connections)
    figure: KnownFigure  # value with source, age and coverage
    limit: float | None = None  # ceiling in the same unit. None without a published or configured ceiling
    note: str = ""  # exact meaning, e.g. the size bucket of a latency
    # warning_ratio, critical_ratio: shares of the limit for a warning and for a critical alert
    warning_ratio: float = WARNING_RATIO
    critical_ratio: float = CRITICAL_RATIO
    is_assumed: bool = False  # whether nobody states the limit, so that nothing is near it

    @property
    def value(self) -> float:
        """The value of the figure."""
        return self.figure.value

    @property
    def ratio(self) -> float | None:
        """Share of the ceiling in use. None without a ceiling."""
        return self.value / self.limit if self.limit else None

    @property
    def is_old(self) -> bool:
        """Whether the value is not of now."""
        return self.figure.knowledge in (Knowledge.BEFORE, Knowledge.NOTHING)

    @property
    def state(self) -> State:
        """State by this figure alone. Not known without a ceiling."""
        share = self.figure.share_of(self.limit) if self.limit and not self.is_assumed else None
        return Evidence(_SUBJECTS[self.quantity].near_at(self.warning_ratio), share).state


@dataclass(frozen=True, slots=True)
class MountTargetRow:
    """A mount target with the load from OCI and from clients."""

    # facts of the inventory. The address is empty if unknown or not unique
    name: str
    region: str
    address: str
    shape: str
    lifecycle: str  # as OCI calls it, e.g. ACTIVE
    usages: tuple[Usage, ...]  # in the order of `Quantity`. IOPS appear once for each source with a figure
    state: StateNow = NOT_KNOWN  # as poller, agents or rules judge it
    tenancy: str = ""
    ocid: str = ""  # empty for an address that only clients know
    has_iops_ceiling: bool = True  # whether a ceiling of its IOPS is published, observed or stated
    observed_iops: float | None = None  # ceiling that the poller observed, whether it is in force or not
    place: str = ""  # tells apart two mount targets with one name. Empty for a name that is there once

    @property
    def shown_name(self) -> str:
        """Name or address, with the place where two would look alike."""
        name = self.name or self.address
        return f"{name} in {self.place}" if self.place else name

    @property
    def utilisation(self) -> float:
        """The highest share of any ceiling, which orders the page. 0 if nothing is known."""
        return max((usage.ratio or 0.0 for usage in self.believed), default=0.0)

    @property
    def believed(self) -> tuple[Usage, ...]:
        """The usage to believe of each quantity of which something is known."""
        best = [best_known(usage.figure for usage in self.of(quantity)) for quantity in Quantity]
        return tuple(usage for usage in self.usages if any(usage.figure is figure for figure in best))

    @property
    def fullest_ceiling(self) -> Usage | None:
        """The usage of the fullest ceiling. Latency has an objective and no ceiling."""
        return fullest(usage for usage in self.believed if usage.quantity is not Quantity.LATENCY)

    @property
    def coverage(self) -> float | None:
        """Share of the IOPS that the known clients cause. None if it is not known."""
        coverages = (usage.figure.coverage for usage in self.of(Quantity.IOPS))
        return next((coverage for coverage in coverages if coverage is not None), None)

    def has_bar(self, usage: Usage) -> bool:
        """Whether a usage has a bar. No second bar stands below a figure to believe."""
        best = [believed for believed in self.believed if believed.quantity is usage.quantity]
        return not best or usage in best

    def of(self, quantity: Quantity) -> tuple[Usage, ...]:
        """Return the usages of one quantity."""
        return tuple(usage for usage in self.usages if usage.quantity is quantity)


def fullest(usages: Iterable[Usage]) -> Usage | None:
    """Return the usage with the highest share of those that are in the worst state. None without a share."""
    shares = [usage for usage in usages if usage.ratio is not None]
    return max(shares, key=lambda usage: (max(usage.state, State.NOT_KNOWN), usage.ratio or 0.0), default=None)


def with_places(rows: Iterable[MountTargetRow]) -> tuple[MountTargetRow, ...]:
    """Return the rows with their place where names repeat: the region, and behind it what tells apart two of one region."""
    rows = tuple(rows)
    keys = [(row.shown_name, row.region, row.tenancy) for row in rows]
    uses = Counter(key[:length] for key in keys for length in (1, 2, 3))

    def place(row: MountTargetRow, key: tuple[str, ...]) -> str:
        if uses[key[:1]] == 1:
            return ""
        if uses[key[:2]] == 1:
            return row.region
        further = _short(row.tenancy) if uses[key] == 1 else _short(row.ocid) or row.address
        return ", ".join(filter(None, (row.region, further)))

    return tuple(replace(row, place=place(row, key)) for row, key in zip(rows, keys, strict=True))


def _short(name: str) -> str:
    """Return a name, or the tail of an OCID."""
    return f"...{name[-6:]}" if looks_like_ocid(name) else name


@dataclass(frozen=True, slots=True)
class AddressRow:
    """A mounted address of this host."""

    address: str  # the address
    mount_target: str  # display name. Empty if this exporter does not poll OCI
    # busiest second of the last minute. The limit is the mount target's, or the standard shape's (see note)
    peak: Usage
    state: StateNow = NOT_KNOWN  # as the agent of this host judges it
    # upper edges of the classes of median and 99th percentile of durations. None without requests or without exact mode
    p50_seconds: float | None = None
    p99_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class MountRow:
    """The load of one export on this host, over the time that the page states."""

    mount: SeriesKey
    mount_points: tuple[str, ...]
    iops: Bounds  # estimated mount-target IOPS
    share: float | None  # share of all mounts of this host, 0 to 1. None without load
    traffic: Traffic  # rates per second

    @property
    def top_operation(self) -> str:
        """The operation with the highest cost, or the class with --nfs.operations=none. Empty without any cost."""
        classes = self.traffic.classes
        # READ_PLUS shares its class with READ.
        transfers = {name: classes[kind] for name, kind in _TRANSFERS.items() if kind in classes}
        operations = {**self.traffic.operations, **transfers}
        costs = {name: rate.iops.point for name, rate in operations.items() if rate.iops and rate.iops.point}
        return max(costs, key=costs.__getitem__, default="")


@dataclass(frozen=True, slots=True)
class CollectorRow:
    """One of the exporter's collectors or background loops."""

    name: str  # value of the `collector` label
    success: bool  # whether the last round had no error and the loop is not stalled
    duration_seconds: float | None = None  # time of the last reading. None if unknown
    succeeded_seconds_ago: float | None = None  # time since the last round without an error. None before the first
    is_starting: bool = False  # whether the first round runs


@dataclass(frozen=True, slots=True)
class RegionRow:
    """The poller's report on one region. None means not known yet."""

    region: str
    success: bool  # whether OCI answered every query and inventory call of the last poll
    cause: str  # why the last poll failed, as far as its calls tell
    # time since the last poll, and how long it took
    polled_seconds_ago: float | None
    duration_seconds: float | None
    inventory_age_seconds: float | None  # age of the last complete inventory
    # ages of the newest and the oldest figure over all OCI metrics
    newest_data_age_seconds: float | None
    oldest_data_age_seconds: float | None
    failed_metrics: tuple[str, ...]  # OCI metrics with a failed last query


@dataclass(frozen=True, slots=True)
class StatusPage:
    """Everything on the page."""

    now: datetime  # time of the collection
    mount_targets: tuple[MountTargetRow, ...]
    addresses: tuple[AddressRow, ...]
    mounts: tuple[MountRow, ...]  # the busiest
    mount_count: int  # all mounts of this host
    collectors: tuple[CollectorRow, ...]
    regions: tuple[RegionRow, ...]
    rates_over_seconds: float  # time that the client rates cover
    problems: tuple[str, ...]  # sentences about gaps of the monitoring
    discovering: tuple[str, ...]  # regions without a complete first inventory
    stands_by: bool = False  # whether another poller polls in place of this one
    # one of the mounts of /etc/fstab that are gone, and their number. None if it is not known
    missing_mounts: tuple[tuple[str, ...], float] | None = None

    @property
    def warning_ratio(self) -> float:
        """Share of a ceiling or of a latency objective that is near."""
        return next((usage.warning_ratio for row in self.mount_targets for usage in row.usages), WARNING_RATIO)

    @property
    def of_mount_targets(self) -> Mapping[tuple[State, str], int]:
        """Number of mount targets in each state, the worst first."""
        return counted(row.state for row in self.mount_targets)

    @property
    def sees_no_hang(self) -> bool:
        """Whether OCI sees no trouble of a mount target, and nobody asked its clients."""
        return any(row.state.is_one_sided for row in self.mount_targets)

    @property
    def of_addresses(self) -> Mapping[tuple[State, str], int]:
        """Number of addresses of this host in each state, the worst first."""
        return counted(row.state for row in self.addresses)

    @property
    def worst(self) -> Mapping[State, int]:
        """Number of mount targets, or of addresses, in the worst state on the page. Empty if nothing is worse than not known."""
        of_targets = Counter(row.state.state for row in self.mount_targets)
        of_addresses = Counter(row.state.state for row in self.addresses)
        worst = max((*of_targets, *of_addresses), default=State.FINE)
        return {worst: of_targets[worst] or of_addresses[worst]} if worst >= State.NEAR else {}

    @property
    def failing(self) -> tuple[CollectorRow, ...]:
        """The failing or stalled collectors."""
        return tuple(row for row in self.collectors if not (row.success or row.is_starting))

    def matching(self, search: str) -> tuple[MountTargetRow, ...]:
        """The mount targets with this text in their name, region, address, shape, lifecycle or state."""
        wanted = search.casefold()
        return tuple(
            row
            for row in self.mount_targets
            if wanted
            in f"{row.name}\n{row.region}\n{row.address}\n{row.shape}\n{row.lifecycle}\n{row.state.word}".casefold()
        )
