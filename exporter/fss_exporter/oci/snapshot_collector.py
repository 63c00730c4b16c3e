# SPDX-License-Identifier: Apache-2.0
"""Convert the newest snapshots to metric families, without any call and without values above the maximum age."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fss_exporter.catalogue import CATALOGUE, CLOUD, PreparedFamily, Series, family
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.metrics.answers import SeriesColumn, SharedSeries
from fss_exporter.oci.polling.account import Account
from fss_exporter.oci.polling.lease import Lease
from fss_exporter.oci.rows.coverage_rows import coverage_rows
from fss_exporter.oci.rows.inventory_rows import (
    BY_REGION,
    SERVICE_LIMITS,
    Places,
    Rows,
    inventory_rows,
    joined_places,
    service_rows,
)
from fss_exporter.oci.rows.minute_rows import minute_rows
from fss_exporter.oci.rows.mount_target_states import StateTimes
from fss_exporter.oci.snapshot import AccountSnapshot, PollSnapshot, RegionSnapshot
from fss_exporter.settings import Settings

_NAMES: Final = (*(declared.name for declared in CLOUD), "fss_oci_leader", "fss_coverage_expected", "fss_coverage_seen")

_Family = tuple[str, tuple[str, ...]]  # exported name, and labels of tags that the configuration names
_Families = dict[_Family, tuple[list[Series], list[float]]]  # series and values
_Inventories = tuple[tuple[str, Inventory, Settings], ...]  # with region and settings
_Known = dict[tuple[_Family, tuple[str, ...]], Series]  # series with their text, by family and labels


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a scrape shows of some rows. The next scrape takes the series, whose text is ready-made."""

    families: _Families = field(default_factory=dict)
    series: _Known = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _KeptRegion:
    """Rows of an inventory, which change with the records that they were made from and not with a scrape."""

    made_from: tuple[object, ...]
    shown: _Shown


