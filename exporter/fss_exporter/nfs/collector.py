"""From the accounts of the ticks to metric families.

Which series there are changes rarely: their text and their order are prepared then, and a scrape only puts numbers
beside them. Lines of one operation stand together, since what stands together compresses well.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client.registry import Collector

from fss_exporter.catalogue import CATALOGUE, Family, Series, family
from fss_exporter.model.estimate import NOTHING, Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.counted_families import counted_families
from fss_exporter.nfs.mounts_seen import MountsSeen
from fss_exporter.nfs.service_families import service_families
from fss_exporter.nfs.superblocks import SeriesKey
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.nfs.totals import OTHER, MountTotals, OperationTotals

_Totals = Sequence[OperationTotals]


def _points(totals: _Totals) -> list[float | None]:
    return [
        # Most operations have an exact cost: whole numbers are written three times as fast.
        one.exact if one.estimated is NOTHING else one.estimated and round(one.exact + one.estimated.point, 1)
        for one in totals
    ]


def _bound(of: Callable[[Bounds], float]) -> Callable[[_Totals], float | None]:
    def value(totals: _Totals) -> float | None:
        told = [one.estimated for one in totals if one.estimated is not None]
        estimated = sum([of(one) for one in told if one is not NOTHING])
        return sum([one.exact for one in totals]) + estimated if told else None

    return value


_OPERATION_VALUES: dict[str, Callable[[_Totals], list[float | None]]] = {
    "fss_client_operations_total": lambda totals: [one.operations for one in totals],
    "fss_client_estimated_io_operations_total": _points,
    "fss_client_errors_total": lambda totals: [one.errors for one in totals],
    "fss_client_rtt_seconds_total": lambda totals: [one.rtt_ms / 1000 for one in totals],
}

_TRANSFERS = frozenset((READ, WRITE))
_COMPARED = _TRANSFERS | {"GETATTR", "SETATTR"}
# What the rules ask for by name; of the rest it is enough to know the sum, and every series costs on every host.

_COARSE_VALUES: dict[str, tuple[frozenset[str], Callable[[_Totals], float | None]]] = {
    "fss_client_estimated_io_operations_lower_bound_total": (_TRANSFERS, _bound(lambda one: one.lower)),
    "fss_client_estimated_io_operations_upper_bound_total": (_TRANSFERS, _bound(lambda one: one.upper)),
    "fss_client_timeouts_total": (_TRANSFERS, lambda some: sum([one.timeouts for one in some])),
    "fss_client_retransmissions_total": (_COMPARED, lambda some: sum([one.retransmissions for one in some])),
    "fss_client_queue_seconds_total": (_COMPARED, lambda some: sum([one.queue_ms for one in some]) / 1000),
    "fss_client_execute_seconds_total": (_COMPARED, lambda some: sum([one.execute_ms for one in some]) / 1000),
}

_MOUNT_VALUES: dict[str, Callable[[MountTotals], float | None]] = {
    "fss_client_read_bytes_total": lambda totals: totals.read_bytes,
    "fss_client_written_bytes_total": lambda totals: totals.written_bytes,
    "fss_client_sent_bytes_total": lambda totals: totals.sent_bytes,
    "fss_client_received_bytes_total": lambda totals: totals.received_bytes,
    "fss_client_estimated_lock_io_operations_total": lambda totals: totals.lock_io_operations,
}

_ADDRESS_VALUES: dict[str, Callable[[Accounts], dict[str, int] | dict[str, float]]] = {
    "fss_client_peak_estimated_iops": lambda accounts: accounts.peaks.highest(),
    "fss_client_transport_sends_total": lambda accounts: accounts.connections.sends,
    "fss_client_transport_receives_total": lambda accounts: accounts.connections.receives,
    "fss_client_unanswered_seconds": lambda accounts: accounts.unanswered.seconds(),
}


class _Layout:
    """The series of mounts and operations and the totals behind each, in the order they are written."""

    def __init__(self, mounts: dict[SeriesKey, MountTotals]) -> None:
        self.generation = sum(len(mount.operations) for mount in mounts.values())
        operations = dict.fromkeys(name for mount in mounts.values() for name in mount.operations)
        self.totals = [
            mount.operations[name] for name in operations for mount in mounts.values() if name in mount.operations
        ]
        labels = [(*key, name) for name in operations for key, mount in mounts.items() if name in mount.operations]
        self.series = {metric: [Series(CATALOGUE[metric], one) for one in labels] for metric in _OPERATION_VALUES}
        self.mounts = list(mounts.values())
        self.mount_series = {metric: [Series(CATALOGUE[metric], key) for key in mounts] for metric in _MOUNT_VALUES}
        self.coarse = {apart: self._grouped(labels, apart) for apart in (_TRANSFERS, _COMPARED)}
        self.coarse_series = {
            metric: [Series(CATALOGUE[metric], one) for one in self.coarse[apart]]
            for metric, (apart, _) in _COARSE_VALUES.items()
        }

    def _grouped(
        self, labels: Iterable[tuple[str, ...]], apart: frozenset[str]
    ) -> dict[tuple[str, ...], list[OperationTotals]]:
        """The totals of each mount's operations told apart, and of all its others together."""
        groups: dict[tuple[str, ...], list[OperationTotals]] = {}
        for (*mount, name), totals in zip(labels, self.totals, strict=True):
            groups.setdefault((*mount, name if name in apart else OTHER), []).append(totals)
        return groups


