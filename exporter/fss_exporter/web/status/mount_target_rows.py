"""Rows of mount targets: figures of OCI against the ceilings."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from fss_exporter.addresses import mount_targets_of_host
from fss_exporter.model.knowledge import FigureSource, KnownFigure, best_known, coverage_of
from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.thresholds import LATENCY_CRITICAL_RATIO, LATENCY_WARNING_RATIO
from fss_exporter.samples import Labels, Samples
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage

Ages = Mapping[tuple[str, ...], float]  # Age in seconds of the newest minute, by region and OCI metric in lower case

_GAUGES = (
    (Quantity.IOPS, "fss_mount_target_iops", "MountTargetIOPS", FigureSource.MEASURED),
    (Quantity.IOPS, "fss_mount_target_estimated_iops", "FileSystemReadRequestsbySize", FigureSource.OCI),
    (Quantity.READ, "fss_mount_target_read_bytes_per_second", "MountTargetReadThroughput", FigureSource.MEASURED),
    (Quantity.WRITE, "fss_mount_target_write_bytes_per_second", "MountTargetWriteThroughput", FigureSource.MEASURED),
    (Quantity.CONNECTIONS, "fss_mount_target_connections", "MountTargetConnections", FigureSource.MEASURED),
)
_LIMITS = {
    Quantity.IOPS: "fss_mount_target_iops_limit",
    Quantity.READ: "fss_mount_target_read_bytes_per_second_limit",
    Quantity.WRITE: "fss_mount_target_write_bytes_per_second_limit",
    Quantity.CONNECTIONS: "fss_mount_target_connections_limit",
}
_RESOURCES = {
    Quantity.IOPS: "iops",
    Quantity.READ: "read_bandwidth",
    Quantity.WRITE: "write_bandwidth",
    Quantity.CONNECTIONS: "connections",
}
_SOURCES = {"measured": FigureSource.MEASURED, "oci": FigureSource.OCI}
_LATENCIES = (
    ("read", "size", "fss_file_system_read_latency_seconds", "FileSystemReadAverageLatencybySize"),
    ("write", "size", "fss_file_system_write_latency_seconds", "FileSystemWriteAverageLatencybySize"),
    ("metadata", "operation", "fss_file_system_metadata_latency_seconds", "MetadataRequestAverageLatency"),
)
_SIZES = {bucket.name: bucket.text for bucket in BUCKETS}


def mount_target_rows(samples: Samples, from_clients: Mapping[str, Usage]) -> tuple[MountTargetRow, ...]:
    """Return every mount target of the inventory, the highest use of a ceiling first.

    The load of this host comes by address, and belongs to the mount targets in the network of this host.
    """
    load = {
        labels["mount_target_id"]: from_clients[address]
        for address, labels in mount_targets_of_host(samples).items()
        if address in from_clients
    }
    usages = _usages(samples)
    limits = {quantity: samples.by(name, "mount_target_id") for quantity, name in _LIMITS.items()}
    rows = []
    for labels, _ in samples.all("fss_mount_target_info"):
        key = (labels["mount_target_id"],)
        own = usages.get(labels["mount_target_id"], [])
        client = load.get(labels["mount_target_id"])
        if client is not None:
            own = [*own, _part_of(client, own, limits[Quantity.IOPS].get(key))]
        rows.append(_row(labels, own, frozenset(quantity for quantity, of in limits.items() if key in of)))
    return tuple(sorted(rows, key=lambda row: (-row.level, -row.utilisation, row.name)))


def _part_of(client: Usage, own: list[Usage], limit: float | None) -> Usage:
    """Return the load of this host with the ceiling of the mount target, and with the share of the whole load."""
    whole = best_known(usage.figure for usage in own if usage.quantity is Quantity.IOPS)
    return replace(client, limit=limit, figure=replace(client.figure, coverage=coverage_of(client.value, whole)))


def _row(labels: Labels, usages: list[Usage], ceilings: frozenset[Quantity]) -> MountTargetRow:
    order = list(Quantity)
    return MountTargetRow(
        name=labels["mount_target"],
        region=labels["region"],
        address=labels["address"],
        shape=labels["shape"],
        state=labels["state"],
        usages=tuple(sorted(usages, key=lambda usage: order.index(usage.quantity))),
        ceilings=ceilings,
    )


def _usages(samples: Samples) -> dict[str, list[Usage]]:
    """Everything OCI says, by OCID of the mount target."""
    ages: Ages = {
        (labels["region"], labels["oci_metric"].lower()): value
        for labels, value in samples.all("fss_oci_datapoint_age_seconds")
    }
    usages: dict[str, list[Usage]] = defaultdict(list)
    for quantity, name, oci_metric, source in _GAUGES:
        limits = samples.by(_LIMITS[quantity], "mount_target_id")
        lower = samples.by(f"{name}_lower_bound", "mount_target_id")
        upper = samples.by(f"{name}_upper_bound", "mount_target_id")
        for labels, value in samples.all(name):
            key = (labels["mount_target_id"],)
            usages[key[0]].append(
                Usage(
                    quantity,
                    KnownFigure(value, source, ages.get((labels["region"], oci_metric.lower()))),
                    limits.get(key),
                    (lower[key], upper[key]) if key in lower and key in upper else None,
                )
            )
    for mount_target, last in _last_known(samples):
        if all(usage.quantity is not last.quantity for usage in usages[mount_target]):
            usages[mount_target].append(last)
    for mount_target, worst in _worst_latencies(samples, ages).items():
        usages[mount_target].append(worst)
    return usages


def _last_known(samples: Samples) -> Iterator[tuple[str, Usage]]:
    """Yield what OCI said of each mount target before it stopped: OCID and usage. The poller keeps a share for one hour."""
    ages = samples.by("fss_mount_target_data_age_seconds", "mount_target_id", "resource")
    quantities = {resource: quantity for quantity, resource in _RESOURCES.items()}
    limits = {quantity: samples.by(name, "mount_target_id") for quantity, name in _LIMITS.items()}
    for labels, ratio in samples.all("fss_mount_target_utilisation_ratio"):
        key, quantity = (labels["mount_target_id"],), quantities[labels["resource"]]
        limit = limits[quantity].get(key)
        if labels["statistic"] == "mean" and limit is not None:
            figure = KnownFigure(ratio * limit, _SOURCES[labels["source"]], ages.get((*key, labels["resource"])))
            yield key[0], Usage(quantity, figure, limit)


def _worst_latencies(samples: Samples, ages: Ages) -> dict[str, Usage]:
    """Return for each mount target the latency with the highest share of the objective."""
    objectives = samples.by("fss_mount_target_latency_objective_seconds", "mount_target_id", "kind", "size")
    worst: dict[str, Usage] = {}
    for kind, detail, name, oci_metric in _LATENCIES:
        for labels, value in samples.all(name):
            usage = Usage(
                Quantity.LATENCY,
                KnownFigure(value, FigureSource.MEASURED, ages.get((labels["region"], oci_metric.lower()))),
                objectives.get((labels["mount_target_id"], kind, labels.get("size", ""))),
                note=f"{kind} {_SIZES.get(labels[detail], labels[detail])} on {labels['file_system']}",
                warning_ratio=LATENCY_WARNING_RATIO,
                critical_ratio=LATENCY_CRITICAL_RATIO,
            )
            held = worst.get(labels["mount_target_id"])
            if held is None or (usage.ratio or 0.0, usage.value) > (held.ratio or 0.0, held.value):
                worst[labels["mount_target_id"]] = usage
    return worst
