"""From the last snapshot to metric families. Asks nobody, and leaves out what is too old at the moment of the scrape."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fss_exporter.catalogue import CATALOGUE, Family, family
from fss_exporter.catalogue.metric import Series
from fss_exporter.oci.call_budget import Budget
from fss_exporter.oci.inventory_rows import Rows, inventory_rows, joined_addresses
from fss_exporter.oci.metric_poller import Poller
from fss_exporter.oci.mount_target_settings import MountTargetSettings
from fss_exporter.oci.oci_inventory import Inventory
from fss_exporter.oci.self_metrics import SelfMetrics
from fss_exporter.oci.service_metrics import service_rows
from fss_exporter.oci.shared_series import Column, SharedSeries
from fss_exporter.oci.snapshot import RegionSnapshot, Snapshot


@dataclass(frozen=True, slots=True)
class View:
    """How snapshots are shown.

    Attributes:
        stale_after: seconds after which a point is not shown.
        mount_targets: limits and objectives of mount targets.
        addresses: OCID of a mount target to the address it is joined by.
    """

    stale_after: float = 360.0
    mount_targets: MountTargetSettings = field(default_factory=MountTargetSettings)
    addresses: Mapping[str, str] = field(default_factory=dict)


class OciCollector:
    """Everything the poller knows, as families of the catalogue.

    Args:
        poller: whose snapshot is shown.
        ledger: counters of what the poller did.
        budget: what the poller may spend.
        view: how it is shown; may be replaced while the exporter runs.
        now: epoch seconds.
    """

    def __init__(
        self,
        poller: Poller,
        ledger: SelfMetrics,
        *,
        budget: Budget,
        view: View,
        now: Callable[[], float],
    ) -> None:
        self.view = view
        self._poller = poller
        self._ledger = ledger
        self._budget = budget
        self._now = now
        self._series: dict[tuple[str, tuple[str, ...]], Series] = {}  # those of the last scrape, their text ready-made

    def show(self, poller: Poller, budget: Budget) -> None:
        """From now on, what another poller knows."""
        self._poller, self._budget = poller, budget

    @property
    def success(self) -> bool:
        """Whether the last poll of every region had an answer to everything."""
        return self._poller.success

    @property
    def duration_seconds(self) -> float:
        """How long the last poll took, all regions together."""
        return self._poller.duration_seconds

    def describe(self) -> Iterable[Family]:
        """Nothing: registering must not do any work."""
        return ()

    def collect(self) -> Iterable[Family]:
        """Families of the last snapshot; a family without samples is left out."""
        snapshot, view, now = self._poller.snapshot, self.view, self._now()
        families: dict[str, Family] = {}
        for region in snapshot.regions:
            for name, column in _columns(region, now - view.stale_after):
                _extend(families, name, column.series, column.values)
        fresh: dict[tuple[str, tuple[str, ...]], Series] = {}
        for name, rows in (*_told(snapshot, view, now), *self._of_poller(view)):
            series, values = [], []
            for labels, value in rows:
                key = name, labels
                fresh[key] = one = self._series.get(key) or SharedSeries(CATALOGUE[name], labels)
                series.append(one)
                values.append(value)
            _extend(families, name, series, values)
        self._series = fresh
        return (found for found in families.values() if found.values)

    def _of_poller(self, view: View) -> Iterator[tuple[str, Rows]]:
        yield "fss_latency_objective_seconds", view.mount_targets.latency_seconds.items()
        for name, sums in self._ledger.sums().items():
            yield name, sums.items()
        yield "fss_oci_api_budget_wait_seconds_total", [((), self._budget.waited_seconds)]
        yield "fss_oci_api_budget_requests_per_second", [((), self._budget.calls_per_second)]


def _extend(families: dict[str, Family], name: str, series: Iterable[Series], values: Iterable[float]) -> None:
    found = families.get(name)
    if found is None:
        found = families[name] = family(CATALOGUE[name])
    found.series.extend(series)
    found.values.extend(values)


def _columns(region: RegionSnapshot, oldest: float) -> Iterator[tuple[str, Column]]:
    """What the books hold, their text ready-made."""
    for name, by_minute in region.points.items():
        for minute, column in by_minute.items():
            if minute >= oldest:
                yield name, column
    yield from region.sums.items()


def _told(snapshot: Snapshot, view: View, now: float) -> Iterator[tuple[str, Rows]]:
    """Everything else that is known of the regions."""
    inventories = [region.surveyed.inventory for region in snapshot.regions if region.surveyed.inventory]
    addresses = joined_addresses(inventories, view.addresses)
    for region in snapshot.regions:
        yield from _polled(region, now)
        inventory = region.surveyed.inventory
        if inventory is not None:
            yield from _estimated(region, inventory, now - view.stale_after)
            yield from inventory_rows(region.region, inventory, addresses, view.mount_targets)
            yield from service_rows(region.region, inventory, _measured_limits(region, now - view.stale_after))


def _measured_limits(region: RegionSnapshot, oldest: float) -> Mapping[str, frozenset[tuple[str, ...]]]:
    """Labels of the ceilings that OCI publishes itself, by exported name."""
    return {
        name: frozenset(one.labels for minute, column in by_minute.items() if minute >= oldest for one in column.series)
        for name, by_minute in region.points.items()
        if name.endswith("_limit")
    }


def _polled(region: RegionSnapshot, now: float) -> Iterator[tuple[str, Rows]]:
    name, asked, surveyed = region.region, region.asked, region.surveyed
    yield "fss_oci_poll_success", [((name,), float(region.success))]
    yield "fss_oci_poll_duration_seconds", [((name,), region.duration_seconds)]
    yield "fss_oci_poll_timestamp_seconds", [((name,), region.ended)]
    if region.succeeded_at is not None:
        yield "fss_oci_poll_last_success_timestamp_seconds", [((name,), region.succeeded_at)]
    if surveyed.succeeded_at is not None:
        yield "fss_oci_inventory_last_success_timestamp_seconds", [((name,), surveyed.succeeded_at)]
    yield "fss_oci_metric_success", [((name, metric), float(one.success)) for metric, one in asked.items()]
    yield "fss_oci_streams", [((name, metric), one.streams) for metric, one in asked.items()]
    ages = [((name, metric), now - one.newest) for metric, one in asked.items() if one.newest is not None]
    yield "fss_oci_datapoint_age_seconds", ages
    yield "fss_oci_inventory_success", [((name, call), float(good)) for call, good in surveyed.succeeded.items()]
    if surveyed.listed_at is not None:
        yield "fss_oci_inventory_age_seconds", [((name,), now - surveyed.listed_at)]


def _estimated(region: RegionSnapshot, inventory: Inventory, oldest: float) -> Iterator[tuple[str, Rows]]:
    found = [
        ((region.region, key, inventory.mount_targets[key].name), one.iops)
        for key, one in region.estimates.items()
        if one.minute >= oldest and key in inventory.mount_targets
    ]
    yield "fss_mount_target_estimated_iops", [(labels, iops.point) for labels, iops in found]
    yield "fss_mount_target_estimated_iops_lower_bound", [(labels, iops.lower) for labels, iops in found]
    yield "fss_mount_target_estimated_iops_upper_bound", [(labels, iops.upper) for labels, iops in found]
