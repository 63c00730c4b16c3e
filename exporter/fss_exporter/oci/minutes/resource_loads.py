# SPDX-License-Identifier: Apache-2.0
"""The load of a mount target in the newest minutes: mean and largest minute of five. Pure.

A single minute is no peak, and the first minutes of an exporter are none. So there is no load before five minutes are known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from fss_exporter.oci.ledger import GIVE_UP_MINUTES, MINUTE
from fss_exporter.oci.minutes.figure_window import FigureWindow

Resource = Literal["iops", "read_bandwidth", "write_bandwidth", "connections"]
Source = Literal["measured", "oci"]

# Field of `Limits` by resource. A resource is also the name of its measured figure.
CEILINGS: Final[Mapping[Resource, str]] = {
    "iops": "iops",
    "read_bandwidth": "read_bytes_per_second",
    "write_bandwidth": "write_bytes_per_second",
    "connections": "connections",
}

ESTIMATED_IOPS: Final = "estimated_iops"  # name of the figure

# Minutes of a load. White paper "OCI File Storage Performance Characteristics": the largest minute of five.
LOAD_MINUTES: Final = 5

KEPT_SECONDS: Final = 3600  # the last known load is shown for so long, with its age

_WITHIN: Final = 2 * LOAD_MINUTES * MINUTE  # the minutes of a load are not further apart, seconds


@dataclass(frozen=True, slots=True)
class ResourceLoad:
    """The use of one resource of a mount target, in the resource's unit per second (connections: at a time)."""

    resource: Resource
    source: Source  # `measured`, or `oci` for IOPS estimated from OCI's metrics of the file systems
    minute: int  # end of the newest minute, epoch seconds
    mean: float  # mean of the minutes
    peak: float  # figure of the largest minute
    newest: float  # figure of the newest minute


def resource_loads(figures: FigureWindow, oldest: int) -> tuple[ResourceLoad, ...]:
    """Return the load of each resource, if its newest minute does not end before `oldest`, epoch seconds.

    Measured IOPS win, unless they are far behind the estimate.
    """
    loads = {resource: _load(figures, resource, "measured", resource, oldest) for resource in CEILINGS}
    measured, estimated = loads["iops"], _load(figures, "iops", "oci", ESTIMATED_IOPS, oldest)
    if estimated and (measured is None or measured.minute < estimated.minute - GIVE_UP_MINUTES * MINUTE):
        loads["iops"] = estimated
    return tuple(load for load in loads.values() if load is not None)


def _load(figures: FigureWindow, resource: Resource, source: Source, figure: str, oldest: int) -> ResourceLoad | None:
    newest = figures.newest(figure)
    if newest < oldest:
        return None
    values: list[float] = []
    for minute in range(newest, newest - _WITHIN, -MINUTE):
        if (value := figures.value(figure, minute)) is not None:
            values.append(value)
            if len(values) == LOAD_MINUTES:
                return ResourceLoad(resource, source, newest, sum(values) / LOAD_MINUTES, max(values), values[0])
    return None
