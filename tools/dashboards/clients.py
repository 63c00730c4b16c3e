"""clients.json: who loads the mount targets, and with what."""

from tools.dashboards.clients_mounts import CHOSEN, MOUNT, MOUNTS, SLOW
from tools.dashboards.frame import Section, dashboard, query_variable
from tools.dashboards.panels import NEUTRAL_STEPS, NOT_ZERO_STEPS, Json, Query, graph, stat, tally
from tools.dashboards.words import RETRANSMISSION_STEPS, nearest

_IN_WORDS = "{{instance}}, {{mount_target}} {{address}}"


_AT_A_GLANCE = Section(
    "At a glance",
    [
        tally(
            "Clients",
            "Clients that are scraped and have a mount of the chosen mount targets. Fewer than there are: agents are missing.",
            f"count(group by (instance) (fss_client_mount_info{{{CHOSEN}}}))",
            width=4,
        ),
        tally(
            "Mount points",
            "NFS mount points of these clients.",
            f"count(fss_client_mount_info{{{CHOSEN}}})",
            width=4,
        ),
        stat(
            "IOPS of these clients",
            "Estimated mount-target I/O operations per second of all chosen clients together.",
            Query(f"sum(client:fss_client_estimated_iops:rate5m{{{CHOSEN}}})"),
            unit="iops",
            steps=NEUTRAL_STEPS,
            width=4,
        ),
        stat(
            "Highest second",
            "The highest estimated IOPS of one client within one second of the last minute. Compare with the ceiling of the mount target.",
            Query(f"max(fss_client_peak_estimated_iops{{{CHOSEN}}})"),
            unit="iops",
            steps=NEUTRAL_STEPS,
            width=4,
        ),
        stat(
            "Worst retransmissions",
            "Share of calls sent more than once, of the worst client. Above 1 %: packets are lost on its way, or the mount target stalls.",
            Query(f"max(client:fss_client_retransmissions:ratio_rate5m{{{CHOSEN}}})"),
            unit="percentunit",
            steps=RETRANSMISSION_STEPS,
            width=4,
        ),
        tally(
            "Stalled clients",
            "Clients whose requests have waited for ten minutes without any reply. One: that client. Most: the mount target or the network.",
            f"count(client:fss_client_unanswered_seconds:now{{{CHOSEN}}} >= 600) or vector(0)",
            steps=NOT_ZERO_STEPS,
            width=4,
        ),
    ],
)


_BY_CLIENT = f"client:fss_client_estimated_iops:rate5m{{{CHOSEN}}}"
_BY_MOUNT = f"client_mount:fss_client_estimated_iops:rate5m{{{CHOSEN}}}"
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
            Query(nearest(_BY_MOUNT, MOUNT), "{{instance}}, {{server}}:{{export}}"),
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
            Query(f"sum by (class) (client_mount_class:fss_client_estimated_iops:rate5m{{{CHOSEN}}})", "{{class}}"),
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
                f"sum(client_mount:fss_client_read_bytes:rate5m{{{CHOSEN}}})\n"
                f'/ (sum(client_mount_kind:fss_client_operations:rate5m{{kind="read", {CHOSEN}}}) > 0)',
                "read",
            ),
            Query(
                f"sum(client_mount:fss_client_written_bytes:rate5m{{{CHOSEN}}})\n"
                f'/ (sum(client_mount_kind:fss_client_operations:rate5m{{kind="write", {CHOSEN}}}) > 0)',
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
                f"sum by (operation, le) (rate(fss_client_io_size_bytes_bucket{{{CHOSEN}}}[$__rate_interval]))\n"
                "/ on (operation) group_left ()\n"
                f"(sum by (operation) (rate(fss_client_io_size_bytes_count{{{CHOSEN}}}[$__rate_interval])) > 0)",
                "{{operation}} up to {{le}}",
            ),
            unit="percentunit",
        ),
        graph(
            "Peaks against means: ten highest seconds",
            "The highest second of the last minute of each client, and the mean of the same clients (dotted names end in mean). "
            "A peak many times the mean: work that comes in bursts; spread it over time or cap its parallelism.",
            Query(
                nearest(f"fss_client_peak_estimated_iops{{{CHOSEN}}}", "instance, address"),
                "{{instance}}, {{address}}, peak",
            ),
            Query(
                f"client:fss_client_estimated_iops:rate5m{{{CHOSEN}}}\nand on (instance, address)\n"
                f"topk(10, max_over_time(fss_client_peak_estimated_iops{{{CHOSEN}}}[$__range] @ end()))",
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
            Query(f"sum(rate(fss_client_sent_bytes_total{{{CHOSEN}}}[$__rate_interval]))", "sent"),
            Query(f"sum(rate(fss_client_received_bytes_total{{{CHOSEN}}}[$__rate_interval]))", "received"),
            unit="Bps",
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
        sections=[_AT_A_GLANCE, _TOP, _WHAT, SLOW, MOUNTS],
    )
