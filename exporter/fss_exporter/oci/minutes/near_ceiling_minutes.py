# SPDX-License-Identifier: Apache-2.0
"""Count the minutes that each mount target spent near each of its ceilings, each minute once. One region. Pure.

The first sight of a mount target is the begin, so that Prometheus sees 0 first. A minute of IOPS counts by the measured figure. The
estimate counts at once in a tenancy without measured IOPS, and elsewhere where no measured figure came in time.
"""

from collections.abc import Mapping
from typing import Final

from fss_exporter.model.limits import Limits
from fss_exporter.model.thresholds import CEILING_LEVELS
from fss_exporter.oci.cloud_client import Points
from fss_exporter.oci.ledger import GIVE_UP_MINUTES, MINUTE, Ledger, Minutes, Tally, forget_gone
from fss_exporter.oci.minutes.load_history import CEILINGS, Resource, Source

_LEVELS: Final = {f"{level:g}": level for level in CEILING_LEVELS}


class NearCeilingMinutes:
    """The mount targets of one region.

    Args:
        ledger: what is counted.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._tallies = ledger.tallies("near ceiling minutes")
        self._waiting: dict[tuple[str, Resource, Source], Points] = {}

    def add(self, target: str, resource: Resource, source: Source, points: Points) -> None:
        """Add minutes of one resource. They wait for `count`."""
        self._waiting.setdefault((target, resource, source), {}).update(points)

    def count(self, limits: Mapping[str, Limits], now_minute: int, *, has_measured_iops: bool) -> None:
        """Count what came since the last call.

        Args:
            limits: ceilings by OCID of every mount target.
            now_minute: end of the newest complete minute, epoch seconds.
            has_measured_iops: whether the tenancy has measured IOPS, which an estimated minute waits for.
        """
        until = now_minute - (GIVE_UP_MINUTES * MINUTE if has_measured_iops else 0)
        for target, ceilings in limits.items():
            for resource, field in CEILINGS.items():
                if limit := getattr(ceilings, field):
                    self._count(target, resource, limit, now_minute, until)
        self._waiting = {
            key: later
            for key, points in self._waiting.items()
            if key[2] == "oci" and (later := {minute: load for minute, load in points.items() if minute > until})
        }
        forget_gone(self._tallies, limits, now_minute)

    def of(self, target: str) -> Mapping[tuple[str, str], float]:
        """Return the counted minutes of a mount target by resource and level."""
        tallies = {resource: self._tallies.get((target, resource)) for resource in CEILINGS}
        return {
            (resource, level): number
            for resource, tally in tallies.items()
            if tally is not None
            for level, number in tally.totals.items()
        }

    def _count(self, target: str, resource: Resource, limit: float, now_minute: int, until: int) -> None:
        """Count the measured minutes until `now_minute`, and the estimated ones until `until`."""
        tally = self._tallies.get((target, resource))
        if tally is None:
            tally = self._tallies[target, resource] = Tally(Minutes(now_minute), dict.fromkeys(_LEVELS, 0.0))
        _take(tally, self._waiting.get((target, resource, "measured"), {}), limit, now_minute)
        _take(tally, self._waiting.get((target, resource, "oci"), {}), limit, until)


def _take(tally: Tally, points: Points, limit: float, until: int) -> None:
    """Count the minutes until `until`."""
    for minute, load in points.items():
        if minute <= until and tally.minutes.take(minute):
            for name, level in _LEVELS.items():
                if load >= level * limit:
                    tally.totals[name] += 1
