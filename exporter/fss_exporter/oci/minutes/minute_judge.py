# SPDX-License-Identifier: Apache-2.0
"""Judge each minute of each mount target once, and keep the load of the newest minutes. One region.

A minute is judged as soon as OCI has sent all that the verdict needs: the mount target itself, each stream of the file systems
behind the mount target that OCI sent lately, and for a minute with requests the latencies and the share of successes. After
`GIVE_UP_MINUTES` a minute is judged with the figures that came, and is `unknown` where they are not enough.
"""

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from fss_exporter.model import minute_verdict
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import shape_of
from fss_exporter.model.minute_verdict import MountTargetMinute, RequestKind, RequestStream, Served
from fss_exporter.model.observed_ceiling import ObservedCeiling, Reason
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
    Tallies,
    Tally,
    forget_gone,
)
from fss_exporter.oci.minute_metrics import (
    CONNECTIONS,
    ESTIMATED_FROM,
    HEALTH,
    IOPS,
    JUDGED_BY,
    LATENCY_OF,
    METADATA,
    READ_THROUGHPUT,
    READS,
    REQUESTS,
    WRITE_THROUGHPUT,
    WRITES,
)
from fss_exporter.oci.minutes.load_history import (
    KEPT_SECONDS,
    LOAD_MINUTES,
    LoadHistory,
    Resource,
    ResourceLoad,
    Source,
)
from fss_exporter.oci.minutes.mount_target_estimates import estimate
from fss_exporter.oci.minutes.near_ceiling_minutes import NearCeilingMinutes
from fss_exporter.oci.minutes.observed_ceilings import ObservedCeilings, observed_limits
from fss_exporter.oci.minutes.open_minutes import OpenMinutes, is_reported, without_latency
from fss_exporter.settings import Settings

_MEASURED: Final[Mapping[str, Resource]] = {
    IOPS: "iops",
    READ_THROUGHPUT: "read_bandwidth",
    WRITE_THROUGHPUT: "write_bandwidth",
    CONNECTIONS: "connections",
}
_KINDS: Final = {READS: "read", WRITES: "write", METADATA: "metadata"}

