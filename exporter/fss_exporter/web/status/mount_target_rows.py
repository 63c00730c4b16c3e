"""Rows of mount targets: figures of OCI against the ceilings."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.thresholds import LATENCY_CRITICAL_RATIO, LATENCY_WARNING_RATIO
from fss_exporter.samples import Labels, Samples
from fss_exporter.web.status.rows import ESTIMATED_FROM_OCI, MEASURED, MountTargetRow, Quantity, Usage

Ages = Mapping[tuple[str, ...], float]  # Age in seconds of the newest minute, by region and OCI metric in lower case

_GAUGES = (
    (Quantity.IOPS, "fss_mount_target_iops", "MountTargetIOPS", MEASURED),
    (Quantity.IOPS, "fss_mount_target_estimated_iops", "FileSystemReadRequestsbySize", ESTIMATED_FROM_OCI),
    (Quantity.READ, "fss_mount_target_read_bytes_per_second", "MountTargetReadThroughput", MEASURED),
    (Quantity.WRITE, "fss_mount_target_write_bytes_per_second", "MountTargetWriteThroughput", MEASURED),
    (Quantity.CONNECTIONS, "fss_mount_target_connections", "MountTargetConnections", MEASURED),
)
_LIMITS = {
    Quantity.IOPS: "fss_mount_target_iops_limit",
    Quantity.READ: "fss_mount_target_read_bytes_per_second_limit",
    Quantity.WRITE: "fss_mount_target_write_bytes_per_second_limit",
    Quantity.CONNECTIONS: "fss_mount_target_connections_limit",
}
_LATENCIES = (
    ("read", "size", "fss_file_system_read_latency_seconds", "FileSystemReadAverageLatencybySize"),
    ("write", "size", "fss_file_system_write_latency_seconds", "FileSystemWriteAverageLatencybySize"),
    ("metadata", "operation", "fss_file_system_metadata_latency_seconds", "MetadataRequestAverageLatency"),
)
_SIZES = {bucket.name: bucket.text for bucket in BUCKETS}


def mount_target_rows(samples: Samples, from_clients: Mapping[str, Usage]) -> tuple[MountTargetRow, ...]:
    """Return every mount target of the inventory, the highest use of a ceiling first.

    The load of this host comes by address.
    """
    usages = _usages(samples)
    limits = samples.by(_LIMITS[Quantity.IOPS], "mount_target_id")
    rows = []
    for labels, _ in samples.all("fss_mount_target_info"):
        own = usages.get(labels["mount_target_id"], [])
        client = from_clients.get(labels["address"]) if labels["address"] else None
        if client is not None:
            own = [*own, replace(client, limit=limits.get((labels["mount_target_id"],)))]
        rows.append(_row(labels, own))
    return tuple(sorted(rows, key=lambda row: (-row.level, -row.utilisation, row.name)))


def _row(labels: Labels, usages: list[Usage]) -> MountTargetRow:
    order = list(Quantity)
    return MountTargetRow(
        name=labels["mount_target"],
        region=labels["region"],
        address=labels["address"],
        shape=labels["shape"],
        state=labels["state"],
        usages=tuple(sorted(usages, key=lambda usage: order.index(usage.quantity))),
    )


def _usages(samples: Samples) -> dict[str, list[Usage]]:
    """Everything OCI says, by OCID of the mount target."""
    ages: Ages = {
        (labels["region"], labels["oci_metric"].lower()): value
        for labels, value in samples.all("fss_oci_datapoint_age_seconds")
    }
    found: dict[str, list[Usage]] = defaultdict(list)
    for quantity, name, oci_metric, source in _GAUGES:
        limits = samples.by(_LIMITS[quantity], "mount_target_id")
        lower = samples.by(f"{name}_lower_bound", "mount_target_id")
        upper = samples.by(f"{name}_upper_bound", "mount_target_id")
        for labels, value in samples.all(name):
            key = (labels["mount_target_id"],)
            found[key[0]].append(
                Usage(
                    quantity,
                    value,
                    limits.get(key),
                    source,
                    ages.get((labels["region"], oci_metric.lower())),
                    (lower[key], upper[key]) if key in lower and key in upper else None,
                )
            )
    for mount_target, worst in _worst_latencies(samples, ages).items():
        found[mount_target].append(worst)
    return found


def _worst_latencies(samples: Samples, ages: Ages) -> dict[str, Usage]:
    """Return for each mount target the latency with the highest share of the objective."""
    objectives = samples.by("fss_mount_target_latency_objective_seconds", "mount_target_id", "kind", "size")
    worst: dict[str, Usage] = {}
    for kind, detail, name, oci_metric in _LATENCIES:
        for labels, value in samples.all(name):
            usage = Usage(
                Quantity.LATENCY,
                value,
                objectives.get((labels["mount_target_id"], kind, labels.get("size", ""))),
                MEASURED,
                ages.get((labels["region"], oci_metric.lower())),
                note=f"{kind} {_SIZES.get(labels[detail], labels[detail])} on {labels['file_system']}",
                warning_ratio=LATENCY_WARNING_RATIO,
                critical_ratio=LATENCY_CRITICAL_RATIO,
            )
            held = worst.get(labels["mount_target_id"])
            if held is None or (usage.ratio or 0.0, usage.value) > (held.ratio or 0.0, held.value):
                worst[labels["mount_target_id"]] = usage
    return worst
