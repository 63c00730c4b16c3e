"""The highest tick of the last minute: ceilings are per second, and a minute's mean hides a second's burst."""

from collections import deque
from collections.abc import Mapping

WINDOW_SECONDS = 60.0


class Peaks:
    """Estimated IOPS of each tick by address, kept for `WINDOW_SECONDS`."""

    def __init__(self) -> None:
        self._ticks: dict[str, deque[tuple[float, float]]] = {}

    def add(self, iops: Mapping[str, float], at: float) -> None:
        """Note one tick: I/O operations per second by address, at `at` seconds of a monotonic clock."""
        for address, value in iops.items():
            self._ticks.setdefault(address, deque()).append((at, value))
        for address, ticks in list(self._ticks.items()):
            while ticks and ticks[0][0] <= at - WINDOW_SECONDS:
                ticks.popleft()
            if not ticks:
                del self._ticks[address]

    def highest(self) -> dict[str, float]:
        """Highest IOPS of a single tick by address; an address without a mount for a minute is absent."""
        return {address: max(value for _, value in ticks) for address, ticks in self._ticks.items()}
