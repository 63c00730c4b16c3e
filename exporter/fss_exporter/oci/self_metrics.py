"""Counters of the poller about the poller. The counters outlive polls, and a scrape may read them at any moment."""

import threading
from collections.abc import Mapping
from typing import Final

Labels = tuple[str, ...]

OUTCOMES: Final = ("ok", "throttled", "not_authorized", "unreachable", "too_much_data", "broken_answer", "error")
"""Values of the label `outcome`: the outcome of each error, and `ok`."""


class SelfMetrics:
    """Sums by exported metric and label values."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, dict[Labels, float]] = {}

    def add(self, metric: str, labels: Labels = (), amount: float = 1.0) -> None:
        """Add to one counter. An amount of 0 makes the counter visible."""
        with self._lock:
            sums = self._sums.setdefault(metric, {})
            sums[labels] = sums.get(labels, 0.0) + amount

    def request(self, region: str, operation: str, outcome: str, seconds: float) -> None:
        """Count a request to OCI. Every other outcome becomes visible at 0, so that a later rate includes the first
        error.
        """
        for possible in OUTCOMES:
            self.add("fss_oci_api_requests_total", (region, operation, possible), 0)
        self.add("fss_oci_api_requests_total", (region, operation, outcome))
        self.add("fss_oci_api_request_seconds_total", (region, operation), seconds)

    def sums(self) -> Mapping[str, Mapping[Labels, float]]:
        """Return a copy of all counters, by metric and labels."""
        with self._lock:
            return {metric: dict(sums) for metric, sums in self._sums.items()}
