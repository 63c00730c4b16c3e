# SPDX-License-Identifier: Apache-2.0
"""Look in the minutes of each mount target for plateaus of its load, and keep them in the ledger over weeks. One region.

Offered load is the number of requests in flight at the server, by Little's law: requests a second times their latency. The latency is
a multiple of the objective of each kind of requests, so that larger requests alone are not slower. A restart forgets the minutes of an
unfinished plateau, and keeps what was found.
"""

from array import array
from collections.abc import Iterator, Mapping
from math import isnan, nan
from typing import Final

from fss_exporter.model.limits import Limits
from fss_exporter.model.minute_verdict import MountTargetMinute
from fss_exporter.model.observed_ceiling import (
    WINDOW_MINUTES,
    LoadMinute,
    LoadRecord,
    ObservedCeiling,
    Reason,
    bottlenecks,
)
from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import MINUTE, Ledger, ObservedLoads
from fss_exporter.oci.minutes.load_history import CEILINGS, Resource, Source

# Resources whose ceiling is looked for. A mount target refuses connections above the ceiling, and none waits.
OBSERVED: Final[tuple[Resource, ...]] = ("iops", "read_bandwidth", "write_bandwidth")

_LOOK_MINUTES: Final = 5  # new minutes of a mount target between two looks, because a look costs a millisecond


class _NewestMinutes:
    """The newest minutes of one mount target, in arrays of one length, because there may be thousands of mount targets."""

    def __init__(self, unseen: int) -> None:
        self._ends = array("q", [0] * WINDOW_MINUTES)
        self._figures = {name: array("d", [nan] * WINDOW_MINUTES) for name in (*OBSERVED, "latency", "in flight")}
        self.unseen = unseen  # minutes since the last look
        self.reasons: dict[Resource, Reason] = {}

    def note(self, minute: int, name: str, value: float, *, replaces: bool = True) -> None:
        """Note a figure of a minute. A minute that is older than the others is left out."""
        place = minute // MINUTE % WINDOW_MINUTES
        if self._ends[place] < minute:
            self._ends[place] = minute
            for figures in self._figures.values():
                figures[place] = nan
        figures = self._figures[name]
        if self._ends[place] == minute and (replaces or isnan(figures[place])):
            figures[place] = value

    def minutes(self, resource: Resource, record: LoadRecord, now_minute: int) -> Iterator[LoadMinute]:
        """Yield the minutes with all figures that can belong to a plateau, oldest first."""
        names = (resource, "latency", "in flight")
        loads, latencies, in_flight = (self._figures[name] for name in names)
        oldest = now_minute - WINDOW_MINUTES * MINUTE
        for end, place in sorted((end, place) for place, end in enumerate(self._ends) if oldest < end <= now_minute):
            load = loads[place]
            if load > 0 and not isnan(latencies[place]) and record.matters(load):
                yield LoadMinute(end, load, latencies[place], in_flight[place])


class ObservedCeilings:
    """The mount targets of one region.

    Args:
        ledger: keeps what was found.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._kept = ledger.observed
        self._newest: dict[str, _NewestMinutes] = {}

    def add(self, target: str, resource: Resource, source: Source, points: Points) -> None:
        """Add minutes of one resource. What is measured replaces an estimate. A mount target that was always idle has no minutes."""
        newest = self._newest.get(target)
        if resource not in OBSERVED or (newest is None and not any(points.values())):
            return
        if newest is None:
            # not all mount targets are looked at in one poll
            newest = self._newest[target] = _NewestMinutes(len(self._newest) % _LOOK_MINUTES)
        for minute, load in points.items():
            newest.note(minute, resource, load, replaces=source == "measured")

    def judged(self, target: str, minute: int, judged: MountTargetMinute) -> None:
        """Add the requests of a judged minute. `minute` is its end, epoch seconds."""
        newest = self._newest.get(target)
        if newest is None:
            return
        newest.unseen += 1
        answered = [
            (request.rate, request.latency, request.objective)
            for request in judged.requests or ()
            if request.latency is not None
        ]
        rate = sum(rate for rate, _, _ in answered)
        if rate > 0:
            newest.note(minute, "latency", sum(rate * latency / good for rate, latency, good in answered) / rate)
            newest.note(minute, "in flight", sum(rate * latency for rate, latency, _ in answered))

    def look(self, stated: Mapping[str, tuple[str, Limits]], now_minute: int) -> None:
        """Look at the mount targets with new minutes.

        Args:
            stated: shape and stated ceilings of each mount target by OCID. Another shape begins anew.
            now_minute: end of the newest complete minute, epoch seconds.
        """
        self._newest = {target: newest for target, newest in self._newest.items() if target in stated}
        for target, newest in self._newest.items():
            shape, limits = stated[target]
            kept = self._kept.get(target)
            if kept is None or kept.shape != shape:
                kept = self._kept[target] = ObservedLoads(shape)
            if newest.unseen >= _LOOK_MINUTES:
                newest.unseen = 0
                self._look(newest, kept, limits, now_minute)
        for target in [target for target in self._kept if target not in stated]:
            self._forget(target, now_minute)

    def of(self, target: str) -> Mapping[Resource, ObservedCeiling | Reason]:
        """Return the observed ceiling of each resource of a mount target, or why there is none."""
        kept, newest = self._kept.get(target), self._newest.get(target)
        answers: dict[Resource, ObservedCeiling | Reason] = {}
        for resource in OBSERVED:
            record = (kept.resources.get(resource) if kept else None) or LoadRecord()
            of_minutes: Reason = (newest.reasons.get(resource) if newest else None) or "too few minutes"
            answers[resource] = record.ceiling() or record.reason(of_minutes)
        return answers

    def _look(self, newest: _NewestMinutes, kept: ObservedLoads, limits: Limits, now_minute: int) -> None:
        for resource in OBSERVED:
            record = kept.of(resource)
            minutes = list(newest.minutes(resource, record, now_minute))
            newest.reasons[resource] = record.add(minutes, now_minute)
        stated: dict[str, float | None] = {resource: getattr(limits, CEILINGS[resource]) for resource in OBSERVED}
        bottlenecks(kept.resources, stated)

    def _forget(self, target: str, now_minute: int) -> None:
        """Keep what was found of a mount target that is not listed, for as long as it would be kept anyway."""
        records = self._kept[target].resources.values()
        for record in records:
            record.add((), now_minute)
        if not any(record.served for record in records):
            del self._kept[target]


def observed_limits(observed: Mapping[Resource, ObservedCeiling | Reason]) -> Mapping[str, float]:
    """Return the observed ceilings by field of `Limits`."""
    return {
        CEILINGS[resource]: found.value for resource, found in observed.items() if isinstance(found, ObservedCeiling)
    }
