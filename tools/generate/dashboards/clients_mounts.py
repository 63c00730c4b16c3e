"""Of clients.json: the busiest mounts, and the options of mounts."""

from tools.generate.dashboards.frame import Section
from tools.generate.dashboards.panels import Query
from tools.generate.dashboards.tables import Column, table
from tools.generate.dashboards.words import CHOSEN, once_a_mount

_MOUNT = "instance, network, address, server, export"
_LARGEST_TRANSFER = "1048576"


TOP_MOUNTS = table(
    "Top mounts now",
    "The mounts of the chosen clients that cost most now: which application on a busy client it is.",
    Query(
        f"topk($top, sum by ({_MOUNT}) ({once_a_mount(f'rate(fss_client_estimated_io_operations_total{{{CHOSEN}}}[$__rate_interval])', 'class')}))",
        "iops",
    ),
    columns={
        "instance": Column("Client"),
        "server": Column("Server"),
        "export": Column("Export"),
        "iops": Column("Estimated IOPS", unit="iops", width=140),
    },
    sort_by="Estimated IOPS",
    height=8,
)


def _finding(selector: str, text: str) -> str:
    by = f"{_MOUNT}, mount_point"
    return (
        f'label_replace(group by ({by}) (fss_client_mount_info{{{selector}, {CHOSEN}}}), "finding", "{text}", "", "")'
    )


_FINDINGS = [
    (
        'nconnect="1", protocol=~"tcp6?"',
        "nconnect=1: one TCP connection limits a busy mount; set nconnect=16",
    ),
    (
        f'rsize!~"{_LARGEST_TRANSFER}|", protocol=~"tcp6?"',
        "rsize below 1 MiB: leave rsize unset, then the kernel takes the largest",
    ),
    (
        f'wsize!~"{_LARGEST_TRANSFER}|", protocol=~"tcp6?"',
        "wsize below 1 MiB: leave wsize unset, then the kernel takes the largest",
    ),
    ('protocol=~"udp.*"', "NFS over UDP: use TCP"),
    ('hard="false"', "soft mount: a slow mount target becomes I/O errors in applications"),
    ('nfs_version!~"3|3.0"', "not NFSv3, which OCI File Storage does not support; no estimate is made"),
]
_OPTIONS = {
    "nfs_version": Column("NFS", width=55),
    "nconnect": Column("nconnect", width=90),
    "rsize": Column("rsize", width=80),
    "wsize": Column("wsize", width=80),
    "hard": Column("hard", width=60),
    "sec": Column("sec", width=55),
    "local_lock": Column("local_lock", width=95),
}
MOUNTS = Section(
    "Mounts and their options",
    [
        table(
            "Mount options with a finding",
            "Mounts whose options cost performance or safety, and the fix. A finding on an idle mount can wait.",
            *(Query(_finding(selector, text), "mounts") for selector, text in _FINDINGS),
            empty="None is known.",
            columns={
                "instance": Column("Client", width=140),
                "server": Column("Server", width=130),
                "export": Column("Export", width=100),
                "mount_point": Column("Mount point", width=150),
                "finding": Column("Finding and fix"),
            },
            sort_by=("Client", "Mount point"),
            ascending=True,
            height=8,
        ),
        table(
            "All mounts",
            "Every NFS mount point with the options that client and server agreed on. rsize and wsize are bytes.",
            Query(
                f"group by ({_MOUNT}, mount_point, {', '.join(_OPTIONS)}) (fss_client_mount_info{{{CHOSEN}}})",
                "mounts",
            ),
            columns={
                "instance": Column("Client", width=130),
                "server": Column("Server", least=100),
                "export": Column("Export", width=95),
                "mount_point": Column("Mount point", width=150),
                **_OPTIONS,
            },
            sort_by=("Client", "Mount point"),
            ascending=True,
            height=10,
        ),
    ],
)
