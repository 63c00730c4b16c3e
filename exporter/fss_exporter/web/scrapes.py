"""`/metrics`: any number of scrapers, one collection at a time."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextlib import nullcontext
from typing import Any, TypeVar, cast
from urllib.parse import parse_qs

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from fss_exporter.web import exposition
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.turns import Turns
from fss_exporter.web.work import in_thread

T = TypeVar("T")


class Scrapes:
    """Answers scrapes of a registry.

    Scrapers that come while a collection runs share its result, and those that want the same bytes share these as well;
    nothing is kept for later. Collectors are never called by two threads at once.

    Args:
        registry: asked for its families once per collection.
    """

    def __init__(self, registry: Collector) -> None:
        self._registry = registry
        self._running: dict[Hashable, asyncio.Task[Any]] = {}
        # Scrapers that want the same share it, and there are few formats; of `name[]` there may be any number.
        self._filtering = Turns(at_once=2, waiting=14)

    async def __call__(self, request: Request) -> Response:
        """The metrics in the format and encoding the scraper asks for, restricted to `name[]` if given."""
        form = exposition.negotiate(request.headers.get("accept", ""))
        compress = exposition.gzip_accepted(request.headers.get("accept-encoding", ""))
        names = frozenset(parse_qs(request.query).get("name[]", ()))

        async def body() -> bytes:
            families = await self._shared("collection", self._collect)
            async with self._filtering.turn() if names else nullcontext():
                return await in_thread(lambda: _write(families, form, names, compress=compress))

        encoding = (("Content-Encoding", "gzip"),) if compress else ()
        return Response(
            200,
            await self._shared((form.media_type, compress, names), body),
            content_type=form.content_type,
            headers=(("Vary", "Accept, Accept-Encoding"), *encoding),
        )

    async def _collect(self) -> list[Family]:
        return await in_thread(lambda: list(self._registry.collect()))

    async def _shared(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.create_task(work())
            running.add_done_callback(lambda _: self._running.pop(key))
        # A scraper that goes away must not take the others' result with it.
        return cast("T", await asyncio.shield(running))


def _write(families: list[Family], form: exposition.Format, names: frozenset[str], *, compress: bool) -> bytes:
    if names:
        families = exposition.only_named(families, names)
    return exposition.write(families, form, compress=compress)
