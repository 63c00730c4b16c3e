# SPDX-License-Identifier: Apache-2.0
"""The minutes of one mount target, and what a verdict reads of them. Pure."""

from collections.abc import Container, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from fss_exporter.model import minute_verdict
from fss_exporter.model.minute_verdict import MountTargetMinute, RequestKind, RequestStream, Served
from fss_exporter.model.observed_ceiling import Reason
from fss_exporter.oci.ledger import Key, Minutes
from fss_exporter.oci.minute_metrics import (
    CONNECTIONS,
    HEALTH,
    IOPS,
    JUDGED_BY,
    LATENCY_OF,
    METADATA,
    READ_THROUGHPUT,
    READS,
    REQUESTS,
    WRITE_THROUGHPUT,
    WRITES,
)
from fss_exporter.oci.minutes.figure_window import FigureWindow
from fss_exporter.oci.minutes.open_minutes import OpenMinutes, without_latency
from fss_exporter.oci.minutes.resource_loads import Resource
from fss_exporter.oci.minutes.target_figures import Estimate, Judged

# Resource by own metric.
MEASURED: Final[Mapping[str, Resource]] = {
    IOPS: "iops",
    READ_THROUGHPUT: "read_bandwidth",
    WRITE_THROUGHPUT: "write_bandwidth",
    CONNECTIONS: "connections",
}
_KINDS: Final = {READS: "read", WRITES: "write", METADATA: "metadata"}


@dataclass(slots=True)
class TargetMinutes:
    """The points of the minutes that are not judged, the figures of the last three hours, and what became of them."""

    open: OpenMinutes
    figures: FigureWindow = field(default_factory=FigureWindow)
    systems: AbstractSet[str] = frozenset()  # OCIDs of the file systems behind the mount target
    estimated: Minutes | None = None  # estimated minutes. None while there is nothing to estimate
    estimate: Estimate | None = None
    judged: Judged | None = None
    # of the newest minutes, by their end
    latencies: dict[int, Mapping[RequestKind, Served]] = field(default_factory=dict)
    since_plateaus: int = 0  # judged minutes since plateaus were looked for
    reasons: Mapping[Resource, Reason] = field(default_factory=dict)  # why a resource has no plateau

    def missing(self, minute: int, answered: Mapping[str, int], now_minute: int) -> AbstractSet[str]:
        """Return the metrics that the verdict on a minute still lacks.

        `answered` has the newest minute of the last answered query of each metric that the tenancy has. Times are epoch seconds.
        """
        missing = {name for name in JUDGED_BY & answered.keys() if answered[name] < minute}
        if not self._is_reported(minute):
            return {CONNECTIONS, *JUDGED_BY}
        if late := self.open.late(minute, self.systems, REQUESTS, now_minute):
            return {*missing, *late, HEALTH, *(LATENCY_OF[name] for name in late)}
        values = self.open.values(minute)
        rate = sum(value for place, value in values.items() if place[0] in REQUESTS)
        if rate >= minute_verdict.LEAST_REQUESTS:
            missing |= without_latency(values)
        if minute_verdict.needs_success(rate) and HEALTH in answered and (HEALTH,) not in values:
            missing.add(HEALTH)
        return missing

    def minute(
        self, minute: int, missing: Container[str], objectives: Mapping[tuple[str, str], float]
    ) -> MountTargetMinute:
        """Return what is known of a minute. A metric of requests that is wholly missing makes the requests unknown."""
        values = self.open.values(minute)
        percent = values.get((HEALTH,))
        success = None if percent is None else percent / 100
        sent = {place[0] for place in values}
        if not self._is_reported(minute) or any(name in missing and name not in sent for name in REQUESTS):
            return MountTargetMinute(None, success)
        return MountTargetMinute(tuple(_requests(values, objectives)), success)

    def _is_reported(self, minute: int) -> bool:
        """Return whether OCI sent any own metric of the mount target in a minute."""
        known = (self.figures.value(resource, minute) for resource in MEASURED.values())
        return any(value is not None for value in known) or (HEALTH,) in self.open.values(minute)


def _requests(values: Mapping[Key, float], objectives: Mapping[tuple[str, str], float]) -> Iterator[RequestStream]:
    for (metric, *place), rate in values.items():
        if metric not in LATENCY_OF:
            continue
        system, dimension = place
        kind = _KINDS[metric]
        size = "" if metric == METADATA else dimension
        objective = objectives.get((kind, size))
        if objective is not None:
            latency = values.get((LATENCY_OF[metric], *place))
            yield RequestStream(RequestKind(system, kind, size), rate, latency, objective)
