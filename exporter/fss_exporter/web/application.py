# SPDX-License-Identifier: Apache-2.0
"""Paths to handlers: metrics, health, readiness, reload, the page at `/` and the runbook."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fss_exporter.background import OneWithin
from fss_exporter.errors import FssError, SourceError
from fss_exporter.web.messages import Application, Request, Response, refusal, text
from fss_exporter.web.one_at_a_time import OneAtATime, TooLong
from fss_exporter.web.runbook import runbook

_LOG = logging.getLogger(__name__)
_RELOAD_SECONDS = 10.0
_HANGS = (
    "the old configuration is in force until the reload ends: a reload hangs while it reads a file."
    " Restart the exporter if the reload does not end"
)

# Least time between two reloads that clients ask for. Each reload is a line of log, and anyone may ask without a password.
_RELOAD_REST_SECONDS = 1.0

READ = frozenset({"GET", "HEAD"})
CHANGE = frozenset({"POST", "PUT"})

# Probes have no password, and an orchestrator without an answer kills the exporter.
OPEN_PATHS = frozenset({"/-/healthy", "/-/ready"})


@dataclass(frozen=True, slots=True)
class Route:
    """The handler of a path."""

    handler: Application
    methods: frozenset[str] = READ  # allowed methods. Any other method gets a 405 with this list


@dataclass(frozen=True, slots=True)
class Router:
    """Finds the route of a request."""

    routes: Mapping[str, Route]  # by exact path

    def __call__(self, request: Request) -> Response:
        """Return the response of the route, or a refusal with the reason."""
        route = self.routes.get(request.path)
        if route is None:
            return text(404, "not found. The page / has all links")
        if request.method not in route.methods:
            allowed = ", ".join(sorted(route.methods))
            return text(405, f"{request.method} is not for {request.path}. Use {allowed}", ("Allow", allowed))
        try:
            return route.handler(request)
        except TooLong:
            return refusal("this takes too long. Ask again")


def build(
    *,
    telemetry_path: str,
    scrapes: Application,
    page: Application,
    waiting_for: Callable[[], tuple[str, ...]],
    stalled: Callable[[], tuple[str, ...]] = tuple,
    reload: Callable[[], str],
) -> Router:
    """Return the exporter's application.

    `page` answers `/`, one request at a time. `waiting_for` returns the unready components in
    words, `stalled` a sentence for each stalled background loop, and `reload` the mistakes of the new configuration.
    """
    return Router(
        {
            "/": Route(_in_turn(page, OneAtATime())),
            "/runbook": Route(runbook),
            telemetry_path: Route(scrapes),
            "/-/healthy": Route(_state("healthy", stalled)),
            "/-/ready": Route(_state("ready", stalled, waiting_for)),
            "/-/reload": Route(_reloading(reload), methods=CHANGE),
        }
    )


def _state(
    word: str, stalled: Callable[[], tuple[str, ...]], waiting_for: Callable[[], tuple[str, ...]] = tuple
) -> Application:
    def say_state(_: Request) -> Response:
        if loops := stalled():
            return text(503, f"fss-exporter is not {word}: {'; '.join(loops)}.")
        if missing := waiting_for():
            return text(503, f"fss-exporter waits for {', '.join(missing)}.")
        return text(200, f"fss-exporter is {word}.")

    return say_state


def _in_turn(page: Application, one_at_a_time: OneAtATime) -> Application:
    def show_page(request: Request) -> Response:
        with one_at_a_time.turn():
            return page(request)

    return show_page


def _reloading(reload: Callable[[], str]) -> Application:
    one_at_a_time = OneAtATime()

    def do_reload(_: Request) -> Response:
        with one_at_a_time.turn():
            mistake = reload()
            time.sleep(_RELOAD_REST_SECONDS)
        return text(500, mistake) if mistake else text(200, "configuration read again.")

    return do_reload


# Reads settings and returns the function that puts them in force. Raises `FssError` for wrong settings.
Reload = Callable[[], Callable[[], None]]


class Reloading:
    """Read the configuration of all components, then put it in force in all of them, one reload at a time, and log the result.

    Args:
        reloads: read the settings of a component. Only when all are right, any is put in force.
        seconds: that a reload may take. The exporter then answers without it.

    Attributes:
        is_successful: whether the last reload put its settings in force. True before the first.
    """

    def __init__(self, reloads: Sequence[Reload], seconds: float = _RELOAD_SECONDS) -> None:
        self._reloads = reloads
        self._turn = threading.Lock()  # a signal and a client may ask at the same time
        self._reading = OneWithin(seconds, "a reload")
        self.is_successful = True

    def __call__(self) -> str:
        """Return the mistakes, or an empty text."""
        with self._turn:
            mistake = self._reload()
            self.is_successful = not mistake
        return mistake

    def _reload(self) -> str:
        try:
            return self._reading.run(self._read)
        except SourceError:
            return _logged(_HANGS)
        except RuntimeError as error:  # the system allows no further thread
            return _kept(str(error))

    def _read(self) -> str:
        try:
            for put_in_force in [reload() for reload in self._reloads]:
                put_in_force()
        except FssError as wrong:
            return _kept(str(wrong))
        except Exception as error:  # noqa: BLE001  # an unexpected error costs this reload
            _LOG.error("a reload failed", exc_info=error)
            return _kept(repr(error))
        _LOG.info("configuration read again")
        return ""


def _kept(reason: str) -> str:
    return _logged(f"kept the old configuration: {reason}")


def _logged(mistake: str) -> str:
    _LOG.error("%s", mistake)
    return mistake
