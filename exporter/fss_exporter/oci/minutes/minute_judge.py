# SPDX-License-Identifier: Apache-2.0
"""Judge each minute of each mount target once, and count what the minutes add up to. One region.

A minute is judged as soon as OCI has sent all that the verdict needs: the mount target itself, each stream of the file systems
behind the mount target that OCI sent lately, and for a minute with requests the latencies and the share of successes. After
`GIVE_UP_MINUTES` a minute is judged with the figures that came, and is `unknown` where they are not enough.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from fss_exporter.model import minute_verdict
from fss_exporter.model.minute_verdict import MountTargetMinute
from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.inventory.mount_target_settings import latency_objectives_of, limits_of
from fss_exporter.oci.inventory.oci_inventory import Inventory, MountTarget
from fss_exporter.oci.ledger import (
    FURTHEST_MINUTES,
    GIVE_UP_MINUTES,
    KINDS,
    MINUTE,
    Key,
    Ledger,
    Minutes,
    Tally,
)
from fss_exporter.oci.minute_metrics import BY_MINUTE, ESTIMATED_FROM, IOPS, READS, WRITES
from fss_exporter.oci.minutes.mount_target_estimates import estimate
from fss_exporter.oci.minutes.near_ceiling_minutes import count_near_ceilings, near_ceiling_minutes
from fss_exporter.oci.minutes.observed_ceilings import (
    find_plateaus,
    forget_observed,
    note_offered_load,
    observed_ceilings,
    observed_limits,
    observed_loads,
)
from fss_exporter.oci.minutes.open_minutes import OpenMinutes
from fss_exporter.oci.minutes.resource_loads import ESTIMATED_IOPS, KEPT_SECONDS, LOAD_MINUTES, Resource, resource_loads
from fss_exporter.oci.minutes.target_figures import Estimate, Judged, TargetFigures
from fss_exporter.oci.minutes.target_minutes import MEASURED, TargetMinutes
from fss_exporter.settings import Settings

# The verdict of each objective.
OBJECTIVES: Final = {"availability": minute_verdict.availability, "latency": minute_verdict.latency}

_BETWEEN_PLATEAUS: Final = 5  # judged minutes of a mount target from one search for plateaus to the next


class MinuteJudge:
    """The mount targets of one region.

    Args:
        ledger: what is counted.
        settings: returns objectives and costs, which may change between two polls.

    Attributes:
        receivers: functions that take the points of a stream, by documented name of the metric.
    """

    def __init__(self, ledger: Ledger, settings: Callable[[], Settings]) -> None:
        self.receivers: Mapping[str, Callable[[Key, Points], None]] = {
            metric: partial(self._receive_load, MEASURED[metric])
            if metric in MEASURED
            else partial(self._receive, metric)
            for metric in BY_MINUTE
        }
        self._ledger = ledger
        self._settings = settings
        self._awaited: dict[str, int] = {}
        self._targets: dict[str, TargetMinutes] = {}
        self._verdicts = ledger.tallies("verdicts")
        self._operations = ledger.tallies("estimated operations")
        self._near_ceilings = ledger.tallies("near ceiling minutes")

    def _receive(self, metric: str, key: Key, points: Points) -> None:
        minutes = self._targets.get(key[0]) or self._minutes_of(key[0])
        minutes.open.add((metric, *key[1:]), points)

    def _receive_load(self, resource: Resource, key: Key, points: Points) -> None:
        minutes = self._targets.get(key[0]) or self._minutes_of(key[0])
        minutes.figures.note(resource, points)

    def _minutes_of(self, target: str) -> TargetMinutes:
        """Return the minutes of a mount target, new ones at the first sight."""
        minutes = self._targets.get(target)
        if minutes is None:
            tally = self._verdicts.get((target,))
            begun = len(self._targets) % _BETWEEN_PLATEAUS  # so that one poll does not look at all mount targets
            minutes = TargetMinutes(OpenMinutes(tally.minutes.floor if tally else None), since_plateaus=begun)
            self._targets[target] = minutes
        return minutes

    def awaited(self, metric: str) -> int | None:
        """Return the end of the oldest minute that still lacks a metric, epoch seconds. None if no minute does."""
        return self._awaited.get(metric)

    def judge(self, inventory: Inventory, answered: Mapping[str, int], now_minute: int) -> Mapping[str, TargetFigures]:
        """Judge what is complete, and return the figures by OCID of the mount target.

        `answered` has the newest minute of the last answered query of each metric that the tenancy has.
        """
        for tally in self._operations.values():
            tally.release()
        self._targets = {target: self._minutes_of(target) for target in inventory.mount_targets}
        systems: dict[str, set[str]] = {target: set() for target in self._targets}
        for export in inventory.exports:
            systems[export.mount_target_id].add(export.file_system_id)
        self._awaited = {}
        figures = {}
        for target in inventory.mount_targets.values():
            minutes = self._targets[target.id]
            minutes.systems = systems[target.id]
            self._estimate(target.id, minutes, answered, now_minute)
            self._judge_complete(target, minutes, answered, now_minute)
            self._close(target.id, minutes, now_minute)
            figures[target.id] = self._figures(target, minutes, answered, now_minute)
        for tallies in (self._verdicts, self._operations, self._near_ceilings):
            tallies.forget([key for key in tallies if key[0] not in self._targets], now_minute)
        for gone in self._ledger.observed.keys() - self._targets.keys():
            forget_observed(self._ledger.observed, gone, now_minute)
        return figures

    def _estimate(self, target: str, minutes: TargetMinutes, answered: Mapping[str, int], now_minute: int) -> None:
        """Estimate the minutes in which all requests are known."""
        needed = answered.keys() & ESTIMATED_FROM
        if not {READS, WRITES} <= needed:
            return
        overrides = self._settings().cost_model.overrides
        newest = min(answered[name] for name in needed)
        taken = minutes.estimated = minutes.estimated or Minutes(now_minute - (GIVE_UP_MINUTES + 1) * MINUTE)
        for minute in minutes.open.minutes():
            if minute > newest or taken.has(minute):
                continue
            is_late = minutes.open.late(minute, minutes.systems, needed, now_minute)
            iops = None if is_late else estimate(minutes.open.values(minute), overrides)
            if iops is None:
                continue
            taken.take(minute)
            if minutes.estimate is None or minutes.estimate.minute < minute:
                minutes.estimate = Estimate(minute, iops)
            points = {minute: iops.point}
            minutes.figures.note(ESTIMATED_IOPS, points)
            self._operations.setdefault((target,), Tally(Minutes(self._ledger.start))).count(points, MINUTE)

    def _judge_complete(
        self, target: MountTarget, minutes: TargetMinutes, answered: Mapping[str, int], now_minute: int
    ) -> None:
        """Judge each minute that is complete or given up. The first sight of the mount target is the begin."""
        tally = self._verdicts.get((target.id,))
        if tally is None:
            tally = self._verdicts[target.id,] = Tally(Minutes(now_minute), dict.fromkeys(KINDS["verdicts"], 0.0))
        for minute in tally.minutes.missing(now_minute, since=now_minute - FURTHEST_MINUTES * MINUTE):
            missing = minutes.missing(minute, answered, now_minute)
            if missing and minute > now_minute - GIVE_UP_MINUTES * MINUTE:
                self._awaited |= {metric: min(minute, self._awaited.get(metric, minute)) for metric in missing}
            elif tally.minutes.take(minute):
                judged = minutes.minute(minute, missing, latency_objectives_of(target, self._settings()))
                for objective, verdict_of in OBJECTIVES.items():
                    tally.totals[f"{objective}/{verdict_of(judged)}"] += 1
                _note_judged(minutes, minute, judged)

    def _close(self, target: str, minutes: TargetMinutes, now_minute: int) -> None:
        """Drop the points of closed minutes."""
        estimated = minutes.estimated or Minutes(now_minute)
        estimated.give_up(now_minute - GIVE_UP_MINUTES * MINUTE)
        minutes.open.close(self._verdicts[target,].minutes, estimated, now_minute)

    def _figures(
        self, target: MountTarget, minutes: TargetMinutes, answered: Mapping[str, int], now_minute: int
    ) -> TargetFigures:
        """Find the true ceilings, count the minutes near a ceiling, and return all figures."""
        settings, operations = self._settings(), self._operations.get((target.id,))
        kept = observed_loads(self._ledger.observed, target, minutes.figures)
        if kept is not None and minutes.since_plateaus >= _BETWEEN_PLATEAUS:
            minutes.since_plateaus = 0
            minutes.reasons = find_plateaus(kept, minutes.figures, limits_of(target, settings), now_minute)
        observed = observed_ceilings(kept, minutes.reasons)
        limits = limits_of(target, settings, observed_limits(observed))
        estimates_until = now_minute - (GIVE_UP_MINUTES * MINUTE if IOPS in answered else 0)
        count_near_ceilings(self._near_ceilings, target.id, minutes.figures, limits, now_minute, estimates_until)
        return TargetFigures(
            {tuple(name.split("/")): total for name, total in self._verdicts[target.id,].totals.items()},
            minutes.judged,
            resource_loads(minutes.figures, now_minute - KEPT_SECONDS),
            minutes.estimate,
            operations.totals[""] if operations else None,
            near_ceiling_minutes(self._near_ceilings, target.id),
            observed,
        )


def _note_judged(minutes: TargetMinutes, minute: int, judged: MountTargetMinute) -> None:
    note_offered_load(minutes.figures, minute, judged)
    minutes.since_plateaus += 1
    if judged.requests is not None:
        minutes.latencies[minute] = minute_verdict.by_kind(judged)
    if minutes.judged is None or minutes.judged.minute < minute:
        oldest = minute - LOAD_MINUTES * MINUTE
        minutes.latencies = {end: kinds for end, kinds in minutes.latencies.items() if end > oldest}
        busy = judged.requests is not None and not judged.is_idle
        ratios = minute_verdict.mean_ratios(tuple(minutes.latencies.values())) if busy else {}
        minutes.judged = Judged(
            minute,
            minute_verdict.latency_ratio(judged),
            minute_verdict.worst_kinds(ratios),
            minute_verdict.judged_success(judged),
            judged.requests is not None,
            judged.is_idle,
        )
