"""Metric families of the accounts.

The set of series rarely changes. The collector prepares text and order of the series once, and a scrape only adds the
numbers. Lines of one operation or class are adjacent, because such text compresses well.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import NamedTuple, TypeVar

from fss_exporter.catalogue import Family, family
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mount_series import MountInfo, MountSeries, service_families
from fss_exporter.nfs.superblocks import Superblock
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.nfs.totals import AddressTotals, MountTotals

Key = TypeVar("Key", bound=Hashable)


class Answer(NamedTuple):
    """One answer to a scrape, for families that other parts of the agent add."""

    addresses: Collection[str]  # with series
    at_zero: Collection[str]  # new addresses, which show zeros in this answer
    is_for_server: bool  # whether a Prometheus server gets the answer, and not a local reader


@dataclass(eq=False, repr=False)
class NfsCollector:
    """The client metrics of `/metrics`. Collecting copies the totals of the ticks and reads no file.

    The first answers show a new mount at zero, and later answers show the counts. A Prometheus server that computes rates
    sees the zero before the counts and misses no growth.
    """

    ticker: Ticker  # source of the totals
    _: KW_ONLY
    by_operation: InitVar[bool] = True  # whether operations are counted by name, and not only by class
    zero_answers: int = 1  # answers that show a new mount at zero, as many as servers scrape this agent
    further: Sequence[Callable[[Answer], Iterable[Family]]] = ()  # sources of further families of this host
    _mount_info: MountInfo = field(default_factory=MountInfo, init=False)

    name = "nfs"

    def __post_init__(self, by_operation: bool) -> None:
        self._mount_series = MountSeries(by_operation=by_operation)

    @property
    def success(self) -> bool:
        """Whether the last tick read and accounted for the counters."""
        return self.ticker.loop.heartbeat.success

    @property
    def duration_seconds(self) -> float:
        """How long the last tick took."""
        with self.ticker.lock:
            return self.ticker.duration_s

    def for_readers(self) -> "NfsCollector":
        """Return a collector of the same totals for local readers. New mounts show their counts, and no zero answer is used up."""
        readers = copy(self)
        readers.zero_answers = 0
        return readers

    def collect(self) -> Iterable[Family]:
        """Return every client family.

        If the kernel's files cannot be read, the counters stay and the families that describe mounts disappear.
        """
        with self.ticker.lock:
            accounts = self.ticker.accounts
            new_mounts, new_addresses = self._new(accounts.mounts), self._new(accounts.addresses)
            addresses = {
                name: one.at_zero if name in new_addresses else one for name, one in accounts.addresses.items()
            }
            superblocks = () if self.ticker.reading is None else accounts.superblocks
            answer = Answer(addresses, new_addresses, is_for_server=self.zero_answers > 0)
            return [
                self._mount_info.family(superblocks),
                *service_families(superblocks),
                *self._mount_series.families(accounts.mounts, new_mounts),
                *_by_address(accounts, addresses),
                family("fss_nfs_sent_bytes_total", [((), accounts.network.sent_bytes)]),
                family("fss_nfs_received_bytes_total", [((), accounts.network.received_bytes)]),
                *self._objectives(superblocks),
                *accounts.costs.families(new_mounts, new_addresses),
                *_about_ticks(self.ticker),
                *(one for families in self.further for one in families(answer)),
            ]

    def _new(self, totals: Mapping[Key, MountTotals | AddressTotals]) -> set[Key]:
        """Return the mounts or addresses that this answer shows at zero."""
        new = {key for key, one in totals.items() if one.answers < self.zero_answers}
        for key in new:
            totals[key].answers += 1
        return new

    def _objectives(self, superblocks: Iterable[Superblock]) -> Iterator[Family]:
        stated = self.ticker.accounts.verdicts.stated
        if stated:
            addresses = sorted({superblock.key.address for superblock in superblocks})
            rows = (((address, of_class), seconds) for address in addresses for of_class, seconds in stated.items())
            yield family("fss_client_latency_objective_seconds", rows)


def _by_address(accounts: Accounts, shown: Mapping[str, AddressTotals]) -> Iterator[Family]:
    yield family("fss_client_address_requests_total", (((address,), one.requests) for address, one in shown.items()))
    costs = ((address, one.io_operations) for address, one in shown.items())
    yield family(
        "fss_client_address_estimated_io_operations_total",
        (((address,), round(cost, 1)) for address, cost in costs if cost is not None),
    )
    yield family(
        "fss_client_address_seconds_total",
        (
            ((address, verdict), round(seconds, 3))
            for address, one in shown.items()
            for verdict, seconds in one.seconds.items()
        ),
    )
    peaks, waits = accounts.peaks.highest(), accounts.unanswered.seconds()
    yield family("fss_client_peak_estimated_iops", (((address,), iops) for address, iops in peaks.items()))
    yield family("fss_client_unanswered_seconds", (((address,), seconds) for address, seconds in waits.items()))


def _about_ticks(ticker: Ticker) -> Iterator[Family]:
    reading = ticker.reading
    yield family("fss_nfs_records_skipped_total", (((reason,), count) for reason, count in ticker.skipped.items()))
    single = {"fss_nfs_ticks_total": ticker.ticks, "fss_nfs_tick_interval_seconds": ticker.last_interval_s}
    if reading is not None:
        single |= {
            "fss_nfs_superblocks": len(reading.superblocks),
            "fss_nfs_superblocks_left_out": reading.left_out,
            "fss_nfs_mounts_filtered": reading.filtered,
            "fss_nfs_unresolved_forwarder_addresses": len(reading.unresolved),
        }
    yield from (family(name, [((), value)]) for name, value in single.items() if value is not None)
