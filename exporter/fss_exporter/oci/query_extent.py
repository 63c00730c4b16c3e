"""The extent of a query: the minutes to ask for, and the parts of a split query. Pure.

An answer holds at most 2,000 streams and 100,000 points. The first guess of the parts comes from the inventory, every later
guess from the number of streams in the last answer. An answer above the limits, or a query refused for length, doubles the
parts.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fss_exporter.errors import CloudError, TooMuchData
from fss_exporter.oci.metric_table import MOST_POINTS, MOST_STREAMS, OciMetric
from fss_exporter.oci.oci_inventory import Inventory
from fss_exporter.oci.series_store import FURTHEST_MINUTES, MINUTE, newest_complete

LATE_MINUTES = 4
"""Minutes to look back for unknown series, because a point comes up to three minutes late."""

GAUGE_MOST_MINUTES = 15
"""How far back a gauge is looked for at all."""

COUNTER_OVERLAP_MINUTES = 4
"""Minutes to query again before the oldest of the last `ANSWERS_REPEATED` answers. A minute that comes up to 8 minutes late
counts at the next poll.
"""

THOROUGH_OVERLAP_MINUTES = 15
"""The same in each fifth poll, so that a minute that comes up to 15 minutes late still counts. Long answers cost the CPU of a
poll.
"""

ANSWERS_REPEATED = 5
"""Polls that repeat a window. After an outage, a stream that is missing in one answer delivers the backlog in the next
answer.
"""


@dataclass(frozen=True, slots=True)
class Window:
    """Minutes to query, both ends in epoch seconds. OCI includes `start` and excludes `end`."""

    start: int
    end: int

    @property
    def newest(self) -> int:
        """End of the newest minute in the window."""
        return self.end - MINUTE

    @property
    def minutes(self) -> int:
        """The most points of a stream in the window."""
        return (self.end - self.start) // MINUTE


def window(now: float, *, overlap_minutes: int, answered: int | None) -> Window:
    """Return the window of one query, with minutes to repeat before the newest complete minute and before `answered`.

    `answered` is the newest minute of an earlier window with an answer, None before the first. Times are epoch seconds.
    """
    newest = newest_complete(now)
    last = newest if answered is None else min(answered, newest)
    start = max(last - overlap_minutes * MINUTE, newest - FURTHEST_MINUTES * MINUTE)
    return Window(start + MINUTE, newest + MINUTE)


def gauge_minutes(now: float, *, newest: int | None, slowest: int | None, thorough: bool) -> int:
    """Return the minutes back to query for a gauge, which needs only the newest point of each series.

    `newest` is the end of the newest minute of any series, None before the first point. `slowest` is the end of the newest
    minute of the latest series. A window from there on misses nothing of the known series. `thorough` looks for unknown
    series as well, which may be even later. Times are epoch seconds.
    """
    if newest is None or slowest is None:
        return GAUGE_MOST_MINUTES
    complete = newest_complete(now)
    back = (complete - slowest) // MINUTE + 1
    if thorough:
        back = max(back, (complete - newest) // MINUTE + LATE_MINUTES)
    return min(max(back, 2), GAUGE_MOST_MINUTES)


_FILL: Final = 0.9  # how full an answer is planned to be: new resources come between two polls
_VALUES: Final = {"size": 3, "operation": 4}  # documented values of a dimension


class QueryShards:
    """The parts of one metric's query in one scope.

    `answers` has the newest minute of each of the last windows with an answer. Empty before the first.
    """

    def __init__(self, metric: OciMetric) -> None:
        self.answers: deque[int] = deque(maxlen=ANSWERS_REPEATED)
        self._metric = metric
        self._streams: int | None = None
        self._most_parts = 0
        self._least_for_size = 1
        self._least_for_length = 1

    def parts(self, inventory: Inventory, minutes: int) -> list[tuple[str, ...]]:
        """Return the OCIDs of each query for a window of some minutes. A single empty part is a query without selection."""
        weights = self._weights(inventory)
        self._most_parts = len(weights)
        streams = sum(weight for _, weight in weights) if self._streams is None else self._streams
        needed = max(math.ceil(streams / MOST_STREAMS), math.ceil(streams * minutes / MOST_POINTS))
        if needed > 1:
            needed = math.ceil(streams * max(1 / MOST_STREAMS, minutes / MOST_POINTS) / _FILL)
        needed = max(needed, self._least_for_size)
        if needed > 1:  # a query without selection is never too long
            needed = max(needed, self._least_for_length)
        needed = min(needed, self._most_parts)
        return [()] if needed <= 1 else _balanced(weights, needed)

    def refused(self, parts: int, error: CloudError) -> bool:
        """Note that OCI refused the query or the answer for length or size. Return whether more parts can help."""
        if parts >= self._most_parts:  # each resource has a part already, or the metric has no resources
            return False
        said = str(error).lower()
        is_about_size = (
            isinstance(error, TooMuchData) and error.status != 413 and "length" not in said and "long" not in said
        )
        if parts > 1 and not is_about_size:
            self._least_for_length = parts * 2
            return True
        self._least_for_size = parts * 2
        self._streams = None
        return True

    def failed(self) -> None:
        """Note that the shorter queries failed as well, so that the length was not the reason."""
        self._least_for_length = 1

    def answered(self, streams: int, window: Window) -> None:
        """Note the number of streams in all parts together, and the window of the query."""
        self.answers.append(window.newest)
        self._streams = streams
        if streams <= MOST_STREAMS * _FILL:
            self._least_for_size = 1

    def _weights(self, inventory: Inventory) -> list[tuple[str, int]]:
        """Return the OCIDs for splitting the query, each with the possible number of streams."""
        values = math.prod(_VALUES.get(dimension, 1) for dimension in self._metric.dimensions)
        match self._metric.owner:
            case "mount_target" | "ldap":
                return [(target, values) for target in inventory.mount_targets]
            case "file_system":
                return [(system, 1) for system in inventory.file_systems]
            case "service":
                mine = (one.id for one in inventory.service_resources.values() if one.service == self._metric.service)
                return [(ocid, values) for ocid in mine]
            case "behind":
                behind = dict.fromkeys(inventory.mount_targets, 0)
                pairs = {(export.mount_target_id, export.file_system_id) for export in inventory.exports}
                for target, _ in pairs:
                    behind[target] += values
                return list(behind.items())
            case _:
                return []


def _balanced(weights: Sequence[tuple[str, int]], parts: int) -> list[tuple[str, ...]]:
    """Distribute OCIDs to parts of similar weight, in a stable order so that the next poll sends equal queries."""
    bins: list[list[str]] = [[] for _ in range(parts)]
    loads = [0] * parts
    for ocid, weight in sorted(weights, key=lambda entry: (-entry[1], entry[0])):
        lightest = loads.index(min(loads))
        bins[lightest].append(ocid)
        loads[lightest] += weight
    return [tuple(sorted(part)) for part in bins if part]
