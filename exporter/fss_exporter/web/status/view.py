"""The handler of `/`: collect, remember, render."""

import time
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qs

from prometheus_client.metrics_core import Metric as Family

from fss_exporter.client_scrape import Scraped
from fss_exporter.web.status.overview import Look, status_page

_OLDEST_SECONDS = 60.0
_SPACING_SECONDS = 15.0
_LEAST_SECONDS = 1.0


@dataclass(eq=False, repr=False)
class StatusView:
    """The status page of a registry.

    The view keeps the counters of the last minute, so that the page shows present rates. The first visit shows means since
    the start of the exporter. Nothing is collected between visits.
    """

    collect: Callable[[], Iterable[Family]]  # returns all families and never waits for the cloud
    _: KW_ONLY
    telemetry_path: str = "/metrics"
    host: str = ""  # for the title
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
        self._looks: list[Look] = []
        # The counters of clients begin at 0 with the exporter. A page within its first second counts as one after a second.
        self._start = Look(self.clock() - _LEAST_SECONDS, Scraped())

    def html(self, query: str = "") -> str:
        """Return the present page. In the query `q` searches the mount targets, and `page` turns pages.

        One thread at a time calls the method.
        """
        from fss_exporter.web.status.html import render  # noqa: PLC0415  # only a visitor of the page needs Jinja2

        families, at = self.collect(), self.clock()
        page, look = status_page(families, now=self.now(), at=at, earlier=self._remembered(at))
        if not self._looks or at - self._looks[-1].at >= _SPACING_SECONDS:
            self._looks.append(look)
        asked = parse_qs(query)
        number = asked.get("page", ["1"])[0]
        return render(
            page,
            telemetry_path=self.telemetry_path,
            host=self.host,
            search=asked.get("q", [""])[0],
            number=int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 1,
        )

    def _remembered(self, at: float) -> Look:
        """Return the oldest counters of the last minute that are at least a second old, else the start of the exporter."""
        self._looks = [look for look in self._looks if at - look.at <= _OLDEST_SECONDS]
        oldest = self._looks[0] if self._looks else self._start
        return oldest if at - oldest.at >= _LEAST_SECONDS else self._start
