"""Limits of calls a second, by family of operations. Documented: each operation of the Monitoring API."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from fss_toolbox.demo.region import refusal

# Calls a second of each family for the whole tenancy. Documented: each operation of the Monitoring API.
CALLS_PER_SECOND: Mapping[str, int] = {
    "SummarizeMetricsData": 10,
    "ListMetrics": 10,
    "alarms": 10,
    "PostMetricData": 50,
}


class Throttle:
    """Refuses a call when the limit of its family was reached within the last second."""

    def __init__(self, limits: Mapping[str, int], clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._recent: dict[str, deque[float]] = {family: deque() for family in limits}
        self._lock = threading.Lock()

    def __call__(self, family: str) -> None:
        """Count one call. Raise 429 TooManyRequests above the limit."""
        if family not in self._limits:
            return
        with self._lock:
            now, recent = self._clock(), self._recent[family]
            while recent and recent[0] <= now - 1:
                recent.popleft()
            if len(recent) >= self._limits[family]:
                raise refusal.throttled()
            recent.append(now)
