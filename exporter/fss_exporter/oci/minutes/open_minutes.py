# SPDX-License-Identifier: Apache-2.0
"""The points of each mount target in the minutes that are not judged, and what is missing in a minute. Pure."""

from collections.abc import Callable, Container, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import GIVE_UP_MINUTES, MINUTE, Key, Minutes
from fss_exporter.oci.minute_metrics import ESTIMATED_FROM, HEALTH, LATENCY_OF, OWN

_ALONE_SECONDS: Final = 4 * MINUTE


@dataclass(slots=True)
class _TargetMinutes:
    """The points of one mount target by minute and place, and the newest minute of each place."""

    values: dict[int, dict[Key, float]] = field(default_factory=dict)
    newest: dict[Key, int] = field(default_factory=dict)
    judged_until: int | None = None  # None: no minute of the first poll is judged
    estimated_until: int = 0


class OpenMinutes:
    """The points of all mount targets of a region. A place is metric, then file system and further dimensions.

    Args:
        judged_before: returns the end of the newest minute of a mount target that was judged before a restart, epoch seconds. None for
            a mount target that was never seen: no minute of its first poll is judged.
    """

    def __init__(self, judged_before: Callable[[str], int | None] = lambda _: None) -> None:
        self._judged_before = judged_before
        self._targets: dict[str, _TargetMinutes] = {}

    def add(self, metric: str, key: Key, points: Points) -> None:
        """Add points of one stream, whose key begins with the OCID of the mount target."""
        held = self._targets.get(key[0])
        if held is None:
            held = self._targets[key[0]] = _TargetMinutes(judged_until=self._judged_before(key[0]))
        place = (metric, *key[1:])
        newest = max(points)
        if held.newest.get(place, 0) < newest:
            held.newest[place] = newest
        until = held.judged_until
        if metric in ESTIMATED_FROM:
            until = held.estimated_until
        if until is None:
            return
        for minute, value in points.items():
            if minute > until:
                values = held.values.get(minute)
                if values is None:
                    values = held.values[minute] = {}
                values[place] = value

    def minutes(self, target: str) -> list[int]:
        """Return the ends of all minutes with points, oldest first."""
        held = self._targets.get(target)
        return sorted(held.values) if held else []

    def values(self, target: str, minute: int) -> Mapping[Key, float]:
        """Return the values of one minute by place."""
        held = self._targets.get(target)
        return held.values.get(minute, {}) if held else {}

    def close(self, target: str, judged: Minutes, estimated: Minutes, now_minute: int) -> None:
        """Drop the points of minutes that are judged and estimated or too old, and streams that ended."""
        held = self._targets.get(target)
        if held is None:
            return
        oldest = now_minute - GIVE_UP_MINUTES * MINUTE
        held.judged_until = judged.floor
        held.estimated_until = min(judged.floor, estimated.floor)
        for minute in list(held.values):
            if minute < oldest or (judged.has(minute) and estimated.has(minute)):
                del held.values[minute]
        if any(newest < oldest for newest in held.newest.values()):
            held.newest = {place: newest for place, newest in held.newest.items() if newest >= oldest}

    def forget(self, targets: Container[str]) -> None:
        """Drop mount targets that are not among `targets`."""
        self._targets = {target: held for target, held in self._targets.items() if target in targets}

    def late(
        self, target: str, minute: int, systems: Container[str], metrics: Container[str], now_minute: int
    ) -> AbstractSet[str]:
        """Return those of some metrics whose streams a minute lacks although OCI sent them lately.

        `systems` are the file systems behind the mount target. The wait for one stream beside others of the metric and file system
        ends after four minutes, because OCI may have stopped it. Times are epoch seconds.
        """
        held = self._targets.get(target)
        if held is None:
            return frozenset()
        values, since = held.values.get(minute, {}), minute - GIVE_UP_MINUTES * MINUTE
        sent = {place[:2] for place in values} if minute < now_minute - _ALONE_SECONDS else ()
        return {
            place[0]
            for place, newest in held.newest.items()
            if newest >= since and place[0] in metrics and place[1] in systems
            if place not in values and place[:2] not in sent
        }


def is_reported(values: Mapping[Key, float]) -> bool:
    """Return whether OCI sent any own metric of the mount target in a minute."""
    return any((name,) in values for name in (*OWN, HEALTH))


def without_latency(values: Mapping[Key, float]) -> AbstractSet[str]:
    """Return the metrics of latencies that a minute lacks although there were requests."""
    return {
        LATENCY_OF[metric]
        for (metric, *place), rate in values.items()
        if metric in LATENCY_OF and rate > 0 and (LATENCY_OF[metric], *place) not in values
    }