class OciCollector(Collector):
    """All families of the snapshots of some accounts and of the poller itself. Series begin with the label of the tenancy.

    Args:
        accounts: returns the accounts, each with the settings in force.
        now: epoch seconds.
        lease: tells whether this poller leads. None for a poller that never stands by.
    """

    def __init__(
        self, accounts: Callable[[], Sequence[Account]], *, now: Callable[[], float], lease: Lease | None = None
    ) -> None:
        self.accounts = accounts
        self._now = now
        self._lease = lease
        self._last = _Shown()
        self._inventories: _Inventories = ()
        self._places: Mapping[str, Places] = {}
        self._kept: dict[tuple[str, str], _KeptRegion] = {}  # by tenancy and region

    @property
    def stands_by(self) -> bool:
        """Whether another poller polls in place of this one."""
        return self._lease is not None and not self._lease.is_held

    @property
    def success(self) -> bool | None:
        """Whether the last poll of an account had an answer to everything. Each account has a loop that tells of it alone.

        None for a poller that stands by.
        """
        return None if self.stands_by else any(account.polls.success for account in self.accounts())

    @property
    def duration_seconds(self) -> float:
        """How long the last poll took, all regions of the slowest account together."""
        return max(account.polls.duration_seconds for account in self.accounts())

    def describe(self) -> Iterable[Metric]:
        """Return all possible families without samples, so that a registry knows the names and collects nothing."""
        return [family(name) for name in _NAMES]

    def collect(self) -> Iterable[Metric]:
        """Return families of the newest snapshots. A family without samples is left out."""
        if self._lease is not None:
            yield family("fss_oci_leader", [((), float(self._lease.is_held))])
        if not self.stands_by:
            yield from self._families()

    def _families(self) -> Iterator[Metric]:
        now = self._now()
        accounts = self.accounts()
        regions = [(account, of, region) for account in accounts for of in account.shown for region in of.regions]
        self._join((of, region) for _, of, region in regions)
        families: _Families = {}
        shown, kept = _Shown(), {}
        for account, of, region in regions:
            columns = list(_columns(region.poll, now, of.settings))
            for name, column in columns:
                _extend(families, (name, ()), column.series, column.values)
            kept[of.tenancy, region.region] = inventory = self._of_inventory(of, region, _published_limits(columns))
            for of_inventory, (series, values) in inventory.shown.families.items():
                _extend(families, of_inventory, series, values)
            _add(shown, self._last.series, of.tenancy, _region_rows(region, of.settings, now, account.times))
        for account in accounts:
            _add(shown, self._last.series, account.board.tenancy, _poller_rows(account))
        self._last, self._kept = shown, kept
        for of_scrape, (series, values) in shown.families.items():
            _extend(families, of_scrape, series, values)
        for (name, tags), (series, values) in families.items():
            if values:
                yield PreparedFamily(CATALOGUE[name].with_tags(tags), series, values)

    def _join(self, regions: Iterable[tuple[AccountSnapshot, RegionSnapshot]]) -> None:
        """Find the places of all mount targets again if an inventory has changed."""
        inventories = tuple(
            (region.region, region.inventory.inventory, of.settings)
            for of, region in regions
            if region.inventory.inventory
        )
        if inventories != self._inventories:
            self._inventories, self._places = inventories, joined_places(inventories)

    def _of_inventory(
        self, of: AccountSnapshot, region: RegionSnapshot, published: Mapping[str, AbstractSet[str]]
    ) -> _KeptRegion:
        """Return the rows of the inventory and the ceilings of a region. Those of the last scrape if nothing has changed."""
        inventory = region.inventory.inventory
        targets = region.poll.targets if region.poll else {}
        observed = {target: figures.observed_limits for target, figures in targets.items()}
        made_from = (inventory, self._places, of.settings, observed, published)
        last = self._kept.get((of.tenancy, region.region)) or _KeptRegion((), _Shown())
        if last.made_from == made_from:
            return last
        shown = _Shown()
        if inventory is not None:
            rows = inventory_rows(region.region, inventory, self._places, of.settings, observed)
            _add(shown, last.shown.series, of.tenancy, rows)
            _add(shown, last.shown.series, of.tenancy, service_rows(region.region, inventory, published))
        return _KeptRegion(made_from, shown)


def _add(shown: _Shown, last: _Known, tenancy: str, named: Iterable[Rows]) -> None:
    """Add rows without a value of None, whose labels stand behind the tenancy. `last` has the series of the last scrape."""
    for name, names, rows, tags in named:
        of = name, tuple(tags)
        declared = CATALOGUE[name].with_tags(tags)
        declared.check(("tenancy", *names, *tags))
        series, values = [], []
        for labels, value in rows:
            if value is None:
                continue
            key = of, (tenancy, *labels)
            shown.series[key] = labelled = last.get(key) or SharedSeries(declared, key[1])
            series.append(labelled)
            values.append(value)
        _extend(shown.families, of, series, values)


def _poller_rows(account: Account) -> Iterator[Rows]:
    """Yield the counters of the poller itself. Nothing before the credentials name the tenancy."""
    if account.board.tenancy:
        for name, sums in account.self_metrics.sums().items():
            yield Rows(name, CATALOGUE[name].labels[1:], sums.items())
        yield Rows("fss_oci_api_budget_wait_seconds_total", (), [((), account.budget.waited_seconds)])
        yield Rows("fss_oci_inventory_budget_wait_seconds_total", (), [((), account.inventory_budget.waited_seconds)])
        yield Rows("fss_oci_api_budget_requests_per_second", (), [((), account.budget.calls_per_second)])


def _oci_time(poll: PollSnapshot | None, now: float) -> float:
    """Return the time of OCI, which stamps the points, for a time of this host."""
    return now - (poll.clock_skew_seconds or 0.0) if poll else now


def _extend(
    families: _Families,
    of: _Family,
    series: Iterable[Series],
    values: Iterable[float],
) -> None:
    shown = families.setdefault(of, ([], []))
    shown[0].extend(series)
    shown[1].extend(values)


