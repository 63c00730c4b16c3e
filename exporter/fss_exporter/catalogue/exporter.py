"""What the exporter says about itself."""

from fss_exporter.catalogue.metric import Metric

EXPORTER = (
    Metric(
        "fss_exporter_build_info",
        "info",
        ("version", "python_version"),
        "info",
        "The running version, value 1.",
        "the package",
    ),
    Metric(
        "fss_collector_success",
        "gauge",
        ("collector",),
        "ratio",
        "1 if the collector's source could be read at the last attempt, 0 if not.",
        "the exporter",
    ),
    Metric(
        "fss_collector_duration_seconds",
        "gauge",
        ("collector",),
        "seconds",
        "How long the collector took to read its source at the last attempt.",
        "the exporter",
    ),
    Metric(
        "fss_nfs_records_skipped_total",
        "counter",
        ("reason",),
        "records",
        "Records of mountstats or mountinfo that could not be read, counted at each tick that meets them.",
        "the exporter",
    ),
    Metric(
        "fss_nfs_superblocks",
        "gauge",
        (),
        "superblocks",
        "NFS superblocks (counter sets) seen at the last tick.",
        "major:minor of mountinfo",
    ),
    Metric(
        "fss_nfs_unresolved_forwarder_addresses",
        "gauge",
        (),
        "addresses",
        "In-transit TLS forwarder addresses (192.168.255.x) of mounts that address_map in the configuration does not resolve.",
        "addr of mountinfo",
    ),
    Metric(
        "fss_nfs_ticks_total",
        "counter",
        (),
        "ticks",
        "Readings of the kernel's NFS counters since the exporter started.",
        "the exporter",
    ),
    Metric(
        "fss_nfs_tick_interval_seconds",
        "gauge",
        (),
        "seconds",
        "Time between the last two ticks; longer than --nfs.tick where the tick slows itself down.",
        "the exporter",
    ),
)
