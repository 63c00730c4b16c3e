"""`/metrics`: any number of scrapers, one collection at a time."""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Hashable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import parse_qs

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from fss_exporter.web import exposition
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.turns import Turns
from fss_exporter.web.work import in_thread

T = TypeVar("T")

_MOMENT_SECONDS = 0.005
"""A collection that took less is made where it is asked for: it holds up nobody, and a thread would add a fifth to it."""


class _Wanted(NamedTuple):
    """What a scraper asks for; those who ask for the same get the same bytes."""

    form: exposition.Format
    compress: bool
    names: frozenset[str]

    def write(self, families: list[Family]) -> bytes:
        chosen = exposition.only_named(families, self.names) if self.names else families
        return exposition.write(chosen, self.form, compress=self.compress)


@dataclass(frozen=True, slots=True)
class _Collected:
    """Families, and what was written of them for the scraper they were collected for: one change of threads for both."""

    families: list[Family]
    wanted: _Wanted
    body: bytes | None


class Scrapes:
    """Answers scrapes of a registry.

    Scrapers that come while a collection runs share its result, and those that want the same bytes share these as well;
    nothing is kept for later. Collectors are never called by two threads at once.

    Args:
        registry: asked for its families once per collection.
        clock: seconds that never go back.
    """

    def __init__(self, registry: Collector, clock: Callable[[], float] = time.perf_counter) -> None:
        self._registry = registry
        self._clock = clock
        self._running: dict[Hashable, asyncio.Task[Any]] = {}
        self._took_seconds = math.inf
        # Scrapers that want the same share it, and there are few formats; of `name[]` there may be any number.
        self._filtering = Turns(at_once=2, waiting=14)

    async def __call__(self, request: Request) -> Response:
        """The metrics in the format and encoding the scraper asks for, restricted to `name[]` if given."""
        wanted = _Wanted(
            exposition.negotiate(request.headers.get("accept", "")),
            exposition.gzip_accepted(request.headers.get("accept-encoding", "")),
            frozenset(parse_qs(request.query).get("name[]", ())),
        )
        collected = await self._shared("collection", lambda: self._collection(wanted))
        body = collected.body
        if body is None or collected.wanted != wanted:
            body = await self._shared(wanted, lambda: self._write(collected.families, wanted))
        encoding = (("Content-Encoding", "gzip"),) if wanted.compress else ()
        return Response(
            200,
            body,
            content_type=wanted.form.content_type,
            headers=(("Vary", "Accept, Accept-Encoding"), *encoding),
        )

    async def _collection(self, wanted: _Wanted) -> _Collected:
        if self._took_seconds < _MOMENT_SECONDS:
            return self._collect(wanted)
        return await in_thread(lambda: self._collect(wanted))

    def _collect(self, wanted: _Wanted) -> _Collected:
        began = self._clock()
        families = list(self._registry.collect())
        collected = _Collected(families, wanted, None if wanted.names else wanted.write(families))
        self._took_seconds = self._clock() - began
        return collected

    async def _write(self, families: list[Family], wanted: _Wanted) -> bytes:
        async with self._filtering.turn() if wanted.names else nullcontext():
            return await in_thread(lambda: wanted.write(families))

    async def _shared(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.create_task(work())
            running.add_done_callback(lambda _: self._running.pop(key))
        # A scraper that goes away must not take the others' result with it.
        return cast("T", await asyncio.shield(running))
