# SPDX-License-Identifier: Apache-2.0
"""Lay the minutes of OCI over the minutes of this host. Pure.

Documents disagree whether OCI names a minute by its end or by its start, and the clock of this host can be seconds off. So
each naming and each clock is tried: the requests that fall into each minute of OCI give costs by least squares, and the true
naming leaves the smallest misfit between these costs and OCI's I/O operations.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from fss_toolbox.calibrate.calibration_run import CountedMinute
from fss_toolbox.calibrate.fitted_costs import CostFit, fit_costs

Naming = Literal["end", "start"]

NAMINGS: Final[tuple[Naming, ...]] = ("end", "start")  # The documented naming first

# Seconds that the clock of OCI may be ahead of this host's. Four seconds of silence at each edge make the first three alike.
AHEAD_SECONDS: Final = (0, 4, -4, 8, -8, 12, -12, 16, -16, 20, -20)

_ALIKE: Final = 30.0  # I/O operations of a minute, half of one IOPS: OCI rounds away a smaller misfit


@dataclass(frozen=True, slots=True)
class OciClock:
    """A naming of minutes and a difference of clocks."""

    named_by: Naming
    ahead_s: int  # seconds that the clock of OCI is ahead of this host's

    @property
    def offset_s(self) -> int:
        """Seconds from the beginning of the minute that ends at an epoch minute to the beginning of OCI's minute of this name."""
        return (60 if self.named_by == "start" else 0) - self.ahead_s

    def name_of(self, minute: int) -> int:
        """Return OCI's name of most of the minute that ends at an epoch minute."""
        return minute - (self.named_by == "start")


@dataclass(frozen=True, slots=True)
class ClockFit:
    """The clock that fits best, with the costs that follow."""

    clock: OciClock
    costs: CostFit
    other_misfit: float | None  # misfit of the other naming with its best clock. None where OCI has too few minutes
    minutes: tuple[int, ...]  # minutes of OCI that were compared, by OCI's name
    recorded: Naming | None = None  # naming that an earlier record has. None without a record

    @property
    def is_certain(self) -> bool:
        """Whether the minutes tell the naming."""
        return self.other_misfit is not None and self.other_misfit > 2 * self.costs.misfit + _ALIKE

    def __str__(self) -> str:
        other = "start" if self.clock.named_by == "end" else "end"
        if not self.is_certain:
            source = "" if self.recorded is None else ", as recorded"
            return (
                "these minutes cannot tell whether OCI names a minute by its end or start: "
                f"taken as the {self.clock.named_by}{source}"
            )
        text = (
            f"OCI names each minute by its {self.clock.named_by}: the costs fit within {self.costs.misfit / 60:.1f} IOPS, "
            f"and within {(self.other_misfit or 0.0) / 60:.1f} IOPS if it were the {other}"
        )
        if self.recorded not in (None, self.clock.named_by):
            text += f". The record says {self.recorded}: make a new record, with doctor --record FILE --wait 90s"
        if self.clock.ahead_s:
            where = "ahead of" if self.clock.ahead_s > 0 else "behind"
            text += f". OCI's clock is about {abs(self.clock.ahead_s)} s {where} this host's: set this host's clock"
        return text


def fit_clock(
    minutes: Sequence[CountedMinute],
    io_operations: Mapping[int, float],
    table: Mapping[str, float],
    recorded: Naming | None = None,
) -> ClockFit | None:
    """Return the clock that fits best, the recorded or documented one where others are no better.

    Args:
        minutes: minutes of this host, without a gap.
        io_operations: by OCI, by OCI's name of the minute.
        table: cost of each kind.
        recorded: naming that an earlier record has.

    Returns:
        None if OCI has no whole minute.
    """
    best: dict[Naming, ClockFit] = {}
    expected = recorded or NAMINGS[0]
    for clock in (OciClock(naming, ahead) for naming in NAMINGS for ahead in AHEAD_SECONDS):
        laid = requests_by_oci_minute(minutes, clock)
        names = tuple(name for name in laid if name in io_operations)
        if not names:
            continue
        costs = fit_costs([laid[name] for name in names], [io_operations[name] for name in names], table)
        so_far = best.get(clock.named_by)
        if so_far is None or costs.misfit < so_far.costs.misfit - _ALIKE:
            best[clock.named_by] = ClockFit(clock, costs, None, names, recorded)
    if not best:
        return None
    chosen = min(best.values(), key=lambda fit: fit.costs.misfit)
    if expected in best and best[expected].costs.misfit <= chosen.costs.misfit + _ALIKE:
        chosen = best[expected]
    other = next((fit.costs.misfit for naming, fit in best.items() if naming != chosen.clock.named_by), None)
    return replace(chosen, other_misfit=other)


def requests_by_oci_minute(minutes: Sequence[CountedMinute], clock: OciClock) -> dict[int, dict[str, float]]:
    """Return the requests in each minute of OCI that lies within good minutes of this host, by OCI's name.

    The requests of a step are spread evenly between the first and the last.
    """
    if not minutes:
        return {}
    begin, end = minutes[0].minute * 60 - 60, minutes[-1].minute * 60
    laid: dict[int, dict[str, float]] = {}
    by_end = {minute.minute: minute for minute in minutes}
    for name in range(minutes[0].minute - 2, minutes[-1].minute + 2):
        start = name * 60 - 60 + clock.offset_s
        if start < begin or start + 60 > end:
            continue
        # One minute of this host, or two neighbours
        shares = [
            (minute, share)
            for end_of_minute in (start // 60 + 1, start // 60 + 2)
            if (minute := by_end.get(end_of_minute)) and (share := _share(minute, start))
        ]
        if all(minute.is_good for minute, _ in shares):
            requests: defaultdict[str, float] = defaultdict(float)
            for minute, share in shares:
                for kind, count in minute.counts.items():
                    requests[kind] += count * share
            laid[name] = dict(requests)
    return laid


def _share(minute: CountedMinute, start: float) -> float:
    """Return the share of a minute's requests that lies within the 60 seconds from `start`."""
    if minute.last <= minute.first:
        return float(start <= minute.first < start + 60)
    return max(0.0, min(minute.last, start + 60) - max(minute.first, start)) / (minute.last - minute.first)
