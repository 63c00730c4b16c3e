"""What an NFS client's own kernel counters become.

Series are keyed by what a user knows: the mount target's `address`, the `server` name and the `export` of the mount.
All counters start at 0 with the exporter and grow by what each tick adds.
"""

from fss_exporter.catalogue.metric import Metric

MOUNT = ("address", "server", "export")
MOUNT_OPERATION = (*MOUNT, "operation")

_RARE = "One that begins to happen counts as OTHER for five minutes."
_COARSE = "OTHER: all but READ and WRITE."

CLIENT = (
    Metric(
        "fss_client_mount_info",
        "info",
        (
            *MOUNT,
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
        ),
        "info",
        "One series for each NFS mount point with its negotiated options, value 1; rsize and wsize in bytes, timeo in deciseconds.",
        "opts of mountstats and mountinfo",
    ),
    Metric(
        "fss_client_operations_total",
        "counter",
        MOUNT_OPERATION,
        "operations",
        f"NFS operations completed, failed ones included. {_RARE}",
        "column 1 (ops) of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_estimated_io_operations_total",
        "counter",
        MOUNT_OPERATION,
        "operations",
        f"Estimated mount-target I/O operations this client caused: operations times their cost; exact for all but READ and WRITE. {_RARE}",
        "ops and bytes of mountstats, costs of Table 2 of the OCI File Storage performance white paper 2.0 (August 2023)",
    ),
    Metric(
        "fss_client_estimated_io_operations_lower_bound_total",
        "counter",
        MOUNT_OPERATION,
        "operations",
        f"Least mount-target I/O operations that the counted operations and bytes can have cost; {_COARSE}",
        "as fss_client_estimated_io_operations_total",
    ),
    Metric(
        "fss_client_estimated_io_operations_upper_bound_total",
        "counter",
        MOUNT_OPERATION,
        "operations",
        f"Most mount-target I/O operations that the counted operations and bytes can have cost; {_COARSE}",
        "as fss_client_estimated_io_operations_total",
    ),
    Metric(
        "fss_client_estimated_lock_io_operations_total",
        "counter",
        MOUNT,
        "operations",
        "Estimated mount-target I/O operations of POSIX locks, 4 each; flock() and retries are missed. Not part of the other estimates.",
        "field 17 (vfslock) of events of mountstats where local_lock is none or flock",
    ),
    Metric(
        "fss_client_peak_estimated_iops",
        "gauge",
        ("address",),
        "operations_per_second",
        "Highest estimated mount-target I/O operations per second of a single tick within the last 60 seconds, all mounts of the address together.",
        "as fss_client_estimated_io_operations_total",
    ),
    Metric(
        "fss_client_read_bytes_total",
        "counter",
        MOUNT,
        "bytes",
        "Payload bytes of READ replies.",
        "field 5 (server read) of bytes of mountstats",
    ),
    Metric(
        "fss_client_written_bytes_total",
        "counter",
        MOUNT,
        "bytes",
        "Payload bytes of WRITE replies.",
        "field 6 (server written) of bytes of mountstats",
    ),
    Metric(
        "fss_client_sent_bytes_total",
        "counter",
        MOUNT,
        "bytes",
        "Bytes of all calls sent, headers and retransmissions included.",
        "column 4 of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_received_bytes_total",
        "counter",
        MOUNT,
        "bytes",
        "Bytes of all replies accepted, headers included.",
        "column 5 of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_retransmissions_total",
        "counter",
        MOUNT_OPERATION,
        "operations",
        f"Transmissions beyond the first of each completed operation; {_COARSE}",
        "columns 2 minus 1 of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_timeouts_total",
        "counter",
        MOUNT_OPERATION,
        "operations",
        f"Major timeouts of operations; {_COARSE}",
        "column 3 of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_errors_total",
        "counter",
        MOUNT_OPERATION,
        "operations",
        "Operations that ended with an error status, names that were not found included; absent before kernel 5.3. One that begins to fail counts as OTHER for five minutes.",
        "column 9 of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_queue_seconds_total",
        "counter",
        MOUNT_OPERATION,
        "seconds",
        f"Time operations waited in the client before they were sent; {_COARSE}",
        "column 6 of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_rtt_seconds_total",
        "counter",
        MOUNT_OPERATION,
        "seconds",
        "Time from transmission to reply: network and mount target.",
        "column 7 of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_execute_seconds_total",
        "counter",
        MOUNT_OPERATION,
        "seconds",
        f"Time from start to end of operations: queue, RTT and the client's own work; {_COARSE}",
        "column 8 of the per-op statistics of mountstats",
    ),
    Metric(
        "fss_client_transport_sends_total",
        "counter",
        ("address",),
        "operations",
        "RPC calls sent over all connections to the address, retransmissions and calls without a reply included.",
        "sends of the xprt lines of mountstats, once for each server",
    ),
    Metric(
        "fss_client_transport_receives_total",
        "counter",
        ("address",),
        "operations",
        "RPC replies received over all connections to the address.",
        "recvs of the xprt lines of mountstats, once for each server",
    ),
)
