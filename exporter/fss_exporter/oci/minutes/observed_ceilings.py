# SPDX-License-Identifier: Apache-2.0
"""Find plateaus of the load in the minutes of a mount target, and keep them in the ledger over weeks. Pure.

Offered load is the number of requests in flight at the server, by Little's law: requests a second times their latency. The latency is
a multiple of the objective of each kind of requests, so that larger requests alone are not slower. A restart forgets the minutes of an
unfinished plateau, and keeps what was found.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from fss_exporter.model.limits import Limits, shape_of
from fss_exporter.model.minute_verdict import MountTargetMinute
from fss_exporter.model.observed_ceiling import (
    WINDOW_MINUTES,
    LoadMinute,
    LoadRecord,
    ObservedCeiling,
    Reason,
    bottlenecks,
)
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.oci.ledger import MINUTE, ObservedLoads
from fss_exporter.oci.minutes.figure_window import FigureWindow
from fss_exporter.oci.minutes.resource_loads import CEILINGS, ESTIMATED_IOPS, Resource

# Resources whose ceiling is looked for. A mount target refuses connections above the ceiling, and none waits.
OBSERVED: Final[tuple[Resource, ...]] = ("iops", "read_bandwidth", "write_bandwidth")

_LATENCY, _IN_FLIGHT = "latency", "in_flight"  # names of figures


def note_offered_load(figures: FigureWindow, minute: int, judged: MountTargetMinute) -> None:
    """Note the requests of a judged minute. `minute` is its end, epoch seconds."""
    answered = [
        (request.rate, request.latency, request.objective)
        for request in judged.requests or ()
        if request.latency is not None
    ]
    rate = sum(rate for rate, _, _ in answered)
    if rate > 0:
        latency = sum(rate * latency / good for rate, latency, good in answered) / rate
        figures.note(_LATENCY, {minute: latency})
        figures.note(_IN_FLIGHT, {minute: sum(rate * latency for rate, latency, _ in answered)})


def observed_loads(kept: dict[str, ObservedLoads], target: MountTarget, figures: FigureWindow) -> ObservedLoads | None:
    """Return what is kept of a mount target, by OCID. Another shape begins anew. None for one that was always idle."""
    shape = shape_of(target.observed_throughput_gbps).name
    if target.id in kept and kept[target.id].shape != shape:
        del kept[target.id]
    if figures.newest(_LATENCY):
        kept.setdefault(target.id, ObservedLoads(shape))
    return kept.get(target.id)


def find_plateaus(
    loads: ObservedLoads, figures: FigureWindow, limits: Limits, now_minute: int
) -> Mapping[Resource, Reason]:
    """Keep the plateaus of the minutes until `now_minute`, and return why a resource has none. It takes a millisecond.

    `limits` are the stated ceilings.
    """
    reasons: dict[Resource, Reason] = {}
    for resource in OBSERVED:
        record = loads.of(resource)
        reasons[resource] = record.add(list(_load_minutes(figures, resource, record, now_minute)), now_minute)
    stated: dict[str, float | None] = {resource: getattr(limits, CEILINGS[resource]) for resource in OBSERVED}
    bottlenecks(loads.resources, stated)
    return reasons


def _load_minutes(
    figures: FigureWindow, resource: Resource, record: LoadRecord, now_minute: int
) -> Iterator[LoadMinute]:
    """Yield the minutes with all figures that can belong to a plateau, oldest first. What is measured replaces an estimate."""
    known: dict[int, LoadMinute] = {}
    for figure in (ESTIMATED_IOPS, resource) if resource == "iops" else (resource,):
        known |= {minute: LoadMinute(minute, *rest) for minute, *rest in figures.known(figure, _LATENCY, _IN_FLIGHT)}
    oldest = now_minute - WINDOW_MINUTES * MINUTE
    for end, minute in sorted(known.items()):
        if oldest < end <= now_minute and minute.load > 0 and record.matters(minute.load):
            yield minute


def observed_ceilings(
    loads: ObservedLoads | None, reasons: Mapping[Resource, Reason]
) -> Mapping[Resource, ObservedCeiling | Reason]:
    """Return the observed ceiling of each resource of a mount target, or why there is none."""
    records = {resource: (loads.resources.get(resource) if loads else None) or LoadRecord() for resource in OBSERVED}
    return {
        resource: record.ceiling() or record.reason(reasons.get(resource, "too few minutes"))
        for resource, record in records.items()
    }


def forget_observed(kept: dict[str, ObservedLoads], target: str, now_minute: int) -> None:
    """Keep what was found of a mount target that is not listed, for as long as it would be kept anyway."""
    records = kept[target].resources.values()
    for record in records:
        record.add((), now_minute)
    if not any(record.served for record in records):
        del kept[target]


def observed_limits(observed: Mapping[Resource, ObservedCeiling | Reason]) -> Mapping[str, float]:
    """Return the observed ceilings by field of `Limits`."""
    return {
        CEILINGS[resource]: found.value for resource, found in observed.items() if isinstance(found, ObservedCeiling)
    }
