# SPDX-License-Identifier: Apache-2.0
"""Play recorded minutes against other ceilings: the minutes above 80 % and 100 %, and the wait that a queue adds.

In front of each ceiling stands one queue. What a minute asks above the ceiling waits, and is served at the rate of the ceiling
as soon as there is room. So the wait at the end of a minute is what waits over the ceiling.
"""

from dataclasses import dataclass, field
from typing import Final

from fss_exporter.model.thresholds import WARNING_RATIO
from fss_toolbox.sizing.placement import Amounts

MINUTE_S: Final = 60.0

_AT_CEILING: Final = 0.98  # A load from this share on is cut by the ceiling


@dataclass(slots=True)
class Replay:
    """The minutes of one mount target so far, on `ceilings` of all mount targets that share its load evenly."""

    ceilings: Amounts
    minutes: int = 0  # with a load
    missing: int = 0  # of which the recording has no load
    above_warning: int = 0
    above_ceiling: int = 0
    at_ceiling: int = 0  # at 98 % or more
    longest_wait_seconds: float = 0.0
    _waited_seconds: float = 0.0
    _waiting: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])

    @property
    def mean_wait_seconds(self) -> float | None:
        """Mean of the waits at the ends of the minutes. None without a minute."""
        return self._waited_seconds / self.minutes if self.minutes else None

    def play(self, load: Amounts | None) -> None:
        """Add a minute. A minute without a load neither fills nor empties the queue, because its load is not known."""
        if load is None:
            self.missing += 1
            return
        self.minutes += 1
        share = wait = 0.0
        for at, (amount, ceiling) in enumerate(zip(load, self.ceilings, strict=True)):
            if amount is None or not ceiling:
                continue
            share = max(share, amount / ceiling)
            self._waiting[at] = max(0.0, self._waiting[at] + (amount - ceiling) * MINUTE_S)
            wait = max(wait, self._waiting[at] / ceiling)
        self.above_warning += share > WARNING_RATIO
        self.above_ceiling += share > 1
        self.at_ceiling += share >= _AT_CEILING
        self._waited_seconds += wait
        self.longest_wait_seconds = max(self.longest_wait_seconds, wait)
