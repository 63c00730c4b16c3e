# SPDX-License-Identifier: Apache-2.0
"""Rows of mount targets: figures of OCI against the ceilings."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from fss_exporter.addresses import mount_targets_of_host
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource, KnownFigure, best_known, coverage_of
from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.state import NOT_KNOWN, StateNow
from fss_exporter.model.thresholds import LATENCY_CRITICAL_RATIO, WARNING_RATIO
from fss_exporter.samples import Labels, Samples
from fss_exporter.served_ceilings import last_shares
from fss_exporter.served_states import states_at_a_host
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage, with_places

Ages = Mapping[
    tuple[str, ...], float
]  # Age in seconds of the newest minute, by tenancy, region and OCI metric in lower case

# Gauges of the newest minute of each quantity, with the OCI metric that has its age.
GAUGES = (
    (Quantity.IOPS, "fss_mount_target_iops", "MountTargetIOPS", FigureSource.MEASURED),
    (Quantity.IOPS, "fss_mount_target_estimated_iops", "FileSystemReadRequestsbySize", FigureSource.OCI),
    (Quantity.READ, "fss_mount_target_read_bytes_per_second", "MountTargetReadThroughput", FigureSource.MEASURED),
    (Quantity.WRITE, "fss_mount_target_write_bytes_per_second", "MountTargetWriteThroughput", FigureSource.MEASURED),
    (Quantity.CONNECTIONS, "fss_mount_target_connections", "MountTargetConnections", FigureSource.MEASURED),
)

# Metric of the ceiling of each quantity.
LIMITS = {
    Quantity.IOPS: "fss_mount_target_iops_limit",
    Quantity.READ: "fss_mount_target_read_bytes_per_second_limit",
    Quantity.WRITE: "fss_mount_target_write_bytes_per_second_limit",
    Quantity.CONNECTIONS: "fss_mount_target_connections_limit",
}

# Quantity by value of the label `resource`.
QUANTITIES = {
    "iops": Quantity.IOPS,
    "read_bandwidth": Quantity.READ,
    "write_bandwidth": Quantity.WRITE,
    "connections": Quantity.CONNECTIONS,
}

# OCI metric of the latency by kind of requests.
LATENCIES = {
    "read": "FileSystemReadAverageLatencybySize",
    "write": "FileSystemWriteAverageLatencybySize",
    "metadata": "MetadataRequestAverageLatency",
}

_SIZES = {bucket.name: bucket.text for bucket in BUCKETS}


Limits = Mapping[Quantity, Mapping[tuple[str, ...], float]]  # Ceilings by quantity and OCID of the mount target


def mount_target_rows(
    samples: Samples, from_clients: Mapping[str, Usage], of_addresses: Mapping[str, StateNow]
) -> tuple[MountTargetRow, ...]:
    """Return every mount target of the inventory, the worst state first, then the highest use of a ceiling.

    Load and states of this host come by address, and belong to the mount targets in the network of this host.
    """
    load = {
        labels["mount_target_id"]: from_clients[address]
        for address, labels in mount_targets_of_host(samples).items()
        if address in from_clients
    }
    limits = {quantity: samples.by(name, "mount_target_id") for quantity, name in LIMITS.items()}
    usages = _usages(samples, limits)
    states = states_at_a_host(samples, of_addresses)
    near = samples.by("fss_oci_warning_ratio", "tenancy", "region")
    observed = samples.by("fss_mount_target_observed_iops_limit", "mount_target_id")
    rows = []
    for labels, _ in samples.all("fss_mount_target_info"):
        ocid = labels["mount_target_id"]
        own = usages.get(ocid, [])
        if ocid in load:
            own = [*own, _part_of(load[ocid], own, limits[Quantity.IOPS].get((ocid,)))]
        ratio = near.get((labels["tenancy"], labels["region"]), WARNING_RATIO)
        own = [replace(usage, warning_ratio=ratio) for usage in own]
        row = _row(labels, own, states.get(ocid, NOT_KNOWN))
        has_ceiling = (ocid,) in limits[Quantity.IOPS]
        rows.append(replace(row, has_iops_ceiling=has_ceiling, observed_iops=observed.get((ocid,))))
    return worst_first(with_places(rows))


def worst_first(rows: Iterable[MountTargetRow]) -> tuple[MountTargetRow, ...]:
    """Return mount targets in the order of every view: the worst state, then the fullest ceiling."""
    return tuple(sorted(rows, key=lambda row: (-row.state.state, -row.utilisation, row.shown_name)))


def _part_of(client: Usage, own: list[Usage], limit: float | None) -> Usage:
    """Return the load of this host with the ceiling of the mount target, and with the share of the whole load."""
    whole = best_known(usage.figure for usage in own if usage.quantity is Quantity.IOPS)
    return replace(client, limit=limit, figure=replace(client.figure, coverage=coverage_of(client.value, whole)))


def _row(labels: Labels, usages: list[Usage], state: StateNow) -> MountTargetRow:
    order = list(Quantity)
    return MountTargetRow(
        name=labels["mount_target"],
        region=labels["region"],
        address=labels["address"],
        shape=labels["shape"],
        lifecycle=labels["state"],
        usages=tuple(sorted(usages, key=lambda usage: order.index(usage.quantity))),
        state=state,
        tenancy=labels["tenancy"],
        ocid=labels["mount_target_id"],
    )


def _usages(samples: Samples, limits: Limits) -> dict[str, list[Usage]]:
    """Return everything that OCI says, by OCID of the mount target."""
    ages: Ages = {
        (labels["tenancy"], labels["region"], labels["oci_metric"].lower()): value
        for labels, value in samples.all("fss_oci_datapoint_age_seconds")
    }
    usages: dict[str, list[Usage]] = defaultdict(list)
    for quantity, name, oci_metric, source in GAUGES:
        lower, upper = (samples.by(f"{name}_{bound}_bound", "mount_target_id") for bound in ("lower", "upper"))
        for labels, value in samples.all(name):
            key = (labels["mount_target_id"],)
            age = ages.get((labels["tenancy"], labels["region"], oci_metric.lower()))
            bounds = Bounds(lower[key], value, upper[key]) if key in lower and key in upper else None
            figure = KnownFigure(value, source, age, bounds=bounds)
            usages[key[0]].append(Usage(quantity, figure, limits[quantity].get(key)))
    for mount_target, last in _last_known(samples, limits):
        if all(usage.quantity is not last.quantity for usage in usages[mount_target]):
            usages[mount_target].append(last)
    for mount_target, worst in _worst_latencies(samples, ages).items():
        usages[mount_target].append(worst)
    return usages


def _last_known(samples: Samples, limits: Limits) -> Iterator[tuple[str, Usage]]:
    """Yield what OCI said of each mount target before it stopped: OCID and usage. The poller keeps a share for one hour."""
    for mount_target, resource, share in last_shares(samples):
        quantity = QUANTITIES[resource]
        limit = limits[quantity].get((mount_target,))
        if limit is not None:
            yield mount_target, Usage(quantity, share.times(limit), limit)


def _worst_latencies(samples: Samples, ages: Ages) -> dict[str, Usage]:
    """Return for each mount target the latency with the highest share of the objective, as the poller judges it."""
    objectives = samples.by("fss_mount_target_latency_objective_seconds", "mount_target_id", "kind", "size")
    worst: dict[str, Usage] = {}
    for labels, ratio in samples.all("fss_mount_target_latency_objective_ratio"):
        target, kind = labels["mount_target_id"], labels["kind"]
        objective = objectives.get((target, kind, labels["size"]))
        held = worst.get(target)
        if objective and (held is None or ratio > (held.ratio or 0.0)):
            age = ages.get((labels["tenancy"], labels["region"], LATENCIES[kind].lower()))
            worst[target] = latency_usage(ratio, objective, age, labels)
    return worst


def latency_usage(ratio: float, objective: float, age: float | None, labels: Labels) -> Usage:
    """Return a latency that is a multiple of its objective. The objective and the age of the figure are seconds.

    The labels are those of `fss_mount_target_latency_objective_ratio`.
    """
    size, system = labels["size"], labels["file_system"]
    return Usage(
        Quantity.LATENCY,
        KnownFigure(ratio * objective, FigureSource.MEASURED, age),
        objective,
        note=" ".join(filter(None, (labels["kind"], _SIZES.get(size, size), f"on {system}" if system else ""))),
        warning_ratio=WARNING_RATIO,
        critical_ratio=LATENCY_CRITICAL_RATIO,
    )
