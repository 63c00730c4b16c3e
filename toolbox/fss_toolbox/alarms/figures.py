# SPDX-License-Identifier: Apache-2.0
"""Figures for the placeholders of alarm templates, in the form of queries and texts. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fss_exporter.model import thresholds
from fss_exporter.model.limits import Limits
from fss_exporter.model.minute_verdict import LEAST_REQUESTS
from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci import mql_writer
from fss_exporter.oci.inventory.oci_inventory import ServiceResource

Figures = Mapping[str, str]  # text by placeholder, e.g. `{"WARNING": "40000", "WARNING_TEXT": "40,000 IOPS"}`

WINDOW_MINUTES: Final = 5
REPLICATION: Final = "replication-age"
_SIZES: Final = {
    bucket.name: bucket.text if bucket.text.startswith("up to") else f"of {bucket.text}" for bucket in BUCKETS
}
_LATENCY_AND_REQUESTS: Final = {
    "read": ("FileSystemReadAverageLatencybySize", "FileSystemReadRequestsbySize"),
    "write": ("FileSystemWriteAverageLatencybySize", "FileSystemWriteRequestsbySize"),
    "metadata": ("MetadataRequestAverageLatency", "MetadataIOPS"),
}


# Divisor and unit in texts by kind of ceiling. The other kinds use MB/s.
_UNITS: Final = {"iops": (1.0, "IOPS"), "connections": (1.0, "connections"), "capacity": (1e9, "GB")}


def spell(kind: str, value: float) -> str:
    """Return a figure as text: `40,000 IOPS`, `800 MB/s`, `8,000 GB`."""
    divisor, unit = _UNITS.get(kind, (1e6, "MB/s"))
    return f"{value / divisor:,.12g} {unit}"


def _ceiling_figures(kind: str, ratio: float, ceiling: float) -> dict[str, str]:
    return {
        "WARNING": literal(ratio * ceiling),
        "WARNING_TEXT": spell(kind, ratio * ceiling),
        "WARNING_PERCENT": percent(ratio),
        "CEILING_TEXT": spell(kind, ceiling),
    }


@dataclass(frozen=True, slots=True)
class CeilingAlarm:
    """The template for one kind of ceiling of mount targets."""

    key: str  # of the template
    kind: Literal["iops", "read_bytes_per_second", "write_bytes_per_second", "connections"]  # the field of `Limits`
    per_shape: bool = True  # whether shapes differ in this ceiling, as published

    def of(self, limits: Limits) -> float | None:
        """Return the ceiling of this kind. None for an unknown ceiling."""
        value: float | None = getattr(limits, self.kind)
        return value

    def figures(self, shape: str, ceiling: float, warning: float) -> Figures:
        """Return the figures for one shape and ceiling, and for the share of the ceiling that warns."""
        return {**_ceiling_figures(self.kind, warning, ceiling), "SHAPE": shape}


CEILING_ALARMS: Final = {
    alarm.key: alarm
    for alarm in (
        CeilingAlarm("mount-target-iops-peak", "iops"),
        CeilingAlarm("mount-target-read", "read_bytes_per_second"),
        CeilingAlarm("mount-target-write", "write_bytes_per_second"),
        CeilingAlarm("mount-target-connections", "connections", per_shape=False),
    )
}


@dataclass(frozen=True, slots=True)
class ServiceCeilingAlarm:
    """The template for a kind of ceiling of another storage service. Such a ceiling grows with the capacity."""

    key: str  # of the template
    service: str  # service to which the ceiling belongs
    kind: Literal["bytes_per_second", "iops", "capacity"]  # which ceiling
    stated: float  # the ceiling in the shipped file, base units
    # the metrics of reads and writes that share the ceiling, amounts a minute; None for a capacity
    metrics: tuple[str, str] | None = None

    def ratio(self, warning: float) -> float:
        """Return the share of the ceiling that triggers, or the free share of a capacity, for the used share that warns."""
        return round(1 - warning, 9) if self.kind == "capacity" else warning

    @property
    def most_ids(self) -> int:
        """The most OCIDs in a query, whose eight terms repeat the OCIDs."""
        return MOST_IDS // 8 if self.metrics else MOST_IDS

    def of(self, resource: ServiceResource) -> float | None:
        """Return this ceiling of a file system or volume. None for an unknown ceiling."""
        if self.kind == "capacity":
            return resource.capacity_bytes
        ceilings = SERVICES[resource.service].ceilings(resource.kind, resource.capacity_bytes)
        return ceilings.iops if self.kind == "iops" else ceilings.bytes_per_second

    def figures(self, ceiling: float, ids: Sequence[str], warning: float) -> Figures:
        """Return the figures for a ceiling, the resources with the ceiling, and the share that warns. No OCIDs means every resource."""
        both, ratio = "", self.ratio(warning)
        if self.metrics is not None:
            both = _sum_is_at_least(*self.metrics, ratio * ceiling * 60 * WINDOW_MINUTES, ids)
        return {**_ceiling_figures(self.kind, ratio, ceiling), "READS_AND_WRITES": both}


# The shipped files are for 40 TB of Lustre at 125 MB/s per TB, and for volumes of 10 VPU/GB from 1 TB up.
SERVICE_CEILING_ALARMS: Final = {
    alarm.key: alarm
    for alarm in (
        ServiceCeilingAlarm(
            "lustre-bandwidth", "lustre", "bytes_per_second", 5e9, ("ReadThroughput", "WriteThroughput")
        ),
        ServiceCeilingAlarm("lustre-space", "lustre", "capacity", 40e12),
        ServiceCeilingAlarm("volume-iops", "block-volume", "iops", 25_000.0, ("VolumeReadOps", "VolumeWriteOps")),
        ServiceCeilingAlarm(
            "volume-bandwidth",
            "block-volume",
            "bytes_per_second",
            480e6,
            ("VolumeReadThroughput", "VolumeWriteThroughput"),
        ),
    )
}

# Most OCIDs in a query. OCI publishes no limit on the length of a query, and 50 OCIDs are about 5 kB.
MOST_IDS: Final = 50


def _sum_is_at_least(read: str, write: str, threshold: float, ids: Sequence[str]) -> str:
    """Return a query that is true only if reads and writes together reach a threshold.

    MQL documents no sum of two metrics. The sum reaches the threshold in each of five cases: reads reach three quarters and writes
    a quarter, both reach half, reads a quarter and writes three quarters, or a single direction reaches all. An uneven mix may
    exceed the threshold by up to a quarter before a case holds.
    """
    where = {"resourceId": ids} if ids else {}

    def reaches(metric: str, part: float) -> str:
        amount = mql_writer.query(metric, WINDOW_MINUTES, "sum", where=where, group_by=("resourceId",))
        return f"{amount} >= {literal(part * threshold)}"

    mixed = [f"({reaches(read, part)} && {reaches(write, 1 - part)})" for part in (0.75, 0.5, 0.25)]
    return " || ".join((*mixed, reaches(read, 1), reaches(write, 1)))


def replication_figures(interval_seconds: float) -> Figures:
    """Return the figures for replications of one interval, seconds."""
    late = thresholds.REPLICATION_WARNING_INTERVALS * interval_seconds
    return {
        "WARNING": literal(late),
        "WARNING_TEXT": f"{late / 60:.12g} minutes",
        "WARNING_TIMES": str(thresholds.REPLICATION_WARNING_INTERVALS),
        "CEILING_TEXT": f"{interval_seconds / 60:.12g} minutes",
    }


def success_figures() -> Figures:
    """Return the figures on the success rate of NFS requests, in percent as OCI publishes the rate."""
    return _warning_and_critical(thresholds.SUCCESS_WARNING_RATIO, thresholds.SUCCESS_CRITICAL_RATIO, scale=100)


LEAST_ERRORS: Final = 3  # of LDAP or Kerberos within five minutes; one mistyped user name is no alarm
_WAITING_SHARE: Final = 0.5  # of a minute; a shorter wait may be a restart of the server
_WAITING_MINUTES: Final = 3  # of all clients together in five minutes, because MQL counts points and no clients
_SEVERAL_CLIENTS: Final = 3


def published_figures(key: str, warning: float) -> Figures:
    """Return the figures of an alarm on what the exporter posts, where 1 is the ceiling or the objective, and `warning` is near."""
    if key == "published-failing":
        return _warning_and_critical(thresholds.SUCCESS_WARNING_RATIO, thresholds.SUCCESS_CRITICAL_RATIO, scale=1)
    if key == "published-slow":
        return _warning_and_critical(warning, thresholds.LATENCY_CRITICAL_RATIO, scale=1)
    if key == "published-clients-hang":
        critical = str(_SEVERAL_CLIENTS * WINDOW_MINUTES)
        return {"WAITING": literal(_WAITING_SHARE), "WARNING": str(_WAITING_MINUTES), "CRITICAL": critical}
    return _warning_and_critical(warning, thresholds.CRITICAL_RATIO, scale=1)


def _warning_and_critical(warning: float, critical: float, scale: float) -> Figures:
    return {
        "WARNING": literal(scale * warning),
        "WARNING_PERCENT": percent(warning),
        "CRITICAL": literal(scale * critical),
        "CRITICAL_PERCENT": percent(critical),
    }


def latency_figures(objectives: Mapping[tuple[str, str], float], warning: float) -> Figures:
    """Return the queries and texts on latency. Objectives are seconds by kind and size class, and `warning` is the share that is near."""
    named = (f"{_requests(*which)} {seconds * 1000:.12g} ms" for which, seconds in objectives.items())
    return {
        "SLOW_WARNING": _slow(objectives, warning),
        "SLOW_CRITICAL": _slow(objectives, thresholds.LATENCY_CRITICAL_RATIO),
        "WARNING_PERCENT": percent(warning),
        "OBJECTIVES_TEXT": ", ".join(named),
    }


def _requests(kind: str, size: str) -> str:
    return f"{kind}s {_SIZES[size]}" if size else kind


def _slow(objectives: Mapping[tuple[str, str], float], ratio: float) -> str:
    """Return a query for file systems behind a mount target whose requests of a kind take `ratio` of the objective.

    MQL cannot weight streams by requests. Reads and writes of one size to one file system are a single stream, with its own
    floor of requests. Metadata have a stream for each operation, so the fastest of them counts.
    """
    group_by = ("mountTargetId", "resourceId")
    terms: list[str] = []
    for (kind, size), seconds in objectives.items():
        latency, requests = _LATENCY_AND_REQUESTS[kind]
        where = {"size": size} if size else {}
        taken, sent = ("mean", "mean") if size else ("min", "max")
        time = mql_writer.query(latency, WINDOW_MINUTES, taken, where=where, group_by=group_by)
        rate = mql_writer.query(requests, WINDOW_MINUTES, sent, where=where, group_by=group_by)
        terms.append(f"({time} >= {literal(ratio * seconds)} && {rate} >= {literal(LEAST_REQUESTS)})")
    return " || ".join(terms)


def resources(ids: Iterable[str]) -> Figures:
    """Return selectors of some resources by OCID, alone and after another selector. Empty for every resource."""
    chosen = tuple(ids)
    if not chosen:
        return {"RESOURCES": "", "AND_RESOURCES": ""}
    selector = mql_writer.select("resourceId", chosen)
    return {"RESOURCES": f"{{{selector}}}", "AND_RESOURCES": f", {selector}"}


def literal(value: float) -> str:
    """Return a number in a query, without the noise of binary fractions."""
    return mql_writer.number(round(value, 9))


def percent(ratio: float) -> str:
    """Return a ratio in a text: `80 %`."""
    return f"{ratio * 100:.12g} %"
