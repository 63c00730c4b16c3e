"""Metrics of an NFS client that exist in exact mode (`--nfs.exact`) only.

The costs keep their names: `fss_client_estimated_io_operations_total` is counted, and not estimated, if
`fss_client_cost_exact` is 1.
"""

from fss_exporter.catalogue.client import MOUNT
from fss_exporter.catalogue.metric import Metric

_SIZES = "hist triggers on nfs_readpage_done and nfs_writeback_done, or nfs_initiate_read and nfs_initiate_write"
_CALLS = "hist trigger on rpc_stats_latency"

EXACT = (
    Metric(
        "fss_client_cost_exact",
        "gauge",
        MOUNT,
        "bool",
        "1 if the READs and WRITEs of the last tick were counted by size, 0 if they were estimated. While it is 1 the "
        "estimated I/O operations are exact and both bounds equal them, but for retransmissions, which are added at the mean "
        "cost of the tick.",
        "the exporter",
        diagnostic=True,
    ),
    Metric(
        "fss_client_cost_seconds_total",
        "counter",
        (*MOUNT, "mode"),
        "seconds",
        "Time in which the cost of READs and WRITEs was counted by size (mode exact) or estimated (mode estimated).",
        "the exporter",
        diagnostic=True,
    ),
    Metric(
        "fss_client_io_size_bytes",
        "histogram",
        ("address", "operation"),
        "bytes",
        "Requested sizes of READs and WRITEs, in classes that end at whole blocks of 32 KiB. The sum counts the carried "
        "bytes, which are fewer if a READ ends behind the file. Absent where the kernel gives no distribution.",
        _SIZES,
    ),
    Metric(
        "fss_client_lock_operations_total",
        "counter",
        ("address", "procedure"),
        "operations",
        "Calls of the Network Lock Manager: POSIX locks, flock() and retries. The address is empty where the kernel does "
        "not give the address.",
        _CALLS,
        diagnostic=True,
    ),
    Metric(
        "fss_client_lock_io_operations_total",
        "counter",
        ("address",),
        "operations",
        "Mount-target I/O operations of the counted lock calls: 4 each, FREE_ALL 8. Not part of the other costs.",
        f"{_CALLS}, costs as of fss_client_estimated_io_operations_total",
        diagnostic=True,
    ),
    Metric(
        "fss_client_acl_operations_total",
        "counter",
        ("address", "procedure"),
        "operations",
        "NFSACL calls. OCI publishes no cost for NFSACL calls, and no other metric counts the calls.",
        _CALLS,
        diagnostic=True,
    ),
    Metric(
        "fss_client_invisible_operations_total",
        "counter",
        ("operation",),
        "operations",
        "READs and WRITEs of superblocks that no visible mount names: mounts of other mount namespaces, of any NFS version.",
        _SIZES,
        diagnostic=True,
    ),
    Metric(
        "fss_client_invisible_io_operations_total",
        "counter",
        ("operation",),
        "operations",
        "Cost of these READs and WRITEs if the mounts were OCI File Storage. Part of no other metric.",
        _SIZES,
        diagnostic=True,
    ),
    Metric(
        "fss_nfs_exact_active",
        "gauge",
        (),
        "bool",
        "1 if the kernel counts READs and WRITEs by size, 0 if that could not be set up or waits for the first mount.",
        "the exporter",
        diagnostic=True,
    ),
    Metric(
        "fss_nfs_exact_checks_failed_total",
        "counter",
        ("check",),
        "ticks",
        "Ticks of a mount, or of all, that were estimated although exact mode is on: triggers (gone or replaced), dropped "
        "(a table was full), unreadable, operations or payload (not what mountstats says), device_reused.",
        "the exporter",
        diagnostic=True,
    ),
)
