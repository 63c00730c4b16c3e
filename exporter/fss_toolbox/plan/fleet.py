"""The fleet of a Prometheus, for the ranked list of changes: mount targets and their clients in the busiest five minutes."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from fss_exporter.client_scrape import COUNTERS, traffic_of
from fss_exporter.model.limits import Limits
from fss_exporter.model.server_estimate import (
    SIZE_BUCKETS,
    estimate_metadata,
    estimate_reads_by_size,
    estimate_writes_by_size,
)
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import Prometheus, at_place, client_rate, selector
from fss_toolbox.sizing.advice import Advice, MountLoad, TargetLoad, ranked

_MOUNT = ("instance", "export")
_Key = tuple[str, ...]


def fleet_advice(prometheus: Prometheus, loads: Mapping[str, tuple[Load, Limits]]) -> list[Advice]:
    """Return the changes, the one that saves most first. `loads` are by name, with the ceilings of the mount target.

    Raises:
        SourceError: Prometheus does not answer.
    """
    targets, mounts = [], []
    networks: dict[str, tuple[float, float]] = {}
    for name, (load, limits) in loads.items():
        # Clients of a mount target without an address are not known.
        of = at_place(load.place) if load.place else selector("mount_target_id", load.mount_target_id)
        mounts += _mounts(prometheus, name, of, load.moment)
        if load.traffic.iops and limits.iops:
            targets.append(_target(prometheus, name, of, load, limits.iops))
        for client, bandwidth in _networks(prometheus, load.moment).items():
            networks[client] = max(networks.get(client, bandwidth), bandwidth)
    return ranked(targets, mounts, networks)


def _mounts(prometheus: Prometheus, name: str, of: str, at: float) -> list[MountLoad]:
    """Return the mounts of a mount target, whose client series have the selector `of`."""
    rates: dict[_Key, dict[tuple[str, str, str], float]] = defaultdict(dict)
    for counter in sorted(COUNTERS):
        each = client_rate(counter, of, "class", "operation")
        query = f"sum by (instance, export, service, class, operation) ({each})"
        for key, value in prometheus.by(query, at, *_MOUNT, "service", "class", "operation").items():
            rates[key[:3]][counter, key[3], key[4]] = value
    options = prometheus.by(
        f"group by (instance, export, rsize, wsize, nconnect) (fss_client_mount_info{of})",
        at,
        *_MOUNT,
        "rsize",
        "wsize",
        "nconnect",
    )
    known: dict[tuple[str, str], set[tuple[str, ...]]] = defaultdict(set)
    for client, export, *texts in options:
        known[client, export].add(tuple(texts))
    return [
        MountLoad(client, name, export, traffic_of(service, own), *_agreed(known[client, export]))
        for (client, export, service), own in rates.items()
    ]


def _agreed(options: Collection[tuple[str, ...]]) -> list[int | None]:
    """Return each option of the mounts of one export. None where the mounts differ, because their load is one."""
    by_option = (set(texts) for texts in zip(*options, strict=True))
    return [int(text) if not more and text.isdigit() else None for text, *more in by_option]


class _Export(NamedTuple):
    """The labels of `fss_export_info` that say what is behind a mount target."""

    mount_target_id: str
    mount_target: str  # display name
    export: str  # path
    file_system: str  # display name
    file_system_id: str


def _target(prometheus: Prometheus, place: str, of: str, load: Load, limit: float) -> TargetLoad:
    query = f"group by ({', '.join(_Export._fields)}) (fss_export_info{of})"
    exports = [_Export(*labels) for labels in prometheus.by(query, load.moment, *_Export._fields)]
    iops = load.traffic.iops.point if load.traffic.iops else 0.0
    behind = {export.file_system_id: export for export in exports if export.file_system_id}
    costs = {ocid: _cost(prometheus, export.mount_target_id, ocid, load.moment) for ocid, export in behind.items()}
    whole = sum(costs.values())
    return TargetLoad(
        name=exports[0].mount_target if exports else place,
        place=place,
        iops=iops,
        limit=limit,
        # OCI does not publish all operations, so the costs of the file systems give shares of the whole and no amounts.
        file_systems={ocid: iops * cost / whole if whole else 0.0 for ocid, cost in costs.items()},
        exports={export.export: export.file_system_id for export in exports},
        names={ocid: export.file_system for ocid, export in behind.items()},
    )


def _cost(prometheus: Prometheus, mount_target_id: str, file_system_id: str, at: float) -> float:
    """Return the estimated IOPS of a file system behind a mount target."""

    def figures(name: str, label: str) -> dict[str, float]:
        of = f'{{mount_target_id="{mount_target_id}",file_system_id="{file_system_id}"}}'
        by = f"({label})" if label else "()"
        values = prometheus.by(f"max by {by} (avg_over_time(fss_file_system_{name}{of}[5m]))", at, label)
        return {key: value for (key,), value in values.items()}

    reads, writes = (figures(f"{way}_requests_per_second", "size") for way in ("read", "write"))
    read_bytes, written_bytes = (figures(f"{way}_bytes_per_second", "").get("") for way in ("read", "write"))
    return (
        estimate_reads_by_size([reads.get(size, 0.0) for size in SIZE_BUCKETS], read_bytes).point
        + estimate_writes_by_size([writes.get(size, 0.0) for size in SIZE_BUCKETS], written_bytes).point
        + estimate_metadata(figures("metadata_operations_per_second", "operation")).point
    )


def _networks(prometheus: Prometheus, at: float) -> dict[str, tuple[float, float]]:
    """Return the busier direction and the bandwidth of each client's network, bytes per second."""
    directions = [
        prometheus.by(f"sum by (instance) ({client_rate(f'fss_client_{way}_bytes_total', '')})", at, "instance")
        for way in ("read", "written")
    ]
    limits = prometheus.by("max by (instance) (fss_client_network_bytes_per_second_limit)", at, "instance")
    return {key[0]: (max(way.get(key, 0.0) for way in directions), limit) for key, limit in limits.items()}
