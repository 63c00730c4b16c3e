"""Metrics from the listings of OCI File Storage."""

from fss_exporter.catalogue.file_systems import BEHIND, FILE_SYSTEM, REPLICATION
from fss_exporter.catalogue.metric import Metric
from fss_exporter.catalogue.mount_targets import MOUNT_TARGET

INVENTORY: tuple[Metric, ...] = (
    Metric(
        "fss_mount_target_info",
        "info",
        (*MOUNT_TARGET, "compartment", "availability_domain", "address", "fqdn", "shape", "state"),
        "info",
        "A mount target of the inventory. Clients mount `address`. The address is empty if the poller could not read it, "
        "or if two mount targets share it.",
        "ListMountTargets, GetPrivateIp, GetSubnet",
    ),
    Metric(
        "fss_mount_target_pending_shape_info",
        "info",
        (*MOUNT_TARGET, "pending_shape"),
        "info",
        "A mount target whose shape will change: the shape that was requested, while another one is in effect. A downgrade waits for the end of the billing cycle.",
        "requestedThroughput and observedThroughput of ListMountTargets",
        diagnostic=True,
    ),
    Metric(
        "fss_oci_mount_targets",
        "gauge",
        ("region", "availability_domain"),
        "mount_targets",
        "Mount targets of an availability domain in the listed compartments, with any tags. The service limit counts all "
        "compartments of the tenancy.",
        "ListMountTargets",
    ),
    Metric(
        "fss_oci_mount_targets_limit",
        "gauge",
        ("region", "availability_domain"),
        "mount_targets",
        "Service limit of mount targets in an availability domain. Absent where the Limits API may not be read.",
        "mount-target-count of ListLimitValues",
    ),
    Metric(
        "fss_file_system_info",
        "info",
        (*FILE_SYSTEM, "compartment", "availability_domain", "state"),
        "info",
        "A file system as the inventory has it. The state HYDRATING is a clone that still copies the data of its parent and does not reach full throughput.",
        "ListFileSystems",
    ),
    Metric(
        "fss_export_info",
        "info",
        (*BEHIND, "export", "address", "state"),
        "info",
        "An export: the file system behind a mount target, its path and the address clients mount it from.",
        "ListExports, ListMountTargets",
    ),
    Metric(
        "fss_replication_info",
        "info",
        (*REPLICATION, "compartment", "availability_domain", "state"),
        "info",
        "A replication as the inventory has it.",
        "ListReplications",
    ),
    Metric(
        "fss_outbound_connector_info",
        "info",
        (
            "region",
            "outbound_connector_id",
            "outbound_connector",
            "compartment",
            "availability_domain",
            "connector_type",
            "state",
        ),
        "info",
        "An outbound connector (LDAP) as the inventory has it.",
        "ListOutboundConnectors",
        diagnostic=True,
    ),
    Metric(
        "fss_file_system_metered_bytes",
        "gauge",
        FILE_SYSTEM,
        "bytes",
        "Billed size of a file system, snapshots and metadata included. OCI refreshes the size hourly.",
        "meteredBytes of ListFileSystems",
    ),
    Metric(
        "fss_replication_interval_seconds",
        "gauge",
        REPLICATION,
        "seconds",
        "Configured time between two replication cycles.",
        "replicationInterval (minutes) of ListReplications",
    ),
    Metric(
        "fss_replication_recovery_point_timestamp_seconds",
        "gauge",
        REPLICATION,
        "seconds",
        "Unix time of the last snapshot that was applied completely at the target.",
        "recoveryPointTime of ListReplications",
        diagnostic=True,
    ),
)
