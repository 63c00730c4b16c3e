"""From the accounts of the ticks to metric families."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.registry import Collector

from fss_exporter.catalogue import CATALOGUE, Family, family
from fss_exporter.nfs.accounts import Accounts, MountTotals, OperationTotals
from fss_exporter.nfs.superblocks import Reading, Superblock
from fss_exporter.nfs.ticker import Ticker

_OPERATION_VALUES: dict[str, Callable[[OperationTotals], float | None]] = {
    "fss_client_operations_total": lambda totals: totals.operations,
    "fss_client_estimated_io_operations_total": lambda totals: totals.cost and totals.cost.point,
    "fss_client_estimated_io_operations_lower_bound_total": lambda totals: totals.cost and totals.cost.lower,
    "fss_client_estimated_io_operations_upper_bound_total": lambda totals: totals.cost and totals.cost.upper,
    "fss_client_retransmissions_total": lambda totals: totals.retransmissions,
    "fss_client_timeouts_total": lambda totals: totals.timeouts,
    "fss_client_errors_total": lambda totals: totals.errors,
    "fss_client_queue_seconds_total": lambda totals: totals.queue_ms / 1000,
    "fss_client_rtt_seconds_total": lambda totals: totals.rtt_ms / 1000,
    "fss_client_execute_seconds_total": lambda totals: totals.execute_ms / 1000,
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
            return list(self._families())

    def _families(self) -> Iterator[Family]:
        accounts = self._ticker.accounts
        yield _mount_info(self._ticker.reading)
        for name, operation_value in _OPERATION_VALUES.items():
            yield _by_operation(name, operation_value, accounts)
        for name, mount_value in _MOUNT_VALUES.items():
            yield _by_mount(name, mount_value, accounts)
        for name, address_values in _ADDRESS_VALUES.items():
            by_address = family(CATALOGUE[name])
            for address, value in address_values(accounts).items():
                by_address.add_metric((address,), value)
            yield by_address
        yield from self._about_ticks()

    def _about_ticks(self) -> Iterator[Family]:
        ticker = self._ticker
        skipped = family(CATALOGUE["fss_nfs_records_skipped_total"])
        for reason, count in ticker.skipped.items():
            skipped.add_metric((reason,), count)
        yield skipped
        single: dict[str, float | None] = {
            "fss_nfs_ticks_total": ticker.ticks,
            "fss_nfs_tick_interval_seconds": ticker.last_interval_s,
            "fss_nfs_superblocks": None if ticker.reading is None else len(ticker.reading.superblocks),
            "fss_nfs_unresolved_forwarder_addresses": None
            if ticker.reading is None
            else len(ticker.reading.unresolved),
        }
        for name, value in single.items():
            if value is not None:
                one = family(CATALOGUE[name])
                one.add_metric((), value)
                yield one


def _by_operation(name: str, value_of: Callable[[OperationTotals], float | None], accounts: Accounts) -> Family:
    result = family(CATALOGUE[name])
    for key, mount in accounts.mounts.items():
        for operation, totals in mount.operations.items():
            value = value_of(totals)
            if value is not None:
                result.add_metric((key.address, key.server, key.export, operation), value)
    return result


def _by_mount(name: str, value_of: Callable[[MountTotals], float | None], accounts: Accounts) -> Family:
    result = family(CATALOGUE[name])
    for key, mount in accounts.mounts.items():
        value = value_of(mount)
        if value is not None:
            result.add_metric((key.address, key.server, key.export), value)
    return result


def _mount_info(reading: Reading | None) -> Family:
    result = family(CATALOGUE["fss_client_mount_info"])
    labels = {labels for superblock in (reading.superblocks if reading else ()) for labels in _mount_labels(superblock)}
    for values in sorted(labels):
        result.add_metric(values)
    return result


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
