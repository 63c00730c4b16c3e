# SPDX-License-Identifier: Apache-2.0
"""The state of each mount target, by what OCI says of its requests and of its load. Pure, but for the memory of `StateTimes`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.limits import Limits
from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.state import (
    CONNECTIONS,
    ERRORS,
    IOPS,
    LATENCY,
    LIFECYCLE,
    READ_BANDWIDTH,
    WRITE_BANDWIDTH,
    Evidence,
    Judgement,
    State,
    Subject,
    judged,
)
from fss_exporter.oci.inventory.mount_target_settings import limits_of
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.oci.minutes.resource_loads import CEILINGS, Resource, ResourceLoad
from fss_exporter.oci.minutes.target_figures import Judged, TargetFigures
from fss_exporter.oci.snapshot import RegionSnapshot
from fss_exporter.settings import Settings

_CEILINGS: Final[Mapping[Resource, Subject]] = {
    "iops": IOPS,
    "read_bandwidth": READ_BANDWIDTH,
    "write_bandwidth": WRITE_BANDWIDTH,
    "connections": CONNECTIONS,
}


@dataclass(frozen=True, slots=True)
class Subjects:
    """What is judged, with the share of a ceiling or of a latency objective that is near."""

    latency: Subject
    ceilings: Mapping[Resource, Subject]

    @classmethod
    @cache
    def near_at(cls, ratio: float) -> "Subjects":
        """Return the subjects for a share."""
        return cls(
            LATENCY.near_at(ratio), {resource: subject.near_at(ratio) for resource, subject in _CEILINGS.items()}
        )


_SIZES: Final = {bucket.name: bucket.text for bucket in BUCKETS}


def judged_mount_targets(
    region: RegionSnapshot, settings: Settings, now: float
) -> Iterator[tuple[MountTarget, Judgement]]:
    """Yield each mount target of a region with its judgement, at a time of OCI in epoch seconds."""
    inventory, poll = region.inventory.inventory, region.poll
    if inventory is None or poll is None:
        return

    subjects = Subjects.near_at(settings.warning_ratio)

    def name_of(ocid: str) -> str:
        system = inventory.file_systems.get(ocid)
        return system.name if system else ""

    for key, target in inventory.mount_targets.items():
        if key in poll.targets:
            figures = poll.targets[key]
            limits = limits_of(target, settings, figures.observed_limits)
            yield target, judge_mount_target(target, figures, limits, subjects, now, name_of)


def judge_mount_target(
    target: MountTarget,
    figures: TargetFigures,
    limits: Limits,
    subjects: Subjects,
    now: float,
    name_of: Callable[[str], str],
) -> Judgement:
    """Judge a mount target by its requests, its latency and each of its ceilings.

    Args:
        target: record of the inventory.
        figures: what its minutes amount to.
        limits: its ceilings. A resource without a ceiling is not judged.
        subjects: what is judged, with the share that is near.
        now: time of OCI, epoch seconds.
        name_of: returns the name of a file system by OCID.
    """
    evidence = [*_requests(figures.judged, subjects.latency, now, name_of), *_loads(figures, limits, subjects, now)]
    if target.state == "FAILED":
        evidence.append(Evidence(LIFECYCLE, KnownFigure(1.0, FigureSource.MEASURED), target.state))
    return judged(evidence)


def _requests(
    judged_minute: Judged | None, latency: Subject, now: float, name_of: Callable[[str], str]
) -> Iterator[Evidence]:
    """Yield what is known of failed and slow requests. The latency of hardly a request hurt nobody."""
    if judged_minute is None or not judged_minute.is_known:
        yield from (Evidence(ERRORS, None), Evidence(latency, None))
        return
    age = max(0.0, now - judged_minute.minute)

    def figure(value: float | None) -> KnownFigure | None:
        return None if value is None else KnownFigure(value, FigureSource.MEASURED, age)

    success = judged_minute.success
    yield Evidence(ERRORS, figure(None if success is None else round(1 - success, 9)))
    yield Evidence(latency, figure(0.0 if judged_minute.is_idle else judged_minute.latency_ratio))
    for kind, ratio in judged_minute.latency_ratios.items():
        yield Evidence(
            latency, figure(ratio), f"{kind.name} {_SIZES.get(kind.size, kind.size)}".strip(), name_of(kind.file_system)
        )


def _loads(figures: TargetFigures, limits: Limits, subjects: Subjects, now: float) -> Iterator[Evidence]:
    """Yield the share of each ceiling: of IOPS in the largest minute of five, of the others in their mean, as the alerts take them."""
    loads = {load.resource: load for load in figures.loads}
    for resource, subject in subjects.ceilings.items():
        limit: float | None = getattr(limits, CEILINGS[resource])
        if limit:
            newest = loads.get(resource)
            yield Evidence(subject, None if newest is None else _share(newest, limit, now))


def _share(load: ResourceLoad, limit: float, now: float) -> KnownFigure:
    source = FigureSource.MEASURED if load.source == "measured" else FigureSource.OCI
    value = load.peak if load.resource == "iops" else load.mean
    return KnownFigure(value / limit, source, max(0.0, now - load.minute))


class StateTimes:
    """Since when each mount target has been in its state. Each poll notes it, and each scrape, because knowledge ages between polls.

    A state that was there before the first poll lasts since that poll.
    """

    def __init__(self) -> None:
        self._since: dict[str, tuple[State, float]] = {}

    def seconds(self, target: str, state: State, now: float) -> float:
        """Note the state of a mount target (OCID) at a time in seconds, and return for how long the state has lasted."""
        before = self._since.get(target)
        if before is None or before[0] is not state:
            before = self._since[target] = (state, now)
        return max(0.0, now - before[1])

    def note(self, region: RegionSnapshot, settings: Settings) -> None:
        """Note the states of a region at the end of its last poll."""
        if region.poll is not None:
            for target, judgement in judged_mount_targets(region, settings, region.poll.ended):
                self.seconds(target.id, judgement.state, region.poll.ended)
