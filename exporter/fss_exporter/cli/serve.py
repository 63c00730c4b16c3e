"""`fss-exporter serve`: the agent on an NFS client, the poller of a tenancy, or both."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from fss_exporter import __version__
from fss_exporter.cli import logs, runtime
from fss_exporter.cli.flags import duration
from fss_exporter.cli.runtime import Part
from fss_exporter.errors import UsageError
from fss_exporter.web.application import build
from fss_exporter.web.binding import bind
from fss_exporter.web.collecting import Collectors
from fss_exporter.web.limits import affordable
from fss_exporter.web.listener import Listener
from fss_exporter.web.scrapes import Scrapes
from fss_exporter.web.status.view import StatusView

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The flags of `serve`; times in seconds."""

    listen_addresses: tuple[str, ...] = (":10949",)
    telemetry_path: str = "/metrics"
    web_config_file: Path | None = None
    procfs: Path = Path("/proc")
    pid: str = "1"
    tick_s: float = 1.0
    collect_nfs: bool = True
    collect_oci: bool = False
    config_file: Path | None = None


@click.command()
@click.option(
    "--web.listen-address",
    "listen_addresses",
    multiple=True,
    default=(":10949",),
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; may be repeated. An empty HOST means all addresses.",
)
@click.option(
    "--web.telemetry-path", "telemetry_path", default="/metrics", show_default=True, help="Path of the metrics."
)
@click.option(
    "--web.config.file",
    "web_config_file",
    type=click.Path(path_type=Path),
    help="TLS, users, headers and rate limit, in the format all Prometheus exporters share.",
)
@click.option(
    "--collector.nfs/--no-collector.nfs",
    "collect_nfs",
    default=True,
    show_default=True,
    help="Read this host's NFS counters.",
)
@click.option(
    "--path.procfs",
    "procfs",
    type=click.Path(path_type=Path),
    default=Path("/proc"),
    show_default=True,
    help="Where procfs is mounted.",
)
@click.option(
    "--path.pid", "pid", default="1", show_default=True, help="Process whose mounts are read: a number or self."
)
@click.option(
    "--nfs.tick",
    "tick_s",
    type=duration,
    metavar="DURATION",
    default="1s",
    show_default=True,
    help="Time between two readings.",
)
@click.option(
    "--collector.oci/--no-collector.oci", "collect_oci", default=False, show_default=True, help="Poll OCI Monitoring."
)
@click.option("--config.file", "config_file", type=click.Path(path_type=Path), help="Settings of the exporter.")
@click.option("--log.level", "log_level", type=click.Choice(logs.LEVELS), default="info", show_default=True)
@click.option("--log.format", "log_format", type=click.Choice(logs.FORMATS), default="logfmt", show_default=True)
def serve(*, log_level: str, log_format: str, **flags: object) -> None:
    """Serve metrics for Prometheus until stopped."""
    logs.configure(log_level, log_format)
    run(Options(**flags))  # type: ignore[arg-type]  # click has made the types


def run(options: Options) -> None:
    """Check everything, bind, start reading, serve. Nothing is left behind where one of these fails.

    Raises:
        UsageError: a flag, path or file is wrong.
    """
    _check(options)
    parts = _parts(options)
    registry = CollectorRegistry()
    registry.register(Collectors({part.name: part.source for part in parts}))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    sockets = bind(options.listen_addresses)
    application = build(
        telemetry_path=options.telemetry_path,
        scrapes=Scrapes(registry),
        page=StatusView(registry.collect, telemetry_path=options.telemetry_path).html,
        waiting_for=lambda: tuple(f"the first reading of {part.name}" for part in parts if not part.is_ready()),
        reload=_nothing_to_reload,
    )
    _LOG.info("fss-exporter %s collects %s", __version__, ", ".join(part.name for part in parts))
    with runtime.running(parts):
        for bound in sockets:
            host, port = bound.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            _LOG.info("listening on http://%s:%d%s", shown, port, options.telemetry_path)
        runtime.run(Listener(sockets, application, limits=affordable()), _nothing_to_reload)


def _nothing_to_reload() -> None:
    pass


def _check(options: Options) -> None:
    path = options.telemetry_path
    if not path.startswith("/") or path == "/" or path.startswith("/-/") or set(path) & set("?#% "):
        raise UsageError(
            f"--web.telemetry-path={path}: give a path like /metrics, other than / and what begins with /-/"
        )
    if not (options.collect_nfs or options.collect_oci):
        raise UsageError("nothing to collect: leave out --no-collector.nfs or give --collector.oci")
    if options.collect_nfs and not options.procfs.is_dir():
        raise UsageError(f"--path.procfs={options.procfs}: not a directory; give the place where procfs is mounted")
    if options.pid != "self" and not (options.pid.isascii() and options.pid.isdigit()):
        raise UsageError(f"--path.pid={options.pid}: give a process number or self")


def _parts(options: Options) -> Sequence[Part]:
    parts = []
    if options.collect_nfs:
        parts.append(_nfs(options))
    return parts


def _nfs(options: Options) -> Part:
    from fss_exporter.nfs.collector import NfsCollector  # noqa: PLC0415  # a poller does not need it
    from fss_exporter.nfs.procfs import Procfs  # noqa: PLC0415
    from fss_exporter.nfs.ticker import Ticker  # noqa: PLC0415

    ticker = Ticker(Procfs(options.procfs, options.pid).read, options.tick_s)
    return Part(name="nfs", source=NfsCollector(ticker), start=ticker.start, stop=ticker.stop)
