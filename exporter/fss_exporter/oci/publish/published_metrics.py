# SPDX-License-Identifier: Apache-2.0
"""What MQL cannot compute: shares of a ceiling, latency and success by requests, and waiting clients, as custom metrics. Pure.

OCI's alarms can neither divide by a ceiling, nor weight one metric by another, nor see a client. Every point has the time stamp of its
own minute, so old data never look new. What is not known is not posted: no share without a load of OCI and a ceiling, and no latency or
success of a minute with less than one request a second, unless all of three or more fail. The state is that of the poll, and says
itself if it is not known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fss_exporter.model.limits import shape_of
from fss_exporter.model.state import State
from fss_exporter.oci.cloud_client import time_stamp
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE
from fss_exporter.oci.inventory.mount_target_settings import limits_of
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.oci.ledger import newest_complete
from fss_exporter.oci.minutes.resource_loads import CEILINGS, Resource
from fss_exporter.oci.rows.mount_target_states import judged_mount_targets
from fss_exporter.oci.snapshot import RegionSnapshot
from fss_exporter.settings import Settings

_UTILIZATION: Final[Mapping[Resource, str]] = {
    "iops": "IopsUtilization",
    "read_bandwidth": "ReadUtilization",
    "write_bandwidth": "WriteUtilization",
    "connections": "ConnectionsUtilization",
}
_SOURCES: Final = {"measured": "measured", "oci": "estimated"}
_LATENCY: Final = "LatencyRatio"
_SUCCESS: Final = "SuccessRatio"
CLIENT_WAITING: Final = "ClientWaiting"

AGENT_POSTS: Final = "AgentPosts"  # metric with which an agent tries whether it can post. No alarm reads it

# Names of the posted metrics that alarms read. Agents post only the last one.
POLLER_METRICS: Final = (*_UTILIZATION.values(), _LATENCY, _SUCCESS)
PUBLISHED_METRICS: Final = (*POLLER_METRICS, CLIENT_WAITING)

# The state of a mount target by what OCI says, as a number of `model.state.State`. No shipped alarm reads it.
STATE: Final = "State"

_TITLES: Final[Mapping[str, str]] = {
    **{name: f"{name}, share of the ceiling" for name in _UTILIZATION.values()},
    _LATENCY: "Latency of the slowest kind of requests as a multiple of the objective",
    _SUCCESS: "Share of successful requests",
    CLIENT_WAITING: "Share of the minute in which requests of a client waited for a reply",
    STATE: "State: " + ", ".join(f"{state:d} {state.word}" for state in State),
    AGENT_POSTS: "1 if the agent can post",
}


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """One minute of one posted stream."""

    name: str  # one of `PUBLISHED_METRICS`, `STATE` or `AGENT_POSTS`
    compartment_id: str  # OCID of the compartment that the metric belongs to
    dimensions: tuple[tuple[str, str], ...]  # names and values
    minute: int  # epoch seconds of its end
    value: float  # a ratio, or the number of a state
    subject: str  # OCID of the mount target, address that a client mounts, or host

    @property
    def key(self) -> tuple[str, str]:
        """Identity of a point, which is posted once a minute. A mount target that changes its source does not count twice."""
        return self.name, self.subject


def points_of(region: RegionSnapshot, settings: Settings) -> Iterator[PublishedPoint]:
    """Yield the newest point of everything that the snapshot of a region knows."""
    inventory, poll = region.inventory.inventory, region.poll
    if inventory is None or poll is None:
        return
    for ocid, figures in poll.targets.items():
        target = inventory.mount_targets.get(ocid)
        if target is None:
            continue
        limits = limits_of(target, settings, figures.observed_limits)
        for load in figures.loads:
            limit: float | None = getattr(limits, CEILINGS[load.resource])
            if limit:
                source = _SOURCES[load.source] if load.resource == "iops" else ""
                yield _of_target(_UTILIZATION[load.resource], target, load.minute, load.newest / limit, source)
        if (judged := figures.judged) is not None:
            success = None if judged.is_idle and judged.success else judged.success  # too few requests for a share
            for name, value in ((_LATENCY, judged.latency_ratio), (_SUCCESS, success)):
                if value is not None:
                    yield _of_target(name, target, judged.minute, value)

    for target, judgement in judged_mount_targets(region, settings, poll.ended):
        yield _of_target(STATE, target, newest_complete(poll.ended), float(judgement.state))


def _of_target(name: str, target: MountTarget, minute: int, value: float, source: str = "") -> PublishedPoint:
    dimensions = {
        "mountTargetId": target.id,
        "mountTarget": target.name,
        "shape": shape_of(target.observed_throughput_gbps).name,
        **({"source": source} if source else {}),
    }
    return PublishedPoint(name, target.compartment_id, tuple(dimensions.items()), minute, value, target.id)


def metric_data(point: PublishedPoint) -> dict[str, Any]:
    """MetricDataDetails of a point."""
    return {
        "namespace": PUBLISHED_NAMESPACE,
        "compartmentId": point.compartment_id,
        "name": point.name,
        "dimensions": dict(point.dimensions),
        "datapoints": [{"timestamp": time_stamp(point.minute), "value": point.value}],
        "metadata": {"unit": "state" if point.name == STATE else "ratio", "displayName": _TITLES[point.name]},
    }
