"""Of clients.json: whether the client or the server is slow, and what the mounts are set to."""

from tools.dashboards.frame import Section
from tools.dashboards.panels import Query, graph
from tools.dashboards.tables import Column, table
from tools.dashboards.words import RETRANSMISSION_STEPS, nearest

from fss_exporter.catalogue import CATALOGUE

CHOSEN = 'address=~"$address", instance=~"$client"'
MOUNT = "instance, address, server, export"

_LARGEST_TRANSFER = "1048576"


def _whole_time(time_of: str, operations: str, name: str) -> Query:
    """Times are exported for READ, WRITE and the rest together, so the rest's operations are added up to match."""
    return Query(
        f"sum(rate(fss_client_execute_seconds_total{{operation{time_of}, {CHOSEN}}}[$__rate_interval]))\n"
        f"/ (sum(rate(fss_client_operations_total{{operation{operations}, {CHOSEN}}}[$__rate_interval])) > 0)",
        name,
    )


def _slowest(what: str) -> Query:
    expr = f"client_mount_kind:fss_client_{what}_seconds:mean5m{{{CHOSEN}}}"
    return Query(nearest(expr, f"{MOUNT}, kind"), "{{instance}}, {{server}}:{{export}}, {{kind}}")


SLOW = Section(
    "Slow: the client or the server",
    [
        graph(
            "RTT: ten slowest mounts",
            "Mean time from call to reply: network and mount target. All clients high: the mount target, see its ceiling. One client high: "
            "its network, or another availability domain.",
            _slowest("rtt"),
            unit="s",
        ),
        graph(
            "Queue: ten slowest mounts",
            "Mean time a call waited in the client before it was sent. High with a low RTT: the client is the limit; raise nconnect, "
            "or ask for less at once. High with a high RTT: a consequence of the other panel.",
            _slowest("queue"),
            unit="s",
        ),
        graph(
            "Whole time of an operation by kind",
            "Mean time of an operation from start to end over all chosen clients: what an application waits for. Much more than RTT and "
            "queue together: the client's processors are busy.",
            _whole_time('="READ"', '="READ"', "read"),
            _whole_time('="WRITE"', '="WRITE"', "write"),
            _whole_time('="OTHER"', '!~"READ|WRITE"', "all others"),
            unit="s",
        ),
        graph(
            "Retransmissions: ten worst clients",
            "Share of calls sent more than once. Above the line packets are lost or the mount target does not answer in time; both cost IOPS twice.",
            Query(
                nearest(f"client:fss_client_retransmissions:ratio_rate5m{{{CHOSEN}}}", "instance, address"),
                "{{instance}}, {{address}}",
            ),
            unit="percentunit",
            steps=RETRANSMISSION_STEPS,
        ),
        graph(
            "Major timeouts: ten worst clients",
            "Operations that got no answer through all retries, per second, by client. Any line: applications hang; on soft mounts they get errors.",
            Query(
                f"topk(10, sum by (instance, address) (rate(fss_client_timeouts_total{{{CHOSEN}}}[$__rate_interval])))",
                "{{instance}}, {{address}}",
            ),
            unit="ops",
        ),
        graph(
            "READ, WRITE, COMMIT errors: ten worst mounts",
            "Data operations per second that ended with an error (kernel 5.3 and later), ten worst mounts. LOOKUP and its like are left out: names "
            "that do not exist are ordinary. Any line: stale handles, quota, permission, or a full file system.",
            Query(
                nearest(f"client_mount:fss_client_data_errors:rate5m{{{CHOSEN}}}", MOUNT),
                "{{instance}}, {{server}}:{{export}}",
            ),
            unit="ops",
        ),
    ],
)


def _finding(selector: str, text: str) -> str:
    by = f"{MOUNT}, mount_point"
    return (
        f'label_replace(group by ({by}) (fss_client_mount_info{{{selector}, {CHOSEN}}}), "finding", "{text}", "", "")'
    )


_FINDINGS = [
    (
        'nconnect="1", protocol=~"tcp6?"',
        "nconnect=1: one TCP connection is the limit of a busy mount; nconnect=16 where the kernel has it",
    ),
    (
        f'rsize!~"{_LARGEST_TRANSFER}|", protocol=~"tcp6?"',
        "rsize below 1 MiB: leave it unset, the largest is negotiated",
    ),
    (
        f'wsize!~"{_LARGEST_TRANSFER}|", protocol=~"tcp6?"',
        "wsize below 1 MiB: leave it unset, the largest is negotiated",
    ),
    ('protocol=~"udp.*"', "NFS over UDP: use TCP"),
    ('hard="false"', "soft mount: a slow mount target becomes I/O errors in applications"),
    ('nfs_version!~"3|3.0"', "not NFSv3: not OCI File Storage, or not as it is supported; no estimate is made"),
]
_OPTIONS = tuple(
    label
    for label in CATALOGUE["fss_client_mount_info"].labels
    if label not in {"address", "server", "export", "mount_point"}
)
MOUNTS = Section(
    "Mounts",
    [
        table(
            "Mount options with a finding",
            "Mounts whose options cost performance or safety, and what to do. A finding on an idle mount can wait.",
            Query("\nor\n".join(_finding(selector, text) for selector, text in _FINDINGS), "finding"),
            columns={
                "instance": Column("Client", width=200),
                "server": Column("Server", width=220),
                "export": Column("Export", width=160),
                "mount_point": Column("Mount point", width=160),
                "finding": Column("Finding and fix"),
            },
            height=8,
        ),
        table(
            "Mounts and their options",
            "Every NFS mount point with what was negotiated; rsize and wsize in bytes, timeo in tenths of a second.",
            Query(
                f"group by ({MOUNT}, mount_point, {', '.join(_OPTIONS)}) (fss_client_mount_info{{{CHOSEN}}})",
                "info",
            ),
            columns={
                "instance": Column("Client", width=200),
                "server": Column("Server", width=220),
                "export": Column("Export", width=160),
                "mount_point": Column("Mount point", width=160),
                **{option: Column(option) for option in _OPTIONS},
            },
            height=10,
        ),
    ],
)
