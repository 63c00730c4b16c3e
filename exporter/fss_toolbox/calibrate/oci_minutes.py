"""Query the minutes of one mount target from OCI Monitoring until every minute has arrived."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from fss_exporter.errors import CloudError
from fss_exporter.oci import mql
from fss_exporter.oci.cloud_client import CloudClient, MetricRequest, Scope
from fss_exporter.oci.iam import NAMESPACE
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.oci_inventory import MountTarget
from fss_exporter.oci.series_store import MinuteStamps
from fss_toolbox.calibrate.calibration_run import CountedMinute, WallClock
from fss_toolbox.calibrate.calibration_steps import PAST_THE_END

_ASK_EVERY_S: Final = 30.0
_PUBLISHED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "READ": ("FileSystemReadRequestsbySize", {}),
    "WRITE": ("FileSystemWriteRequestsbySize", {}),
    **{name: ("MetadataIOPS", {"operation": name}) for name in ("CREATE", "GETATTR", "REMOVE", "SETATTR")},
}
"""Metric and further dimensions by procedure, where a tenancy has no MountTargetIOPS."""


@dataclass(eq=False, repr=False)
class OciMinutes:
    """Points of one mount target by the minute that ends at the point."""

    client: CloudClient  # of the region
    target: MountTarget
    clock: WallClock

    def connections(self) -> float | None:
        """NFS connections in the newest published minute. None where nothing is published."""
        minute = int(self.clock.now() // 60)
        found = self._gauge("MountTargetConnections", minute - 10, minute)
        return found[max(found)] if found else None

    def publishes_iops(self, patience_s: float) -> bool:
        """Whether the tenancy has MountTargetIOPS for the mount target."""
        minute = int(self.clock.now() // 60)
        return bool(self._until_answered(lambda: self._gauge("MountTargetIOPS", minute - 15, minute), patience_s))

    def _gauge(self, metric: str, first: int, last: int) -> dict[int, float]:
        return self._points(metric, METRICS[metric].statistic, {"resourceId": self.target.id}, first, last)

    def io_operations(self, minutes: Iterable[CountedMinute], patience_s: float) -> dict[int, float]:
        """Return the I/O operations of each minute. Minutes that are later than `patience_s` are absent."""
        wanted = {one.minute for one in minutes}
        ask = partial(self._gauge, "MountTargetIOPS", min(wanted), max(wanted))
        found = self._until_complete(ask, wanted, patience_s)
        return {minute: iops * 60 for minute, iops in found.items()}

    def requests(self, minutes: Iterable[CountedMinute], patience_s: float) -> dict[tuple[str, int], float]:
        """Requests of each step and minute, for steps whose procedure OCI publishes."""
        by_step: dict[str, set[int]] = {}
        for one in minutes:
            by_step.setdefault(one.step, set()).add(one.minute)
        found = {}
        deadline = self.clock.now() + patience_s
        for step, wanted in by_step.items():
            metric, where = _PUBLISHED.get(step.split()[0], ("", {}))
            if metric and step != PAST_THE_END:
                of = {"mountTargetId": self.target.id, **where}
                ask = partial(self._points, metric, "sum", of, min(wanted), max(wanted))
                for minute, rate in self._until_complete(ask, wanted, deadline - self.clock.now()).items():
                    found[step, minute] = rate * 60
        return found

    def _until_complete(
        self, ask: Callable[[], dict[int, float]], wanted: set[int], patience_s: float
    ) -> dict[int, float]:
        deadline = self.clock.now() + patience_s
        while True:
            answer = self._until_answered(ask, deadline - self.clock.now())
            found = {minute: value for minute, value in answer.items() if minute in wanted}
            if found.keys() >= wanted or self.clock.now() >= deadline:
                return found
            self.clock.wait_until(min(deadline, self.clock.now() + _ASK_EVERY_S))

    def _until_answered(self, ask: Callable[[], dict[int, float]], patience_s: float) -> dict[int, float]:
        """Return the answer. A failed call is repeated, because the work of an hour is done."""
        deadline = self.clock.now() + patience_s
        while True:
            try:
                return ask()
            except CloudError:
                if self.clock.now() >= deadline:
                    raise
            self.clock.wait_until(min(deadline, self.clock.now() + _ASK_EVERY_S))

    def _points(self, metric: str, statistic: str, where: Mapping[str, str], first: int, last: int) -> dict[int, float]:
        """Return the values of all streams together. Damaged points are left out."""
        query = str(mql.query(metric, 1, statistic, where=where, group_by=()))
        request = MetricRequest(Scope(self.target.compartment_id), NAMESPACE, query, first * 60, last * 60 + 60)
        stamps, found = MinuteStamps(), {}
        for stream in filter(None, self.client.summarize(request)):
            for point in stream.points:
                with suppress(ValueError):
                    found[stamps[point.timestamp] // 60] = point.value
        return found