class NfsCollector(Collector):
    """The client side of `/metrics`. Collecting copies what the ticks have added up; it reads no file."""

    name = "nfs"

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ticker
        self._layout = _Layout({})
        self._mounts_seen = MountsSeen()

    @property
    def success(self) -> bool:
        """Whether the last tick could read its source."""
        with self._ticker.lock:
            return self._ticker.reading is not None

    @property
    def duration_seconds(self) -> float:
        """How long the last tick took."""
        with self._ticker.lock:
            return self._ticker.duration_s

    def describe(self) -> Iterable[Family]:
        """Nothing, so that registering does no work."""
        return ()

    def collect(self) -> Iterable[Family]:
        """Every client family; the counters stay when the source cannot be read, what describes mounts does not."""
        with self._ticker.lock:
            accounts, reading = self._ticker.accounts, self._ticker.reading
            superblocks = reading.superblocks if reading else ()
            if self._layout.generation != sum(len(mount.operations) for mount in accounts.mounts.values()):
                self._layout = _Layout(accounts.mounts)
            return [
                self._mounts_seen.family(superblocks),
                *service_families(superblocks),
                *_operations(self._layout),
                *_coarse_operations(self._layout),
                *_mounts(self._layout),
                *_addresses(accounts),
                *counted_families(accounts.counted),
                *_about_ticks(self._ticker),
            ]


def _family(name: str, series: list[Series], values: list[float | None]) -> Family:
    """A family without the series that have no value."""
    if None not in values:
        return Family(CATALOGUE[name], series, values)  # type: ignore[arg-type]  # there is no None among them
    result = family(CATALOGUE[name])
    for one, value in zip(series, values, strict=True):
        if value is not None:
            result.series.append(one)
            result.values.append(value)
    return result


def _operations(layout: _Layout) -> Iterator[Family]:
    for name, values_of in _OPERATION_VALUES.items():
        yield _family(name, layout.series[name], values_of(layout.totals))


def _coarse_operations(layout: _Layout) -> Iterator[Family]:
    """What is worth telling of some operations, and of all others together."""
    for name, (apart, value_of) in _COARSE_VALUES.items():
        yield _family(name, layout.coarse_series[name], [*map(value_of, layout.coarse[apart].values())])


def _mounts(layout: _Layout) -> Iterator[Family]:
    for name, value_of in _MOUNT_VALUES.items():
        yield _family(name, layout.mount_series[name], [*map(value_of, layout.mounts)])


def _addresses(accounts: Accounts) -> Iterator[Family]:
    for name, values in _ADDRESS_VALUES.items():
        result = family(CATALOGUE[name])
        for address, value in values(accounts).items():
            result.add_metric((address,), value)
        yield result


def _about_ticks(ticker: Ticker) -> Iterator[Family]:
    skipped = family(CATALOGUE["fss_nfs_records_skipped_total"])
    for reason, count in ticker.skipped.items():
        skipped.add_metric((reason,), count)
    yield skipped
    single: dict[str, float | None] = {
        "fss_nfs_ticks_total": ticker.ticks,
        "fss_nfs_tick_interval_seconds": ticker.last_interval_s,
        "fss_nfs_superblocks": None if ticker.reading is None else len(ticker.reading.superblocks),
        "fss_nfs_unresolved_forwarder_addresses": None if ticker.reading is None else len(ticker.reading.unresolved),
    }
    for name, value in single.items():
        if value is not None:
            one = family(CATALOGUE[name])
            one.add_metric((), value)
            yield one
