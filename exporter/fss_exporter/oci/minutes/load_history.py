# SPDX-License-Identifier: Apache-2.0
"""The load of each mount target in the newest minutes: mean and largest minute of five. Pure.

A single minute is no peak, and the first minutes of an exporter are none. So there is no load before five minutes are known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import GIVE_UP_MINUTES, MINUTE

Resource = Literal["iops", "read_bandwidth", "write_bandwidth", "connections"]
Source = Literal["measured", "oci"]

# Field of `Limits` by resource.
CEILINGS: Final[Mapping[Resource, str]] = {
    "iops": "iops",
    "read_bandwidth": "read_bytes_per_second",
    "write_bandwidth": "write_bytes_per_second",
    "connections": "connections",
}

# Minutes of a load. White paper "OCI File Storage Performance Characteristics": the largest minute of five.
LOAD_MINUTES: Final = 5

KEPT_SECONDS: Final = 3600  # the last known load is shown for so long, with its age

_WITHIN: Final = 2 * LOAD_MINUTES * MINUTE  # the minutes of a load are not further apart, seconds
_REMEMBERED: Final = GIVE_UP_MINUTES + LOAD_MINUTES  # minutes: a late one still finds the others


@dataclass(frozen=True, slots=True)
class ResourceLoad:
    """The use of one resource of a mount target, in the resource's unit per second (connections: at a time)."""

    resource: Resource
    source: Source  # `measured`, or `oci` for IOPS estimated from OCI's metrics of the file systems
    minute: int  # end of the newest minute, epoch seconds
    mean: float  # mean of the minutes
    peak: float  # figure of the largest minute
    newest: float  # figure of the newest minute


class LoadHistory:
    """The newest minutes of every resource of every mount target."""

    def __init__(self) -> None:
        self._minutes: dict[tuple[str, Resource, Source], Points] = {}

    def add(self, target: str, resource: Resource, source: Source, points: Points) -> None:
        """Add minutes of one resource."""
        minutes = self._minutes.setdefault((target, resource, source), {})
        minutes |= points
        if len(minutes) > 2 * _REMEMBERED:
            for minute in sorted(minutes)[:-_REMEMBERED]:
                del minutes[minute]

    def forget(self, targets: Iterable[str], oldest: int) -> None:
        """Drop mount targets that are not among `targets`, and loads whose newest minute ends before `oldest`."""
        kept = set(targets)
        self._minutes = {
            key: minutes for key, minutes in self._minutes.items() if key[0] in kept and max(minutes) >= oldest
        }

    def loads(self) -> Mapping[str, tuple[ResourceLoad, ...]]:
        """Return the loads by OCID of the mount target. Measured IOPS win, unless they are far behind the estimate."""
        by_target: dict[str, dict[Resource, ResourceLoad]] = {}
        for (target, resource, source), minutes in sorted(self._minutes.items()):
            load = _load(resource, source, minutes)
            if load is None:
                continue
            loads = by_target.setdefault(target, {})
            other = loads.get(resource)  # the sources are sorted, so the other one is measured
            if other is None or other.minute < load.minute - GIVE_UP_MINUTES * MINUTE:
                loads[resource] = load
        return {target: tuple(loads.values()) for target, loads in by_target.items()}


def _load(resource: Resource, source: Source, minutes: Points) -> ResourceLoad | None:
    newest = sorted(minutes)[-LOAD_MINUTES:]
    if len(newest) < LOAD_MINUTES or newest[-1] - newest[0] >= _WITHIN:
        return None
    values = [minutes[minute] for minute in newest]
    return ResourceLoad(resource, source, newest[-1], sum(values) / LOAD_MINUTES, max(values), values[-1])
