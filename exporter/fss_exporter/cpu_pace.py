# SPDX-License-Identifier: Apache-2.0
"""The pause between rounds of work whose CPU time depends on the host."""

from collections import deque
from typing import Final

_COUNTED_ROUNDS: Final = 3


class CpuPace:
    """An interval, or a longer one if rounds take more than a share of one core.

    The median of the last three rounds counts. A single slow round has set something up and does not predict the next round. The
    first round sets up everything, so the interval holds until three rounds are known.

    Args:
        interval_s: shortest time between two rounds, seconds.
        largest_share: highest share of one core for the rounds, such as 0.01.

    Attributes:
        interval_s: time from the start of one round to the start of the next, seconds.
    """

    def __init__(self, interval_s: float, largest_share: float) -> None:
        self.interval_s = self._shortest_s = interval_s
        self._largest_share = largest_share
        self._cpu_s: deque[float] = deque(maxlen=_COUNTED_ROUNDS)

    def add(self, cpu_s: float) -> None:
        """Note the CPU time of a round, seconds."""
        self._cpu_s.append(cpu_s)
        if len(self._cpu_s) == _COUNTED_ROUNDS:
            self.interval_s = max(self._shortest_s, sorted(self._cpu_s)[_COUNTED_ROUNDS // 2] / self._largest_share)

    @property
    def slowed_s(self) -> float:
        """The seconds by which the interval is longer than asked. 0 if the rounds take less than their share."""
        return self.interval_s - self._shortest_s
