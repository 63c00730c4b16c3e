"""Run a calibration: work in whole minutes, then compare with the same minutes by OCI."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fss_exporter.errors import SourceError
from fss_toolbox.calibrate.calibration_steps import IDLE, WORK_SECONDS, CalibrationPlan, CalibrationStep, costs_by_kind
from fss_toolbox.calibrate.fitted_costs import BACKGROUND, FittedCost, fit_costs

_LEAD_SECONDS = 2.0
# Between the beginning of a minute and its first request: the clocks of client and OCI differ a little.


class RequestSender(Protocol):
    """An NFS client that sends requests of one kind."""

    def prepare(self, step: CalibrationStep) -> None:
        """Make the files of a step."""

    def counts(self, step: CalibrationStep) -> Mapping[str, float]:
        """Requests so far, by kind."""

    def send(self, step: CalibrationStep) -> Counter[str]:
        """Send one round. Return the calls that `counts` does not contain."""


class WallClock:
    """The clock of this host."""

    def now(self) -> float:
        """Epoch seconds."""
        return time.time()

    def wait_until(self, moment: float) -> None:
        """Return at an epoch second, at once for a past second."""
        time.sleep(max(0.0, moment - time.time()))


@dataclass(frozen=True, slots=True)
class CountedMinute:
    """Requests of one minute by kind. `minute` is the end of the minute, epoch seconds // 60."""

    minute: int
    step: str
    counts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """The result of one step."""

    step: str  # name of the step
    requests: float  # of the kind, in all minutes
    table_iops: float  # I/O operations per second by the table, all requests of the step included
    oci_iops: float | None  # by OCI. None where OCI publishes requests only
    # of one request. Where OCI publishes requests only, `cost.measured` is requests by OCI over requests sent
    cost: FittedCost


def work_through(
    plan: CalibrationPlan, sender: RequestSender, clock: WallClock, progress: Callable[[str], None]
) -> list[CountedMinute]:
    """Send the requests of every step, whole minutes each.

    Raises:
        SourceError: the mount cannot be used any more.
    """
    done = []
    for number, step in enumerate(plan.steps, 1):
        try:
            sender.prepare(step)
            for at in range(plan.minutes):
                progress(f"{step.name} ({number} of {len(plan.steps)}), minute {at + 1} of {plan.minutes}")
                done.append(_minute(plan, step, sender, clock))
        except OSError as error:
            raise SourceError(f"{step.name}: {error.filename or 'the mount'}: {error.strerror or error}") from error
    return done


def _minute(plan: CalibrationPlan, step: CalibrationStep, sender: RequestSender, clock: WallClock) -> CountedMinute:
    begin = (int(clock.now()) // 60 + 1) * 60
    clock.wait_until(begin + _LEAD_SECONDS)
    before, uncounted = sender.counts(step), Counter[str]()
    rounds = step.rounds(plan.max_iops)
    end = begin + _LEAD_SECONDS + WORK_SECONDS
    for number in range(rounds):
        clock.wait_until(begin + _LEAD_SECONDS + number * WORK_SECONDS / rounds)
        if clock.now() >= end:
            break
        try:
            if calls := sender.send(step):
                uncounted.update(calls)
        except FileNotFoundError:  # a REMOVE has used up the files
            break
    clock.wait_until(end)
    after = sender.counts(step)
    counts = Counter({kind: after[kind] - before.get(kind, 0) for kind in after}) + uncounted
    return CountedMinute(begin // 60 + 1, step.name, dict(counts))


def rows_by_iops(
    minutes: Sequence[CountedMinute], io_operations: Mapping[int, float], steps: Sequence[CalibrationStep] = ()
) -> list[CalibrationRow]:
    """Return results from the I/O operations of each minute. Minutes that OCI lacks are left out."""
    table = costs_by_kind(steps)
    work = [one for one in minutes if one.minute in io_operations]
    costs = fit_costs([one.counts for one in work], [io_operations[one.minute] for one in work], table)
    rows = []
    for step in dict.fromkeys(one.step for one in work):
        own = [one for one in work if one.step == step]
        cost = costs.get(BACKGROUND if step == IDLE.name else step)
        if cost is not None:
            by_table = sum(table.get(kind, 0.0) * count for one in own for kind, count in one.counts.items())
            by_oci = sum(io_operations[one.minute] for one in own)
            seconds = 60.0 * len(own)
            rows.append(CalibrationRow(step, _sent(step, minutes), by_table / seconds, by_oci / seconds, cost))
    return rows


def rows_by_requests(
    minutes: Sequence[CountedMinute], published: Mapping[tuple[str, int], float], steps: Sequence[CalibrationStep] = ()
) -> list[CalibrationRow]:
    """Return results of a tenancy without MountTargetIOPS, from OCI's requests by step and minute. The cost stays unknown.

    The measured figure is OCI's requests divided by the client's requests. 1 shows that OCI counts the same requests.
    """
    table = costs_by_kind(steps)
    rows = []
    for step in dict.fromkeys(one.step for one in minutes):
        own = [one for one in minutes if one.step == step and (step, one.minute) in published]
        if sent := _sent(step, own):
            by_table = table.get(step, 0.0) * sent / (60.0 * len(own))
            ratio = sum(published[step, one.minute] for one in own) / sent
            cost = FittedCost(step, 1.0, ratio, 2 * 30.0 / sent)
            rows.append(CalibrationRow(step, _sent(step, minutes), by_table, None, cost))
    return rows


def _sent(step: str, minutes: Sequence[CountedMinute]) -> float:
    """Return the requests of the step's own kind."""
    return sum(one.counts.get(step, 0) for one in minutes if one.step == step)
