"""Counters of what the poller did. They outlive polls, and a scrape may read them at any moment."""

import threading
from collections.abc import Mapping
from typing import Final

Labels = tuple[str, ...]

OUTCOMES: Final = ("ok", "throttled", "not_authorized", "unreachable", "too_much_data", "broken_answer", "error")
"""What may become of a request: `outcome` of the errors, and `ok`."""


class SelfMetrics:
    """Sums by exported metric and label values."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, dict[Labels, float]] = {}

    def add(self, metric: str, labels: Labels = (), amount: float = 1.0) -> None:
        """Add to one counter; an amount of 0 makes it visible."""
        with self._lock:
            sums = self._sums.setdefault(metric, {})
            sums[labels] = sums.get(labels, 0.0) + amount

    def request(self, region: str, operation: str, outcome: str, seconds: float) -> None:
        """Account for one request to OCI. Every outcome is seen at 0 first, so that a rate misses none."""
        for possible in OUTCOMES:
            self.add("fss_oci_api_requests_total", (region, operation, possible), 0)
        self.add("fss_oci_api_requests_total", (region, operation, outcome))
        self.add("fss_oci_api_request_seconds_total", (region, operation), seconds)

    def sums(self) -> Mapping[str, Mapping[Labels, float]]:
        """A copy of everything."""
        with self._lock:
            return {metric: dict(sums) for metric, sums in self._sums.items()}
