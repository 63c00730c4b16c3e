# SPDX-License-Identifier: Apache-2.0
"""The parts of a split query. Pure.

An answer holds at most 2,000 streams and 100,000 points. The first guess of the parts comes from the inventory, every later
guess from the number of streams in the last answer. An answer above the limits, or a query refused for length, doubles the
parts.
"""

import heapq
import math
from collections.abc import Sequence
from typing import Final

from fss_exporter.errors import CloudError, TooMuchData
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.metric_table import MOST_POINTS, MOST_STREAMS, OciMetric
from fss_exporter.oci.minute_metrics import CONNECTIONS

_FILL: Final = 0.9  # planned share of a full answer, because new resources come between two polls
_VALUES: Final = {"size": 3, "operation": 4}  # documented values of a dimension


class QueryParts:
    """The parts of one metric's query in one scope."""

    def __init__(self, metric: OciMetric) -> None:
        self._metric = metric
        self._streams: int | None = None  # in the last answer
        self._least = 1  # parts, so that OCI does not refuse again
        self._most = 0  # parts, one for each resource
        self._must_select = False

    def parts(self, inventory: Inventory, minutes: int) -> list[tuple[str, ...]]:
        """Return the OCIDs of each query for a window of some minutes. A single empty part is a query without selection.

        A shard selects its own resources. Nothing if it has none. Connections are a stream for each mount target, so a shard asks for
        all of them, to find those that no listing has.
        """
        weights = self._weights(inventory)
        self._most = len(weights)
        known = len(inventory.mount_targets) + len(inventory.other_mount_targets)
        is_small = self._metric.name == CONNECTIONS and known <= MOST_STREAMS * _FILL
        self._must_select = bool(self._metric.split_by) and not inventory.shard.is_whole and not is_small
        if self._must_select and not weights:
            return []
        streams = sum(weight for _, weight in weights) if self._streams is None else self._streams
        answers = max(streams / MOST_STREAMS, streams * minutes / MOST_POINTS)  # filled to the limit
        needed = 1 if answers <= 1 else math.ceil(answers / _FILL)
        needed = min(max(needed, self._least), self._most)
        return [()] if needed <= 1 and not self._must_select else _balanced(weights, max(needed, 1))

    def refused(self, parts: int) -> bool:
        """Note that OCI refused a query or an answer for length or size. Return whether more parts can help."""
        if parts >= self._most:  # each resource has a part already, or the metric has no resources
            return False
        self._least = parts * 2
        return True

    def failed(self, error: CloudError) -> None:
        """Note that more parts did not help. Neither length nor size was the reason, unless the error says so."""
        if not isinstance(error, TooMuchData):
            self._least = 1

    def answered(self, streams: int) -> None:
        """Note the number of streams in all parts together."""
        self._streams = streams
        if streams <= MOST_STREAMS * _FILL and not self._must_select:  # one query without selection, which is short
            self._least = 1

    def _weights(self, inventory: Inventory) -> list[tuple[str, int]]:
        """Return the OCIDs for splitting the query, each with the possible number of streams."""
        values = math.prod(_VALUES.get(dimension, 1) for dimension in self._metric.dimensions)
        match self._metric.owner:
            case "mount_target" | "ldap":
                return [(target, values) for target in inventory.mount_targets]
            case "file_system":
                return [(system.id, 1) for system in inventory.own_file_systems]
            case "service":
                mine = (
                    resource.id
                    for resource in inventory.service_resources.values()
                    if resource.service == self._metric.service
                )
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
    loads = [(0, number) for number in range(parts)]  # a heap: the lightest part stands first
    for ocid, weight in sorted(weights, key=lambda entry: (-entry[1], entry[0])):
        load, lightest = loads[0]
        bins[lightest].append(ocid)
        heapq.heapreplace(loads, (load + weight, lightest))
    return [tuple(sorted(part)) for part in bins if part]
