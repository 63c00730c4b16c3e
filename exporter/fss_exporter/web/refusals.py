# SPDX-License-Identifier: Apache-2.0
"""The count of what the web server refuses under load, for the next scrape that it answers."""

import threading
from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fss_exporter.catalogue import family


class Refusals(Collector):
    """Requests and connections that were refused or closed since the start, because of too many clients or a slow one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def add(self) -> None:
        """Count one. Any thread may call this."""
        with self._lock:
            self._count += 1

    def collect(self) -> Iterator[Metric]:
        """Return the metric."""
        yield family("fss_exporter_refused_requests_total", [((), self._count)])
