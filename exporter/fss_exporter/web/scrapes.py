"""Answer scrapes. Simultaneous scrapes share one collection, each in the requested format and encoding."""

import asyncio
import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from prometheus_client.metrics_core import Metric as Family

from fss_exporter.web import exposition
from fss_exporter.web.costly import Costly
from fss_exporter.web.daemon_thread import in_thread
from fss_exporter.web.messages import Request, Response

T = TypeVar("T")

_REUSE_SECONDS = 0.1
"""A collection answers scrapes for this number of seconds, or for the time of the collection. So collecting takes at most
half a core with any number of scrapers, and clients that do not read share one body.
"""

_MOMENT_SECONDS = 0.005
"""Longest collection in the event loop, seconds. Writing the text takes about twice as long. So little work delays no request,
and a thread would add a fifth.
"""


class _Wanted(NamedTuple):
    """Format and encoding of a scrape. Equal requests get the same bytes."""

    form: exposition.Format
    compress: bool
    names: frozenset[str]

    def write(self, families: list[Family]) -> bytes:
        chosen = exposition.only_named(families, self.names) if self.names else families
        return exposition.write(chosen, self.form, compress=self.compress)


@dataclass(eq=False, repr=False)
class Scrapes:
    """Answer scrapes."""

    collect: Callable[[], list[Family]]  # returns all families. One thread at a time calls the function
    clock: Callable[[], float] = time.monotonic  # seconds that never go back
    _took_seconds: float = field(default=math.inf, init=False)
    _results: dict[Hashable, asyncio.Task[Any]] = field(default_factory=dict, init=False)
    _filtered: Costly = field(default_factory=Costly, init=False)

    async def __call__(self, request: Request) -> Response:
        """The metrics in the format and encoding the scraper asks for, restricted to `name[]` if given."""
        wanted = _Wanted(
            exposition.negotiate(request.headers.get("accept", "")),
            exposition.gzip_accepted(request.headers.get("accept-encoding", "")),
            frozenset(parse_qs(request.query).get("name[]", ())),
        )
        # Of name[] there may be any number. Of formats and encodings there are four.
        if wanted.names:
            body = await self._filtered.work(lambda: self._write(wanted), request.is_gone)
        else:
            body = await self._shared(wanted, lambda: self._write(wanted))
        encoding = (("Content-Encoding", "gzip"),) if wanted.compress else ()
        return Response(
            200,
            body,
            content_type=wanted.form.content_type,
            headers=(("Vary", "Accept, Accept-Encoding"), *encoding),
        )

    async def _write(self, wanted: _Wanted) -> bytes:
        families = await self._shared("families", self._families)
        return await self._run(lambda: wanted.write(families))

    async def _families(self) -> list[Family]:
        began = self.clock()
        families = await self._run(self.collect)
        self._took_seconds = self.clock() - began
        return families

    async def _run(self, work: Callable[[], T]) -> T:
        return work() if self._took_seconds < _MOMENT_SECONDS else await in_thread(work)

    async def _shared(self, key: Hashable, work: Callable[[], Any]) -> Any:
        """Return the result of `work`, shared with all requests during the work and for a moment after."""
        running = self._results.get(key)
        if running is None:
            running = self._results[key] = asyncio.create_task(work())
            running.add_done_callback(lambda done: self._forget_soon(key, done))
        # A scraper that goes away must not take the others' result with it.
        return await asyncio.shield(running)

    def _forget_soon(self, key: Hashable, done: asyncio.Task[Any]) -> None:
        if done.cancelled() or done.exception():
            self._results.pop(key, None)
        else:
            seconds = max(_REUSE_SECONDS, self._took_seconds)
            asyncio.get_running_loop().call_later(seconds, self._results.pop, key, None)
