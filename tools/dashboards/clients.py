"""clients.json: who loads the mount targets, and with what."""

from tools.dashboards.frame import Section, dashboard, datasource_variable, query_variable
from tools.dashboards.panels import NEUTRAL_STEPS, NOT_ZERO_STEPS, Column, Json, Query, graph, stat, table
from tools.dashboards.words import RETRANSMISSION_STEPS, nearest, region_variable

_CHOSEN = 'address=~"$address", instance=~"$client"'
_MOUNT = "instance, address, server, export"
_IN_WORDS = "{{instance}}, {{mount_target}} {{address}}"
_LARGEST_TRANSFER = "1048576"


_AT_A_GLANCE = Section(
    "At a glance",
    [
        stat(
            "Clients",
            "Clients that are scraped and have a mount of the chosen mount targets. Fewer than there are: agents are missing.",
            Query(f"count(group by (instance) (fss_client_mount_info{{{_CHOSEN}}}))"),
            unit="none",
            steps=NEUTRAL_STEPS,
            width=4,
        ),
        stat(
            "Mount points",
            "NFS mount points of these clients.",
            Query(f"count(fss_client_mount_info{{{_CHOSEN}}})"),
            unit="none",
            steps=NEUTRAL_STEPS,
            width=4,
        ),
        stat(
            "IOPS of these clients",
            "Estimated mount-target I/O operations per second of all chosen clients together.",
            Query(f"sum(client:fss_client_estimated_iops:rate5m{{{_CHOSEN}}})"),
            unit="iops",
            steps=NEUTRAL_STEPS,
            width=4,
        ),
        stat(
            "Highest second",
            "The highest estimated IOPS of one client within one second of the last minute. Compare with the ceiling of the mount target.",
            Query(f"max(fss_client_peak_estimated_iops{{{_CHOSEN}}})"),
            unit="iops",
            steps=NEUTRAL_STEPS,
            width=4,
        ),
        stat(
            "Worst retransmissions",
            "Share of calls sent more than once, of the worst client. Above 1 %: packets are lost on its way, or the mount target stalls.",
            Query(f"max(client:fss_client_retransmissions:ratio_rate5m{{{_CHOSEN}}})"),
            unit="percentunit",
            steps=RETRANSMISSION_STEPS,
            width=4,
        ),
        stat(
            "Stalled clients",
            "Clients whose requests have waited for ten minutes without any reply. One: that client. Most: the mount target or the network.",
            Query(f"count(client:fss_client_unanswered_seconds:now{{{_CHOSEN}}} >= 600) or vector(0)"),
            unit="none",
            steps=NOT_ZERO_STEPS,
            width=4,
        ),
    ],
)


_BY_CLIENT = f"client:fss_client_estimated_iops:rate5m{{{_CHOSEN}}}"
_BY_MOUNT = f"client_mount:fss_client_estimated_iops:rate5m{{{_CHOSEN}}}"
_TOP = Section(
    "Who",
    [
        graph(
            "Top clients by estimated IOPS",
            "The ten clients that cost most in the time shown, each on each mount target. One far above the rest: look at its operations below.",
            Query(nearest(_BY_CLIENT, "instance, address"), _IN_WORDS),
            unit="iops",
        ),
        graph(
            "Top mounts by estimated IOPS",
            "The ten mounts that cost most in the time shown. Tells which application on a busy client it is.",
            Query(nearest(_BY_MOUNT, _MOUNT), "{{instance}}, {{server}}:{{export}}"),
            unit="iops",
        ),
    ],
)


