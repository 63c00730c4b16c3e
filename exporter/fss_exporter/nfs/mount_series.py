# SPDX-License-Identifier: Apache-2.0
"""The series of mounts: counters by operation and class, negotiated options, and the stated service with ceilings.

The text of the counters is prepared once, with the totals behind each series.
Lines of one operation or class are adjacent, because such text compresses well.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from prometheus_client.core import Metric

from fss_exporter.catalogue import CATALOGUE, Declaration, PreparedFamily, Series, family
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import FAIL_IN_ORDINARY_WORK, OPERATION_CLASSES, READ, WRITE, class_of
from fss_exporter.model.service_table import OneClient, SeriesKey
from fss_exporter.nfs.superblocks import Superblock, shared_facts
from fss_exporter.nfs.totals import MountTotals, OperationTotals

BY_ADDRESS: Final = ("network", "address")
BY_MOUNT: Final = ("network", *SeriesKey._fields)
BY_CLASS: Final = (*BY_MOUNT, "class")


class _ClassTotals(NamedTuple):
    """The totals behind the series of one mount and class."""

    mount: MountTotals  # the mount
    operations: Sequence[OperationTotals]  # totals of the operations of the class
    transfer: OperationTotals | None  # totals of READ or WRITE. None for a metadata class


_Value = int | float | None


def _point(work: _ClassTotals) -> _Value:
    """Return the estimated I/O operations, if known. Whole numbers stay `int`, because Python writes `int` faster."""
    if not work.mount.has_cost:
        return None
    if work.transfer is not None and work.transfer.estimated is not None:
        return round(work.transfer.estimated.point, 1)
    return sum([totals.operations * totals.weight for totals in work.operations if totals.weight])


def _bound(of: Callable[[Bounds], float]) -> Callable[[OperationTotals], _Value]:
    def value(transfer: OperationTotals) -> _Value:
        cost = transfer.cost
        return None if cost is None else of(cost)

    return value


_CLASS_VALUES: Final[dict[str, Callable[[_ClassTotals], _Value]]] = {
    "fss_client_requests_total": lambda work: sum([totals.operations for totals in work.operations]),
    "fss_client_estimated_io_operations_total": _point,
    "fss_client_rtt_seconds_total": lambda work: sum([totals.rtt_ms for totals in work.operations]) / 1000,
    "fss_client_queue_seconds_total": lambda work: sum([totals.queue_ms for totals in work.operations]) / 1000,
    "fss_client_execute_seconds_total": lambda work: sum([totals.execute_ms for totals in work.operations]) / 1000,
    "fss_client_retransmissions_total": lambda work: sum([totals.retransmissions for totals in work.operations]),
    "fss_client_timeouts_total": lambda work: sum([totals.timeouts for totals in work.operations]),
    "fss_client_errors_total": lambda work: (
        sum([totals.errors for totals in work.operations]) if work.mount.counts_errors else None
    ),
}

# Of the classes read and write only: the cost of metadata is known exactly.
_TRANSFER_VALUES: Final[dict[str, Callable[[OperationTotals], _Value]]] = {
    "fss_client_estimated_io_operations_lower_bound_total": _bound(lambda cost: cost.lower),
    "fss_client_estimated_io_operations_upper_bound_total": _bound(lambda cost: cost.upper),
}


def _unexpected_errors(mount: MountTotals) -> _Value:
    if not mount.counts_errors:
        return None
    return sum([totals.errors for name, totals in mount.operations.items() if name not in FAIL_IN_ORDINARY_WORK])


_MOUNT_VALUES: Final[dict[str, Callable[[MountTotals], _Value]]] = {
    "fss_client_unexpected_errors_total": _unexpected_errors,
    "fss_client_delayed_requests_total": lambda mount: mount.delays,
    "fss_client_read_bytes_total": lambda mount: mount.read_bytes,
    "fss_client_written_bytes_total": lambda mount: mount.written_bytes,
    "fss_client_estimated_lock_io_operations_total": lambda mount: mount.lock_io_operations,
}


class MountSeries:
    """The series of all mounts with the totals behind each series, in the order of the text.

    The order is made again only after a change, with the text of the series that stay.
    """

    def __init__(self, *, by_operation: bool) -> None:
        self._by_operation = by_operation
        self._layout = _Layout("", {}, {}, by_operation=by_operation)

    def families(
        self, network: str, mounts: Mapping[SeriesKey, MountTotals], new: Collection[SeriesKey]
    ) -> Iterator[Metric]:
        """Return the families of mounts, operations and classes with the present numbers. `new` mounts show zeros."""
        shown = {key: mount.at_zero if key in new else mount for key, mount in mounts.items()} if new else mounts
        if self._layout.shape != _shape_of(network, shown):
            self._layout = _Layout(network, shown, self._layout.texts(), by_operation=self._by_operation)
        return self._layout.families()


_Texts = Mapping[str, Mapping[tuple[str, ...], Series]]  # series by metric and label values


class _Layout:
    def __init__(
        self, network: str, mounts: Mapping[SeriesKey, MountTotals], earlier: _Texts, *, by_operation: bool
    ) -> None:
        self.shape = _shape_of(network, mounts)
        self._network = network
        self._families: list[tuple[Declaration, list[Series], Callable[[Any], _Value], Sequence[object]]] = []
        if by_operation:
            names = dict.fromkeys(name for mount in mounts.values() for name in mount.operations)
            every = [(key, mount, name) for name in names for key, mount in mounts.items() if name in mount.operations]
            operations = [((*key, class_of(name), name), mount.operations[name]) for key, mount, name in every]
            calls = {"fss_client_operations_total": attrgetter("operations")}
            self._add(calls, (*BY_CLASS, "operation"), operations, earlier)
        keys = [(key, mount, work) for work in OPERATION_CLASSES for key, mount in mounts.items()]
        classes = [((*key, work), _work(mount, work)) for key, mount, work in keys]
        self._add(_CLASS_VALUES, BY_CLASS, classes, earlier)
        transfers = [(labels, work.transfer) for labels, work in classes if work.transfer is not None]
        self._add(_TRANSFER_VALUES, BY_CLASS, transfers, earlier)
        self._add(_MOUNT_VALUES, BY_MOUNT, list(mounts.items()), earlier)

    def texts(self) -> _Texts:
        """Return the series that a later layout can take over."""
        return {declared.name: {line.labels: line for line in series} for declared, series, _, _ in self._families}

    def _add(
        self,
        values: Mapping[str, Callable[[Any], _Value]],
        labels: Sequence[str],
        totals: Sequence[tuple[Sequence[str], object]],
        earlier: _Texts,
    ) -> None:
        """Add a family for each of `values`, with a series for each of `totals` by label values, in this network.

        `labels` are the names of the values.
        """
        sources = [source for _, source in totals]
        given = [(self._network, *of) for of, _ in totals]
        for name, value_of in values.items():
            declared, texts = CATALOGUE[name], earlier.get(name, {})
            declared.check(labels)
            series = [texts.get(of) or Series(declared, of) for of in given]
            self._families.append((declared, series, value_of, sources))

    def families(self) -> Iterator[Metric]:
        for declared, series, value_of, sources in self._families:
            values = [*map(value_of, sources)]
            if None in values:  # such totals have no series
                series = [line for line, value in zip(series, values, strict=True) if value is not None]  # noqa: PLW2901
            yield PreparedFamily(declared, series, [value for value in values if value is not None])


def _shape_of(network: str, mounts: Mapping[SeriesKey, MountTotals]) -> tuple[str, list[tuple[int, int]]]:
    """Return what decides which series there are: the network, and for each mount its totals and how many operations they have.

    Totals are told apart by `id`, because a mount that was dropped and is back has new ones. The layout holds the old ones, so
    no new ones can get their `id`.
    """
    return network, [(id(mount), len(mount.operations)) for mount in mounts.values()]


def _work(mount: MountTotals, work: str) -> _ClassTotals:
    operations = [totals for name, totals in mount.operations.items() if class_of(name) == work]
    transfer = next((mount.operations[name] for name in (READ, WRITE) if class_of(name) == work), None)
    return _ClassTotals(mount, operations, transfer)


_INFO = CATALOGUE["fss_client_mount_info"]


class MountInfo:
    """The info series of mount points. The class makes the series again only after a change."""

    def __init__(self) -> None:
        self._shown: tuple[str, Sequence[tuple[object, ...]]] = ("", ())
        self._series: list[Series] = []

    def family(self, network: str, superblocks: Sequence[Superblock]) -> Metric:
        """Return one series for each mount point of the last reading, with the negotiated options."""
        shown = (
            network,
            [
                (superblock.key, superblock.record.options, superblock.mounts, superblock.encrypted)
                for superblock in superblocks
            ],
        )
        if shown != self._shown:  # mostly the very same objects, so this is soon decided
            _INFO.check((*BY_MOUNT, *_OPTIONS))
            rows = sorted({(network, *labels) for superblock in superblocks for labels in _labels(superblock)})
            texts = {series.labels: series for series in self._series}
            self._shown, self._series = shown, [texts.get(labels) or Series(_INFO, labels) for labels in rows]
        return PreparedFamily(_INFO, self._series, [1.0] * len(self._series))


# Labels behind those of the mount, in the order of `_labels`.
_OPTIONS: Final = (
    "mount_point",
    "nfs_version",
    "protocol",
    "nconnect",
    "rsize",
    "wsize",
    "hard",
    "timeo",
    "retrans",
    "sec",
    "local_lock",
    "encrypted",
)


def _labels(superblock: Superblock) -> Iterator[tuple[str, ...]]:
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


_LIMITS: dict[str, Callable[[Limits], float | None]] = {
    "fss_client_iops_limit": lambda ceilings: ceilings.iops,
    "fss_client_read_bytes_per_second_limit": lambda ceilings: ceilings.read_bytes_per_second,
    "fss_client_write_bytes_per_second_limit": lambda ceilings: ceilings.write_bytes_per_second,
    "fss_client_bytes_per_second_limit": lambda ceilings: ceilings.bytes_per_second,
}

_OBJECTIVES: dict[str, Callable[[OneClient], tuple[float, float]]] = {
    "fss_client_objective_operations_per_second": lambda objective: (objective.read_iops, objective.write_iops),
    "fss_client_objective_bytes_per_second": lambda objective: (
        objective.read_bytes_per_second,
        objective.write_bytes_per_second,
    ),
}


def service_families(network: str, superblocks: Sequence[Superblock]) -> Iterator[Metric]:
    """Return the families of the services of these superblocks. Empty on a host without a stated service."""
    stated = [superblock for superblock in superblocks if superblock.storage.stated]
    if not stated:
        return
    kinds = sorted({(network, *superblock.key, superblock.storage.kind) for superblock in stated})
    yield family("fss_client_service_info", ((labels, 1.0) for labels in kinds), labels=(*BY_MOUNT, "kind"))
    ceilings, clients = (shared_facts(stated, of) for of in (attrgetter("ceilings"), attrgetter("one_client")))
    for name, value_of in _LIMITS.items():
        limits = ((address, value_of(ceiling)) for address, ceiling in ceilings.items())
        if present := [((network, address), value) for address, value in limits if value is not None]:
            yield family(name, present, labels=BY_ADDRESS)
    with_ceilings = [superblock for superblock in stated if superblock.storage.has_ceilings]
    near = shared_facts(with_ceilings, attrgetter("warning_ratio"))
    if near:
        ratios = (((network, address), ratio) for address, ratio in near.items())
        yield family("fss_client_warning_ratio", ratios, labels=BY_ADDRESS)
    for name, values_of in _OBJECTIVES.items():
        objectives = [
            ((network, address, operation), value)
            for address, objective in clients.items()
            if objective is not None
            for operation, value in zip((READ, WRITE), values_of(objective), strict=True)
        ]
        if objectives:
            yield family(name, objectives, labels=(*BY_ADDRESS, "operation"))
