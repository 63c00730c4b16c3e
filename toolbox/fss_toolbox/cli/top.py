# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter top`: a full-screen view of mount targets against their ceilings, in the terminal."""

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from fss_exporter import RUNBOOK, units
from fss_exporter.cli.terminal import end_by_signals
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import KernelFlags, ProcfsFlags, argument, flag, refuse, takes
from fss_exporter.nfs.procfs import Procfs
from fss_kernel_counting.processes.counting import ProcessCounting
from fss_kernel_counting.tracefs import OF_COMMAND, Sources
from fss_toolbox.ceilings import judge
from fss_toolbox.cli.toolbox_flags import HttpFlags, ShapeFlags, metrics_url, server_url
from fss_toolbox.fetch import get, runbook_at, shown
from fss_toolbox.plan.prometheus_api import Prometheus
from fss_toolbox.top.host_source import HostSource
from fss_toolbox.top.page_source import PageSource
from fss_toolbox.top.picture import PictureSource
from fss_toolbox.top.prometheus_source import PrometheusSource

_HOST_SECONDS, _PAGE_SECONDS, _PROMETHEUS_SECONDS = 2.0, 5.0, 15.0
INSTALL_TOP = "Run pip install '.[top]' in a clone, or pip install textual. The packages have it."


@dataclass(frozen=True, kw_only=True)
class TopFlags(HttpFlags, ProcfsFlags, KernelFlags, ShapeFlags):
    """The flags of `top`; times in seconds."""

    interval: float | None = argument(type=units.interval, required=False)
    url: str | None = flag("--url", "A running agent or poller, e.g. http://host:10949.")
    prometheus: str | None = flag(
        "--prometheus", "A Prometheus that scrapes pollers and agents: the whole fleet.", metavar="URL"
    )

    def check(self) -> None:
        """Refuse flags that do not name one source with a UsageError."""
        of_this_host = self.url is None and self.prometheus is None
        refuse(
            {
                "--url and --prometheus: give one of them": self.url is not None and self.prometheus is not None,
                "--http-config goes with --url or --prometheus": self.http_config is not None and of_this_host,
            }
        )


@click.command()
@takes(TopFlags)
def top(flags: TopFlags) -> int:
    """Watch mount targets against their ceilings in the whole terminal.

    The worst state comes first, with its reason. A bar shows the fullest ceiling, with source and age of the figure. Enter shows mounts, clients,
    operations and processes behind it, and ? explains columns and keys. Without a flag the view is of this host. INTERVAL is the seconds of a picture, 2 for
    this host, 5 with --url, 15 with --prometheus.
    """
    flags.check()
    source = _source(flags)
    screen = _screen()
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("top draws on a terminal. For a pipe or a file use `fss-exporter iostat 5`")
    end_by_signals()
    shown = screen.TopScreen(source, RUNBOOK if flags.url is None else runbook_at(flags.url))
    shown.run()
    return shown.return_code or 0


def _screen() -> Any:
    """Return the module of the screen, which needs Textual."""
    try:
        return import_module("fss_toolbox.top.top_screen")
    except ModuleNotFoundError as missing:
        raise UsageError(
            f"top needs the Python module {missing.name}, which is not installed. {INSTALL_TOP}"
        ) from missing


def _source(flags: TopFlags) -> PictureSource:
    ceilings, access = judge(flags.shape, flags.configuration()), flags.access()
    if flags.prometheus is not None:
        base = server_url("--prometheus", flags.prometheus).rstrip("/")
        prometheus = Prometheus(lambda path: get(f"{base}{path}", "application/json", access))
        return PrometheusSource(prometheus, shown(base), ceilings, flags.interval or _PROMETHEUS_SECONDS)
    if flags.url is not None:
        url = metrics_url("--url", flags.url)
        return PageSource(lambda: get(url, "text/plain", access), shown(url), ceilings, flags.interval or _PAGE_SECONDS)
    mounts = ceilings.mounts
    counting = ProcessCounting(
        OF_COMMAND,
        writers=True,
        sources=Sources(tracefs=flags.tracefs_places, sysfs=flags.sysfs, procfs=flags.procfs),
        mounts=mounts,
    )
    read = Procfs(flags.procfs, flags.pid, mounts.address_map, mounts.services).read_in_time
    return HostSource(read, ceilings, flags.interval or _HOST_SECONDS, counting, mounts.overrides)
