# SPDX-License-Identifier: Apache-2.0
"""Look in the minutes of each mount target for plateaus of its load, and keep them in the ledger over weeks. One region.

Offered load is the number of requests in flight at the server, by Little's law: requests a second times their latency. The latency is
a multiple of the objective of each kind of requests, so that larger requests alone are not slower. A restart forgets the minutes of an
unfinished plateau, and keeps what was found.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fss_exporter.model.limits import Limits
from fss_exporter.model.minute_verdict import MountTargetMinute
from fss_exporter.model.observed_ceiling import (
    WINDOW_MINUTES,
    LoadMinute,
    ObservedCeiling,
    Reason,
    bottlenecks,
)
from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import MINUTE, Ledger, ObservedLoads
from fss_exporter.oci.minutes.load_history import CEILINGS, Resource, Source

OBSERVED: Final[tuple[Resource, ...]] = ("iops", "read_bandwidth", "write_bandwidth")
"""Resources whose ceiling is looked for. A mount target refuses connections above the ceiling, and none waits."""

_LOOK_MINUTES: Final = 5  # new minutes of a mount target between two looks, because a look costs a millisecond


class _Requests(NamedTuple):
    """The requests of a mount target in one minute."""

    latency: float  # multiple of the objectives
    in_flight: float  # mean number


@dataclass(slots=True)
class _Newest:
    """The newest minutes of one mount target, by their end."""

    loads: dict[Resource, Points] = field(default_factory=lambda: {resource: {} for resource in OBSERVED})
    requests: dict[int, _Requests] = field(default_factory=dict)
    unseen: int = 0  # minutes since the last look
    reasons: dict[Resource, Reason] = field(default_factory=dict)


class ObservedCeilings:
    """The mount targets of one region.

    Args:
        ledger: keeps what was found.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._kept = ledger.observed
        self._newest: dict[str, _Newest] = {}

    def add(self, target: str, resource: Resource, source: Source, points: Points) -> None:
        """Add minutes of one resource. What is measured replaces an estimate."""
        loads = self._newest.setdefault(target, _Newest()).loads
        if resource in loads:
            loads[resource] = loads[resource] | points if source == "measured" else points | loads[resource]

    def judged(self, target: str, minute: int, judged: MountTargetMinute) -> None:
        """Add the requests of a judged minute. `minute` is its end, epoch seconds."""
        known = [request for request in judged.requests or () if request.latency is not None and request.rate > 0]
        rate = sum(request.rate for request in known)
        newest = self._newest.setdefault(target, _Newest())
        newest.unseen += 1
        if rate:
            latency = sum(request.rate * (request.latency or 0.0) / request.objective for request in known) / rate
            in_flight = sum(request.rate * (request.latency or 0.0) for request in known)
            newest.requests[minute] = _Requests(latency, in_flight)

    def look(self, shapes: Mapping[str, tuple[str, Limits]], now_minute: int) -> None:
        """Look at the mount targets with new minutes.

        Args:
            shapes: shape and stated ceilings of each mount target by OCID. Another shape begins anew.
            now_minute: end of the newest complete minute, epoch seconds.
        """
        self._newest = {target: newest for target, newest in self._newest.items() if target in shapes}
        for target, newest in self._newest.items():
            shape, limits = shapes[target]
            kept = self._kept.get(target)
            if kept is None or kept.shape != shape:
                kept = self._kept[target] = ObservedLoads(shape)
            if newest.unseen >= _LOOK_MINUTES:
                newest.unseen = 0
                self._look(newest, kept, limits, now_minute)
        for target in [target for target in self._kept if target not in shapes]:
            self._forget(target, now_minute)

    def of(self, target: str) -> Mapping[Resource, ObservedCeiling | Reason]:
        """Return the observed ceiling of each resource of a mount target, or why there is none."""
        kept, newest = self._kept.get(target), self._newest.get(target)
        answers: dict[Resource, ObservedCeiling | Reason] = {}
        for resource in OBSERVED:
            record = kept.resources.get(resource) if kept else None
            of_minutes: Reason = (newest.reasons.get(resource) if newest else None) or "too few minutes"
            found = record.ceiling() if record else None
            answers[resource] = found or (record.reason(of_minutes) if record else of_minutes)
        return answers

    def _look(self, newest: _Newest, kept: ObservedLoads, limits: Limits, now_minute: int) -> None:
        oldest = now_minute - WINDOW_MINUTES * MINUTE
        newest.requests = {end: requests for end, requests in newest.requests.items() if end > oldest}
        for resource, loads in newest.loads.items():
            record = kept.of(resource)
            newest.loads[resource] = {
                end: load for end, load in loads.items() if end > oldest and load > 0 and record.matters(load)
            }
            reason = record.add(list(_minutes(newest, resource)), now_minute)
            newest.reasons[resource] = reason
        stated: dict[str, float | None] = {resource: getattr(limits, CEILINGS[resource]) for resource in OBSERVED}
        bottlenecks(kept.resources, stated)

    def _forget(self, target: str, now_minute: int) -> None:
        """Keep what was found of a mount target that is not listed, for as long as it would be kept anyway."""
        records = self._kept[target].resources.values()
        for record in records:
            record.add((), now_minute)
        if not any(record.served for record in records):
            del self._kept[target]


def _minutes(newest: _Newest, resource: Resource) -> Iterator[LoadMinute]:
    loads = newest.loads[resource]
    for end in sorted(loads):
        requests = newest.requests.get(end)
        if requests is not None:
            yield LoadMinute(end, loads[end], requests.latency, requests.in_flight)


def observed_limits(observed: Mapping[Resource, ObservedCeiling | Reason]) -> Mapping[str, float]:
    """Return the observed ceilings by field of `Limits`."""
    return {
        CEILINGS[resource]: found.value for resource, found in observed.items() if isinstance(found, ObservedCeiling)
    }
