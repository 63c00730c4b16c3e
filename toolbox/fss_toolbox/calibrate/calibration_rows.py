# SPDX-License-Identifier: Apache-2.0
"""The results of a calibration by step, from the minutes of this host and the same minutes by OCI. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fss_toolbox.calibrate.calibration_run import CountedMinute
from fss_toolbox.calibrate.calibration_steps import IDLE, CalibrationStep, costs_by_kind
from fss_toolbox.calibrate.fitted_costs import BACKGROUND, ROUNDING, FittedCost
from fss_toolbox.calibrate.oci_clock import NAMINGS, ClockFit, Naming, OciClock, fit_clock


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """The result of one step."""

    step: str  # name of the step
    requests: float  # number of requests of the kind, in all minutes
    table_iops: float  # I/O operations per second by the table, all requests of the step included
    oci_iops: float | None  # by OCI. None where OCI publishes requests only
    # cost of one request. Where OCI publishes requests only, `cost.measured` is requests by OCI over requests sent
    cost: FittedCost


def rows_by_iops(
    minutes: Sequence[CountedMinute],
    io_operations: Mapping[int, float],
    steps: Sequence[CalibrationStep] = (),
    recorded: Naming | None = None,
) -> tuple[list[CalibrationRow], ClockFit | None]:
    """Return results from the I/O operations by OCI's name of the minute, and the clock that fits. None if OCI has no minute.

    Minutes that OCI lacks are left out. `recorded` is the naming of minutes that a record has.
    """
    table = costs_by_kind(steps)
    fit = fit_clock(minutes, io_operations, table, recorded)
    if fit is None:
        return [], None
    rows = []
    for step, own in _work_by_step(minutes).items():
        compared = [minute for minute in own if fit.clock.name_of(minute.minute) in fit.minutes]
        cost = fit.costs.by_kind.get(BACKGROUND if step == IDLE.name else step)
        if cost is not None and compared:
            seconds = 60.0 * len(compared)
            by_table = sum(table.get(kind, 0.0) * count for minute in compared for kind, count in minute.counts.items())
            by_oci = sum(io_operations[fit.clock.name_of(minute.minute)] for minute in compared)
            rows.append(CalibrationRow(step, _sent(step, own), by_table / seconds, by_oci / seconds, cost))
    return rows, fit


def rows_by_requests(
    minutes: Sequence[CountedMinute],
    published: Mapping[tuple[str, int], float],
    steps: Sequence[CalibrationStep] = (),
    recorded: Naming | None = None,
) -> list[CalibrationRow]:
    """Return results of a tenancy without MountTargetIOPS, from OCI's requests by step and OCI's name of the minute.

    The measured figure is OCI's requests divided by the client's requests. 1 shows that OCI counts the same requests. The
    cost stays unknown. The recorded naming of minutes counts, else the one that is
    nearer to the requests of the client.
    """
    table = costs_by_kind(steps)
    work = _work_by_step(minutes)

    def misfit(clock: OciClock) -> float:
        return sum(
            abs(published.get((step, clock.name_of(minute.minute)), 0.0) - minute.counts.get(step, 0.0))
            for step, own in work.items()
            for minute in own
        )

    clock = min((OciClock(naming, 0) for naming in ([recorded] if recorded else NAMINGS)), key=misfit)
    rows = []
    for step, own in work.items():
        compared = [minute for minute in own if (step, clock.name_of(minute.minute)) in published]
        if sent := _sent(step, compared):
            by_table = table.get(step, 0.0) * sent / (60.0 * len(compared))
            ratio = sum(published[step, clock.name_of(minute.minute)] for minute in compared) / sent
            cost = FittedCost(1.0, ratio, ROUNDING * len(compared) / sent)
            rows.append(CalibrationRow(step, _sent(step, own), by_table, None, cost))
    return rows


def _work_by_step(minutes: Sequence[CountedMinute]) -> dict[str, list[CountedMinute]]:
    """Return the good minutes of work by the name of the step."""
    work: dict[str, list[CountedMinute]] = {}
    for minute in minutes:
        if minute.is_good and not minute.is_preparation:
            work.setdefault(minute.step, []).append(minute)
    return work


def _sent(step: str, minutes: Sequence[CountedMinute]) -> float:
    """Return the requests of the step's own kind."""
    return sum(minute.counts.get(step, 0) for minute in minutes)
