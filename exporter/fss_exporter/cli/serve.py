"""`fss-exporter serve`: the agent on an NFS client, the poller of a tenancy, or both."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from fss_exporter.cli import logs, runtime
from fss_exporter.cli.flags import duration
from fss_exporter.cli.runtime import Part
from fss_exporter.errors import UsageError


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
    runtime.serve(
        _parts(options),
        listen_addresses=options.listen_addresses,
        telemetry_path=options.telemetry_path,
        web_config_file=options.web_config_file,
    )


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
