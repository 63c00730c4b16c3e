"""From the accounts of the ticks to metric families.

The text of a series is prepared when the series is first seen; a scrape only puts the numbers beside it.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.registry import Collector

from fss_exporter.catalogue import CATALOGUE, Family, Series, family
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.accounts import OTHER, Accounts, MountTotals, OperationTotals
from fss_exporter.nfs.superblocks import Reading, SeriesKey, Superblock
from fss_exporter.nfs.ticker import Ticker

_OPERATION_METRICS = (
    "fss_client_operations_total",
    "fss_client_estimated_io_operations_total",
    "fss_client_errors_total",
    "fss_client_queue_seconds_total",
    "fss_client_rtt_seconds_total",
    "fss_client_execute_seconds_total",
)

_COARSE_VALUES: dict[str, Callable[[OperationTotals], float | None]] = {
    "fss_client_estimated_io_operations_lower_bound_total": lambda totals: totals.cost and totals.cost.lower,
    "fss_client_estimated_io_operations_upper_bound_total": lambda totals: totals.cost and totals.cost.upper,
    "fss_client_retransmissions_total": lambda totals: totals.retransmissions,
    "fss_client_timeouts_total": lambda totals: totals.timeouts,
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
    "fss_client_transport_sends_total": lambda accounts: accounts.sends,
    "fss_client_transport_receives_total": lambda accounts: accounts.receives,
}


class NfsCollector(Collector):
    """The client side of `/metrics`. Collecting copies what the ticks have added up; it reads no file."""

    name = "nfs"

    def __init__(self, ticker: Ticker) -> None:
        self._ticker = ticker
        self._by_operation: dict[SeriesKey, dict[str, tuple[Series, ...]]] = {}
        self._series: dict[tuple[str, ...], Series] = {}

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
            return [
                self._mount_info(self._ticker.reading),
                *self._operations(self._ticker.accounts),
                *self._coarse_operations(self._ticker.accounts),
                *self._mounts(self._ticker.accounts),
                *self._addresses(self._ticker.accounts),
                *_about_ticks(self._ticker),
            ]

    def _operations(self, accounts: Accounts) -> tuple[Family, ...]:
        families = tuple(family(CATALOGUE[name]) for name in _OPERATION_METRICS)
        operations, cost, errors, queue, rtt, execute = (one.rows for one in families)
        for key, mount in accounts.mounts.items():
            known = self._by_operation.setdefault(key, {})
            for name, totals in mount.operations.items():
                series = known.get(name)
                if series is None:
                    labels = (key.address, key.server, key.export, name)
                    series = known[name] = tuple(Series(CATALOGUE[metric], labels) for metric in _OPERATION_METRICS)
                operations.append((series[0], totals.operations))
                if totals.cost is not None:
                    cost.append((series[1], totals.cost.point))
                if totals.errors is not None:
                    errors.append((series[2], totals.errors))
                queue.append((series[3], totals.queue_ms / 1000))
                rtt.append((series[4], totals.rtt_ms / 1000))
                execute.append((series[5], totals.execute_ms / 1000))
        return families

    def _coarse_operations(self, accounts: Accounts) -> Iterator[Family]:
        """What is worth telling of READ and WRITE, and of all others together."""
        for name, value_of in _COARSE_VALUES.items():
            result = family(CATALOGUE[name])
            for key, mount in accounts.mounts.items():
                sums: dict[str, float] = {}
                for operation, totals in mount.operations.items():
                    value = value_of(totals)
                    if value is not None:
                        coarse = operation if operation in (READ, WRITE) else OTHER
                        sums[coarse] = sums.get(coarse, 0) + value
                for operation, value in sums.items():
                    result.rows.append((self._one(name, key.address, key.server, key.export, operation), value))
            yield result

    def _mounts(self, accounts: Accounts) -> Iterator[Family]:
        for name, value_of in _MOUNT_VALUES.items():
            result = family(CATALOGUE[name])
            for key, mount in accounts.mounts.items():
                value = value_of(mount)
                if value is not None:
                    result.rows.append((self._one(name, key.address, key.server, key.export), value))
            yield result

    def _addresses(self, accounts: Accounts) -> Iterator[Family]:
        for name, values in _ADDRESS_VALUES.items():
            result = family(CATALOGUE[name])
            result.rows.extend((self._one(name, address), value) for address, value in values(accounts).items())
            yield result

    def _mount_info(self, reading: Reading | None) -> Family:
        result = family(CATALOGUE["fss_client_mount_info"])
        superblocks = reading.superblocks if reading else ()
        for labels in sorted({labels for superblock in superblocks for labels in _mount_labels(superblock)}):
            result.add_metric(labels)
        return result

    def _one(self, name: str, *labels: str) -> Series:
        series = self._series.get((name, *labels))
        if series is None:
            series = self._series[name, *labels] = Series(CATALOGUE[name], labels)
        return series


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
    key, record = superblock.key, superblock.record
    for mount in superblock.mounts:
        options = {**record.options, **mount.options}
        yield (
            key.address,
            key.server,
            key.export,
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
