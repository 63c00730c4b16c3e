# SPDX-License-Identifier: Apache-2.0
"""Convert the newest snapshots to metric families, without any call and without values above the maximum age."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fss_exporter.addresses import NetworkAddress
from fss_exporter.catalogue import CATALOGUE, CLOUD, PreparedFamily, Series, family
from fss_exporter.oci.metrics.answers import SeriesColumn, SharedSeries
from fss_exporter.oci.polling.account import Account
from fss_exporter.oci.polling.lease import Lease
from fss_exporter.oci.rows.coverage_rows import coverage_rows
from fss_exporter.oci.rows.inventory_rows import Rows, inventory_rows, joined_places, service_rows
from fss_exporter.oci.rows.minute_rows import minute_rows
from fss_exporter.oci.rows.mount_target_states import StateTimes
from fss_exporter.oci.snapshot import PollSnapshot, RegionSnapshot
from fss_exporter.settings import Settings

_NAMES: Final = (*(declared.name for declared in CLOUD), "fss_oci_leader", "fss_expected", "fss_seen")

_Families = dict[str, tuple[list[Series], list[float]]]  # series and values by exported name


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
        # series of the last scrape with their text, by exported name and labels
        self._series: dict[tuple[str, tuple[str, ...]], Series] = {}

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
        shown = [(account, regions) for account in accounts for regions in account.shown]
        places = joined_places(
            (region.region, region.inventory.inventory, of.settings)
            for _, of in shown
            for region in of.regions
            if region.inventory.inventory
        )
        families: _Families = {}
        fresh: dict[tuple[str, tuple[str, ...]], Series] = {}
        for account, of in shown:
            for region in of.regions:
                oldest = _oci_time(region.poll, now) - of.settings.oci.stale_after
                for name, column in _columns(region.poll, oldest):
                    _extend(families, name, column.series, column.values)
            rows = _region_rows(of.regions, of.settings, places, now, account.times)
            self._add_rows(families, fresh, of.tenancy, rows)
        for account in accounts:
            self._add_rows(families, fresh, account.board.tenancy, _poller_rows(account))
        self._series = fresh
        for name, (series, values) in families.items():
            if values:
                yield PreparedFamily(CATALOGUE[name], series, values)

    def _add_rows(
        self,
        families: _Families,
        fresh: dict[tuple[str, tuple[str, ...]], Series],
        tenancy: str,
        named: Iterable[tuple[str, Rows]],
    ) -> None:
        """Add rows without a value of None, whose labels stand behind the tenancy, and note their series in `fresh`."""
        for name, rows in named:
            series, values = [], []
            for labels, value in rows:
                if value is None:
                    continue
                key = name, (tenancy, *labels)
                fresh[key] = labelled = self._series.get(key) or SharedSeries(CATALOGUE[name], key[1])
                series.append(labelled)
                values.append(value)
            _extend(families, name, series, values)


def _poller_rows(account: Account) -> Iterator[tuple[str, Rows]]:
    """Yield the counters of the poller itself. Nothing before the credentials name the tenancy."""
    if account.board.tenancy:
        yield from ((name, sums.items()) for name, sums in account.self_metrics.sums().items())
        yield "fss_oci_api_budget_wait_seconds_total", [((), account.budget.waited_seconds)]
        yield "fss_oci_inventory_budget_wait_seconds_total", [((), account.inventory_budget.waited_seconds)]
        yield "fss_oci_api_budget_requests_per_second", [((), account.budget.calls_per_second)]


def _oci_time(poll: PollSnapshot | None, now: float) -> float:
    """Return the time of OCI, which stamps the points, for a time of this host."""
    return now - (poll.clock_skew_seconds or 0.0) if poll else now


def _extend(
    families: _Families,
    name: str,
    series: Iterable[Series],
    values: Iterable[float],
) -> None:
    shown = families.setdefault(name, ([], []))
    shown[0].extend(series)
    shown[1].extend(values)


def _columns(poll: PollSnapshot | None, oldest: float) -> Iterator[tuple[str, SeriesColumn]]:
    """Yield points and counters of a region, whose text is ready-made."""
    if poll is None:
        return
    for name, columns in poll.points.items():
        for minute, column in columns:
            if minute >= oldest - poll.rarely.get(name, 0.0):
                yield name, column
    yield from poll.sums.items()


def _region_rows(
    regions: Sequence[RegionSnapshot],
    settings: Settings,
    places: Mapping[str, NetworkAddress],
    now: float,
    times: StateTimes,
) -> Iterator[tuple[str, Rows]]:
    """Yield labels behind the tenancy, and values, of all further metrics about the regions, by exported name."""
    for region in regions:
        yield from _inventory_and_poll_rows(region, now)
        yield from coverage_rows(region)
        inventory = region.inventory.inventory
        if inventory is not None:
            targets = region.poll.targets if region.poll else {}
            observed = {target: figures.observed_limits for target, figures in targets.items()}
            yield from inventory_rows(region.region, inventory, places, settings, observed)
            oldest = _oci_time(region.poll, now) - settings.oci.stale_after
            yield from service_rows(region.region, inventory, _measured_limits(region.poll, oldest))
            yield from minute_rows(region, inventory, settings, _oci_time(region.poll, now), times)


def _measured_limits(poll: PollSnapshot | None, oldest: float) -> Mapping[str, frozenset[tuple[str, ...]]]:
    """Return labels of the limits that OCI publishes, by exported name."""
    return {
        name: frozenset(series.labels for minute, column in columns if minute >= oldest for series in column.series)
        for name, columns in (poll.points.items() if poll else ())
        if name.endswith("_limit")
    }


def _inventory_and_poll_rows(region: RegionSnapshot, now: float) -> Iterator[tuple[str, Rows]]:
    name, listed = region.region, region.inventory
    calls = [((name, call), float(good)) for call, good in listed.succeeded.items()]
    yield "fss_oci_inventory_success", calls
    failed = Counter(listed.failed_calls) + Counter(region.poll.failed_calls if region.poll else ())
    yield "fss_oci_failed_calls", [((name, *call), number) for call, number in failed.items()]
    yield "fss_oci_inventory_calls", [((name,), listed.calls or None)]
    yield "fss_oci_inventory_broken_rows", [((name, call), number) for call, number in listed.broken_rows.items()]
    if listed.listed_at is not None:
        yield "fss_oci_inventory_age_seconds", [((name,), now - listed.listed_at)]
    yield "fss_oci_inventory_last_success_timestamp_seconds", [((name,), listed.succeeded_at)]
    if region.poll is not None:
        yield "fss_oci_poll_success", [((name,), float(region.success))]
        yield from _poll_rows(name, region.poll, now)


def _poll_rows(name: str, poll: PollSnapshot, now: float) -> Iterator[tuple[str, Rows]]:
    metrics = poll.metrics.items()
    yield "fss_oci_poll_duration_seconds", [((name,), poll.duration_seconds)]
    yield "fss_oci_poll_left_out_metrics", [((name,), poll.left_out)]
    yield "fss_oci_poll_timestamp_seconds", [((name,), poll.ended)]
    yield "fss_oci_poll_last_success_timestamp_seconds", [((name,), poll.succeeded_at)]
    yield "fss_oci_clock_skew_seconds", [((name,), poll.clock_skew_seconds)]
    yield "fss_oci_metric_success", [((name, metric), float(of.success)) for metric, of in metrics]
    yield "fss_oci_streams", [((name, metric), of.streams) for metric, of in metrics]
    yield "fss_oci_query_length_bytes", [((name, metric), of.query_bytes or None) for metric, of in metrics]
    ages = [((name, metric), _oci_time(poll, now) - of.newest) for metric, of in metrics if of.newest is not None]
    yield "fss_oci_datapoint_age_seconds", ages