_WHAT = Section(
    "With what",
    [
        graph(
            "Estimated IOPS by class of operation",
            "What these clients' operations cost: read, write (with COMMIT), look_up (attributes, names, access), list (directories), "
            "create, change (rename, remove, set attributes). Much look_up: attribute caching; much list: directories "
            "that are too large or tools that walk.",
            Query(f"sum by (class) (client_mount_class:fss_client_estimated_iops:rate5m{{{_CHOSEN}}})", "{{class}}"),
            unit="iops",
            stacked=True,
        ),
        graph(
            "Estimated IOPS by operation, all clients of the address",
            "The same by NFS operation, for all scraped clients of the chosen mount targets, whichever client is chosen above.",
            Query(
                'sum by (operation) (address_operation:fss_client_estimated_iops:rate5m{address=~"$address"}) > 0',
                "{{operation}}",
            ),
            unit="iops",
            stacked=True,
        ),
        graph(
            "Mean I/O size",
            "Mean payload of a READ and of a WRITE, over the chosen clients. Costs rise by the 32 KiB, so a size far below that pays for more "
            "than it moves: buffer, or use larger blocks.",
            Query(
                f"sum(client_mount:fss_client_read_bytes:rate5m{{{_CHOSEN}}})\n"
                f'/ (sum(client_mount_kind:fss_client_operations:rate5m{{kind="read", {_CHOSEN}}}) > 0)',
                "read",
            ),
            Query(
                f"sum(client_mount:fss_client_written_bytes:rate5m{{{_CHOSEN}}})\n"
                f'/ (sum(client_mount_kind:fss_client_operations:rate5m{{kind="write", {_CHOSEN}}}) > 0)',
                "write",
            ),
            unit="bytes",
        ),
        graph(
            "I/O sizes of clients in exact mode",
            "Share of READs and of WRITEs that ask for no more than so many bytes, over the chosen mount targets' clients that count "
            "sizes (serve --nfs.exact); empty without them. Much below 32 KiB: small I/O pays for blocks it does not fill. A line just "
            "above zero at 512 KiB and at one at 1 MiB: large I/O, which costs least per byte.",
            Query(
                f"sum by (operation, le) (rate(fss_client_io_size_bytes_bucket{{{_CHOSEN}}}[$__rate_interval]))\n"
                "/ on (operation) group_left ()\n"
                f"(sum by (operation) (rate(fss_client_io_size_bytes_count{{{_CHOSEN}}}[$__rate_interval])) > 0)",
                "{{operation}} up to {{le}}",
            ),
            unit="percentunit",
        ),
        graph(
            "Peaks against means: ten highest seconds",
            "The highest second of the last minute of each client, and the mean of the same clients (dotted names end in mean). "
            "A peak many times the mean: work that comes in bursts; spread it over time or cap its parallelism.",
            Query(
                nearest(f"fss_client_peak_estimated_iops{{{_CHOSEN}}}", "instance, address"),
                "{{instance}}, {{address}}, peak",
            ),
            Query(
                f"client:fss_client_estimated_iops:rate5m{{{_CHOSEN}}}\nand on (instance, address)\n"
                f"topk(10, max_over_time(fss_client_peak_estimated_iops{{{_CHOSEN}}}[$__range] @ end()))",
                "{{instance}}, {{address}}, mean",
            ),
            unit="iops",
        ),
        graph(
            "Estimated IOPS of file locks",
            "Locks are not in the kernel's operation table; this is four I/O operations for each POSIX lock, an estimate apart from the "
            "others. High: an application that locks in a loop; local_lock=all keeps locks on the client, if only one uses the file.",
            Query(
                'sum by (address) (address:fss_client_estimated_lock_iops:rate5m{address=~"$address"})',
                "{{address}}",
            ),
            unit="iops",
        ),
        graph(
            "Bytes on the wire",
            "Bytes sent and received by the chosen clients for NFS, headers and retransmissions included. Near a client's network "
            "bandwidth: the client is the limit, not the mount target.",
            Query(f"sum(rate(fss_client_sent_bytes_total{{{_CHOSEN}}}[$__rate_interval]))", "sent"),
            Query(f"sum(rate(fss_client_received_bytes_total{{{_CHOSEN}}}[$__rate_interval]))", "received"),
            unit="Bps",
        ),
    ],
)