# The verdict of each objective.
OBJECTIVES: Final = {"availability": minute_verdict.availability, "latency": minute_verdict.latency}


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated IOPS of one mount target in one minute. `minute` is the end, epoch seconds."""

    minute: int
    iops: Bounds


@dataclass(frozen=True, slots=True)
class Judged:
    """The newest judged minute with requests. `minute` is the end, epoch seconds."""

    minute: int
    latency_ratio: float | None  # of the worst kind of requests, as a multiple of its objective. None while idle
    # mean of five minutes of the worst READs, WRITEs and metadata operations. Empty while idle
    latency_ratios: Mapping[RequestKind, float]
    success: float | None  # share of successful requests. None while idle
    is_known: bool = True  # whether the requests of the minute are known
    is_idle: bool = False  # whether there was hardly a request


@dataclass(frozen=True, slots=True)
class TargetFigures:
    """What the minutes of one mount target amount to."""

    minutes: Mapping[tuple[str, ...], float]  # counted minutes by objective and verdict
    judged: Judged | None = None
    loads: tuple[ResourceLoad, ...] = ()
    estimate: Estimate | None = None  # estimate of the newest minute
    estimated_operations: float | None = None  # estimated I/O operations of all counted minutes
    # counted minutes at or above a level of a ceiling, by resource and level
    near_ceiling_minutes: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # the observed ceiling of each resource, or why there is none
    observed: Mapping[Resource, ObservedCeiling | Reason] = field(default_factory=dict)

    @property
    def observed_limits(self) -> Mapping[str, float]:
        """The observed ceilings by field of `Limits`."""
        return observed_limits(self.observed)


@dataclass(slots=True)
class _KeptTarget:
    """What is kept of one mount target beside the ledger."""

    systems: AbstractSet[str] = frozenset()  # OCIDs of the file systems behind the mount target
    estimated: Minutes | None = None  # estimated minutes. None while there is nothing to estimate
    estimate: Estimate | None = None
    judged: Judged | None = None
    latencies: dict[int, Mapping[RequestKind, Served]] = field(
        default_factory=dict
    )  # of the newest minutes, by their end


class MinuteJudge:
    """The mount targets of one region.

    Args:
        ledger: what is counted.
        settings: returns objectives and costs, which may change between two polls.
    """

    def __init__(self, ledger: Ledger, settings: Callable[[], Settings]) -> None:
        self._ledger = ledger
        self._settings = settings
        self._awaited: Mapping[str, int] = {}
        self._history = LoadHistory()
        self._near_ceiling = NearCeilingMinutes(ledger)
        self._observed = ObservedCeilings(ledger)
        self._targets: dict[str, _KeptTarget] = {}
        self._verdicts: Tallies = self._ledger.tallies("verdicts")
        self._operations: Tallies = self._ledger.tallies("estimated operations")
        self._open = OpenMinutes(self._judged_before)

    def receiver(self, metric: str) -> Callable[[Key, Points], None]:
        """Return the function that takes the points of a metric in `BY_MINUTE`."""
        return partial(self._receive_load, metric) if metric in _MEASURED else partial(self._open.add, metric)

    def _judged_before(self, target: str) -> int | None:
        tally = self._verdicts.get((target,))
        return tally.minutes.floor if tally else None

    def awaited(self, metric: str) -> int | None:
        """Return the end of the oldest minute that still lacks a metric, epoch seconds. None if no minute does."""
        return self._awaited.get(metric)

    def judge(self, inventory: Inventory, answered: Mapping[str, int], now_minute: int) -> None:
        """Judge what is complete.

        `answered` has the newest minute of the last answered query of each metric that the tenancy has.
        """
        systems: dict[str, set[str]] = {target: set() for target in inventory.mount_targets}
        for export in inventory.exports:
            systems[export.mount_target_id].add(export.file_system_id)
        for tally in self._operations.values():
            tally.release()
        waits: dict[str, int] = {}
        for target in inventory.mount_targets.values():
            kept = self._targets.setdefault(target.id, _KeptTarget())
            kept.systems = systems[target.id]
            self._estimate(target.id, kept, answered, now_minute)
            for minute in self._unjudged(target.id, now_minute):
                missing = self._missing(target.id, kept, minute, answered, now_minute)
                if missing and minute > now_minute - GIVE_UP_MINUTES * MINUTE:
                    waits |= {metric: min(minute, waits.get(metric, minute)) for metric in missing}
                else:
                    self._judge(target.id, kept, minute, self._minute(target, minute, missing))
        self._awaited = waits
        self._compare(inventory, answered, now_minute)
        self._forget(inventory.mount_targets, now_minute)

    def _compare(self, inventory: Inventory, answered: Mapping[str, int], now_minute: int) -> None:
        """Compare the loads with the ceilings, and look for the true ceilings."""
        settings, targets = self._settings(), inventory.mount_targets.values()
        stated = {
            target.id: (shape_of(target.observed_throughput_gbps).name, limits_of(target, settings))
            for target in targets
        }
        self._observed.look(stated, now_minute)
        limits = {
            target.id: limits_of(target, settings, observed_limits(self._observed.of(target.id))) for target in targets
        }
        self._near_ceiling.count(limits, now_minute, has_measured_iops=IOPS in answered)

    def figures(self) -> Mapping[str, TargetFigures]:
        """Return the figures by OCID of the mount target."""
        loads = self._history.loads()
        figures = {}
        for target, kept in self._targets.items():
            totals, operations = self._verdicts[target,].totals, self._operations.get((target,))
            figures[target] = TargetFigures(
                {tuple(name.split("/")): total for name, total in totals.items()},
                kept.judged,
                loads.get(target, ()),
                kept.estimate,
                operations.totals[""] if operations else None,
                self._near_ceiling.of(target),
                self._observed.of(target),
            )
        return figures

    def _receive_load(self, metric: str, key: Key, points: Points) -> None:
        self._open.add(metric, key, points)
        self._add_load(key[0], _MEASURED[metric], "measured", points)

    def _add_load(self, target: str, resource: Resource, source: Source, points: Points) -> None:
        self._history.add(target, resource, source, points)
        self._near_ceiling.add(target, resource, source, points)
        self._observed.add(target, resource, source, points)

    def _estimate(self, target: str, kept: _KeptTarget, answered: Mapping[str, int], now_minute: int) -> None:
        """Estimate the minutes in which all requests are known."""
        needed = answered.keys() & ESTIMATED_FROM
        if not {READS, WRITES} <= needed:
            return
        overrides = self._settings().cost_model.overrides
        oldest = now_minute - GIVE_UP_MINUTES * MINUTE
        taken = kept.estimated = kept.estimated or Minutes(oldest - MINUTE)
        for minute in self._open.minutes(target):
            if minute > min(answered[name] for name in needed) or taken.has(minute):
                continue
            is_late = self._open.late(target, minute, kept.systems, needed, now_minute)
            iops = None if is_late else estimate(self._open.values(target, minute), overrides)
            if iops is None:
                continue
            taken.take(minute)
            if kept.estimate is None or kept.estimate.minute < minute:
                kept.estimate = Estimate(minute, iops)
            self._add_load(target, "iops", "oci", {minute: iops.point})
            tally = self._operations.setdefault((target,), Tally(Minutes(self._ledger.start)))
            tally.add(iops.point * MINUTE if tally.minutes.take(minute) else 0.0)

    def _unjudged(self, target: str, now_minute: int) -> Iterator[int]:
        """Yield the minutes of a mount target that are not judged. The first sight of the mount target is the begin."""
        tally = self._verdicts.get((target,))
        if tally is None:
            tally = self._verdicts[target,] = Tally(Minutes(now_minute), dict.fromkeys(KINDS["verdicts"], 0.0))
        furthest = now_minute - (FURTHEST_MINUTES - 1) * MINUTE
        minutes = tally.minutes
        for minute in range(max(minutes.first_missing, furthest), now_minute + MINUTE, MINUTE):
            if not minutes.has(minute):
                yield minute

    def _missing(
        self, target: str, kept: _KeptTarget, minute: int, answered: Mapping[str, int], now_minute: int
    ) -> AbstractSet[str]:
        """Return the metrics that the verdict on a minute still lacks."""
        missing = {name for name in JUDGED_BY & answered.keys() if answered[name] < minute}
        values = self._open.values(target, minute)
        if not is_reported(values):
            return {CONNECTIONS, *JUDGED_BY}
        if late := self._open.late(target, minute, kept.systems, REQUESTS, now_minute):
            return {*missing, *late, HEALTH, *(LATENCY_OF[name] for name in late)}
        if sum(value for place, value in values.items() if place[0] in REQUESTS) >= minute_verdict.LEAST_REQUESTS:
            missing |= without_latency(values)
            if HEALTH in answered and (HEALTH,) not in values:
                missing.add(HEALTH)
        return missing

    def _minute(self, target: MountTarget, minute: int, missing: Container[str]) -> MountTargetMinute:
        """Return what is known of a minute. A metric of requests that is wholly missing makes the requests unknown."""
        values = self._open.values(target.id, minute)
        percent = values.get((HEALTH,))
        success = None if percent is None else percent / 100
        sent = {place[0] for place in values}
        if not is_reported(values) or any(name in missing and name not in sent for name in REQUESTS):
            return MountTargetMinute(None, success)
        objectives = latency_objectives_of(target, self._settings())
        requests = tuple(_requests(values, objectives))
        return MountTargetMinute(requests, success)

    def _judge(self, target: str, kept: _KeptTarget, minute: int, judged: MountTargetMinute) -> None:
        tally = self._verdicts[target,]
        if not tally.minutes.take(minute):
            return
        for objective, verdict_of in OBJECTIVES.items():
            tally.totals[f"{objective}/{verdict_of(judged)}"] += 1
        self._observed.judged(target, minute, judged)
        if judged.requests is not None:
            kept.latencies[minute] = minute_verdict.by_kind(judged)
        if kept.judged is None or kept.judged.minute < minute:
            oldest = minute - LOAD_MINUTES * MINUTE
            kept.latencies = {end: kinds for end, kinds in kept.latencies.items() if end > oldest}
            busy = judged.requests is not None and not judged.is_idle
            ratios = minute_verdict.mean_ratios(tuple(kept.latencies.values())) if busy else {}
            kept.judged = Judged(
                minute,
                minute_verdict.latency_ratio(judged),
                minute_verdict.worst_kinds(ratios),
                judged.success if busy else None,
                judged.requests is not None,
                judged.is_idle,
            )

    def _forget(self, targets: Collection[str], now_minute: int) -> None:
        """Drop points of closed minutes, and all but the ledger of mount targets that are gone."""
        self._open.forget(targets)
        self._history.forget(targets, now_minute - KEPT_SECONDS)
        self._targets = {target: kept for target, kept in self._targets.items() if target in targets}
        for target, kept in self._targets.items():
            estimated = kept.estimated or Minutes(now_minute)
            estimated.give_up(now_minute - GIVE_UP_MINUTES * MINUTE)
            self._open.close(target, self._verdicts[target,].minutes, estimated, now_minute)
        for tallies in (self._verdicts, self._operations):
            forget_gone(tallies, targets, now_minute)


def _requests(values: Mapping[Key, float], objectives: Mapping[tuple[str, str], float]) -> Iterator[RequestStream]:
    for (metric, *place), rate in values.items():
        if metric not in LATENCY_OF:
            continue
        system, dimension = place
        kind = _KINDS[metric]
        size = "" if metric == METADATA else dimension
        objective = objectives.get((kind, size))
        if objective is not None:
            latency = values.get((LATENCY_OF[metric], *place))
            yield RequestStream(RequestKind(system, kind, size), rate, latency, objective)
