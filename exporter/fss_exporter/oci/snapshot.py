"""What a poll publishes: frozen, whole, and never changed afterwards. A scrape reads one and asks nobody."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fss_exporter.oci.inventory_refresh import InventoryState
from fss_exporter.oci.mount_target_estimates import Estimate
from fss_exporter.oci.shared_series import Column


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of the queries of one OCI metric.

    Attributes:
        success: whether the last query was answered in every scope.
        streams: metric streams in the last answers.
        newest: end of the newest minute any resource has, epoch seconds; None while there is none.
    """

    success: bool
    streams: int
    newest: int | None


@dataclass(frozen=True, slots=True)
class RegionSnapshot:
    """One region after a poll.

    Attributes:
        region: its name.
        surveyed: inventory and how old it is.
        points: gauges by exported name and the end of their newest minute.
        sums: counters by exported name.
        estimates: by OCID of the mount target.
        asked: by documented OCI metric.
        success: whether everything was answered.
        duration_seconds: how long the poll took.
        ended: epoch seconds at which it ended.
        succeeded_at: epoch seconds at which the last poll ended that had an answer to every query; None before the first.
    """

    region: str
    surveyed: InventoryState = field(default_factory=InventoryState)
    points: Mapping[str, Mapping[int, Column]] = field(default_factory=dict)
    sums: Mapping[str, Column] = field(default_factory=dict)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    asked: Mapping[str, Asked] = field(default_factory=dict)
    success: bool = False
    duration_seconds: float = 0.0
    ended: float = 0.0
    succeeded_at: float | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every region after its last poll."""

    regions: tuple[RegionSnapshot, ...] = ()

    def with_region(self, fresh: RegionSnapshot) -> "Snapshot":
        """The snapshot with one region's newest state."""
        others = [known for known in self.regions if known.region != fresh.region]
        return Snapshot(tuple(sorted((*others, fresh), key=lambda known: known.region)))
