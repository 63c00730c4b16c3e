"""Metric families of the accounts.

The set of series rarely changes. The collector prepares text and order of the series once, and a scrape only adds the
numbers. Lines of one operation or class are neighbours, because such text compresses well.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, Protocol

from prometheus_client.registry import Collector

from fss_exporter.catalogue import Family, family
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mount_series import MountInfo, MountSeries, service_families, shape_of
from fss_exporter.nfs.superblocks import SeriesKey, Superblock
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.nfs.totals import AddressTotals, MountTotals

NO_OBJECTIVES: Final[Mapping[str, float]] = {}


class HasFamilies(Protocol):
    """A source of families whose new series begin at zero."""

    def families(self, *, is_answer: bool) -> Iterable[Family]:
        """Return the families. `is_answer` says whether a Prometheus server gets them."""


AboutRequests = Callable[[Collection[str], Collection[str]], Iterable[Family]]


def no_requests(addresses: Collection[str], at_zero: Collection[str]) -> Iterable[Family]:  # noqa: ARG001
    """Return no family: durations are counted in exact mode only."""
    return ()


class NfsCollector(Collector):
    """The client metrics of `/metrics`. Collecting copies the totals of the ticks and reads no file.

    The first answers show a new mount at zero, and later answers show the counts. A Prometheus server that computes rates
    sees the zero before the counts and misses no growth.

    Args:
        ticker: source of the totals.
        by_operation: whether operations are counted by name, and not only by class.
        zero_answers: answers that show a new mount at zero, as many as servers scrape this agent.
        about_host: further families of this host, collected for each answer.
        latency_objectives: stated seconds by class. A class without an objective has no series.
        by_process: the load by process. None where it is off.
        about_requests: families of the durations of requests, by the addresses with series and those that show zeros.
    """

    name = "nfs"

    def __init__(
        self,
        ticker: Ticker,
        *,
        by_operation: bool = True,
        zero_answers: int = 1,
        about_host: Callable[[], Iterable[Family]] = tuple,
        latency_objectives: Mapping[str, float] = NO_OBJECTIVES,
        by_process: HasFamilies | None = None,
        about_requests: AboutRequests = no_requests,
    ) -> None:
        self._ticker = ticker
        self._by_process = by_process
        self._about_requests = about_requests
        self._about_host = about_host
        self._latency_objectives = latency_objectives
        self._by_operation = by_operation
        self._zero_answers = zero_answers
        self._layout = MountSeries({}, by_operation=by_operation)
        self._mount_info = MountInfo()

    @property
    def success(self) -> bool:
        """Whether the last tick read and accounted for the counters."""
        return self._ticker.loop.heartbeat.success

    @property
    def duration_seconds(self) -> float:
        """How long the last tick took."""
        with self._ticker.lock:
            return self._ticker.duration_s

    def describe(self) -> Iterable[Family]:
        """Return no family, so that registration does no work."""
        return ()

    def collect(self) -> Iterable[Family]:
        """Return every client family for a Prometheus server. New mounts show zeros.

        If the kernel's files cannot be read, the counters stay and the families that describe mounts disappear.
        """
        with self._ticker.lock:
            mounts = self._ticker.accounts.mounts
            new = {key for key, mount in mounts.items() if mount.answers < self._zero_answers}
            for key in new:
                mounts[key].answers += 1
            at_zero = {key.address for key in new} - {key.address for key in mounts.keys() - new}
            families = self._families(self._layout_of(mounts, new), self._addresses_shown(), at_zero)
            return [*families, *self._processes(is_answer=True)]

    def for_readers(self) -> "ReadersView":
        """Return the same families for the status page and other local readers. New mounts show their counts."""
        return ReadersView(self)

    def families_now(self) -> list[Family]:
        """Return every client family with the present totals."""
        with self._ticker.lock:
            accounts = self._ticker.accounts
            return [
                *self._families(self._layout_of(accounts.mounts), accounts.addresses),
                *self._processes(is_answer=False),
            ]

    def _processes(self, *, is_answer: bool) -> Iterable[Family]:
        return () if self._by_process is None else self._by_process.families(is_answer=is_answer)

    def _addresses_shown(self) -> dict[str, AddressTotals]:
        """Totals by address as an answer shows them: a new address shows zeros."""
        shown = {}
        for address, totals in self._ticker.accounts.addresses.items():
            is_new = totals.answers < self._zero_answers
            totals.answers += is_new
            shown[address] = totals.at_zero if is_new else totals
        return shown

    def _layout_of(self, mounts: dict[SeriesKey, MountTotals], new: Collection[SeriesKey] = ()) -> MountSeries:
        if new:
            shown = {key: mount.at_zero if key in new else mount for key, mount in mounts.items()}
            return MountSeries(shown, by_operation=self._by_operation)
        if self._layout.shape != shape_of(mounts):
            self._layout = MountSeries(mounts, by_operation=self._by_operation)
        return self._layout

    def _objectives(self, superblocks: Iterable[Superblock]) -> Iterator[Family]:
        if self._latency_objectives:
            addresses = sorted({superblock.key.address for superblock in superblocks})
            rows = (
                ((address, of_class), seconds)
                for address in addresses
                for of_class, seconds in self._latency_objectives.items()
            )
            yield family("fss_client_latency_objective_seconds", rows)

    def _families(
        self, layout: MountSeries, addresses: Mapping[str, AddressTotals], at_zero: Collection[str] = ()
    ) -> list[Family]:
        accounts = self._ticker.accounts
        superblocks = () if self._ticker.reading is None else accounts.superblocks
        return [
            self._mount_info.family(superblocks),
            *service_families(superblocks),
            *layout.families(),
            *_by_address(accounts, addresses),
            family("fss_nfs_sent_bytes_total", [((), accounts.network.sent_bytes)]),
            family("fss_nfs_received_bytes_total", [((), accounts.network.received_bytes)]),
            *self._objectives(superblocks),
            *accounts.costs.families(),
            *self._about_requests({key.address for key in accounts.mounts}, at_zero),
            *_about_ticks(self._ticker),
            *self._about_host(),
        ]


class ReadersView:
    """An `NfsCollector` for local readers. A local reader does not use up the zero answers of a new mount."""

    def __init__(self, collector: NfsCollector) -> None:
        self._collector = collector

    @property
    def success(self) -> bool:
        """As of the collector."""
        return self._collector.success

    @property
    def duration_seconds(self) -> float:
        """As of the collector."""
        return self._collector.duration_seconds

    def collect(self) -> Iterable[Family]:
        """Return every client family with the present totals."""
        return self._collector.families_now()


def _by_address(accounts: Accounts, shown: Mapping[str, AddressTotals]) -> Iterator[Family]:
    yield family("fss_client_address_requests_total", (((address,), one.requests) for address, one in shown.items()))
    costs = ((address, one.io_operations) for address, one in shown.items())
    yield family(
        "fss_client_address_estimated_io_operations_total",
        (((address,), round(cost, 1)) for address, cost in costs if cost is not None),
    )
    peaks, waits = accounts.peaks.highest(), accounts.unanswered.seconds()
    yield family("fss_client_peak_estimated_iops", (((address,), iops) for address, iops in peaks.items()))
    yield family("fss_client_unanswered_seconds", (((address,), seconds) for address, seconds in waits.items()))


def _about_ticks(ticker: Ticker) -> Iterator[Family]:
    reading = ticker.reading
    yield family("fss_nfs_records_skipped_total", (((reason,), count) for reason, count in ticker.skipped.items()))
    single = {
        "fss_nfs_ticks_total": ticker.ticks,
        "fss_nfs_tick_interval_seconds": ticker.last_interval_s,
    }
    if reading is not None:
        single |= {
            "fss_nfs_superblocks": len(reading.superblocks),
            "fss_nfs_superblocks_left_out": reading.left_out,
            "fss_nfs_mounts_filtered": reading.filtered,
            "fss_nfs_unresolved_forwarder_addresses": len(reading.unresolved),
        }
    yield from (family(name, [((), value)]) for name, value in single.items() if value is not None)
