# SPDX-License-Identifier: Apache-2.0
"""The snapshots that polls and inventories publish: frozen records that are replaced as a whole. A scrape calls nothing."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fss_exporter.oci.inventory.inventory_snapshot import InventorySnapshot
from fss_exporter.oci.metrics.answers import MetricSnapshot, SeriesColumn
from fss_exporter.oci.minutes.target_figures import TargetFigures
from fss_exporter.settings import Settings


@dataclass(frozen=True, slots=True)
class PollSnapshot:
    """One region after a poll."""

    # gauges by exported name, with the end of their newest minute
    points: Mapping[str, Sequence[tuple[int, SeriesColumn]]] = field(default_factory=dict)
    # seconds between two queries, by gauge not asked for each poll
    rarely: Mapping[str, float] = field(default_factory=dict)
    sums: Mapping[str, SeriesColumn] = field(default_factory=dict)  # counters by exported name
    targets: Mapping[str, TargetFigures] = field(default_factory=dict)  # by OCID of the mount target
    metrics: Mapping[str, MetricSnapshot] = field(default_factory=dict)  # by documented OCI metric
    is_refused: bool = False  # whether OCI refused a query for a permission
    # whether a query of the poll was answered. An old answer to a metric that is asked for rarely says nothing of the region
    has_answer: bool = False
    is_empty: bool = False  # whether OCI lists neither mount targets nor metrics, so that there is nothing to ask for
    # whether the counters went on from the ledger of the last run. None if nothing keeps a ledger
    goes_on: bool | None = None
    failed_calls: Mapping[tuple[str, str], int] = field(default_factory=dict)  # number by API operation and reason
    left_out: int = 0  # metrics that the poll did not ask for, because its time was over or nothing answered
    # resources with data that have been in no listing for 20 minutes, by kind
    unlisted: Mapping[str, int] = field(default_factory=dict)
    duration_seconds: float = 0.0  # time that the poll took
    ended: float = 0.0  # epoch seconds at which it ended
    # epoch seconds at which the last poll ended that had an answer to every query; None before the first
    succeeded_at: float | None = None
    clock_skew_seconds: float | None = None  # clock of this host minus clock of OCI; None before the first answer

    def fresh_points(self, oldest: float) -> Iterator[tuple[str, SeriesColumn]]:
        """Yield the gauges whose minute is not older than `oldest`, epoch seconds, and the time between two queries."""
        for name, columns in self.points.items():
            for minute, column in columns:
                if minute >= oldest - self.rarely.get(name, 0.0):
                    yield name, column

    @property
    def success(self) -> bool:
        """Whether every query was answered."""
        return (self.is_empty or bool(self.metrics)) and all(metric.success for metric in self.metrics.values())


@dataclass(frozen=True, slots=True)
class RegionSnapshot:
    """One region: the last inventory and the last poll, None before the first."""

    region: str
    inventory: InventorySnapshot = field(default_factory=InventorySnapshot)
    poll: PollSnapshot | None = None

    @property
    def success(self) -> bool:
        """Whether every query of the last poll and every call of the last inventory was answered."""
        return self.poll is not None and self.poll.success and all(self.inventory.succeeded.values())


@dataclass(frozen=True, slots=True)
class AccountSnapshot:
    """Regions to show, with the label of the tenancy and the settings that they were polled with."""

    tenancy: str
    settings: Settings
    regions: Sequence[RegionSnapshot]


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

    def publish(
        self, region: str, *, inventory: InventorySnapshot | None = None, poll: PollSnapshot | None = None
    ) -> None:
        """Replace the inventory or the poll of a region. None keeps the present one."""
        with self._lock:
            snapshots = {snapshot.region: snapshot for snapshot in self.regions}
            before = snapshots.get(region, RegionSnapshot(region))
            snapshots[region] = RegionSnapshot(region, inventory or before.inventory, poll or before.poll)
            self.regions = tuple(snapshots[name] for name in sorted(snapshots))
