"""Paths to handlers: metrics, health, readiness, reload and the page at `/`."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fss_exporter.errors import FssError
from fss_exporter.web.daemon_thread import in_thread
from fss_exporter.web.messages import HTML, Application, Request, Response, text
from fss_exporter.web.status.style import CONTENT_SECURITY_POLICY

_LOG = logging.getLogger(__name__)
READ = frozenset({"GET", "HEAD"})
CHANGE = frozenset({"POST", "PUT"})

# Probes have no password, and an orchestrator that gets no answer kills what it asks.
OPEN_PATHS = frozenset({"/-/healthy", "/-/ready"})


@dataclass(frozen=True, slots=True)
class Route:
    """What is served at a path.

    Attributes:
        handler: makes the response.
        methods: any other gets a 405 that names these.
    """

    handler: Application
    methods: frozenset[str] = READ


class Router:
    """Finds the route of a request.

    Args:
        routes: by exact path.
    """

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes

    async def __call__(self, request: Request) -> Response:
        """The response of the route, or why there is none."""
        route = self._routes.get(request.path)
        if route is None:
            return text(404, "not found; see / for what there is")
        if request.method not in route.methods:
            allowed = ", ".join(sorted(route.methods))
            return text(405, f"{request.method} is not for {request.path}; use {allowed}", ("Allow", allowed))
        try:
            return await route.handler(request)
        except Exception:  # noqa: BLE001  # a bug of ours costs this request
            _LOG.exception("%s %s failed", request.method, request.path)
            return text(500, "internal error; the exporter's log says more")


def build(
    *,
    telemetry_path: str,
    scrapes: Application,
    page: Callable[[str], str],
    waiting_for: Callable[[], tuple[str, ...]],
    stalled: Callable[[], tuple[str, ...]] = tuple,
    reload: Callable[[], None],
) -> Router:
    """The exporter's application.

    Args:
        telemetry_path: where `scrapes` is served.
        scrapes: answers with metrics.
        page: from the query of the URL to the HTML of `/`; may take a moment.
        waiting_for: what is not ready yet, in words; empty when ready.
        stalled: the background loops that are stalled, one sentence each; empty when all run.
        reload: re-reads the configuration; raises `FssError` and changes nothing if it is wrong.
    """
    return Router(
        {
            "/": Route(_page(page)),
            telemetry_path: Route(scrapes),
            "/-/healthy": Route(_health(stalled)),
            "/-/ready": Route(_readiness(waiting_for, stalled)),
            "/-/reload": Route(_reloading(reload), methods=CHANGE),
        }
    )


def _health(stalled: Callable[[], tuple[str, ...]]) -> Application:
    async def say_healthy(_: Request) -> Response:
        if loops := stalled():
            return text(503, f"fss-exporter is not healthy: {'; '.join(loops)}.")
        return text(200, "fss-exporter is healthy.")

    return say_healthy


def _readiness(waiting_for: Callable[[], tuple[str, ...]], stalled: Callable[[], tuple[str, ...]]) -> Application:
    async def say_ready(_: Request) -> Response:
        if loops := stalled():
            return text(503, f"fss-exporter is not ready: {'; '.join(loops)}.")
        if missing := waiting_for():
            return text(503, f"fss-exporter waits for {', '.join(missing)}.")
        return text(200, "fss-exporter is ready.")

    return say_ready


def _page(page: Callable[[str], str]) -> Application:
    one_at_a_time = asyncio.Lock()

    async def show_page(request: Request) -> Response:
        async with one_at_a_time:
            html = await in_thread(lambda: page(request.query))
        policy = ("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return Response(200, html.encode(), content_type=HTML, headers=(policy,))

    return show_page


def _reloading(reload: Callable[[], None]) -> Application:
    one_at_a_time = asyncio.Lock()

    async def do_reload(_: Request) -> Response:
        async with one_at_a_time:
            mistake = await read_again(reload)
        return text(500, mistake) if mistake else text(200, "configuration read again.")

    return do_reload


async def read_again(reload: Callable[[], None]) -> str:
    """Read the configuration again and log how it went; what is wrong with it, or an empty text."""
    try:
        await in_thread(reload)
    except FssError as wrong:
        mistake = f"kept the old configuration: {wrong}"
        _LOG.error("%s", mistake)
        return mistake
    _LOG.info("configuration read again")
    return ""
