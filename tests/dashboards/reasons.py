"""Why queries of the dashboards have no data in the demo, in words and in PromQL.

A query of a dashboard is empty exactly while its reason holds. So a panel that is empty for another reason is found, and a reason that is none any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.pictures.answers import Answers


@dataclass(frozen=True)
class Reason:
    """`holds` has a result exactly while the words are true."""

    words: str
    holds: str


def _nothing_of(source: str, found: str) -> Reason:
    return Reason("nothing of the kind goes wrong in the demo", f"count({source})\nunless on ()\n({found})")


def _no_alert(selector: str) -> Reason:
    return _nothing_of("fleet:fss_agents:count", f'ALERTS{{{selector}, alertstate="firing"}}')


def _young(series: str, age: str) -> Reason:
    return Reason(
        "the prometheus is younger than the query needs", f"count({series})\nunless on ()\n{series} offset {age}"
    )


def _observed(what: str) -> Reason:
    return Reason(
        "no load of the demo stands still while latency rises",
        f"count(fss_mount_target_{what})\nunless on ()\nfss_mount_target_observed_{what}_limit",
    )


_SHARE = "mount_target_resource:fss_utilisation:ratio"
_FRESH = Reason(
    "OCI tells the share of every mount target",
    "count(mount_target:fss_mount_target:info)\nunless on ()\n"
    "(mount_target:fss_mount_target:info unless on (tenancy, region, mount_target_id) mount_target:fss_fullest_ceiling:max)",
)
_POLLED = Reason("a poller tells of mount targets", "count(mount_target:fss_mount_target:info)")
_ALL_CLIENTS = Reason(
    "split by class only while one client is chosen, and all are",
    'count(fss_client_requests_total)\nunless on ()\nfss_client_requests_total{every!~".*()"}',
)
_EXACT = Reason(
    "no kernel counts for the clients of the demo, so there is no exact mode",
    'count(fss_nfs_superblocks)\nunless on ()\n{__name__=~"fss_client_(request_duration_seconds|io_size_bytes|process|job)_.+"}',
)
_NOT_PUBLISHED = Reason(
    "Apsara NAS has no published ceiling of its IOPS",
    'count(fss_client_service_info)\nunless on ()\naddress_resource:fss_client_utilisation:ratio{resource=~"iops|peak_iops"}',
)
_NOT_ENCRYPTED = _nothing_of("fss_client_mount_info", "address:fss_clients_encrypted:count")
_A_WEEK = _young(_SHARE, "1w")
_HALF_A_MONTH = Reason(
    "a forecast needs two weeks", f"count({_SHARE})\nunless on ()\nmount_target_resource:fss_utilisation:forecast14d"
)
_NOT_YET = Reason(
    "the rule looks every ten minutes", f"count({_SHARE})\nunless on ()\nmount_target_resource:fss_utilisation:p99_7d"
)
_FINDINGS = {
    "B": 'rsize!~"1048576|", protocol=~"tcp6?"',
    "C": 'wsize!~"1048576|", protocol=~"tcp6?"',
    "D": 'protocol=~"udp.*"',
    "E": 'hard="false"',
    "F": 'nfs_version!~"3|3.0"',
}
_CONNECTED = _nothing_of(
    "fss_nfs_superblocks", "fss_nfs_unresolved_forwarder_addresses > 0 or fss_nfs_superblocks_left_out > 0"
)
_JOINED = _nothing_of(
    "address:fss_client_estimated_iops:rate5m",
    "address:fss_client_estimated_iops:rate5m unless on (network, address) (address:fss_mount_target:info or fss_client_service_info)",
)
_SEEN = _nothing_of("fss_coverage_expected", "fss_coverage_seen < fss_coverage_expected")
_COVERED = _nothing_of("mount_target:fss_client_coverage:ratio", "mount_target:fss_client_coverage_lost:p90_1d")

_COMPLETE = Reason(
    "no part of the monitoring is missing",
    "count(fleet:fss_agents:count) and on () count(fss_oci_poll_timestamp_seconds)",
)
_ALERTS = {
    "fss-clients": "Alerts of clients",
    "fss-exporter": "Alerts of the monitoring",
    "fss-file-systems": "Alerts of file systems",
    "fss-fleet": "Firing alerts",
    "fss-mount-target": "Alerts of this mount target",
}

Key = tuple[str, str, str]  # a query: dashboard, title of the panel, reference

# Queries without data in a demo that works.
EMPTY: Mapping[Key, Reason] = {
    **{(uid, title, "E"): _COMPLETE for uid, title in _ALERTS.items()},
    **{("fss-clients", "Alerts of clients", ref): _no_alert('alertname=~"Fss.+", address!=""') for ref in "ABCD"},
    **{
        ("fss-clients", "Mount options with a finding", ref): _nothing_of(
            "fss_client_mount_info", f"fss_client_mount_info{{{found}}}"
        )
        for ref, found in _FINDINGS.items()
    },
    ("fss-clients", "Batch jobs by cost: top $top", "A"): _EXACT,
    ("fss-clients", "Durations of requests", "A"): _EXACT,
    ("fss-clients", "Major timeouts: top $top", "A"): _nothing_of(
        "fss_client_timeouts_total", "rate(fss_client_timeouts_total[5m]) > 0"
    ),
    ("fss-clients", "Processes by cost: top $top", "A"): _EXACT,
    ("fss-clients", "Queue: slowest clients, top $top", "B"): _ALL_CLIENTS,
    ("fss-clients", "READ sizes", "A"): _EXACT,
    ("fss-clients", "RTT: slowest clients, top $top", "B"): _ALL_CLIENTS,
    ("fss-clients", "Retransmissions: top $top", "A"): _nothing_of(
        "fss_client_retransmissions_total", "rate(fss_client_retransmissions_total[5m]) > 0"
    ),
    ("fss-clients", "Top clients now", "D"): _nothing_of(
        "fss_client_retransmissions_total", "rate(fss_client_retransmissions_total[5m]) > 0"
    ),
    ("fss-clients", "Top clients now", "E"): _nothing_of(
        "fss_client_errors_total", "client:fss_client_unexpected_errors:ratio_rate5m > 0"
    ),
    ("fss-clients", "Top clients now", "F"): _nothing_of(
        "fss_client_unanswered_seconds", "fss_client_unanswered_seconds > 0"
    ),
    ("fss-clients", "WRITE sizes", "A"): _EXACT,
    **{("fss-clients", "p50, p95 and p99 of durations", ref): _EXACT for ref in "ABC"},
    ("fss-exporter", "Addresses that are no known mount target", "A"): _JOINED,
    **{
        ("fss-exporter", "Alerts of the monitoring", ref): _no_alert(
            'alertname=~"Fss(Exporter|Oci|Poller|Collector|Nfs|Scrape|MountTargetData|AgentsMissing|Coverage|Network|Addresses|Monitoring).*"'
        )
        for ref in "ABCD"
    },
    ("fss-exporter", "Collectors that fail or stall", "A"): _nothing_of(
        "fss_collector_success", "fss_collector_success == 0"
    ),
    ("fss-exporter", "Collectors that fail or stall", "B"): _nothing_of(
        "fss_collector_errors_total", "increase(fss_collector_errors_total[15m]) > 0"
    ),
    ("fss-exporter", "Collectors that fail or stall", "C"): _nothing_of(
        "fss_collector_last_success_timestamp_seconds",
        'time() - fss_collector_last_success_timestamp_seconds{collector!~"oci_inventory.*"} > 900',
    ),
    ("fss-exporter", "Data age", "B"): _POLLED,
    ("fss-exporter", "Less seen than expected", "A"): _SEEN,
    ("fss-exporter", "Less seen than expected", "B"): _SEEN,
    ("fss-exporter", "Loads that no mount target gets", "A"): _CONNECTED,
    ("fss-exporter", "Loads that no mount target gets", "B"): _CONNECTED,
    ("fss-exporter", "Records skipped: top $top reasons", "A"): _nothing_of(
        "fss_nfs_superblocks", "fss_nfs_records_skipped_total"
    ),
    ("fss-exporter", "Streams left out and queries split", "B"): _nothing_of(
        "fss_oci_poll_timestamp_seconds", "fss_oci_query_splits_total"
    ),
    **{
        ("fss-file-systems", "Alerts of file systems", ref): _no_alert('alertname=~"Fss(FileSystem|Replication|Oci).+"')
        for ref in "ABCD"
    },
    ("fss-file-systems", "File systems: load, size and growth", "I"): _young("fss_file_system_metered_bytes", "1w"),
    ("fss-file-systems", "Soft quotas that writes pass", "A"): _nothing_of(
        "fss_file_system_soft_quota_violations_total", "increase(fss_file_system_soft_quota_violations_total[1h]) > 0"
    ),
    ("fss-fleet", "All ceilings of each mount target", "E"): _NOT_ENCRYPTED,
    ("fss-fleet", "All ceilings of each mount target", "F"): _A_WEEK,
    ("fss-fleet", "All ceilings of each mount target", "G"): _young("fss_mount_target_verdicts_total", "1h"),
    ("fss-fleet", "All ceilings of each mount target", "H"): _HALF_A_MONTH,
    ("fss-fleet", "Busiest minutes of each week: top $top", "A"): _NOT_YET,
    ("fss-fleet", "Data age", "B"): _POLLED,
    ("fss-fleet", "Fullest", "B"): _FRESH,
    ("fss-fleet", "Fullest", "C"): _FRESH,
    ("fss-fleet", "Fullest", "D"): _POLLED,
    ("fss-fleet", "Mount targets: how close, who, what now", "G"): _FRESH,
    ("fss-fleet", "Mount targets: how close, who, what now", "H"): _FRESH,
    ("fss-fleet", "Mount targets: how close, who, what now", "J"): _COVERED,
    ("fss-fleet", "Mount targets without a known IOPS ceiling", "B"): _observed("iops"),
    ("fss-fleet", "Over 80 %", "B"): _FRESH,
    ("fss-fleet", "Over 80 %", "C"): _POLLED,
    ("fss-fleet", "Services as their clients see them", "C"): _NOT_PUBLISHED,
    ("fss-fleet", "Services as their clients see them", "D"): _NOT_PUBLISHED,
    ("fss-fleet", "Share of IOPS: top $top", "B"): _A_WEEK,
    ("fss-fleet", "Share of read bandwidth: top $top", "B"): _A_WEEK,
    ("fss-fleet", "Share of write bandwidth: top $top", "B"): _A_WEEK,
    ("fss-fleet", "Single clients that fill a ceiling for a second", "A"): _nothing_of(
        "mount_target:fss_client_peak_utilisation:ratio", "mount_target:fss_client_peak_utilisation:ratio >= 0.95"
    ),
    ("fss-fleet", "Slowest", "B"): _POLLED,
    **{
        ("fss-mount-target", "Alerts of this mount target", ref): _no_alert('alertname="FssMountTargetIopsHigh"')
        for ref in "ABCD"
    },
    ("fss-mount-target", "Client connections", "B"): _A_WEEK,
    ("fss-mount-target", "Agents", "B"): _COVERED,
    ("fss-mount-target", "Exports that cannot be mounted", "A"): _nothing_of(
        "fss_export_info", 'fss_export_info{state!="ACTIVE"}'
    ),
    **{("fss-mount-target", title, ref): _FRESH for title in ("IOPS", "Read", "Write") for ref in "BC"},
    ("fss-mount-target", "IOPS by source, against the ceiling", "H"): _A_WEEK,
    ("fss-mount-target", "Objectives and their budgets", "A"): _young("fss_mount_target_verdicts_total", "1h"),
    ("fss-mount-target", "IOPS by source, against the ceiling", "K"): _observed("iops"),
    ("fss-mount-target", "Read bandwidth", "B"): _A_WEEK,
    ("fss-mount-target", "Read bandwidth", "E"): _observed("read_bytes_per_second"),
    ("fss-mount-target", "Which shape carries this load", "G"): _HALF_A_MONTH,
    ("fss-mount-target", "Write bandwidth", "B"): _A_WEEK,
    ("fss-mount-target", "Write bandwidth", "E"): _observed("write_bytes_per_second"),
}


def true_reasons(source: Answers, at: float) -> frozenset[Reason]:
    """The reasons that hold at a time, in epoch seconds."""
    every = set(EMPTY.values())
    return frozenset(reason for reason in every if source.ask("query", query=reason.holds, time=f"{at:.3f}")["result"])


@dataclass(frozen=True)
class Shown:
    """What all dashboards show at one time, as scenes, and the reasons that hold then."""

    scenes: Sequence[Mapping[str, Any]]
    reasons: frozenset[Reason]

    def queries(self, *, without_data: bool = False) -> set[Key]:
        """Every query, or those that have no data."""
        return {
            (scene["dashboard"]["uid"], title, ref)
            for scene in self.scenes
            for title, answers in scene["answers"].items()
            for ref, answer in answers.items()
            if not (without_data and answer["series"])
        }

    def unexplained(self) -> dict[Key, str]:
        """Queries without data whose reason does not hold, and queries with data though their reason holds."""
        empty = self.queries(without_data=True)
        return {
            query: reason.words if reason else "there is no reason"
            for query in self.queries()
            for reason in (EMPTY.get(query),)
            if (query in empty) != (reason in self.reasons)
        }
