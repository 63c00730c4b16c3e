"""The state that polls and inventories publish: frozen records, replaced as a whole. A scrape reads one and calls nothing."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fss_exporter.oci.inventory_refresh import InventoryState
from fss_exporter.oci.mount_target_estimates import Estimate
from fss_exporter.oci.shared_series import SeriesColumn


@dataclass(frozen=True, slots=True)
class MetricState:
    """The last query of one OCI metric.

    Attributes:
        success: whether the last query was answered in every scope.
        streams: metric streams in the last answers.
        newest: end of the newest minute any resource has, epoch seconds; None while there is none.
        query_bytes: length of the longest query that was sent.
    """

    success: bool
    streams: int
    newest: int | None
    query_bytes: int = 0


@dataclass(frozen=True, slots=True)
class PollState:
    """One region after a poll.

    Attributes:
        points: gauges by exported name and the end of their newest minute.
        sums: counters by exported name.
        estimates: by OCID of the mount target.
        metrics: by documented OCI metric.
        duration_seconds: how long the poll took.
        ended: epoch seconds at which it ended.
        succeeded_at: epoch seconds at which the last poll ended that had an answer to every query; None before the first.
        clock_skew_seconds: clock of this host minus clock of OCI; None before the first answer.
    """

    points: Mapping[str, Mapping[int, SeriesColumn]] = field(default_factory=dict)
    sums: Mapping[str, SeriesColumn] = field(default_factory=dict)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    metrics: Mapping[str, MetricState] = field(default_factory=dict)
    duration_seconds: float = 0.0
    ended: float = 0.0
    succeeded_at: float | None = None
    clock_skew_seconds: float | None = None

    @property
    def success(self) -> bool:
        """Whether every query was answered."""
        return bool(self.metrics) and all(one.success for one in self.metrics.values())


@dataclass(frozen=True, slots=True)
class RegionSnapshot:
    """One region: its last inventory and its last poll, None before the first."""

    region: str
    inventory: InventoryState = field(default_factory=InventoryState)
    poll: PollState | None = None

    @property
    def success(self) -> bool:
        """Whether every query of the last poll and every call of the last inventory was answered."""
        return self.poll is not None and self.poll.success and all(self.inventory.succeeded.values())


class SnapshotBoard:
    """The snapshots of all regions; polls and inventories of any thread publish here."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.regions: tuple[RegionSnapshot, ...] = ()

    def publish_inventory(self, region: str, inventory: InventoryState) -> None:
        """Replace the inventory of a region."""
        with self._lock:
            self._put(replace(self._of(region), inventory=inventory))

    def publish_poll(self, region: str, poll: PollState) -> None:
        """Replace the poll of a region."""
        with self._lock:
            self._put(replace(self._of(region), poll=poll))

    def _of(self, region: str) -> RegionSnapshot:
        return next((one for one in self.regions if one.region == region), RegionSnapshot(region))

    def _put(self, fresh: RegionSnapshot) -> None:
        others = (one for one in self.regions if one.region != fresh.region)
        self.regions = tuple(sorted((*others, fresh), key=lambda one: one.region))
