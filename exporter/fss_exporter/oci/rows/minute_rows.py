# SPDX-License-Identifier: Apache-2.0
"""What the minutes of mount targets amount to, as rows of the catalogue. Pure."""

from collections.abc import Iterable, Iterator

from fss_exporter.model.observed_ceiling import ObservedCeiling
from fss_exporter.model.state import State
from fss_exporter.oci.inventory.mount_target_settings import limits_of
from fss_exporter.oci.inventory.oci_inventory import Inventory, MountTarget
from fss_exporter.oci.minutes.load_history import CEILINGS, KEPT_SECONDS, Resource
from fss_exporter.oci.minutes.minute_judge import TargetFigures
from fss_exporter.oci.minutes.observed_ceilings import OBSERVED
from fss_exporter.oci.rows.inventory_rows import Rows
from fss_exporter.oci.rows.mount_target_states import StateTimes, judged_mount_targets
from fss_exporter.oci.snapshot import RegionSnapshot
from fss_exporter.settings import Settings

# First labels of a mount target, its record and its figures.
_Polled = tuple[tuple[str, ...], MountTarget, TargetFigures]


def minute_rows(
    region: RegionSnapshot, inventory: Inventory, settings: Settings, now: float, times: StateTimes
) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of verdicts, loads and estimates, by exported name."""
    figures = region.poll.targets if region.poll else {}
    polled: list[_Polled] = [
        ((region.region, target.id, target.name), target, figures[key])
        for key, target in inventory.mount_targets.items()
        if key in figures
    ]
    yield (
        "fss_mount_target_minutes_total",
        [((*labels, *kind), number) for labels, _, figures in polled for kind, number in figures.minutes.items()],
    )
    yield (
        "fss_mount_target_near_ceiling_minutes_total",
        [
            ((*labels, *at), number)
            for labels, _, figures in polled
            for at, number in figures.near_ceiling_minutes.items()
        ],
    )
    oldest = now - settings.oci.stale_after
    yield (
        "fss_mount_target_latency_objective_ratio",
        [
            ((*labels, kind.name, kind.size, kind.file_system, _name(inventory, kind.file_system)), ratio)
            for labels, _, figures in polled
            if figures.judged and figures.judged.minute >= oldest
            for kind, ratio in figures.judged.latency_ratios.items()
        ],
    )
    yield from _load_rows(polled, settings, now)
    yield from _observed_rows(polled, settings)
    yield from _state_rows(region, settings, now, times)
    yield (
        "fss_mount_target_estimated_io_operations_total",
        [(labels, figures.estimated_operations) for labels, _, figures in polled],
    )
    estimates = [
        (labels, figures.estimate.iops)
        for labels, _, figures in polled
        if figures.estimate and figures.estimate.minute >= oldest
    ]
    yield "fss_mount_target_estimated_iops", [(labels, iops.point) for labels, iops in estimates]
    yield "fss_mount_target_estimated_iops_lower_bound", [(labels, iops.lower) for labels, iops in estimates]
    yield "fss_mount_target_estimated_iops_upper_bound", [(labels, iops.upper) for labels, iops in estimates]


def _name(inventory: Inventory, file_system: str) -> str:
    file_system_record = inventory.file_systems.get(file_system)
    return file_system_record.name if file_system_record else ""


def _state_rows(
    region: RegionSnapshot, settings: Settings, now: float, times: StateTimes
) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of the state of each mount target, of its age and of its reasons."""
    states, ages, reasons = [], [], []
    for target, judgement in judged_mount_targets(region, settings, now):
        labels = (region.region, target.id, target.name)
        state = judgement.state
        states.append((labels, float(state)))
        ages.append((labels, times.seconds(target.id, state, now)))
        if state is not State.FINE:
            reasons += [
                ((*labels, state.word, reason.subject.name, reason.detail, reason.who), ratio)
                for reason in judgement.reasons
                if (ratio := reason.limit_ratio) is not None
            ]
    yield "fss_mount_target_state", states
    yield "fss_mount_target_state_age_seconds", ages
    yield "fss_mount_target_state_evidence_ratio", reasons


def _observed_rows(polled: Iterable[_Polled], settings: Settings) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of the observed ceilings. What was not observed has a row only where the configuration wants to use it."""
    values: dict[Resource, list[tuple[tuple[str, ...], float]]] = {resource: [] for resource in OBSERVED}
    plateaus, minutes, newest = [], [], []
    for labels, _, figures in polled:
        for resource, found in figures.observed.items():
            if isinstance(found, ObservedCeiling):
                values[resource].append((labels, found.value))
                plateaus.append(((*labels, resource, ""), found.plateaus))
                minutes.append(((*labels, resource), found.minutes))
                newest.append(((*labels, resource), found.newest))
            elif settings.limits.observed:
                plateaus.append(((*labels, resource, found), 0))
    for resource, rows in values.items():
        yield f"fss_mount_target_observed_{CEILINGS[resource]}_limit", rows
    yield "fss_mount_target_observed_limit_plateaus", plateaus
    yield "fss_mount_target_observed_limit_minutes", minutes
    yield "fss_mount_target_observed_limit_timestamp_seconds", newest


def _load_rows(polled: Iterable[_Polled], settings: Settings, now: float) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of the newest loads with a ceiling, and of their ages."""
    ratios, ages = [], []
    for labels, target, figures in polled:
        limits = limits_of(target, settings, figures.observed_limits)
        for load in figures.loads:
            limit = getattr(limits, CEILINGS[load.resource])
            if limit and load.minute >= now - KEPT_SECONDS:
                ages.append(((*labels, load.resource), now - load.minute))
                for statistic, value in (("mean", load.mean), ("peak", load.peak)):
                    ratios.append(((*labels, load.resource, statistic, load.source), value / limit))
    yield "fss_mount_target_utilisation_ratio", ratios
    yield "fss_mount_target_data_age_seconds", ages
