# SPDX-License-Identifier: Apache-2.0
"""The points of one mount target in the minutes that are not judged, and what is missing in a minute. Pure."""

from collections.abc import Container, Mapping, Set as AbstractSet
from typing import Final

from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import GIVE_UP_MINUTES, MINUTE, Key, Minutes
from fss_exporter.oci.minute_metrics import ESTIMATED_FROM, LATENCY_OF

_ALONE_SECONDS: Final = 4 * MINUTE


class OpenMinutes:
    """The points by minute and place, and the newest minute of each place. A place is metric, then file system and further dimensions.

    Args:
        judged_until: end of the newest minute that was judged before a restart, epoch seconds. None for a mount target that was never
            seen: no minute of its first poll is judged.
    """

    __slots__ = ("_estimated_until", "_judged_until", "_newest", "_values")

    def __init__(self, judged_until: int | None = None) -> None:
        self._judged_until = judged_until
        self._estimated_until = 0
        self._values: dict[int, dict[Key, float]] = {}
        self._newest: dict[Key, int] = {}

    def add(self, place: Key, points: Points) -> None:
        """Add points of one stream."""
        newest = max(points)
        if self._newest.get(place, 0) < newest:
            self._newest[place] = newest
        until = self._estimated_until if place[0] in ESTIMATED_FROM else self._judged_until
        if until is None:
            return
        for minute, value in points.items():
            if minute > until:
                values = self._values.get(minute)
                if values is None:
                    values = self._values[minute] = {}
                values[place] = value

    def minutes(self) -> list[int]:
        """Return the ends of all minutes with points, oldest first."""
        return sorted(self._values)

    def values(self, minute: int) -> Mapping[Key, float]:
        """Return the values of one minute by place."""
        return self._values.get(minute, {})

    def close(self, judged: Minutes, estimated: Minutes, now_minute: int) -> None:
        """Drop the points of minutes that are judged and estimated or too old, and streams that ended."""
        oldest = now_minute - GIVE_UP_MINUTES * MINUTE
        self._judged_until = judged.floor
        self._estimated_until = min(judged.floor, estimated.floor)
        for minute in list(self._values):
            if minute < oldest or (judged.has(minute) and estimated.has(minute)):
                del self._values[minute]
        if any(newest < oldest for newest in self._newest.values()):
            self._newest = {place: newest for place, newest in self._newest.items() if newest >= oldest}

    def late(self, minute: int, systems: Container[str], metrics: Container[str], now_minute: int) -> AbstractSet[str]:
        """Return those of some metrics whose streams a minute lacks although OCI sent them lately.

        `systems` are the file systems behind the mount target. The wait for one stream beside others of the metric and file system
        ends after four minutes, because OCI may have stopped it. Times are epoch seconds.
        """
        values, since = self.values(minute), minute - GIVE_UP_MINUTES * MINUTE
        sent = {place[:2] for place in values} if minute < now_minute - _ALONE_SECONDS else ()
        return {
            place[0]
            for place, newest in self._newest.items()
            if newest >= since and place[0] in metrics and place[1] in systems
            if place not in values and place[:2] not in sent
        }


def without_latency(values: Mapping[Key, float]) -> AbstractSet[str]:
    """Return the metrics of latencies that a minute lacks although there were requests."""
    return {
        LATENCY_OF[metric]
        for (metric, *place), rate in values.items()
        if metric in LATENCY_OF and rate > 0 and (LATENCY_OF[metric], *place) not in values
    }
