"""Paths to handlers: metrics, health, readiness, reload and the page at `/`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from fss_exporter.errors import FssError
from fss_exporter.log_once import LogOnce
from fss_exporter.web.costly import ClientGone, Costly, TooManyWait
from fss_exporter.web.daemon_thread import in_thread
from fss_exporter.web.messages import HTML, Application, Request, Response, text
from fss_exporter.web.status.style import CONTENT_SECURITY_POLICY

_LOG = logging.getLogger(__name__)
_RELOAD_SECONDS = 10.0
_RELOAD_REST_SECONDS = 1.0
"""Least time between two reloads that clients ask for. Each reload is a line of log, and anyone may ask without a password."""
_log_once = LogOnce(_LOG)
READ = frozenset({"GET", "HEAD"})
CHANGE = frozenset({"POST", "PUT"})

# Probes have no password, and an orchestrator without an answer kills the exporter.
OPEN_PATHS = frozenset({"/-/healthy", "/-/ready"})


@dataclass(frozen=True, slots=True)
class Route:
    """The handler of a path."""

    handler: Application  # makes the response
    methods: frozenset[str] = READ  # allowed methods. Any other method gets a 405 with this list


@dataclass(frozen=True, slots=True)
class Router:
    """Finds the route of a request."""

    routes: Mapping[str, Route]  # by exact path

    async def __call__(self, request: Request) -> Response:
        """Return the response of the route, or a refusal with the reason."""
        route = self.routes.get(request.path)
        if route is None:
            return text(404, "not found. The page / has all links")
        if request.method not in route.methods:
            allowed = ", ".join(sorted(route.methods))
            return text(405, f"{request.method} is not for {request.path}. Use {allowed}", ("Allow", allowed))
        try:
            return await route.handler(request)
        except ClientGone:
            raise
        except TooManyWait:
            return text(503, "too many ask for this. Ask again", ("Retry-After", "1"))
        except Exception as error:  # noqa: BLE001  # a bug of ours costs this request
            message = f"{request.method} {request.path} failed"
            _log_once.failed(f"{request.path} {type(error).__name__}", message, level=logging.ERROR, error=error)
            return text(500, "internal error. The exporter's log says more")


def build(
    *,
    telemetry_path: str,
    scrapes: Application,
    page: Callable[[str], str],
    waiting_for: Callable[[], tuple[str, ...]],
    stalled: Callable[[], tuple[str, ...]] = tuple,
    reload: Callable[[], Awaitable[str]],
) -> Router:
    """Return the exporter's application.

    `page` returns the HTML of `/` for the query of a URL, and may take a moment. `waiting_for` returns the unready parts in
    words, `stalled` a sentence for each stalled background loop, and `reload` the mistakes of the new configuration.
    """
    return Router(
        {
            "/": Route(_page(page)),
            telemetry_path: Route(scrapes),
            "/-/healthy": Route(_state("healthy", stalled)),
            "/-/ready": Route(_state("ready", stalled, waiting_for)),
            "/-/reload": Route(_reloading(reload), methods=CHANGE),
        }
    )


def _state(
    word: str, stalled: Callable[[], tuple[str, ...]], waiting_for: Callable[[], tuple[str, ...]] = tuple
) -> Application:
    async def say_state(_: Request) -> Response:
        if loops := stalled():
            return text(503, f"fss-exporter is not {word}: {'; '.join(loops)}.")
        if missing := waiting_for():
            return text(503, f"fss-exporter waits for {', '.join(missing)}.")
        return text(200, f"fss-exporter is {word}.")

    return say_state


def _page(page: Callable[[str], str]) -> Application:
    costly = Costly()

    async def show_page(request: Request) -> Response:
        html = await costly.work(lambda: in_thread(lambda: page(request.query)), request.is_gone)
        policy = ("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return Response(200, html.encode(), content_type=HTML, headers=(policy,))

    return show_page


def _reloading(reload: Callable[[], Awaitable[str]]) -> Application:
    costly = Costly(_RELOAD_REST_SECONDS)

    async def do_reload(request: Request) -> Response:
        mistake = await costly.work(reload, request.is_gone)
        return text(500, mistake) if mistake else text(200, "configuration read again.")

    return do_reload


@dataclass(eq=False, repr=False)
class Reloading:
    """Read the configuration again, one reload at a time, and log the result."""

    reload: Callable[[], None]  # raises `FssError` for a wrong configuration and then changes nothing
    seconds: float = _RELOAD_SECONDS  # that a reload may take. The exporter then answers without it
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _running: asyncio.Task[str] | None = field(default=None, init=False)

    async def __call__(self) -> str:
        """Return the mistakes, or an empty text."""
        async with self._turn:
            if self._running is None or self._running.done():
                self._running = asyncio.create_task(self._read())
                await asyncio.wait({self._running}, timeout=self.seconds)
            if self._running.done():
                return self._running.result()
            return _kept("a reload hangs while it reads a file. Restart the exporter if the reload does not end")

    async def _read(self) -> str:
        try:
            await in_thread(self.reload)
        except FssError as wrong:
            return _kept(str(wrong))
        _LOG.info("configuration read again")
        return ""


def _kept(reason: str) -> str:
    mistake = f"kept the old configuration: {reason}"
    _LOG.error("%s", mistake)
    return mistake
