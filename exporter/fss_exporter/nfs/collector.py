# SPDX-License-Identifier: Apache-2.0
"""Metric families of the accounts.

The set of series rarely changes. The collector prepares text and order of the series once, and a scrape only adds the
numbers. Lines of one operation or class are adjacent, because such text compresses well.
"""

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Final, NamedTuple, Protocol, Self, TypeVar

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fss_exporter.addresses import UNKNOWN_NETWORK
from fss_exporter.background import Worker
from fss_exporter.catalogue import CLIENT, EXPORTER, family
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.fstab import FstabWatch
from fss_exporter.nfs.instance_network import InstanceNetwork
from fss_exporter.nfs.mount_series import BY_ADDRESS, MountInfo, MountSeries, service_families
from fss_exporter.nfs.other_namespaces import EveryNamespace
from fss_exporter.nfs.procfs import HOST_PID, Procfs, boot_hash_of
from fss_exporter.nfs.superblocks import Reading, Superblock
from fss_exporter.nfs.ticker import Ticker, TickResults
from fss_exporter.nfs.totals import AddressTotals, MountTotals

Key = TypeVar("Key", bound=Hashable)

_NAMES: Final = (
    *(declared.name for declared in CLIENT),
    *(declared.name for declared in EXPORTER if declared.name.startswith("fss_nfs_")),
    "fss_coverage_expected",
    "fss_coverage_seen",
)

# Age up to which a mount is new though no server has asked since its birth. A server may need so long to find a new host.
_NEW_SECONDS: Final = 120.0


def new_since(answered_at: float, now: float) -> float:
    """Return the earliest birth that an answer shows at zero. All times are seconds of one clock, and the last answer was at `answered_at`, infinity without one."""
    return min(answered_at, now - _NEW_SECONDS)


class Answer(NamedTuple):
    """One answer to a scrape, for the collectors that other parts of the agent add."""

    # network of this host, a label of every series with an address. Empty while asked for
    network: str = UNKNOWN_NETWORK
    mounts: Collection[SeriesKey] = ()  # mounts with series
    addresses: Collection[str] = ()  # addresses with series
    at_zero: Collection[str] = ()  # new addresses, which show zeros in this answer
    new_mounts: Collection[SeriesKey] = ()  # mounts that show zeros in this answer
    is_for_server: bool = False  # whether a Prometheus server gets the answer, and not a local reader


