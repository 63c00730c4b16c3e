# SPDX-License-Identifier: Apache-2.0
"""Answer scrapes. Scrapes of the same format within a moment share one collection and one body."""

import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import gzip_accepted

from fss_exporter.web import exposition
from fss_exporter.web.collecting import Turns
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.one_at_a_time import OneAtATime

# A body answers equal scrapes for this number of seconds, or for the time that it took. So any number of scrapers costs at most
# half a core, and clients that do not read share one body.
_SHARED_SECONDS = 0.1


class _Wanted(NamedTuple):
    """Format and encoding of a scrape. Equal requests get the same bytes."""

    form: exposition.Format
    compress: bool
    names: frozenset[str]


class Scrapes:
    """Answer scrapes of a registry.

    Args:
        registry: collects all families.
        turns: one collection at a time.
        clock: seconds that never go back.
    """

    def __init__(self, registry: CollectorRegistry, turns: Turns, clock: Callable[[], float] = time.monotonic) -> None:
        self._registry = registry
        self._turns = turns
        self._clock = clock
        self._one_at_a_time, self._filtering = OneAtATime(None), OneAtATime()
        self._bodies: dict[_Wanted, tuple[float, bytes]] = {}  # with the time until which they are shared

    def __call__(self, request: Request) -> Response:
        """The metrics in the format and encoding the scraper asks for, restricted to `name[]` if given."""
        wanted = _Wanted(
            exposition.negotiate(request.headers.get("accept", "")),
            gzip_accepted(request.headers.get("accept-encoding", "")),
            frozenset(parse_qs(request.query).get("name[]", ())),
        )
        encoding = (("Content-Encoding", "gzip"),) if wanted.compress else ()
        return Response(
            200,
            self._body(wanted),
            content_type=wanted.form.content_type,
            headers=(("Vary", "Accept, Accept-Encoding"), *encoding),
        )

    def _body(self, wanted: _Wanted) -> bytes:
        if wanted.names:  # selections are so many that hardly two share a body
            with self._filtering.turn():
                return self._written(wanted)
        with self._one_at_a_time.turn():
            began = self._clock()
            self._bodies = {scrape: (until, body) for scrape, (until, body) in self._bodies.items() if began < until}
            if wanted not in self._bodies:
                body = self._written(wanted)
                now = self._clock()
                self._bodies[wanted] = (now + max(_SHARED_SECONDS, now - began), body)
            return self._bodies[wanted][1]

    def _written(self, wanted: _Wanted) -> bytes:
        chosen = self._registry.restricted_registry(wanted.names) if wanted.names else self._registry
        return exposition.write(self._turns.collect(chosen), wanted.form, compress=wanted.compress)
