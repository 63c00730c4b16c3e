# SPDX-License-Identifier: Apache-2.0
"""Query the minutes of one mount target from OCI Monitoring until every minute has arrived."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from math import inf
from typing import Final

from fss_exporter.errors import CloudError
from fss_exporter.oci import mql_writer
from fss_exporter.oci.cloud_client import CloudClient, MetricRequest, Scope
from fss_exporter.oci.iam import NAMESPACE
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.metrics.series_store import MinuteStamps
from fss_toolbox.calibrate.calibration_run import CountedMinute, WallClock
from fss_toolbox.calibrate.calibration_steps import PAST_THE_END

_ASK_EVERY_S: Final = 30.0

# Metric and further dimensions by procedure, where a tenancy has no MountTargetIOPS.
_PUBLISHED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "READ": ("FileSystemReadRequestsbySize", {}),
    "WRITE": ("FileSystemWriteRequestsbySize", {}),
    **{name: ("MetadataIOPS", {"operation": name}) for name in ("CREATE", "GETATTR", "REMOVE", "SETATTR")},
}


class OciMinutes:
    """Points of one mount target, by OCI's name of the minute.

    Args:
        client: client of the region.
        target: mount target whose points are read.
        clock: clock of the waits.
    """

    def __init__(self, client: CloudClient, target: MountTarget, clock: WallClock) -> None:
        self._client = client
        self._target = target
        self._clock = clock

    def connections(self) -> float | None:
        """NFS connections in the newest published minute. None where nothing is published."""
        minute = int(self._clock.now() // 60)
        points = self._gauge("MountTargetConnections", minute - 10, minute)
        return points[max(points)] if points else None

    def publishes_iops(self, patience_s: float) -> bool:
        """Whether the tenancy has MountTargetIOPS for the mount target."""
        minute = int(self._clock.now() // 60)
        return bool(self._until_answered(lambda: self._gauge("MountTargetIOPS", minute - 15, minute), patience_s))

    def _gauge(self, metric: str, first: int, last: int) -> dict[int, float]:
        return self._points(metric, METRICS[metric].statistic, {"resourceId": self._target.id}, first, last)

    def io_operations(self, minutes: Iterable[CountedMinute], patience_s: float) -> dict[int, float]:
        """Return the I/O operations of each minute, and of the minute before and after.

        Minutes that are later than `patience_s` are absent.
        """
        wanted = {minute.minute for minute in minutes}
        ask = partial(self._gauge, "MountTargetIOPS", min(wanted) - 1, max(wanted) + 1)
        points = self._until_answered(ask, patience_s, wanted)
        return {name: iops * 60 for name, iops in points.items()}

    def minutes_with_others(self, minutes: Iterable[CountedMinute], own: int, patience_s: float) -> set[int]:
        """Return the minutes in which the mount target has more than `own` connections, or OCI does not say how many."""
        wanted = {minute.minute for minute in minutes}
        first, last = min(wanted) - 1, max(wanted) + 1
        ask = partial(self._gauge, "MountTargetConnections", first, last)
        connected = self._until_answered(ask, patience_s, wanted)
        return {name for name in range(first, last + 1) if connected.get(name, inf) > own}

    def requests(self, minutes: Iterable[CountedMinute], patience_s: float) -> dict[tuple[str, int], float]:
        """Requests of each step and minute, for steps whose procedure OCI publishes, with a minute before and after."""
        by_step: dict[str, set[int]] = {}
        for minute in minutes:
            by_step.setdefault(minute.step, set()).add(minute.minute)
        requests = {}
        deadline = self._clock.now() + patience_s
        for step, wanted in by_step.items():
            metric, where = _PUBLISHED.get(step.split()[0], ("", {}))
            if metric and step != PAST_THE_END:
                of = {"mountTargetId": self._target.id, **where}
                ask = partial(self._points, metric, "sum", of, min(wanted) - 1, max(wanted) + 1)
                for name, rate in self._until_answered(ask, deadline - self._clock.now(), wanted).items():
                    requests[step, name] = rate * 60
        return requests

    def _until_answered(
        self, ask: Callable[[], dict[int, float]], patience_s: float, wanted: Collection[int] = ()
    ) -> dict[int, float]:
        """Return an answer with every wanted minute, or the last answer.

        A failed call is repeated, because the work of an hour is done.
        """
        deadline = self._clock.now() + patience_s
        while True:
            try:
                answer = ask()
                if answer.keys() >= set(wanted) or self._clock.now() >= deadline:
                    return answer
            except CloudError:
                if self._clock.now() >= deadline:
                    raise
            self._clock.wait_until(min(deadline, self._clock.now() + _ASK_EVERY_S))

    def _points(self, metric: str, statistic: str, where: Mapping[str, str], first: int, last: int) -> dict[int, float]:
        """Return the values of all streams together. Damaged points are left out."""
        query = mql_writer.query(metric, 1, statistic, where=where, group_by=())
        request = MetricRequest(Scope(self._target.compartment_id), NAMESPACE, query, first * 60, last * 60 + 60)
        stamps, points = MinuteStamps(), {}
        for stream in filter(None, self._client.summarize(request)):
            for point in stream.points:
                with suppress(ValueError):
                    points[stamps[point.timestamp] // 60] = point.value
        return points
