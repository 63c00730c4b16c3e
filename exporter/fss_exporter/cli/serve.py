"""`fss-exporter serve`: the agent on an NFS client, the poller of a tenancy, or both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fss_exporter import DEFAULT_PORT
from fss_exporter.cli import logs, runtime
from fss_exporter.cli.account_flags import account_options, account_places
from fss_exporter.cli.cost_model import cost_model_part, overrides_of
from fss_exporter.cli.flags import CONFIGURATION, duration, flag, flags_of, taken_from
from fss_exporter.cli.nfs_flags import NfsFlags, agent_options
from fss_exporter.cli.runtime import Part
from fss_exporter.errors import INSTALL_OCI, UsageError

if TYPE_CHECKING:
    from fss_exporter.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeFlags:
    """The flags of `serve`."""

    listen_addresses: tuple[str, ...] = flag(
        "--web.listen-address",
        "Where to listen. Repeatable. An empty HOST means all addresses.",
        (f":{DEFAULT_PORT}",),
        multiple=True,
        metavar="HOST:PORT",
    )
    systemd_socket: bool = flag(
        "--web.systemd-socket",
        "Listen on the sockets of a systemd .socket unit instead.",
        default=False,
        is_flag=True,
    )
    telemetry_path: str = flag("--web.telemetry-path", "Path of the metrics.", "/metrics")
    web_config_file: Path | None = flag(
        "--web.config.file",
        "TLS, users, headers and rate limit, in the format all Prometheus exporters share.",
        type=CONFIGURATION,
    )
    collect_nfs: bool = flag("--collector.nfs/--no-collector.nfs", "Read this host's NFS counters.", default=True)
    collect_oci: bool = flag("--collector.oci/--no-collector.oci", "Poll OCI Monitoring.", default=False)
    nfs: NfsFlags = field(default_factory=NfsFlags)  # the flags of the agent
    config_file: Path | None = None
    # what the `--oci.*` flags put on top of the configuration file: value by dotted place, None if not given
    oci: Mapping[str, object] = field(default_factory=dict)


@click.command()
@flags_of(ServeFlags, "listen_addresses", "systemd_socket", "telemetry_path", "web_config_file", "collect_nfs")
@agent_options
@flags_of(ServeFlags, "collect_oci")
@account_options
@click.option("--oci.poll-interval", "poll_interval", type=duration, metavar="DURATION", help="[default: 60s]")
@click.option(
    "--oci.publish",
    "publish",
    is_flag=True,
    help="Post utilization to OCI Monitoring as custom metrics, about 175,000 points a month for each mount target.",
)
@click.option("--log.level", "log_level", type=click.Choice(logs.LEVELS), default="info", show_default=True)
@click.option("--log.format", "log_format", type=click.Choice(logs.FORMATS), default="logfmt", show_default=True)
def serve(*, log_level: str, log_format: str, poll_interval: float | None, publish: bool, **flags: Any) -> None:
    """Serve metrics for Prometheus until stopped."""
    logs.configure(log_level, log_format)
    given = {"oci.poll_interval": poll_interval, "oci.publish": publish or None}
    nfs = taken_from(NfsFlags, flags)
    oci = {**account_places(flags), **given}
    run(replace(taken_from(ServeFlags, flags), nfs=nfs, oci=oci))


def run(options: ServeFlags, on_listening: Callable[[Sequence[str]], None] = lambda _: None) -> None:
    """Check everything, bind, start reading, serve. Nothing is left behind where one of these fails.

    Args:
        options: the flags.
        on_listening: called with the URLs of the metrics, once everything runs.

    Raises:
        UsageError: a flag, path or file is wrong.
    """
    _check(options)
    runtime.serve(
        _parts(options),
        listen_addresses=options.listen_addresses,
        telemetry_path=options.telemetry_path,
        web_config_file=options.web_config_file,
        systemd_socket=options.systemd_socket,
        on_listening=on_listening,
    )


def _check(options: ServeFlags) -> None:
    path = options.telemetry_path
    if not path.startswith("/") or path == "/" or path.startswith("/-/") or set(path) & set("?#% "):
        raise UsageError(
            f"--web.telemetry-path={path}: give a path like /metrics, other than / and what begins with /-/"
        )
    if not (options.collect_nfs or options.collect_oci):
        raise UsageError("nothing to collect: leave out --no-collector.nfs or give --collector.oci")
    if options.oci.get("oci.publish") and not options.collect_oci:
        raise UsageError("--oci.publish: there is nothing to publish without --collector.oci")
    if options.nfs.exact != "off" and not options.collect_nfs:
        raise UsageError(f"--nfs.exact={options.nfs.exact}: there is nothing to count with --no-collector.nfs")
    if options.collect_nfs:
        options.nfs.check()


def _parts(options: ServeFlags) -> Sequence[Part]:
    settings = _settings(options)
    parts = []
    if options.collect_nfs:
        parts.append(_nfs(options, settings))
    if options.collect_oci:
        parts.append(_oci(options))
    if overrides := overrides_of(settings).rows:
        parts.append(cost_model_part(overrides))
    return parts


def _settings(options: ServeFlags) -> "Settings | None":
    """Return the configuration, if there is any: an agent without one needs neither YAML nor validation."""
    if options.config_file is None and not options.collect_oci:
        return None
    from fss_exporter.settings import load  # noqa: PLC0415

    return load(options.config_file, options.oci)


def _nfs(options: ServeFlags, settings: "Settings | None") -> Part:
    from fss_exporter.cli.ceilings import services_of  # noqa: PLC0415
    from fss_exporter.cli.nfs_agent import NfsAgent, objectives_of  # noqa: PLC0415  # a poller does not need it

    address_map = settings.address_map if settings else {}
    stated = settings.services if settings else ()
    stated_costs = settings.cost_model if settings else None

    def reload() -> None:
        # A series keeps its address for as long as its mount lives, and joins would break if its info moved on alone.
        fresh = _settings(options)
        if fresh is not None and fresh.address_map != address_map:
            raise UsageError(f"{options.config_file}: address_map has changed, which takes a restart")
        if fresh is not None and fresh.services != stated:
            raise UsageError(f"{options.config_file}: services have changed, which takes a restart")
        if fresh is not None and fresh.cost_model != stated_costs:
            raise UsageError(f"{options.config_file}: cost_model has changed, which takes a restart")

    agent = NfsAgent(options.nfs, address_map, services_of(settings), overrides_of(settings), objectives_of(settings))
    return Part(
        name="nfs",
        source=agent.collector,
        page_source=agent.collector.for_readers(),
        start=agent.start,
        stop=agent.stop,
        loops=agent.loops,
        is_ready=lambda: agent.ticker.is_ready,
        reload=reload,
    )


def _oci(options: ServeFlags) -> Part:
    try:
        from fss_exporter.cli import oci_polling  # noqa: PLC0415  # an agent has no OCI SDK
    except ModuleNotFoundError as missing:
        raise UsageError(
            f"--collector.oci needs the Python module {missing.name}, which is not installed. {INSTALL_OCI}"
        ) from missing
    from fss_exporter.settings import load  # noqa: PLC0415

    return oci_polling.part(lambda: load(options.config_file, options.oci))
