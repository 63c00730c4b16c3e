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
        "1 if the collector could read its source at the last attempt, 0 if not.",
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
        "Records of mountstats or mountinfo that could not be read.",
        "the exporter",
        detail="Counted at each tick that meets them.",
    ),
    Metric(
        "fss_nfs_superblocks",
        "gauge",
        (),
        "superblocks",
        "NFS superblocks (counter sets) at the last tick.",
        "major:minor of mountinfo",
    ),
    Metric(
        "fss_nfs_unresolved_forwarder_addresses",
        "gauge",
        (),
        "addresses",
        "TLS forwarder addresses that address_map does not resolve.",
        "addr of mountinfo",
        detail="Those of in-transit encryption, 192.168.255.x; `address_map` is a part of the configuration.",
    ),
    Metric(
        "fss_nfs_ticks_total",
        "counter",
        (),
        "ticks",
        "Readings of mountstats.",
        "the exporter",
    ),
    Metric(
        "fss_nfs_tick_interval_seconds",
        "gauge",
        (),
        "seconds",
        "Time between the last two ticks.",
        "the exporter",
        detail="Longer than --nfs.tick where the tick slows itself down.",
    ),
)
