# SPDX-License-Identifier: Apache-2.0
"""The state that polls and inventories publish: frozen records that are replaced as a whole. A scrape calls nothing."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from sys import intern
from typing import NamedTuple

from fss_exporter.catalogue import Declaration, Series
from fss_exporter.oci.cloud_client import Scope
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.ledger.ledger import Key
from fss_exporter.oci.minutes.minute_judge import TargetFigures

_BETWEEN = ","


class SharedSeries(Series):
    """A series that shares pieces of its label text with other series. The arguments are like `Series`.

    A large tenancy has 100,000 series of 330 characters each. Nearly all of the text is OCIDs and names that the series of a
    file system share. Each piece exists once, which saves a third of the poller's memory.
    """

    __slots__ = ("_pieces",)

    def __init__(self, declared: Declaration, labels: Sequence[str]) -> None:
        whole = Series(declared, labels)
        self.labels = whole.labels
        self._pieces = tuple(map(intern, whole.text.split(_BETWEEN)))

    @property
    def text(self) -> str:  # type: ignore[override]  # read-only here, and no code writes it
        """The text of `Series`. A comma inside a value also ends a piece, and joining restores the comma."""
        return _BETWEEN.join(self._pieces)


class SeriesColumn(NamedTuple):
    """Series and their values, side by side."""

    series: tuple[Series, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class InventoryState:
    """The resources that the last inventory listed."""

    inventory: Inventory | None = None  # None until all listings were made once
    scopes: tuple[Scope, ...] = ()  # compartments that metrics are asked of
    # by API operation, whether every call of the last inventory was answered
    succeeded: Mapping[str, bool] = field(default_factory=dict)
    refused: AbstractSet[str] = frozenset()  # API operations that OCI refused for a permission in the last inventory
    optional: AbstractSet[str] = frozenset()  # API operations that may be refused, because no setting asks for them
    compartments_expected: int = 0  # selected compartments, unknown names included
    compartments_seen: int = 0  # compartments whose listings were all answered in the last inventory
    listed_at: float | None = None  # epoch seconds of the oldest listing in use; None before the first
    # epoch seconds at which the last inventory ended without a failed call; None before the first
    succeeded_at: float | None = None
    failed_calls: Mapping[tuple[str, str], int] = field(default_factory=dict)  # number by API operation and reason


@dataclass(frozen=True, slots=True)
class MetricState:
    """The last query of one OCI metric."""

    success: bool = True  # whether the last query was answered in every scope
    streams: int = 0  # metric streams in the last answers
    newest: int | None = None  # end of the newest minute any resource has, epoch seconds; None while there is none
    query_bytes: int = 0  # length of the longest query that was sent
    answered: int = 0  # newest minute of the last query with a whole answer, epoch seconds; 0 before the first


@dataclass(frozen=True, slots=True)
class AnswerSummary(MetricState):
    """The answer to the query of one metric: in one part, in one scope, or in all scopes."""

    skipped: Mapping[str, int] = field(default_factory=dict)  # streams that were left out, by reason
    taken: AbstractSet[Key] = frozenset()  # streams that were taken

    @property
    def is_unreadable(self) -> bool:
        """Whether the answer has streams, and no stream or point of them is as documented."""
        broken = self.skipped.get("broken", 0) + self.skipped.get("broken_point", 0)
        return self.newest is None and 0 < self.streams <= broken

    def plus(self, other: "AnswerSummary") -> "AnswerSummary":
        """Return the sum of two summaries. The sum is a success if both are."""
        return AnswerSummary(
            self.success and other.success,
            self.streams + other.streams,
            max(filter(None, (self.newest, other.newest)), default=None),
            max(self.query_bytes, other.query_bytes),
            0,  # known of all scopes together only
            Counter(self.skipped) + Counter(other.skipped),
            self.taken | other.taken,
        )


@dataclass(frozen=True, slots=True)
class PollState:
    """One region after a poll."""

    # gauges by exported name, with the end of their newest minute
    points: Mapping[str, Sequence[tuple[int, SeriesColumn]]] = field(default_factory=dict)
    # seconds between two queries, by gauge not asked for each poll
    rarely: Mapping[str, float] = field(default_factory=dict)
    sums: Mapping[str, SeriesColumn] = field(default_factory=dict)  # counters by exported name
    targets: Mapping[str, TargetFigures] = field(default_factory=dict)  # by OCID of the mount target
    metrics: Mapping[str, MetricState] = field(default_factory=dict)  # by documented OCI metric
    is_refused: bool = False  # whether OCI refused a query for a permission
    # whether a query of the poll was answered. An old answer to a metric that is asked for rarely says nothing of the region
    has_answer: bool = False
    is_empty: bool = False  # whether OCI lists neither mount targets nor metrics, so that there is nothing to ask for
    failed_calls: Mapping[tuple[str, str], int] = field(default_factory=dict)  # number by API operation and reason
    duration_seconds: float = 0.0  # time that the poll took
    ended: float = 0.0  # epoch seconds at which it ended
    # epoch seconds at which the last poll ended that had an answer to every query; None before the first
    succeeded_at: float | None = None
    clock_skew_seconds: float | None = None  # clock of this host minus clock of OCI; None before the first answer

    @property
    def success(self) -> bool:
        """Whether every query was answered."""
        return (self.is_empty or bool(self.metrics)) and all(metric.success for metric in self.metrics.values())


@dataclass(frozen=True, slots=True)
class RegionSnapshot:
    """One region: the last inventory and the last poll, None before the first."""

    region: str
    inventory: InventoryState = field(default_factory=InventoryState)
    poll: PollState | None = None

    @property
    def success(self) -> bool:
        """Whether every query of the last poll and every call of the last inventory was answered."""
        return self.poll is not None and self.poll.success and all(self.inventory.succeeded.values())


class SnapshotBoard:
    """The snapshots of all regions of an account. Polls and inventories of any thread publish here.

    Attributes:
        tenancy: value of the label. Empty until the credentials name the tenancy.
        regions: the newest snapshots, by name of the region.
    """

    def __init__(self, tenancy: str = "") -> None:
        self._lock = threading.Lock()
        self.tenancy = tenancy
        self.regions: tuple[RegionSnapshot, ...] = ()

    def publish(self, region: str, *, inventory: InventoryState | None = None, poll: PollState | None = None) -> None:
        """Replace the inventory or the poll of a region. None keeps the present state."""
        with self._lock:
            known = {region.region: region for region in self.regions}
            before = known.get(region, RegionSnapshot(region))
            known[region] = RegionSnapshot(region, inventory or before.inventory, poll or before.poll)
            self.regions = tuple(known[name] for name in sorted(known))
