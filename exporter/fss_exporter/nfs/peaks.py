"""The highest tick of the last minute by address. Ceilings are per second, and the mean of a minute hides a burst of a second."""

from collections import deque
from collections.abc import Mapping

WINDOW_SECONDS = 60.0


class Peaks:
    """Estimated IOPS of each tick by address, kept for `WINDOW_SECONDS`."""

    def __init__(self) -> None:
        self._ticks: dict[str, deque[tuple[float, float]]] = {}

    def add(self, iops: Mapping[str, float], at: float) -> None:
        """Note one tick.

        Args:
            iops: I/O operations per second by address. A missing address has no mount any more.
            at: seconds of a monotonic clock.
        """
        for address, value in iops.items():
            self._ticks.setdefault(address, deque()).append((at, value))
        self._ticks = {address: ticks for address, ticks in self._ticks.items() if address in iops}
        for ticks in self._ticks.values():
            while ticks[0][0] <= at - WINDOW_SECONDS:
                ticks.popleft()

    def highest(self) -> dict[str, float]:
        """Return the highest IOPS of a single tick by address. An address without a mount is absent."""
        return {address: max(value for _, value in ticks) for address, ticks in self._ticks.items()}
