# SPDX-License-Identifier: Apache-2.0
"""The handler of `/`: collect, remember, render."""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from urllib.parse import parse_qs

from fss_exporter.client_scrape import Scraped
from fss_exporter.samples import HasSamples
from fss_exporter.web.messages import HTML, Request, Response
from fss_exporter.web.status.html import render
from fss_exporter.web.status.overview import TimedScrape, status_page
from fss_exporter.web.status.style import CONTENT_SECURITY_POLICY

_WINDOW_SECONDS = 30.0
_SPACING_SECONDS = 10.0
_LEAST_SECONDS = 1.0


class StatusView:
    """The status page of a registry.

    The view keeps the counters of earlier visits. The page shows rates since the newest visit that is at least half a minute old,
    however many look at the page. The first visit shows means since the start of the exporter. Nothing is collected between
    visits.

    Args:
        collect: returns all families and never waits for the cloud.
        telemetry_path: path of the metrics, for the links.
        host: name of this host, for the title.
        clock: seconds that never go back.
        now: returns the time of day.
        started: seconds of the clock at which the counters were 0. None for now.
    """

    def __init__(
        self,
        collect: Callable[[], Iterable[HasSamples]],
        *,
        telemetry_path: str = "/metrics",
        host: str = "",
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        started: float | None = None,
    ) -> None:
        self._collect = collect
        self._telemetry_path, self._host = telemetry_path, host
        self._clock, self._now = clock, now
        started = clock() if started is None else started
        # In the order of time. A page within the first second counts as one after a second.
        self._scrapes = [TimedScrape(started - _LEAST_SECONDS, Scraped())]

    def html(self, query: str = "") -> str:
        """Return the present page. In the query `q` searches the mount targets, and `page` turns pages.

        One thread at a time calls the method.
        """
        families, at = self._collect(), self._clock()
        page, scrape = status_page(families, now=self._now(), at=at, earlier=self._earlier(at))
        if at - self._scrapes[-1].at >= _SPACING_SECONDS:
            self._scrapes.append(scrape)
        asked = parse_qs(query)
        number = asked.get("page", ["1"])[0]
        return render(
            page,
            telemetry_path=self._telemetry_path,
            host=self._host,
            search=asked.get("q", [""])[0],
            number=int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 1,
        )

    def response(self, request: Request) -> Response:
        """Answer a visitor."""
        policy = ("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return Response(200, self.html(request.query).encode(), content_type=HTML, headers=(policy,))

    def _earlier(self, at: float) -> TimedScrape:
        """Return the newest counters that are at least the window old, else the oldest, and forget what is older."""
        while len(self._scrapes) > 1 and at - self._scrapes[1].at >= _WINDOW_SECONDS:
            del self._scrapes[0]
        return self._scrapes[0]