class NfsCollector(Collector):
    """The client metrics of `/metrics`. Collecting copies the totals of the ticks and reads no file.

    The first answers show a new mount at zero, and later answers show the counts. A Prometheus server that computes rates
    sees the zero before the counts and misses no growth. A mount is new if it was born since the last answer, or a moment
    ago. Any other mount shows its counts at once, because hours of growth between two scrapes would look like a peak.
    """

    name = "nfs"

    def __init__(
        self,
        ticker: Ticker,
        *,
        by_operation: bool = True,
        zero_answers: int = 1,
        network: InstanceNetwork | None = None,
        boot_hash: str = "",
        fstab: FstabWatch | None = None,
    ) -> None:
        """Collect the totals of a ticker.

        Args:
            ticker: source of the totals.
            by_operation: whether operations are counted by name, and not only by class.
            zero_answers: answers that show a new mount at zero, as many as servers scrape this agent.
            network: network of this host. None for an unknown network.
            boot_hash: names the running kernel of this host. Empty if it is not known.
            fstab: counts the mounts of /etc/fstab that are gone. None if nobody looks.
        """
        self.answer = Answer()
        self._ticker = ticker
        self._answered_at = math.inf  # no server has asked yet
        self.zero_answers = zero_answers
        self._network = network or InstanceNetwork("")
        self._boot_hash = boot_hash
        self._fstab = fstab
        self._mount_info = MountInfo()
        self._mount_series = MountSeries(by_operation=by_operation)

    @classmethod
    def of_host(
        cls, procfs: Path = Path("/proc"), *, network: str | None = None, interval_s: float = 1.0
    ) -> "NfsCollector":
        """Return the collector of a host, for a registry in a program of your own. It reads the host inside of a `with` block.

        Args:
            procfs: mount point of procfs.
            network: name of the host's network. None for an unknown network.
            interval_s: seconds between two readings.
        """

        def of_process(number: str) -> Procfs:
            return Procfs(procfs, number)

        read = EveryNamespace(of_process(HOST_PID), of_process).read
        return cls(Ticker(read, interval_s), network=InstanceNetwork("", network), boot_hash=boot_hash_of(procfs))

    def __enter__(self) -> Self:
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ticker.stop()

    def describe(self) -> Iterable[Metric]:
        """Return all possible families without samples, so that a registry knows the names and collects nothing."""
        return [family(name) for name in _NAMES]

    @property
    def success(self) -> bool:
        """Whether the last tick read and accounted for the counters of the host, or of the process that was asked for."""
        return self._ticker.loop.heartbeat.success and self.reads_what_was_asked

    @property
    def reads_what_was_asked(self) -> bool:
        """Whether the mounts are those of the host, or of the process that was asked for. True before the first reading."""
        reading = self._ticker.results.reading
        return reading is None or reading.is_of_host is not False

    @property
    def duration_seconds(self) -> float:
        """How long the last tick took."""
        return self._ticker.loop.heartbeat.duration_seconds

    def for_readers(self) -> "NfsCollector":
        """Return a collector of the same totals for local readers. New mounts show their counts, and no zero answer is used up."""
        readers = copy(self)
        readers.zero_answers = 0
        return readers

    def collect(self) -> Iterable[Metric]:
        """Return every client family.

        If the kernel's files cannot be read, or a reading hangs, the counters stay and the families that describe mounts disappear. While the
        network is asked for, no mount has a series, so that no series begins under another name.
        """
        with self._ticker.lock:
            accounts, results, network = self._ticker.accounts, self._ticker.present, self._network.name
            if not network:
                self.answer = Answer("")
                return list(_about_ticks(results, self._seen_parts(), self._boot_hash))
            mounts, wire = accounts.mounts, accounts.wire
            new_mounts, new_addresses = self._new(mounts), self._new(accounts.addresses)
            is_for_server = self.zero_answers > 0
            self._answered_at = accounts.last_at or 0.0
            self.answer = Answer(
                network, frozenset(mounts), frozenset(accounts.addresses), new_addresses, new_mounts, is_for_server
            )
            addresses = {
                name: totals.at_zero if name in new_addresses else totals for name, totals in accounts.addresses.items()
            }
            # What is so now is not known while the counters cannot be read. What was counted before stays.
            now = Accounts() if results.reading is None else accounts
            superblocks = now.superblocks
            unaccounted = accounts.unaccounted.total
            return [
                self._mount_info.family(network, superblocks),
                *service_families(network, superblocks),
                *self._mount_series.families(network, mounts, new_mounts),
                *_counts_of_addresses(network, addresses),
                *_gauges_of_addresses(network, now),
                *_states(network, now),
                family("fss_nfs_sent_bytes_total", [((), wire.sent_bytes)]),
                family("fss_nfs_received_bytes_total", [((), wire.received_bytes)]),
                family("fss_nfs_unaccounted_calls_total", () if unaccounted is None else [((), unaccounted)]),
                *self._objectives(network, superblocks),
                *_about_ticks(results, self._seen_parts(), self._boot_hash),
                *self._network.families(),
                *(self._fstab.families() if self._fstab else ()),
            ]

    def _new(self, totals: Mapping[Key, MountTotals | AddressTotals]) -> set[Key]:
        """Return the mounts or addresses that this answer shows at zero."""
        since = new_since(self._answered_at, self._ticker.accounts.last_at or 0.0)
        for counts in totals.values():
            if counts.answers == 0 and (counts.born_at is None or counts.born_at < since):
                counts.answers = self.zero_answers
        new = {key for key, counts in totals.items() if counts.answers < self.zero_answers}
        for key in new:
            totals[key].answers += 1
        return new

    def _seen_parts(self) -> "_Coverage":
        """Return the calls of the host, and those of a mount. Return the addresses that a p99 objective should judge, and those that it judges."""
        accounts, parts = self._ticker.accounts, {}
        if (calls := accounts.unaccounted.coverage()) is not None:
            parts["nfs_calls"] = calls
        if accounts.states.tails.objectives:
            mounted = {superblock.key.address for superblock in accounts.superblocks}
            parts["p99_latency"] = (len(mounted), len(mounted & accounts.states.tails.judged().keys()))
        return parts

    def _objectives(self, network: str, superblocks: Iterable[Superblock]) -> Iterator[Metric]:
        stated = self._ticker.accounts.states.stated
        if stated:
            addresses = sorted({superblock.key.address for superblock in superblocks})
            objectives = (
                ((network, address, of_class), seconds) for address in addresses for of_class, seconds in stated.items()
            )
            yield family("fss_client_latency_objective_seconds", objectives, labels=(*BY_ADDRESS, "class"))


class Counter(Protocol):
    """A part of the agent that counts in a loop of its own, and has families of its own."""

    @property
    def loop(self) -> Worker:
        """The loop with its heartbeat."""

    def families(self, answer: Answer) -> Iterable[Metric]:
        """Return the families. Addresses and mounts that the answer shows at zero are at zero here too."""


