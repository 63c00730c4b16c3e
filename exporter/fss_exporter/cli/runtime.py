"""Run an exporter: bind, start the parts, serve, and stop everything within a second of a signal."""

import asyncio
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from fss_exporter import DEFAULT_PORT, __version__
from fss_exporter.background import HasHeartbeat, stalled_loops
from fss_exporter.cli.flags import EXISTING_FILE
from fss_exporter.flag_records import flag, switch
from fss_exporter.log_once import LogOnce
from fss_exporter.web.application import OPEN_PATHS, Reloading, build
from fss_exporter.web.binding import bind, passed, url_of
from fss_exporter.web.collecting import Collectors, Source, one_at_a_time
from fss_exporter.web.connections import ConnectionLimits
from fss_exporter.web.http_server import HttpServer, no_tls
from fss_exporter.web.messages import Application
from fss_exporter.web.scrapes import Scrapes
from fss_exporter.web.status.view import StatusView

if TYPE_CHECKING:
    from fss_exporter.web.web_config_reload import WebConfigReload

_LOG = logging.getLogger(__name__)
_TLS_CONNECTIONS = 64  # each takes 150 KiB and more, several times as much as without TLS
_STOP_SECONDS = 0.5  # a call that hangs is left to its daemon thread; tearing Python down takes the rest of the second


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the exporter, such as the agent or the poller, with background loops of its own."""

    name: str  # value of the `collector` label
    source: Source | None  # collects the last reading. None if the part exports no families of its own
    _: KW_ONLY
    start: Callable[[], None] = lambda: None  # begin reading
    stop: Callable[[], None] = lambda: None  # end reading, within a second
    # background loops, the same objects until the exporter ends. Health checks and metrics watch the loops
    loops: Sequence[HasHeartbeat] = ()
    # collects the same for the status page, without a change to the state of a scraper. None stands for `source`
    page_source: Source | None = None
    is_ready: Callable[[], bool] = lambda: True  # whether the first reading has ended
    # read its settings again; raises `FssError` and changes nothing if they are wrong
    reload: Callable[[], None] = lambda: None


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


def serve(parts: Sequence[Part], flags: WebFlags, *, on_listening: Callable[[Sequence[str]], None]) -> None:
    """Serve the parts until SIGTERM or SIGINT. SIGHUP reads the configuration again. `on_listening` gets the URLs of the metrics.

    Raises:
        UsageError: an address or file is wrong; nothing has been started.
    """
    protection = None
    if flags.web_config_file is not None:
        from fss_exporter.web.web_config_reload import WebConfigReload  # noqa: PLC0415  # few exporters need pydantic and bcrypt

        protection = WebConfigReload(flags.web_config_file)
        parts = (_watching(protection), *parts)
    application, reload = _application(parts, protection, flags.telemetry_path)
    with ExitStack() as undo:
        listening = passed() if flags.systemd_socket else bind(flags.listen_addresses)
        sockets = [undo.enter_context(bound) for bound in listening]
        _LOG.info("fss-exporter %s collects %s", __version__, ", ".join(part.name for part in parts if part.source))
        running = undo.enter_context(_Running())
        undo.callback(_ignore_signals)
        tls = protection.tls if protection else no_tls
        urls = [url_of(bound, tls=tls() is not None) + flags.telemetry_path for bound in sockets]
        limits = ConnectionLimits() if tls() is None else ConnectionLimits(connections=_TLS_CONNECTIONS)
        server = HttpServer(sockets, application, tls=tls, limits=limits.within_descriptors())

        def start() -> None:
            running.start(parts)
            for url in urls:
                _LOG.info("listening on %s", url)
            on_listening(urls)

        asyncio.run(_run(server, reload, start, running.begin_stopping))


def _ignore_signals() -> None:
    """Let no second signal interrupt the end of the parts, because the kernel would go on counting."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _watching(protection: "WebConfigReload") -> Part:
    loop = protection.loop
    return Part(loop.collector, None, start=loop.start, stop=loop.stop, loops=(loop,), reload=protection.reload)


def _application(
    parts: Sequence[Part], protection: "WebConfigReload | None", telemetry_path: str
) -> tuple[Application, Reloading]:
    loops = [loop for part in parts for loop in part.loops]
    collecting = threading.Lock()

    def collects(sources: Mapping[str, Source | None]) -> Callable[[], list[Metric]]:
        registry = CollectorRegistry()
        registry.register(Collectors({name: source for name, source in sources.items() if source is not None}, loops))
        ProcessCollector(registry=registry)
        return one_at_a_time(registry, collecting)

    def reload_parts() -> None:
        for part in parts:
            part.reload()

    reload = Reloading(reload_parts)
    collect_page = collects({part.name: part.page_source or part.source for part in parts})
    application = build(
        telemetry_path=telemetry_path,
        scrapes=Scrapes(collects({part.name: part.source for part in parts})),
        page=StatusView(collect_page, telemetry_path=telemetry_path, host=socket.gethostname()).html,
        waiting_for=lambda: tuple(f"the first reading of {part.name}" for part in parts if not part.is_ready()),
        stalled=lambda: stalled_loops(loops, time.monotonic()),
        reload=reload,
    )
    return (protection.guard(application, open_paths=OPEN_PATHS) if protection else application), reload


class _Running:
    """The started parts. Stopping asks all parts at once, also after a failed start."""

    def __init__(self) -> None:
        self._started: list[Part] = []
        self._stopping: list[threading.Thread] = []

    def start(self, parts: Sequence[Part]) -> None:
        """Start the parts in the given order."""
        for part in parts:
            self._started.append(part)
            part.start()

    def begin_stopping(self) -> None:
        """Ask each part to stop, in threads of their own; wait for none."""
        while self._started:
            part = self._started.pop()
            thread = threading.Thread(target=part.stop, name=f"stop-{part.name}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no further thread
                part.stop()
            else:
                self._stopping.append(thread)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.begin_stopping()
        for thread in self._stopping:
            thread.join(_STOP_SECONDS)
        _LOG.info("stopped")


def _fault_handler() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return the function that logs errors of the event loop, each kind once an hour."""
    log_once = LogOnce(_LOG)

    def log(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        message, error = context["message"], context.get("exception")
        # A message such as "Exception in callback name(...)" ends with arguments, which differ each time.
        kind = f"{message.split()[:3]} {type(error)}"
        log_once.failed(kind, message, level=logging.ERROR, error=error)

    return log


async def _run(
    server: HttpServer, reload: Reloading, start: Callable[[], None], begin_stopping: Callable[[], None]
) -> None:
    """Start, then serve. A signal during the start waits until the start ends."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    reloads: set[asyncio.Task[str]] = set()

    def on_hangup() -> None:
        task = loop.create_task(reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    def on_stop() -> None:
        stop.set()
        begin_stopping()

    loop.set_exception_handler(_fault_handler())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_stop)
    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    start()
    await server.run(stop)
