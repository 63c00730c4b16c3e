# SPDX-License-Identifier: Apache-2.0
"""Serve the components of the exporter over HTTP until a signal ends it."""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import PROCESS_COLLECTOR, CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fss_exporter import DEFAULT_PORT, __version__
from fss_exporter.background import Event, Worker, at_once, stalled_loops
from fss_exporter.cli.flags import EXISTING_FILE
from fss_exporter.flag_records import flag, switch
from fss_exporter.web.application import OPEN_PATHS, Reload, Reloading, build
from fss_exporter.web.binding import bind, passed, url_of
from fss_exporter.web.collecting import Collectors, Source, Turns
from fss_exporter.web.http_server import HttpServer, no_tls
from fss_exporter.web.messages import Application, Request, Response
from fss_exporter.web.refusals import Refusals
from fss_exporter.web.scrapes import Scrapes

if TYPE_CHECKING:
    from fss_exporter.web.status.view import StatusView
    from fss_exporter.web.web_config_reload import WebConfigReload

_LOG = logging.getLogger(__name__)

# The units and the chart kill a process that has not ended 10 s after SIGTERM. A call that hangs is left to its daemon thread.
_STOP_SECONDS = 8.0

# A start that a signal finds must end first, and takes seconds. systemd kills after 10 s and Kubernetes after 30 s, others never do.
LONGEST_END_SECONDS = 25.0


@dataclass(frozen=True, slots=True)
class Component:
    """A component of the exporter, such as the agent or the poller, with background loops of its own."""

    name: str  # value of the `collector` label
    source: Source | None  # collects the last reading. None if the component exports no families of its own
    _: KW_ONLY
    start: Callable[[], None] = lambda: None  # begin reading
    stop: Callable[[], None] = lambda: None  # end reading, and leave nothing behind
    # background loops, the same objects until the exporter ends. Health checks and metrics watch the loops
    loops: Sequence[Worker] = ()
    # collects the same for the status page, without a change to the state of a scraper. None stands for `source`
    page_source: Source | None = None
    further_collectors: Sequence[Collector] = ()  # of the library, for the registry of scrapes
    waits_for: Callable[[], str] = lambda: ""  # what is missing before the component is ready. Empty if nothing is
    reload: Reload = lambda: lambda: None  # changes nothing itself


@dataclass(frozen=True, kw_only=True)
class WebFlags:
    """The flags of the web server."""

    listen_addresses: tuple[str, ...] = flag(
        "--web.listen-address",
        "Where to listen. Repeatable. An empty HOST means all addresses.",
        (f":{DEFAULT_PORT}",),
        metavar="HOST:PORT",
    )
    systemd_socket: bool = switch("--web.systemd-socket", "Listen on the sockets of a systemd .socket unit instead.")
    telemetry_path: str = flag("--web.telemetry-path", "Path of the metrics.", "/metrics")
    web_config_file: Path | None = flag(
        "--web.config.file",
        "TLS, users, headers and rate limit, in the format all Prometheus exporters share.",
        type=EXISTING_FILE,
    )


class Signals:
    """The signals of a running exporter: SIGTERM and SIGINT end it, SIGHUP reads the configuration again.

    The handlers only set events, so that a signal at any moment of the start is neither lost nor the end of the process. A thread ends a
    process that is still there long after its time to stop, whatever its main thread waits for.
    """

    def __init__(self) -> None:
        self.stop, self.hangup = Event(), Event()
        threading.Thread(target=self._end_at_last, name="fss-end", daemon=True).start()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop.set())
        signal.signal(signal.SIGHUP, lambda *_: self.hangup.set())

    def _end_at_last(self) -> None:
        while not self.stop.wait(_LONG_SECONDS):
            pass
        time.sleep(LONGEST_END_SECONDS)
        _LOG.error("not ended %.0f s after the signal, so the process ends without its clean-up", LONGEST_END_SECONDS)
        os._exit(1)

    def reload_at_hangup(self, reload: Callable[[], object]) -> None:
        """Call `reload` at each SIGHUP from now on, and for one that has come already, in a thread of its own."""

        def wait() -> None:
            while True:
                if self.hangup.wait(_LONG_SECONDS):
                    self.hangup.clear()
                    reload()

        threading.Thread(target=wait, name="fss-hangup", daemon=True).start()


_LONG_SECONDS = 86_400.0