def _columns(poll: PollSnapshot | None, now: float, settings: Settings) -> Iterator[tuple[str, SeriesColumn]]:
    """Yield points and counters of a region, whose text is ready-made."""
    if poll is not None:
        yield from poll.fresh_points(_oci_time(poll, now) - settings.oci.stale_after)
        yield from poll.sums.items()


def _region_rows(region: RegionSnapshot, settings: Settings, now: float, times: StateTimes) -> Iterator[Rows]:
    """Yield labels behind the tenancy, and values, of what each scrape computes anew about a region."""
    yield from _inventory_and_poll_rows(region, now)
    yield from coverage_rows(region)
    if region.inventory.inventory is not None:
        yield from minute_rows(region, region.inventory.inventory, settings, _oci_time(region.poll, now), times)


def _published_limits(columns: Iterable[tuple[str, SeriesColumn]]) -> Mapping[str, AbstractSet[str]]:
    """Return the OCIDs of the resources whose limit OCI publishes, by exported name, from the columns that are shown."""
    published: dict[str, set[str]] = defaultdict(set)
    for name, column in columns:
        if name in SERVICE_LIMITS:
            place = CATALOGUE[name].labels.index("resource_id")
            published[name].update(series.labels[place] for series in column.series)
    return published


def _inventory_and_poll_rows(region: RegionSnapshot, now: float) -> Iterator[Rows]:
    name, listed = region.region, region.inventory
    by_operation = (*BY_REGION, "operation")
    calls = [((name, call), float(good)) for call, good in listed.succeeded.items()]
    yield Rows("fss_oci_inventory_success", by_operation, calls)
    failed = Counter(listed.failed_calls) + Counter(region.poll.failed_calls if region.poll else ())
    yield Rows(
        "fss_oci_failed_calls", (*by_operation, "reason"), [((name, *call), number) for call, number in failed.items()]
    )
    yield Rows("fss_oci_inventory_calls", BY_REGION, [((name,), listed.calls or None)])
    yield Rows(
        "fss_oci_inventory_broken_rows",
        by_operation,
        [((name, call), number) for call, number in listed.broken_rows.items()],
    )
    if listed.listed_at is not None:
        yield Rows("fss_oci_inventory_age_seconds", BY_REGION, [((name,), now - listed.listed_at)])
    yield Rows("fss_oci_inventory_last_success_timestamp_seconds", BY_REGION, [((name,), listed.succeeded_at)])
    if region.poll is not None:
        yield Rows("fss_oci_poll_success", BY_REGION, [((name,), float(region.success))])
        yield from _poll_rows(name, region.poll, now)


def _poll_rows(name: str, poll: PollSnapshot, now: float) -> Iterator[Rows]:
    metrics = poll.metrics.items()
    by_metric = (*BY_REGION, "oci_metric")
    yield Rows("fss_oci_poll_duration_seconds", BY_REGION, [((name,), poll.duration_seconds)])
    yield Rows("fss_oci_poll_left_out_metrics", BY_REGION, [((name,), poll.left_out)])
    yield Rows("fss_oci_poll_timestamp_seconds", BY_REGION, [((name,), poll.ended)])
    yield Rows("fss_oci_poll_last_success_timestamp_seconds", BY_REGION, [((name,), poll.succeeded_at)])
    yield Rows("fss_oci_clock_skew_seconds", BY_REGION, [((name,), poll.clock_skew_seconds)])
    yield Rows("fss_oci_metric_success", by_metric, [((name, metric), float(of.success)) for metric, of in metrics])
    yield Rows("fss_oci_streams", by_metric, [((name, metric), of.streams) for metric, of in metrics])
    yield Rows(
        "fss_oci_query_length_bytes", by_metric, [((name, metric), of.query_bytes or None) for metric, of in metrics]
    )
    ages = [((name, metric), _oci_time(poll, now) - of.newest) for metric, of in metrics if of.newest is not None]
    yield Rows("fss_oci_datapoint_age_seconds", by_metric, ages)
