"""Calls a second, by family of operations, for the whole tenancy."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from fss_exporter.demo.region.refusal import throttled

CALLS_PER_SECOND: Mapping[str, int] = MappingProxyType(
    {"SummarizeMetricsData": 10, "ListMetrics": 10, "alarms": 10, "PostMetricData": 50}
)
"""Documented for each operation of the Monitoring API; all alarm operations share one limit."""


class Throttle:
    """Refuses a call when as many of its family came within the last second.

    Args:
        limits: calls a second by family; families without a limit are never refused.
        clock: seconds, monotonic.
    """

    def __init__(self, limits: Mapping[str, int], clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._recent: dict[str, deque[float]] = {family: deque() for family in limits}
        self._lock = threading.Lock()

    def __call__(self, family: str) -> None:
        """Count one call.

        Raises:
            Refusal: 429 TooManyRequests.
        """
        if family not in self._limits:
            return
        with self._lock:
            now, recent = self._clock(), self._recent[family]
            while recent and recent[0] <= now - 1:
                recent.popleft()
            if len(recent) >= self._limits[family]:
                raise throttled()
            recent.append(now)
