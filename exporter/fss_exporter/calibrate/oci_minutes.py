"""Query the minutes of one mount target from OCI Monitoring until every minute has arrived."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from fss_exporter.calibrate.calibration_run import CountedMinute, WallClock
from fss_exporter.calibrate.calibration_steps import PAST_THE_END
from fss_exporter.errors import CloudError
from fss_exporter.oci.client import Session
from fss_exporter.oci.oci_inventory import MountTarget

_NAMESPACE: Final = "oci_filestorage"
_ASK_EVERY_S: Final = 30.0
_PUBLISHED: Final = {
    "READ": ("FileSystemReadRequestsbySize", ""),
    "WRITE": ("FileSystemWriteRequestsbySize", ""),
    **{name: ("MetadataIOPS", name) for name in ("CREATE", "GETATTR", "REMOVE", "SETATTR")},
}
"""Metric and value of dimension `operation` by procedure, where a tenancy has no MountTargetIOPS."""


class OciMinutes:
    """Points of one mount target by the minute that ends at the point. The session is of the region."""

    def __init__(self, session: Session, target: MountTarget, clock: WallClock) -> None:
        self._session = session
        self._target = target
        self._clock = clock

    def connections(self) -> float | None:
        """NFS connections in the newest published minute. None where nothing is published."""
        minute = int(self._clock.now() // 60)
        found = self._gauge("MountTargetConnections", minute - 10, minute)
        return found[max(found)] if found else None

    def publishes_iops(self, patience_s: float) -> bool:
        """Whether the tenancy has MountTargetIOPS for the mount target."""
        minute = int(self._clock.now() // 60)
        return bool(self._until_answered(lambda: self._gauge("MountTargetIOPS", minute - 15, minute), patience_s))

    def _gauge(self, metric: str, first: int, last: int) -> dict[int, float]:
        return self._points(f'{metric}[1m]{{resourceId = "{self._target.id}"}}.max()', first, last)

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
        deadline = self._clock.now() + patience_s
        for step, wanted in by_step.items():
            metric, operation = _PUBLISHED.get(step.split()[0], ("", ""))
            if metric and step != PAST_THE_END:
                of = f'mountTargetId = "{self._target.id}"' + (f', operation = "{operation}"' if operation else "")
                query = f"{metric}[1m]{{{of}}}.grouping().sum()"
                ask = partial(self._points, query, min(wanted), max(wanted))
                for minute, rate in self._until_complete(ask, wanted, deadline - self._clock.now()).items():
                    found[step, minute] = rate * 60
        return found

    def _until_complete(
        self, ask: Callable[[], dict[int, float]], wanted: set[int], patience_s: float
    ) -> dict[int, float]:
        deadline = self._clock.now() + patience_s
        while True:
            answer = self._until_answered(ask, deadline - self._clock.now())
            found = {minute: value for minute, value in answer.items() if minute in wanted}
            if found.keys() >= wanted or self._clock.now() >= deadline:
                return found
            self._clock.wait_until(min(deadline, self._clock.now() + _ASK_EVERY_S))

    def _until_answered(self, ask: Callable[[], dict[int, float]], patience_s: float) -> dict[int, float]:
        """Return the answer. A failed call is repeated, because the work of an hour is done."""
        deadline = self._clock.now() + patience_s
        while True:
            try:
                return ask()
            except CloudError:
                if self._clock.now() >= deadline:
                    raise
            self._clock.wait_until(min(deadline, self._clock.now() + _ASK_EVERY_S))

    def _points(self, query: str, first: int, last: int) -> dict[int, float]:
        details = {
            "namespace": _NAMESPACE,
            "query": query,
            "startTime": _stamp(first),
            "endTime": _stamp(last + 1),
            "resolution": "1m",
        }
        answer = self._session.call("monitoring", "summarize_metrics_data", self._target.compartment_id, details)
        streams: list[Mapping[str, Any]] = answer.data if isinstance(answer.data, list) else []
        points = [point for stream in streams for point in stream.get("aggregatedDatapoints", ())]
        return {_minute_of(point["timestamp"]): float(point["value"]) for point in points}


def _stamp(minute: int) -> str:
    return datetime.fromtimestamp(minute * 60, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _minute_of(stamp: str) -> int:
    return int(datetime.fromisoformat(stamp).timestamp() // 60)