def _whole_time(time_of: str, operations: str, name: str) -> Query:
    """Times are exported for READ, WRITE and the rest together, so the rest's operations are added up to match."""
    return Query(
        f"sum(rate(fss_client_execute_seconds_total{{operation{time_of}, {_CHOSEN}}}[$__rate_interval]))\n"
        f"/ (sum(rate(fss_client_operations_total{{operation{operations}, {_CHOSEN}}}[$__rate_interval])) > 0)",
        name,
    )


def _slowest(what: str) -> Query:
    expr = f"client_mount_kind:fss_client_{what}_seconds:mean5m{{{_CHOSEN}}}"
    return Query(nearest(expr, f"{_MOUNT}, kind"), "{{instance}}, {{server}}:{{export}}, {{kind}}")


_SLOW = Section(
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
                nearest(f"client:fss_client_retransmissions:ratio_rate5m{{{_CHOSEN}}}", "instance, address"),
                "{{instance}}, {{address}}",
            ),
            unit="percentunit",
            steps=RETRANSMISSION_STEPS,
        ),
        graph(
            "Major timeouts: ten worst clients",
            "Operations that got no answer through all retries, per second, by client. Any line: applications hang; on soft mounts they get errors.",
            Query(
                f"topk(10, sum by (instance, address) (rate(fss_client_timeouts_total{{{_CHOSEN}}}[$__rate_interval])))",
                "{{instance}}, {{address}}",
            ),
            unit="ops",
        ),
        graph(
            "READ, WRITE, COMMIT errors: ten worst mounts",
            "Data operations per second that ended with an error (kernel 5.3 and later), ten worst mounts. LOOKUP and its like are left out: names "
            "that do not exist are ordinary. Any line: stale handles, quota, permission, or a full file system.",
            Query(
                nearest(f"client_mount:fss_client_data_errors:rate5m{{{_CHOSEN}}}", _MOUNT),
                "{{instance}}, {{server}}:{{export}}",
            ),
            unit="ops",
        ),
    ],
)


def _finding(selector: str, text: str) -> str:
    by = f"{_MOUNT}, mount_point"
    return (
        f'label_replace(group by ({by}) (fss_client_mount_info{{{selector}, {_CHOSEN}}}), "finding", "{text}", "", "")'
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
_OPTIONS = (
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
)
_MOUNTS = Section(
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
                f"group by ({_MOUNT}, mount_point, {', '.join(_OPTIONS)}) (fss_client_mount_info{{{_CHOSEN}}})",
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


def clients() -> Json:
    """The dashboard."""
    return dashboard(
        uid="fss-clients",
        title="FSS clients",
        description="Which clients, mounts and operations load the mount targets. Needs rules/recording.yml.",
        variables=[
            datasource_variable(),
            region_variable(),
            query_variable(
                "address",
                "Mount target",
                'query_result(group by (mount_target, address) (address:fss_mount_target:join{region=~"$region"}))',
                description="Shown by display name where the inventory has the address, else by address.",
                all_value=None,
                regex='/mount_target="(?<text>[^"]+)|address="(?<value>[^"]+)/g',
            ),
            query_variable(
                "client",
                "Client",
                'label_values(fss_client_mount_info{address=~"$address"}, instance)',
                description="Scraped clients that mount the chosen mount targets.",
            ),
            query_variable(
                "mount_target",
                "Mount target by OCID",
                'label_values(address:fss_mount_target:join{address=~"$address"}, mount_target_id)',
                description="Carried along, so that the link to FSS mount target opens the same one.",
                multi=False,
                hidden=True,
            ),
        ],
        alerts='alertname=~"FssClient.+", address=~"$address"',
        sections=[_AT_A_GLANCE, _TOP, _WHAT, _SLOW, _MOUNTS],
    )
