# SPDX-License-Identifier: Apache-2.0
"""The fleet of a Prometheus, for the ranked list of changes: mount targets and their clients in the busiest five minutes."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from fss_exporter.client_scrape import traffic_of
from fss_exporter.model.limits import Limits
from fss_exporter.model.server_estimate import (
    SIZE_BUCKETS,
    estimate_metadata,
    estimate_reads_by_size,
    estimate_writes_by_size,
)
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.nfs.records import whole_number
from fss_toolbox.plan.client_moments import counter_rates
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import Prometheus, at_place, mean, selector, texts
from fss_toolbox.sizing.advice import Advice, MountLoad, TargetLoad, ranked
from fss_toolbox.sizing.options import Price
from fss_toolbox.sizing.uses import uses

# Selector of the series of a mount target, and the end of its busiest five minutes in epoch seconds.
_Selected = tuple[str, float]

# OCID of a mount target, a moment in epoch seconds, and OCID of a file system behind the mount target.
_FileSystemMoment = tuple[str, float, str]


def fleet_advice(
    prometheus: Prometheus, loads: Mapping[str, Load], prices: Mapping[str, Price], most: float = WARNING_RATIO
) -> list[Advice]:
    """Return the changes, ranked. `loads` are by name, `prices` by shape. `most` is the wanted share of every ceiling.

    Raises:
        SourceError: Prometheus does not answer.
    """
    fleet = fleet_of(prometheus, loads)
    moments = {load.moment for load in loads.values()}
    return ranked(fleet.targets, fleet.mounts, _networks(prometheus, moments, most), prices, most)


class Fleet(NamedTuple):
    """Mount targets, and the mounts of their scraped clients."""

    targets: list[TargetLoad]
    mounts: list[MountLoad]


def fleet_of(prometheus: Prometheus, loads: Mapping[str, Load]) -> Fleet:
    """Return the fleet. `loads` are by name.

    Raises:
        SourceError: Prometheus does not answer.
    """
    selected = {name: (series_of(load), load.moment) for name, load in loads.items()}
    return Fleet(_targets(prometheus, selected, loads), _mounts(prometheus, selected))


def series_of(load: Load) -> str:
    """Return the selector of the series of a mount target. Clients of a mount target without an address are not known."""
    return at_place(load.place) if load.place else selector("mount_target_id", load.mount_target_id)


def _mounts(prometheus: Prometheus, selected: Mapping[str, _Selected]) -> list[MountLoad]:
    queries = {
        name: f"group by (instance, export, rsize, wsize, nconnect) (fss_client_mount_info{of} @ {moment})"
        for name, (of, moment) in selected.items()
    }
    options: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
    for name, samples in prometheus.together(queries).items():
        for labels, _ in samples:
            options[name, *texts(labels, "instance", "export")].add(texts(labels, "rsize", "wsize", "nconnect"))
    return [
        MountLoad(client, name, export, traffic_of(service, rates), *_agreed(options[name, client, export]))
        for name, mounts in counter_rates(prometheus, selected, "instance", "export", "service").items()
        for (client, export, service), rates in mounts.items()
    ]


def _agreed(options: Collection[tuple[str, ...]]) -> list[int | None]:
    """Return each option of the mounts of one export. None where the mounts differ, because their load is one."""
    values_of_options = (set(values) for values in zip(*options, strict=True))
    return [None if others else whole_number(value) or None for value, *others in values_of_options]


class _Export(NamedTuple):
    """The labels of `fss_export_info` that say what is behind a mount target."""

    mount_target_id: str
    mount_target: str  # display name
    export: str  # path
    file_system: str  # display name
    file_system_id: str


def _targets(prometheus: Prometheus, selected: Mapping[str, _Selected], loads: Mapping[str, Load]) -> list[TargetLoad]:
    """Return the mount targets and what is behind them."""
    queries = {
        name: f"group by ({', '.join(_Export._fields)}) (fss_export_info{of} @ {moment})"
        for name, (of, moment) in selected.items()
    }
    exports = {
        name: [_Export(*texts(labels, *_Export._fields)) for labels, _ in samples]
        for name, samples in prometheus.together(queries).items()
    }
    subjects = {(export.mount_target_id, selected[name][1]) for name, own in exports.items() for export in own}
    costs = _costs(prometheus, subjects)
    return [_target(name, load, exports[name], costs) for name, load in loads.items()]


# Figures of a file system behind a mount target, with the label that splits them. Empty for a figure without such a label.
_FILE_SYSTEM_FIGURES: Final[Mapping[str, str]] = {
    "read_requests": "size",
    "write_requests": "size",
    "read_bytes": "",
    "write_bytes": "",
    "metadata_operations": "operation",
}


class _Cost(NamedTuple):
    """The load of a file system behind a mount target, per second."""

    iops: float  # estimated
    read_bytes: float
    written_bytes: float


_NO_COST: Final = _Cost(0.0, 0.0, 0.0)


def _target(name: str, load: Load, exports: Sequence[_Export], costs: Mapping[_FileSystemMoment, _Cost]) -> TargetLoad:
    iops = load.traffic.iops.point if load.traffic.iops else 0.0
    behind = {export.file_system_id: export for export in exports if export.file_system_id}
    own = {ocid: costs.get((export.mount_target_id, load.moment, ocid), _NO_COST) for ocid, export in behind.items()}
    whole = sum(cost.iops for cost in own.values())
    return TargetLoad(
        name=exports[0].mount_target if exports else name,
        place=name,
        uses=uses(load.traffic, load.limits or Limits(), load.connections),
        shape=load.shape,
        bill=load.bill,
        # OCI does not publish all operations, so the costs of the file systems give shares of the whole and no amounts.
        file_systems={ocid: iops * cost.iops / whole if whole else 0.0 for ocid, cost in own.items()},
        transfers={ocid: (cost.read_bytes, cost.written_bytes) for ocid, cost in own.items()},
        exports={export.export: export.file_system_id for export in exports},
        names={ocid: export.file_system for ocid, export in behind.items()},
        network=load.place.network if load.place else "",
    )


def _costs(prometheus: Prometheus, subjects: Collection[tuple[str, float]]) -> dict[_FileSystemMoment, _Cost]:
    """Return the loads of the file systems behind mount targets. `subjects` are OCIDs of mount targets with a moment."""
    queries = {}
    for ocid, moment in subjects:
        for name, label in _FILE_SYSTEM_FIGURES.items():
            each = mean(f"fss_file_system_{name}_per_second", selector("mount_target_id", ocid), moment)
            by = ", ".join(filter(None, ("file_system_id", label)))
            queries[ocid, moment, name] = f"max by ({by}) ({each})"
    figures: dict[_FileSystemMoment, dict[tuple[str, str], float]] = defaultdict(dict)
    for (ocid, moment, name), samples in prometheus.together(queries).items():
        for labels, value in samples:
            file_system, of = texts(labels, "file_system_id", _FILE_SYSTEM_FIGURES[name])
            figures[ocid, moment, file_system][name, of] = value
    return {subject: _cost(own) for subject, own in figures.items()}


def _cost(figures: Mapping[tuple[str, str], float]) -> _Cost:
    """Return the load of a file system behind a mount target. Figures are by name, and by size or operation."""
    reads, writes = (
        [figures.get((f"{way}_requests", size), 0.0) for size in SIZE_BUCKETS] for way in ("read", "write")
    )
    metadata = {of: rate for (name, of), rate in figures.items() if name == "metadata_operations"}
    read_bytes, written_bytes = figures.get(("read_bytes", "")), figures.get(("write_bytes", ""))
    return _Cost(
        estimate_reads_by_size(reads, read_bytes).point
        + estimate_writes_by_size(writes, written_bytes).point
        + estimate_metadata(metadata).point,
        read_bytes or 0.0,
        written_bytes or 0.0,
    )


def _networks(prometheus: Prometheus, moments: Collection[float], most: float) -> dict[str, tuple[float, float]]:
    """Return the busier direction and the bandwidth of each client's network, bytes per second, where most of it was used."""
    limit = "fss_client_network_bytes_per_second_limit"
    queries = {}
    for moment in moments:
        # Of thousands of clients few are busy, so Prometheus leaves out the others.
        least = f"on (instance) {most} * max by (instance) ({limit} @ {moment})"
        for way in ("received", "sent"):
            used = f"max by (instance) (rate(fss_nfs_{way}_bytes_total[5m] @ {moment}))"
            queries[moment, way] = f"{used} >= {least}"
    busiest: dict[str, float] = defaultdict(float)
    for samples in prometheus.together(queries).values():
        for labels, value in samples:
            (client,) = texts(labels, "instance")
            busiest[client] = max(busiest[client], value)
    bandwidths = prometheus.by(f"max by (instance) (last_over_time({limit}[7d]))", prometheus.now, "instance")
    return {client: (used, bandwidths.get((client,), 0.0)) for client, used in busiest.items()}
