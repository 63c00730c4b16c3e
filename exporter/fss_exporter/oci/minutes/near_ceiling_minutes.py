# SPDX-License-Identifier: Apache-2.0
"""Count the minutes that a mount target spent near each of its ceilings, each minute once. Pure.

The first sight of a mount target is the begin, so that Prometheus sees 0 first. A minute of IOPS counts by the measured figure. The
estimate counts at once in a tenancy without measured IOPS, and elsewhere where no measured figure came in time.
"""

from collections.abc import Mapping
from typing import Final

from fss_exporter.model.limits import Limits
from fss_exporter.model.thresholds import CEILING_LEVELS
from fss_exporter.oci.ledger import Minutes, Tallies, Tally
from fss_exporter.oci.minutes.figure_window import FigureWindow
from fss_exporter.oci.minutes.resource_loads import CEILINGS, ESTIMATED_IOPS

_LEVELS: Final = {f"{level:g}": level for level in CEILING_LEVELS}


def count_near_ceilings(
    tallies: Tallies, target: str, figures: FigureWindow, limits: Limits, now_minute: int, estimates_until: int
) -> None:
    """Count the minutes of a mount target that are not counted.

    Times are ends of minutes, epoch seconds. The measured minutes until `now_minute` count, and the estimated ones until
    `estimates_until`.
    """
    for resource, field in CEILINGS.items():
        if limit := getattr(limits, field):
            tally = tallies.get((target, resource))
            if tally is None:
                tally = tallies[target, resource] = Tally(Minutes(now_minute), dict.fromkeys(_LEVELS, 0.0))
            _count(tally, resource, figures, limit, now_minute)
            if resource == "iops":
                _count(tally, ESTIMATED_IOPS, figures, limit, estimates_until)


def near_ceiling_minutes(tallies: Tallies, target: str) -> Mapping[tuple[str, str], float]:
    """Return the counted minutes of a mount target by resource and level."""
    counted = {resource: tallies.get((target, resource)) for resource in CEILINGS}
    return {
        (resource, level): number
        for resource, tally in counted.items()
        if tally is not None
        for level, number in tally.totals.items()
    }


def _count(tally: Tally, figure: str, figures: FigureWindow, limit: float, until: int) -> None:
    """Count the minutes with a figure until `until`."""
    for minute in tally.minutes.missing(min(until, figures.newest(figure))):
        load = figures.value(figure, minute)
        if load is not None and tally.minutes.take(minute):
            for name, level in _LEVELS.items():
                if load >= level * limit:
                    tally.totals[name] += 1
