# SPDX-License-Identifier: Apache-2.0
"""Answer scrapes. Scrapes of the same format within a moment share one collection and one body."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs

from fss_exporter.catalogue import Family
from fss_exporter.web import exposition
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.one_at_a_time import OneAtATime

_SHARED_SECONDS = 0.1
"""A body answers equal scrapes for this number of seconds, or for the time that it took. So any number of scrapers costs at most
half a core, and clients that do not read share one body.
"""


class _Wanted(NamedTuple):
    """Format and encoding of a scrape. Equal requests get the same bytes."""

    form: exposition.Format
    compress: bool
    names: frozenset[str]


class Scrapes:
    """Answer scrapes.

    Args:
        collect: returns all families. Several threads call the function.
        clock: seconds that never go back.
    """

    def __init__(self, collect: Callable[[], Sequence[Family]], clock: Callable[[], float] = time.monotonic) -> None:
        self._collect = collect
        self._clock = clock
        self._one_at_a_time, self._filtering = OneAtATime(None), OneAtATime()
        self._bodies: dict[_Wanted, tuple[float, bytes]] = {}  # with the time until which they are shared

    def __call__(self, request: Request) -> Response:
        """The metrics in the format and encoding the scraper asks for, restricted to `name[]` if given."""
        wanted = _Wanted(
            exposition.negotiate(request.headers.get("accept", "")),
            exposition.gzip_accepted(request.headers.get("accept-encoding", "")),
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
        families = self._collect()
        if wanted.names:
            families = exposition.only_named(families, wanted.names)
        return exposition.write(families, wanted.form, compress=wanted.compress)
