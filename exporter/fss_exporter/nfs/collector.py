"""From the accounts of the ticks to metric families.

Which series there are changes rarely: their text and their order are prepared then, and a scrape only puts numbers
beside them. Lines of one operation stand together, since what stands together compresses well.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.registry import Collector

from fss_exporter.catalogue import CATALOGUE, Family, Series, family
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service import Ceilings, OneClient
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.counted_families import counted_families
from fss_exporter.nfs.superblocks import Reading, SeriesKey, Superblock
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.nfs.totals import OTHER, MountTotals, OperationTotals

_OPERATION_VALUES: dict[str, Callable[[OperationTotals], float | None]] = {
    "fss_client_operations_total": lambda totals: totals.operations,
    "fss_client_estimated_io_operations_total": lambda totals: totals.cost and round(totals.cost.point, 1),
    "fss_client_errors_total": lambda totals: totals.errors,
    "fss_client_rtt_seconds_total": lambda totals: totals.rtt_ms / 1000,
}

_TRANSFERS = frozenset((READ, WRITE))
_COMPARED = _TRANSFERS | {"GETATTR", "SETATTR"}
# What the rules ask for by name; of the rest it is enough to know the sum, and every series costs on every host.

_COARSE_VALUES: dict[str, tuple[frozenset[str], Callable[[OperationTotals], float | None]]] = {
    "fss_client_estimated_io_operations_lower_bound_total": (_TRANSFERS, lambda one: one.cost and one.cost.lower),
    "fss_client_estimated_io_operations_upper_bound_total": (_TRANSFERS, lambda one: one.cost and one.cost.upper),
    "fss_client_timeouts_total": (_TRANSFERS, lambda one: one.timeouts),
    "fss_client_retransmissions_total": (_COMPARED, lambda one: one.retransmissions),
    "fss_client_queue_seconds_total": (_COMPARED, lambda one: one.queue_ms / 1000),
    "fss_client_execute_seconds_total": (_COMPARED, lambda one: one.execute_ms / 1000),
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

_LIMITS: dict[str, Callable[[Ceilings], float | None]] = {
    "fss_client_iops_limit": lambda ceilings: ceilings.iops,
    "fss_client_read_bytes_per_second_limit": lambda ceilings: ceilings.read_bytes_per_second,
    "fss_client_write_bytes_per_second_limit": lambda ceilings: ceilings.write_bytes_per_second,
    "fss_client_bytes_per_second_limit": lambda ceilings: ceilings.bytes_per_second,
}


_OBJECTIVES: dict[str, Callable[[OneClient], tuple[float, float]]] = {
    "fss_client_objective_operations_per_second": lambda one: (one.read_iops, one.write_iops),
    "fss_client_objective_bytes_per_second": lambda one: (one.read_bytes_per_second, one.write_bytes_per_second),
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
            accounts = self._ticker.accounts
            if self._layout.generation != sum(len(mount.operations) for mount in accounts.mounts.values()):
                self._layout = _Layout(accounts.mounts)
            return [
                _mount_info(self._ticker.reading),
                *_services(self._ticker.reading),
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
    for name, value_of in _OPERATION_VALUES.items():
        yield _family(name, layout.series[name], [*map(value_of, layout.totals)])


def _coarse_operations(layout: _Layout) -> Iterator[Family]:
    """What is worth telling of some operations, and of all others together."""
    for name, (apart, value_of) in _COARSE_VALUES.items():
        values = [_sum([*map(value_of, group)]) for group in layout.coarse[apart].values()]
        yield _family(name, layout.coarse_series[name], values)


def _sum(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None] if None in values else values
    return sum(present) if present else None  # type: ignore[arg-type]  # there is no None among them


def _mounts(layout: _Layout) -> Iterator[Family]:
    for name, value_of in _MOUNT_VALUES.items():
        yield _family(name, layout.mount_series[name], [*map(value_of, layout.mounts)])


def _addresses(accounts: Accounts) -> Iterator[Family]:
    for name, values in _ADDRESS_VALUES.items():
        result = family(CATALOGUE[name])
        for address, value in values(accounts).items():
            result.add_metric((address,), value)
        yield result


def _mount_info(reading: Reading | None) -> Family:
    result = family(CATALOGUE["fss_client_mount_info"])
    superblocks = reading.superblocks if reading else ()
    for labels in sorted({labels for superblock in superblocks for labels in _mount_labels(superblock)}):
        result.add_metric(labels)
    return result


def _services(reading: Reading | None) -> Iterator[Family]:
    """Services somebody or their name told of, and their ceilings; nothing on a host without any."""
    stated = [superblock for superblock in (reading.superblocks if reading else ()) if superblock.known.stated]
    if not stated:
        return
    info = family(CATALOGUE["fss_client_service_info"])
    for labels in sorted({_service_labels(superblock) for superblock in stated}):
        info.add_metric(labels)
    yield info
    by_address: dict[str, set[Ceilings]] = {}
    for superblock in stated:
        by_address.setdefault(superblock.key.address, set()).add(superblock.known.ceilings)
    for name, value_of in _LIMITS.items():
        limits = family(CATALOGUE[name])
        for address, found in by_address.items():
            value = value_of(next(iter(found)))
            # Exports of one address with unlike ceilings share no ceiling that one number could tell.
            if value is not None and len(found) == 1:
                limits.add_metric((address,), value)
        if limits.values:
            yield limits
    yield from _objectives(stated)


def _objectives(stated: Iterable[Superblock]) -> Iterator[Family]:
    """What one client was seen to reach, by address; nothing where its exports are of unlike kinds."""
    by_address: dict[str, set[OneClient | None]] = {}
    for superblock in stated:
        by_address.setdefault(superblock.key.address, set()).add(superblock.known.one_client)
    for name, values_of in _OBJECTIVES.items():
        objectives = family(CATALOGUE[name])
        for address, found in by_address.items():
            one = next(iter(found)) if len(found) == 1 else None
            for operation, value in zip((READ, WRITE), values_of(one) if one else (), strict=False):
                objectives.add_metric((address, operation), value)
        if objectives.values:
            yield objectives


def _service_labels(superblock: Superblock) -> tuple[str, ...]:
    return *superblock.key, superblock.known.kind


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


def _mount_labels(superblock: Superblock) -> Iterator[tuple[str, ...]]:
    record = superblock.record
    for mount in superblock.mounts:
        options = {**record.options, **mount.options}
        yield (
            *superblock.key,
            mount.mount_point,
            options.get("vers", ""),
            options.get("proto", ""),
            options.get("nconnect", "1"),
            options.get("rsize", ""),
            options.get("wsize", ""),
            "false" if {"soft", "softerr"} & options.keys() else "true",
            options.get("timeo", ""),
            options.get("retrans", ""),
            options.get("sec", ""),
            options.get("local_lock", ""),
            "true" if superblock.encrypted else "false",
        )
