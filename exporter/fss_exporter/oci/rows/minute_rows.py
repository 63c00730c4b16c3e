# SPDX-License-Identifier: Apache-2.0
"""What the minutes of mount targets amount to, as rows of the catalogue. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from fss_exporter.model.observed_ceiling import ObservedCeiling
from fss_exporter.model.state import State
from fss_exporter.oci.inventory.mount_target_settings import limits_of
from fss_exporter.oci.inventory.oci_inventory import Inventory, MountTarget
from fss_exporter.oci.minutes.observed_ceilings import OBSERVED
from fss_exporter.oci.minutes.resource_loads import CEILINGS, KEPT_SECONDS, Resource
from fss_exporter.oci.minutes.target_figures import TargetFigures
from fss_exporter.oci.rows.inventory_rows import BY_MOUNT_TARGET, Rows
from fss_exporter.oci.rows.mount_target_states import StateTimes, judged_mount_targets
from fss_exporter.oci.snapshot import RegionSnapshot
from fss_exporter.served_ceilings import SOURCES
from fss_exporter.settings import Settings

_LABELS: Final = {source: label for label, source in SOURCES.items()}  # value of the label `source` by source

# First labels of a mount target, its record and its figures.
_Polled = tuple[tuple[str, ...], MountTarget, TargetFigures]


def minute_rows(
    region: RegionSnapshot, inventory: Inventory, settings: Settings, now: float, times: StateTimes
) -> Iterator[Rows]:
    """Yield the rows of verdicts, loads and estimates."""
    figures = region.poll.targets if region.poll else {}
    polled: list[_Polled] = [
        ((region.region, target.id, target.name), target, figures[key])
        for key, target in inventory.mount_targets.items()
        if key in figures
    ]
    yield Rows(
        "fss_mount_target_verdicts_total",
        (*BY_MOUNT_TARGET, "objective", "verdict"),
        [((*labels, *kind), number) for labels, _, figures in polled for kind, number in figures.minutes.items()],
    )
    yield Rows(
        "fss_mount_target_near_ceiling_verdicts_total",
        (*BY_MOUNT_TARGET, "resource", "level"),
        [
            ((*labels, *at), number)
            for labels, _, figures in polled
            for at, number in figures.near_ceiling_minutes.items()
        ],
    )
    oldest = now - settings.oci.stale_after
    yield Rows(
        "fss_mount_target_latency_objective_ratio",
        (*BY_MOUNT_TARGET, "kind", "size", "file_system_id", "file_system"),
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
    yield Rows(
        "fss_mount_target_estimated_io_operations_total",
        BY_MOUNT_TARGET,
        [(labels, figures.estimated_operations) for labels, _, figures in polled],
    )
    estimates = [
        (labels, figures.estimate.iops)
        for labels, _, figures in polled
        if figures.estimate and figures.estimate.minute >= oldest
    ]
    name = "fss_mount_target_estimated_iops"
    yield Rows(name, BY_MOUNT_TARGET, [(labels, iops.point) for labels, iops in estimates])
    yield Rows(f"{name}_lower_bound", BY_MOUNT_TARGET, [(labels, iops.lower) for labels, iops in estimates])
    yield Rows(f"{name}_upper_bound", BY_MOUNT_TARGET, [(labels, iops.upper) for labels, iops in estimates])


def _name(inventory: Inventory, file_system: str) -> str:
    file_system_record = inventory.file_systems.get(file_system)
    return file_system_record.name if file_system_record else ""


def _state_rows(region: RegionSnapshot, settings: Settings, now: float, times: StateTimes) -> Iterator[Rows]:
    """Yield the rows of the state of each mount target, of its age and of its reasons."""
    states, ages = [], []
    reasons: dict[tuple[str, ...], float] = {}  # the largest ratio, because file systems can have one name
    for target, judgement in judged_mount_targets(region, settings, now):
        labels = (region.region, target.id, target.name)
        state = judgement.state
        states.append((labels, float(state)))
        ages.append((labels, times.seconds(target.id, state, now)))
        for reason in judgement.reasons if state is not State.FINE else ():
            if reason.figure is not None and (ratio := reason.limit_ratio) is not None:
                told = (state.word, reason.subject.name, reason.detail, reason.who, _LABELS[reason.figure.source])
                reasons[*labels, *told] = max(ratio, reasons.get((*labels, *told), ratio))
    yield Rows("fss_mount_target_state", BY_MOUNT_TARGET, states)
    yield Rows("fss_mount_target_state_age_seconds", BY_MOUNT_TARGET, ages)
    evidence = (*BY_MOUNT_TARGET, "state", "subject", "detail", "file_system", "source")
    yield Rows("fss_mount_target_state_evidence_ratio", evidence, reasons.items())


def _observed_rows(polled: Iterable[_Polled], settings: Settings) -> Iterator[Rows]:
    """Yield the rows of the observed ceilings. What was not observed has a row only where the configuration wants to use it."""
    values: dict[Resource, list[tuple[tuple[str, ...], float]]] = {resource: [] for resource in OBSERVED}
    plateaus, seconds, newest = [], [], []
    for labels, _, figures in polled:
        for resource, found in figures.observed.items():
            if isinstance(found, ObservedCeiling):
                values[resource].append((labels, found.value))
                plateaus.append(((*labels, resource, ""), found.plateaus))
                seconds.append(((*labels, resource), 60 * found.minutes))
                newest.append(((*labels, resource), found.newest))
            elif settings.limits.observed:
                plateaus.append(((*labels, resource, found), 0))
    for resource, rows in values.items():
        yield Rows(f"fss_mount_target_observed_{CEILINGS[resource]}_limit", BY_MOUNT_TARGET, rows)
    by_resource = (*BY_MOUNT_TARGET, "resource")
    yield Rows("fss_mount_target_observed_limit_plateaus", (*by_resource, "reason"), plateaus)
    yield Rows("fss_mount_target_observed_limit_duration_seconds", by_resource, seconds)
    yield Rows("fss_mount_target_observed_limit_timestamp_seconds", by_resource, newest)


def _load_rows(polled: Iterable[_Polled], settings: Settings, now: float) -> Iterator[Rows]:
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
    by_resource = (*BY_MOUNT_TARGET, "resource")
    yield Rows("fss_mount_target_utilisation_ratio", (*by_resource, "statistic", "source"), ratios)
    yield Rows("fss_mount_target_data_age_seconds", by_resource, ages)