def serve(
    components: Sequence[Component], flags: WebFlags, signals: Signals, *, on_listening: Callable[[Sequence[str]], None]
) -> None:
    """Serve the components until SIGTERM or SIGINT. SIGHUP reads the configuration again. `on_listening` gets the URLs of the metrics.

    Raises:
        UsageError: an address or file is wrong; nothing has been started.
    """
    protection = None
    if flags.web_config_file is not None:
        from fss_exporter.web.web_config_reload import WebConfigReload  # noqa: PLC0415  # few exporters need pydantic and bcrypt

        protection = WebConfigReload(flags.web_config_file)
        components = (_watching(protection), *components)
    reload = Reloading([component.reload for component in components])
    refusals = Refusals()
    application = _application(components, reload, refusals, flags.telemetry_path)
    if protection:
        application = protection.guard(application, open_paths=OPEN_PATHS)
    with ExitStack() as undo:
        listening = passed() if flags.systemd_socket else bind(flags.listen_addresses)
        sockets = [undo.enter_context(bound) for bound in listening]
        _LOG.info(
            "fss-exporter %s collects %s",
            __version__,
            ", ".join(component.name for component in components if component.source),
        )
        tls = protection.tls if protection else no_tls
        urls = [url_of(bound, tls=tls() is not None) + flags.telemetry_path for bound in sockets]
        server = HttpServer(sockets, application, tls=tls, refusals=refusals)
        started: list[Component] = []
        undo.callback(_stop, started)
        for component in components:
            started.append(component)
            component.start()
        signals.reload_at_hangup(reload)
        for url in urls:
            _LOG.info("listening on %s", url)
        on_listening(urls)
        server.run(signals.stop)


def _stop(components: Sequence[Component]) -> None:
    """Stop all components at once."""
    ends = [(component.name, partial(_end, component)) for component in reversed(components)]
    late = at_once([end for _, end in ends], _STOP_SECONDS)
    for name, end in ends:
        if end in late:
            _LOG.error("%s has not ended within %.0f s", name, _STOP_SECONDS)
    _LOG.info("stopped")


def _end(component: Component) -> None:
    try:
        component.stop()
    except Exception as error:  # noqa: BLE001  # a mistake of a component costs no other one its end
        _LOG.error("%s has not ended as it should", component.name, exc_info=error)


def _watching(protection: "WebConfigReload") -> Component:
    loop = protection.loop
    return Component(loop.collector, None, start=loop.start, stop=loop.stop, loops=(loop,), reload=protection.reload)


def registry_of(components: Sequence[Component], reload: Reloading, refusals: Refusals) -> CollectorRegistry:
    """Return the registry of a scrape: what the components collect, this process, and what its web server refuses."""
    registry = CollectorRegistry(support_collectors_without_names=True)  # a scrape with `name[]` asks all
    registry.register(_collectors({component.name: component.source for component in components}, components, reload))
    for collector in (
        PROCESS_COLLECTOR,
        refusals,
        *(collector for component in components for collector in component.further_collectors),
    ):
        registry.register(collector)
    return registry


def _collectors(sources: Mapping[str, Source | None], components: Sequence[Component], reload: Reloading) -> Collectors:
    present = {name: source for name, source in sources.items() if source is not None}
    loops = [loop for component in components for loop in component.loops]
    return Collectors(present, loops, last_reload=lambda: reload.is_successful)


def _application(
    components: Sequence[Component], reload: Reloading, refusals: Refusals, telemetry_path: str
) -> Application:
    loops = [loop for component in components for loop in component.loops]
    turns = Turns()
    of_page = _collectors(
        {component.name: component.page_source or component.source for component in components}, components, reload
    )
    return build(
        telemetry_path=telemetry_path,
        scrapes=Scrapes(registry_of(components, reload, refusals), turns),
        page=_page(lambda: turns.collect(of_page), telemetry_path),
        waiting_for=lambda: tuple(missing for component in components if (missing := component.waits_for())),
        stalled=lambda: stalled_loops(loops, time.monotonic()) + turns.stalled(),
        reload=reload,
    )


def _page(collect: Callable[[], list[Metric]], telemetry_path: str) -> Application:
    """Return the handler of the status page, which imports the page and Jinja2 for the first visitor."""
    started = time.monotonic()

    @cache
    def view() -> "StatusView":
        from fss_exporter.web.status.view import StatusView  # noqa: PLC0415  # few agents have a visitor

        return StatusView(collect, telemetry_path=telemetry_path, host=socket.gethostname(), started=started)

    def show(request: Request) -> Response:
        return view().response(request)

    return show
