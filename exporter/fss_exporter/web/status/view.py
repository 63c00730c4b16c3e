"""What the web application calls for `/`: collect, remember, render."""

import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from prometheus_client.metrics_core import Metric as Family

from fss_exporter.web.status.clients import Look
from fss_exporter.web.status.overview import status_page

_OLDEST_SECONDS = 60.0
_SPACING_SECONDS = 15.0


class StatusView:
    """The status page of a registry.

    Counters of the last minute's looks are remembered, so that the page shows what clients do now and not since the
    start; nothing is collected while nobody looks.

    Args:
        collect: all families behind `/metrics`, e.g. `registry.collect`; never waits for the cloud.
        telemetry_path: where `/metrics` is.
        clock: seconds that never go back.
        now: time of day, aware of its zone.
    """

    def __init__(
        self,
        collect: Callable[[], Iterable[Family]],
        *,
        telemetry_path: str = "/metrics",
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._collect = collect
        self._telemetry_path = telemetry_path
        self._clock = clock
        self._now = now
        self._lock = threading.Lock()
        self._looks: tuple[Look, ...] = ()

    def html(self) -> str:
        """The page, now. May be called from several threads."""
        from fss_exporter.web.status.html import render  # noqa: PLC0415  # Jinja2 is for those who look

        families = list(self._collect())
        at = self._clock()
        page, look = status_page(families, now=self._now(), at=at, earlier=self._remembered(at))
        self._remember(look)
        return render(page, telemetry_path=self._telemetry_path)

    def _remembered(self, at: float) -> Look | None:
        """The oldest look that is not too old."""
        with self._lock:
            self._looks = tuple(look for look in self._looks if at - look.at <= _OLDEST_SECONDS)
            return self._looks[0] if self._looks else None

    def _remember(self, look: Look) -> None:
        with self._lock:
            if not self._looks or look.at - self._looks[-1].at >= _SPACING_SECONDS:
                self._looks = (*self._looks, look)
