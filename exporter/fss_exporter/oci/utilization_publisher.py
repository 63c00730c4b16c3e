"""Posting to OCI Monitoring how full each mount target is, so that one alarm serves every shape and ceiling.

OCI's alarms can neither divide by a ceiling nor estimate IOPS; the exporter does both and posts the shares as custom metrics of
the namespace `fss_exporter`, 1 being the ceiling. A share is posted once for each minute OCI has data of; nothing known,
nothing posted: no ceiling, no share. What is posted costs money, so it is off unless asked for.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from fss_exporter.errors import BrokenAnswer, FssError
from fss_exporter.model.limits import Limits, shape_of
from fss_exporter.oci.call_budget import Stopped
from fss_exporter.oci.complaints import Complaints
from fss_exporter.oci.mount_target_settings import MountTargetSettings
from fss_exporter.oci.oci_inventory import MountTarget
from fss_exporter.oci.snapshot import RegionSnapshot, Snapshot

NAMESPACE: Final = "fss_exporter"
"""Custom namespaces may not begin with `oci_` or `oracle_`. Documented at MetricDataDetails."""

MOST_STREAMS: Final = 50
"""Streams one PostMetricData may hold. Documented at PostMetricDataDetails."""

IOPS: Final = "IopsUtilization"
READ: Final = "ReadUtilization"
WRITE: Final = "WriteUtilization"
CONNECTIONS: Final = "ConnectionsUtilization"
UTILIZATION: Final = (IOPS, READ, WRITE, CONNECTIONS)
"""What is posted."""

_GAUGES: Final[Mapping[str, tuple[str, Callable[[Limits], float | None]]]] = {
    IOPS: ("fss_mount_target_iops", lambda limits: limits.iops),
    READ: ("fss_mount_target_read_bytes_per_second", lambda limits: limits.read_bytes_per_second),
    WRITE: ("fss_mount_target_write_bytes_per_second", lambda limits: limits.write_bytes_per_second),
    CONNECTIONS: ("fss_mount_target_connections", lambda limits: limits.connections),
}

_OLDEST_SECONDS: Final = 3600.0  # OCI takes points of the last two hours
_LOOK_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 0.1  # the poller needs the rest of the second

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Share:
    """How full a mount target was in one minute.

    Attributes:
        name: one of `UTILIZATION`.
        target: the mount target.
        minute: epoch seconds of its end.
        value: share of the ceiling.
        source: for IOPS, `measured` or `estimated`; empty otherwise.
    """

    name: str
    target: MountTarget
    minute: int
    value: float
    source: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What is posted once a minute."""
        return self.name, self.target.id


def shares(region: RegionSnapshot, settings: MountTargetSettings) -> Iterator[Share]:
    """Every share the snapshot of a region knows. IOPS that OCI measures win over estimated ones."""
    inventory = region.surveyed.inventory
    if inventory is None:
        return
    for name, (gauge, ceiling) in _GAUGES.items():
        by_minute = region.points.get(gauge, {})
        newest = {
            series.labels[1]: (minute, value, "")
            for minute, column in by_minute.items()
            for series, value in zip(column.series, column.values, strict=True)
        }
        if name == IOPS:
            newest = {ocid: (one.minute, one.iops.point, "estimated") for ocid, one in region.estimates.items()} | {
                ocid: (minute, value, "measured") for ocid, (minute, value, _) in newest.items()
            }
        for ocid, (minute, value, source) in newest.items():
            target = inventory.mount_targets.get(ocid)
            limit = ceiling(settings.limits(target)) if target else None
            if target and limit:
                yield Share(name, target, minute, value / limit, source)


def metric_data(share: Share) -> dict[str, Any]:
    """MetricDataDetails of a share."""
    target = share.target
    dimensions = {
        "mountTargetId": target.id,
        "mountTarget": target.name,
        "shape": shape_of(target.observed_throughput_gbps).name,
    }
    if share.source:
        dimensions["source"] = share.source
    stamp = datetime.fromtimestamp(share.minute, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "namespace": NAMESPACE,
        "compartmentId": target.compartment_id,
        "name": share.name,
        "dimensions": dimensions,
        "datapoints": [{"timestamp": stamp, "value": share.value}],
        "metadata": {"unit": "ratio", "displayName": f"{share.name}, share of the ceiling"},
    }


class Posts(Protocol):
    """The part of `oci.client.Session` that posting needs."""

    def call(self, service: str, operation: str, *arguments: object, **options: object) -> Any:
        """One operation; the answer has `data`."""


class Publisher:
    """Posts the shares of each region soon after each of its polls. It does nothing until it is started.

    Args:
        snapshot: what the poller knows.
        session: calls in a region, by its name.
        settings: limits of mount targets; may be replaced while the exporter runs.
        now: epoch seconds.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot],
        session: Callable[[str], Posts],
        settings: MountTargetSettings,
        *,
        now: Callable[[], float],
    ) -> None:
        self._snapshot = snapshot
        self._session = session
        self.settings = settings
        self._now = now
        self._polled: dict[str, float] = {}
        self._posted: dict[tuple[str, str], int] = {}
        self._complaints: dict[str, Complaints] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look for finished polls from now on, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="oci-publisher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Post no more; a call that is under way is waited for only a moment."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def publish(self) -> int:
        """Post what polls have brought since the last time; how many shares OCI took.

        Raises:
            Stopped: the poller is to stop.
        """
        taken = 0
        for region in self._snapshot().regions:
            if self._polled.get(region.region) != region.ended:
                self._polled[region.region] = region.ended
                taken += self._publish(region)
        return taken

    def _publish(self, region: RegionSnapshot) -> int:
        complaints = self._complaints.setdefault(region.region, Complaints(region.region))
        oldest = self._now() - _OLDEST_SECONDS
        fresh = [
            share
            for share in shares(region, self.settings)
            if share.minute >= oldest and share.minute > self._posted.get(share.key, 0)
        ]
        taken = 0
        for start in range(0, len(fresh), MOST_STREAMS):
            part = fresh[start : start + MOST_STREAMS]
            try:
                refused = self._post(region.region, part)
            except FssError as error:
                complaints.note("PostMetricData", error)
                continue
            complaints.note("PostMetricData", refused)
            if refused is None:
                taken += len(part)
                self._posted |= {share.key: share.minute for share in part}
        complaints.close()
        return taken

    def _post(self, region: str, part: Sequence[Share]) -> FssError | None:
        """Post some shares; what OCI took only in part is an error too, and is posted again next time."""
        body = {"metricData": [metric_data(share) for share in part], "batchAtomicity": "NON_ATOMIC"}
        answer = self._session(region).call("monitoring_ingestion", "post_metric_data", body).data
        failed = answer.get("failedMetricsCount", 0) if isinstance(answer, Mapping) else 0
        if not failed:
            return None
        first = (answer.get("failedMetrics") or [{}])[0].get("message", "no reason given")
        return BrokenAnswer(
            f"PostMetricData in {region}: {failed} of {len(part)} streams were refused, the first: {first}",
            operation="PostMetricData",
        )

    def _run(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                self.publish()
            except Stopped:
                return
            except Exception:  # a mistake of ours costs this minute, not the thread
                log.exception("publishing broke off")
