# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter serve`: the agent on an NFS client, the poller of a tenancy, or both."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from prometheus_client.core import Metric

from fss_exporter.addresses import NetworkAddress
from fss_exporter.catalogue import family
from fss_exporter.cli import logs, runtime
from fss_exporter.cli.flags import CompartmentFlags
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.cli.runtime import Component, WebFlags
from fss_exporter.cli.terminal import GroupedHelp
from fss_exporter.errors import INSTALL_OCI, UsageError
from fss_exporter.flag_records import flag, switch, takes
from fss_exporter.model.cost_overrides import CostOverride
from fss_exporter.web.collecting import Source

if TYPE_CHECKING:
    from fss_exporter.settings import Settings

_LOG = logging.getLogger(__name__)
_NEED_RESTART = {"address_map": "address_map has", "services": "services have", "cost_model": "cost_model has"}


@dataclass(frozen=True, kw_only=True)
class ServeFlags(WebFlags, NfsFlags, CompartmentFlags):
    """The flags of `serve`."""

    log_level: str = flag("--log.level", "Least severe lines of the log.", "info", type=click.Choice(logs.LEVELS))
    log_format: str = flag("--log.format", "Format of the log lines.", "logfmt", type=click.Choice(logs.FORMATS))
    default_config_file: Path | None = flag(
        "--config.default-file", "Settings to read without --config.file. The file may be missing."
    )
    collect_nfs: bool = flag("--collector.nfs/--no-collector.nfs", "Read this host's NFS counters.", default=True)
    collect_oci: bool = flag("--collector.oci/--no-collector.oci", "Poll OCI Monitoring.", default=False)
    shard: str | None = flag(
        "--oci.shard", "Part of the mount targets to poll, for one of several pollers.  [default: 1/1]", metavar="N/OF"
    )
    standby: bool = switch("--oci.standby", "Poll only while no other poller with the same oci.ledger_directory polls.")
    publish: bool = switch(
        "--oci.publish",
        "Post custom metrics to OCI Monitoring. A poller posts utilization, latency, success and state, about 300,000 points a month"
        " for each mount target. An agent posts its waiting requests.",
    )
    # settings without a flag, on top of the configuration file, by dotted place
    further_settings: Mapping[str, object] = field(default_factory=dict)

    def overrides(self) -> dict[str, object]:
        """Return the values of the flags by dotted place in the configuration. None for a flag that is not given."""
        own = {
            "oci.shard": self.shard,
            "oci.standby": self.standby or None,
            "oci.publish": self.publish or None,
        }
        return {**super().overrides(), **own, **self.further_settings}

    def configuration(self) -> "Settings | None":
        """Return the file with the flags on top, or raise ConfigError. None for an agent without a file, which needs no YAML."""
        if self.settings_file is None and not self.collect_oci and not self.publish:
            return None
        return _kept_in_state_directory(self.settings()) if self.collect_oci else self.settings()

    @property
    def settings_file(self) -> Path | None:
        """The file that is read now. The default file may come and go while the exporter runs."""
        default = (
            None
            if self.default_config_file is None or _is_missing(self.default_config_file)
            else self.default_config_file
        )
        return self.config_file or default

    def check(self) -> None:
        """Refuse wrong flags with a UsageError before anything runs."""
        path = self.telemetry_path
        is_sent_as_written = path.isascii() and path.isprintable() and not set(path) & set('?#%" ')
        is_taken = path in {"/", "/runbook"} or path.startswith(("/-/", "//"))
        if not path.startswith("/") or is_taken or not is_sent_as_written:
            raise UsageError(
                f"--web.telemetry-path={path}: give a path like /metrics, other than / and /runbook and what begins with /-/ or //"
            )
        if not (self.collect_nfs or self.collect_oci):
            raise UsageError("nothing to collect: leave out --no-collector.nfs or give --collector.oci")
        if self.exact != "off" and not self.collect_nfs:
            raise UsageError(f"--nfs.exact={self.exact}: there is nothing to count with --no-collector.nfs")
        if self.collect_nfs:
            super().check()


@click.command(cls=GroupedHelp)
@takes(ServeFlags)
def serve(flags: ServeFlags) -> None:
    """Serve metrics for Prometheus until stopped."""
    logs.configure(flags.log_level, flags.log_format)
    run(flags)


def run(flags: ServeFlags, on_listening: Callable[[Sequence[str]], None] = lambda _: None) -> None:
    """Check everything, bind, start reading, serve. Nothing is left behind where one of these fails.

    `on_listening` gets the URLs of the metrics, once everything runs.

    Raises:
        UsageError: a flag, path or file is wrong.
    """
    signals = runtime.Signals()  # first: a signal during the start waits until the start ends
    flags.check()
    if flags.default_config_file is not None:
        _LOG.info("settings of %s", flags.settings_file or f"no file: {flags.default_config_file} is not there")
    runtime.serve(components_of(flags), flags, signals, on_listening=on_listening)


