"""Post the utilisation of each mount target to OCI Monitoring, so that a single alarm serves every shape and ceiling.

OCI's alarms can neither divide by a ceiling nor estimate IOPS. The exporter does both and posts the shares as custom metrics
of the namespace `fss_exporter`, with 1 as the ceiling. A share is posted once for each minute with data of OCI. Without a
known load or ceiling there is no share. Posting costs money and is off by default.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from fss_exporter.errors import BrokenAnswer, CloudError, SourceError
from fss_exporter.model.limits import shape_of
from fss_exporter.oci.calls import FailureLog
from fss_exporter.oci.cloud_client import CloudClient, time_stamp
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE
from fss_exporter.oci.mount_target_settings import limits_of
from fss_exporter.oci.oci_inventory import MountTarget
from fss_exporter.oci.snapshot import RegionSnapshot
from fss_exporter.settings import Settings

MOST_POSTED_STREAMS: Final = 50
"""Most streams in a PostMetricData. Source: PostMetricDataDetails."""

_CEILINGS: Final = {
    "IopsUtilization": "iops",
    "ReadUtilization": "read_bytes_per_second",
    "WriteUtilization": "write_bytes_per_second",
    "ConnectionsUtilization": "connections",
}
"""Field of `Limits`, and end of the gauge's name, by posted metric."""

UTILIZATION: Final = tuple(_CEILINGS)
"""Names of the posted metrics."""

_OLDEST_SECONDS: Final = 3600.0  # OCI takes points of the last two hours


@dataclass(frozen=True, slots=True)
class Share:
    """Utilisation of a mount target in one minute."""

    name: str  # one of `UTILIZATION`
    target: MountTarget  # the mount target
    minute: int  # epoch seconds of its end
    value: float  # share of the ceiling
    source: str = ""  # for IOPS, `measured` or `estimated`; empty otherwise

    @property
    def key(self) -> tuple[str, str]:
        """Identity of a share, which is posted once a minute."""
        return self.name, self.target.id


def shares(region: RegionSnapshot, settings: Settings) -> Iterator[Share]:
    """Yield every known share in the snapshot of a region. IOPS that OCI measures win over estimated IOPS."""
    inventory, poll = region.inventory.inventory, region.poll
    if inventory is None or poll is None:
        return
    for name, ceiling in _CEILINGS.items():
        newest = {
            series.labels[1]: (minute, value, "")
            for minute, column in poll.points.get(f"fss_mount_target_{ceiling}", ())
            for series, value in zip(column.series, column.values, strict=True)
        }
        if ceiling == "iops":
            estimates = {ocid: one.estimate for ocid, one in poll.targets.items() if one.estimate}
            newest = {ocid: (one.minute, one.iops.point, "estimated") for ocid, one in estimates.items()} | {
                ocid: (minute, value, "measured") for ocid, (minute, value, _) in newest.items()
            }
        for ocid, (minute, value, source) in newest.items():
            target = inventory.mount_targets.get(ocid)
            limit: float | None = getattr(limits_of(target, settings), ceiling) if target else None
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
    return {
        "namespace": PUBLISHED_NAMESPACE,
        "compartmentId": target.compartment_id,
        "name": share.name,
        "dimensions": dimensions,
        "datapoints": [{"timestamp": time_stamp(share.minute), "value": share.value}],
        "metadata": {"unit": "ratio", "displayName": f"{share.name}, share of the ceiling"},
    }


@dataclass(eq=False, repr=False)
class Publisher:
    """The rounds of the loop `oci_publish`. A round posts the shares of each region soon after a poll."""

    regions: Callable[[], Sequence[RegionSnapshot]]  # the newest snapshots
    client: Callable[[str], CloudClient]  # calls in a region, by its name
    settings: Settings  # limits of mount targets; may be replaced while the exporter runs
    _: KW_ONLY
    failures: Callable[[str], FailureLog]  # log of failed posts of a region, by its name
    now: Callable[[], float]  # epoch seconds
    _polled: dict[str, float] = field(default_factory=dict, init=False)
    _posted: dict[tuple[str, str], int] = field(default_factory=dict, init=False)
    _incomplete: set[str] = field(default_factory=set, init=False)  # regions with a refused share since the last poll

    def run_round(self) -> None:
        """Post the shares of polls since the last round.

        Raises:
            SourceError: not everything was posted since the last poll.
            EndLoop: the exporter stops.
        """
        self.publish()
        if self._incomplete:
            raise SourceError(f"not all shares could be posted: {', '.join(sorted(self._incomplete))}")

    def publish(self) -> int:
        """Post the shares of new polls, and return how many shares OCI took."""
        taken = 0
        for region in self.regions():
            ended = region.poll.ended if region.poll else None
            if ended is not None and self._polled.get(region.region) != ended:
                self._polled[region.region] = ended
                taken += self._publish(region)
        return taken

    def _publish(self, region: RegionSnapshot) -> int:
        failures = self.failures(region.region)
        oldest = self.now() - _OLDEST_SECONDS
        fresh = [
            share
            for share in shares(region, self.settings)
            if share.minute >= oldest and share.minute > self._posted.get(share.key, 0)
        ]
        taken = 0
        for start in range(0, len(fresh), MOST_POSTED_STREAMS):
            part = fresh[start : start + MOST_POSTED_STREAMS]
            try:
                refused = self.client(region.region).post_metric_data([metric_data(share) for share in part])
            except CloudError as error:
                failures.failed("PostMetricData", error)
                continue
            if refused:  # perhaps a part only; all of them are posted again after the next poll
                number = f"{len(refused)} of {len(part)} streams were refused, the first: {refused[0]}"
                message = f"PostMetricData in {region.region}: {number}"
                failures.failed("PostMetricData", BrokenAnswer(message, operation="PostMetricData"))
            else:
                taken += len(part)
                self._posted |= {share.key: share.minute for share in part}
        if taken < len(fresh):
            self._incomplete.add(region.region)
        else:
            self._incomplete.discard(region.region)
        failures.end_round()
        return taken