class CounterCollector(Collector):
    """The families of a counter, in the same answer as those of the NFS collector. A failure of one costs the other nothing."""

    def __init__(self, counter: Counter, nfs: NfsCollector) -> None:
        self._counter = counter
        self._nfs = nfs

    @property
    def success(self) -> bool:
        """Whether the last round of the counter had no error."""
        return self._counter.loop.heartbeat.success

    @property
    def duration_seconds(self) -> float:
        """How long the last round took."""
        return self._counter.loop.heartbeat.duration_seconds

    def collect(self) -> Iterable[Metric]:
        """Return the counter's families. The NFS collector has begun the same answer before."""
        answer = self._nfs.answer
        return self._counter.families(answer) if answer.network else ()


def _counts_of_addresses(network: str, shown: Mapping[str, AddressTotals]) -> Iterator[Metric]:
    requests = (((network, address), totals.requests) for address, totals in shown.items())
    yield family("fss_client_address_requests_total", requests, labels=BY_ADDRESS)
    costs = ((address, totals.io_operations) for address, totals in shown.items())
    yield family(
        "fss_client_address_estimated_io_operations_total",
        (((network, address), round(cost, 1)) for address, cost in costs if cost is not None),
        labels=BY_ADDRESS,
    )
    yield family(
        "fss_client_address_seconds_total",
        (
            ((network, address, verdict), round(seconds, 3))
            for address, totals in shown.items()
            for verdict, seconds in totals.seconds.items()
        ),
        labels=(*BY_ADDRESS, "verdict"),
    )


def _gauges_of_addresses(network: str, accounts: Accounts) -> Iterator[Metric]:
    peaks = (((network, address), iops) for address, iops in accounts.peaks.highest().items())
    yield family("fss_client_peak_estimated_iops", peaks, labels=BY_ADDRESS)
    known = (
        (address, wait.seconds) for address, wait in accounts.unanswered.waits().items() if wait.seconds is not None
    )
    waits = (((network, address), seconds) for address, seconds in known)
    yield family("fss_client_unanswered_seconds", waits, labels=BY_ADDRESS)


def _states(network: str, accounts: Accounts) -> Iterator[Metric]:
    states = accounts.states.shown()
    yield family(
        "fss_client_address_state",
        (((network, address), float(now.state)) for address, now in states.items()),
        labels=BY_ADDRESS,
    )
    yield family(
        "fss_client_address_state_age_seconds",
        (((network, address), round(now.seconds or 0.0)) for address, now in states.items()),
        labels=BY_ADDRESS,
    )
    yield family(
        "fss_client_address_state_evidence_ratio",
        (
            ((network, address, reason.state.word, reason.subject.name, reason.detail), round(ratio, 3))
            for address, now in states.items()
            for reason in now.reasons
            if (ratio := reason.limit_ratio) is not None
        ),
        labels=(*BY_ADDRESS, "state", "subject", "detail"),
    )
    yield family(
        "fss_client_latency_objective_ratio",
        (((network, *key), round(ratio, 3)) for key, ratio in accounts.states.latencies().items()),
        labels=(*BY_ADDRESS, "class"),
    )


_Coverage = Mapping[str, tuple[int, int]]  # what an agent should see and what it sees, by part


def _about_ticks(results: TickResults, parts: _Coverage, boot_hash: str) -> Iterator[Metric]:
    reading = results.reading
    skipped = (((reason,), count) for reason, count in results.skipped.items())
    yield family("fss_nfs_records_skipped_total", skipped, labels=("reason",))
    single = {"fss_nfs_ticks_total": results.ticks, "fss_nfs_tick_interval_seconds": results.interval_s}
    if reading is not None:
        single |= {
            "fss_nfs_superblocks_left_out": reading.left_out,
            "fss_nfs_superblocks_unread": reading.unread - reading.left_out,
            "fss_nfs_mounts_filtered": reading.filtered,
            "fss_nfs_search_slowed_seconds": reading.search_slowed_s,
            "fss_nfs_unresolved_forwarder_addresses": len(reading.unresolved),
        }
        of_host = boot_hash if reading.is_of_host else ""
        superblocks = [((of_host,), float(len(reading.superblocks)))]
        yield family("fss_nfs_superblocks", superblocks, labels=("boot_hash",))
        yield from _coverage(reading, parts)
    yield from (family(name, [((), value)]) for name, value in single.items() if value is not None)


def _coverage(reading: Reading, further: _Coverage) -> Iterator[Metric]:
    """Yield what an agent of a host should see, and what it sees. It knows neither tenancy nor region."""
    if reading.is_of_host is None:
        return
    read = len(reading.superblocks)
    parts = {"mount_namespace": (1, int(reading.is_of_host)), "mounts": (read + reading.unread, read), **further}
    labels = ("tenancy", "region", "part")
    expected = [(("", "", part), float(of)) for part, (of, _) in parts.items()]
    yield family("fss_coverage_expected", expected, labels=labels)
    yield family(
        "fss_coverage_seen", [(("", "", part), float(seen)) for part, (_, seen) in parts.items()], labels=labels
    )