def components_of(flags: ServeFlags) -> Sequence[Component]:
    """Return the components that the flags name. A reload first refuses settings that need a restart."""
    settings = flags.configuration()

    def refuse_changes() -> Callable[[], None]:
        # A series keeps its address for as long as its mount lives, and joins would break if its info moved on alone.
        fresh = flags.configuration()
        for name, changed in _NEED_RESTART.items():
            is_used = flags.collect_nfs or name == "cost_model"
            if is_used and _given(fresh, name) != _given(settings, name):
                where = flags.settings_file or flags.default_config_file
                raise UsageError(f"{where}: {changed} changed, which takes a restart")
        return lambda: None

    components = [Component("settings", None, reload=refuse_changes)]
    if flags.collect_nfs:
        components += _nfs(flags, settings)
    if flags.collect_oci:
        components.append(_oci(flags))
    if settings and settings.cost_model.operations:
        components.append(Component("cost_model", CostModelSource(settings.cost_model.overrides.rows)))
    return components


def _given(settings: "Settings | None", name: str) -> object:
    """Return a section of the configuration. None if it is empty, as without a file."""
    section = getattr(settings, name, None)
    return getattr(section, "operations", section) or None


def _kept_in_state_directory(settings: "Settings") -> "Settings":
    """Return the settings with the state directory that systemd or the pod gives, unless they say something of a ledger directory."""
    given = os.environ.get("STATE_DIRECTORY", "")
    if not given or "ledger_directory" in settings.oci.model_fields_set:
        return settings
    oci = settings.oci.model_copy(update={"ledger_directory": Path(given)})
    return settings.model_copy(update={"oci": oci})


def _is_missing(path: Path) -> bool:
    """Whether nothing is there. A path that cannot be looked at is there, so that its reading says why."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def _nfs(flags: ServeFlags, settings: "Settings | None") -> Iterator[Component]:
    from fss_exporter.cli.nfs_agent import NfsAgent  # noqa: PLC0415
    from fss_exporter.nfs.collector import CounterCollector  # noqa: PLC0415
    from fss_exporter.nfs.mount_settings import mount_settings  # noqa: PLC0415  # a poller does not need it

    agent = NfsAgent(flags, mount_settings(settings))
    for_readers = agent.collector.for_readers()

    def reload() -> Callable[[], None]:
        return partial(agent.judge_by, mount_settings(flags.configuration()))

    yield Component(
        "nfs",
        agent.collector,
        page_source=for_readers,
        start=agent.start,
        stop=agent.stop,
        loops=agent.loops,
        waits_for=agent.waits_for,
        reload=reload,
    )
    for counter in agent.counters:
        yield Component(
            counter.loop.collector,
            CounterCollector(counter, agent.collector),
            page_source=CounterCollector(counter, for_readers),
        )
    # a file that agents share with the poller asks the poller alone to publish
    if settings and settings.oci.publish and (flags.publish or flags.collect_oci):
        yield _module("client_publishing", "--oci.publish").component(
            flags.settings_of_account, lambda: waiting_seconds(for_readers)
        )


def waiting_seconds(collector: Source) -> Mapping[NetworkAddress, float]:
    """Return the seconds so far in which requests of this host waited, by network and address."""
    judged = (made for made in collector.collect() if made.name == "fss_client_address_seconds")
    return {
        NetworkAddress(sample.labels["network"], sample.labels["address"]): sample.value
        for addresses in judged
        for sample in addresses.samples
        if sample.labels["verdict"] == "hanging"
    }


def _oci(flags: ServeFlags) -> Component:
    made: Component = _module("oci_polling", "--collector.oci").component(flags.settings)
    return made


def _module(name: str, flag_name: str) -> Any:
    """Return a module of the command line that needs the OCI SDK, which an agent mostly lacks."""
    try:
        return import_module(f"fss_exporter.cli.{name}")
    except ModuleNotFoundError as missing:
        raise UsageError(
            f"{flag_name} needs the Python module {missing.name}, which is not installed. {INSTALL_OCI}"
        ) from missing


@dataclass(frozen=True)
class CostModelSource:
    """Measured costs of the configuration as fss_cost_model_info, one series for each."""

    rows: tuple[CostOverride, ...]
    success: bool = True
    duration_seconds: float = 0.0

    def collect(self) -> Iterator[Metric]:
        """Yield the family fss_cost_model_info."""
        labels = ("operation", "io_operations", "factor", "date", "source")
        yield family("fss_cost_model_info", ((_values(row), 1.0) for row in self.rows), labels=labels)


def _values(row: CostOverride) -> tuple[str, ...]:
    fixed, factor = (f"{row.io_operations:g}", "") if row.io_operations is not None else ("", f"{row.factor:g}")
    return row.operation, fixed, factor, row.date, row.source
