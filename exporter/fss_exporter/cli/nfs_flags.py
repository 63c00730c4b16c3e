"""The flags of the agent, for `serve` and `once`."""

import re
from dataclasses import dataclass, fields
from functools import reduce
from pathlib import Path
from typing import Any, Final

import click

from fss_exporter import units
from fss_exporter.cli.flags import duration
from fss_exporter.cli.host_flags import PROCFS, Command, exact_options, procfs_options
from fss_exporter.errors import UsageError
from fss_exporter.fetch import check_url

MAX_MOUNTS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class NfsFlags:
    """The flags of the agent; times in seconds."""

    procfs: Path = PROCFS
    pid: str = "1"
    tick_s: float = 1.0
    exact: str = "off"
    tracefs: Path | None = None
    sysfs: Path = Path("/sys")
    mounts_include: str | None = None
    mounts_exclude: str | None = None
    operations: str = "all"
    series_retention_s: float = 3600.0
    max_mounts: int = MAX_MOUNTS
    scrapers: int = 1
    metadata_url: str | None = None
    network_bandwidth: float | None = None

    @classmethod
    def taken_from(cls, flags: dict[str, Any]) -> "NfsFlags":
        """Take the agent's flags out of all flags of a command."""
        return cls(**{one.name: flags.pop(one.name) for one in fields(cls) if one.name in flags})

    def check(self) -> None:
        """Check what can be checked before anything runs.

        Raises:
            UsageError: a flag is wrong.
        """
        if not self.procfs.is_dir():
            raise UsageError(f"--path.procfs={self.procfs}: not a directory; give the place where procfs is mounted")
        if self.pid != "self" and not (self.pid.isascii() and self.pid.isdigit()):
            raise UsageError(f"--path.pid={self.pid}: give a process number or self")
        for flag, text in (("include", self.mounts_include), ("exclude", self.mounts_exclude)):
            try:
                re.compile(text or "")
            except re.error as wrong:
                raise UsageError(f"--nfs.mounts-{flag}={text}: not a regular expression: {wrong}") from wrong
        if self.metadata_url:
            check_url("--nfs.metadata-url", self.metadata_url)


_FILTERS: Final = (
    click.option(
        "--nfs.mounts-include",
        "mounts_include",
        metavar="RE",
        help="Read only mounts whose mount point, export, server or server:export matches RE completely.",
    ),
    click.option(
        "--nfs.mounts-exclude", "mounts_exclude", metavar="RE", help="Leave out mounts that match RE completely."
    ),
    click.option(
        "--nfs.operations",
        "operations",
        type=click.Choice(("all", "none")),
        default="all",
        show_default=True,
        help="Count operations by name (22 series a mount), or only by class (4).",
    ),
    click.option(
        "--nfs.max-mounts",
        "max_mounts",
        type=click.IntRange(min=1),
        default=MAX_MOUNTS,
        show_default=True,
        help="Most superblocks to read. Leave out the rest, and count them in fss_nfs_superblocks_left_out.",
    ),
)
_SERVED: Final = (
    click.option(
        "--nfs.tick",
        "tick_s",
        type=duration,
        metavar="DURATION",
        default="1s",
        show_default=True,
        help="Time between two readings.",
    ),
    click.option(
        "--nfs.series-retention",
        "series_retention_s",
        type=duration,
        metavar="DURATION",
        default="1h",
        show_default=True,
        help="How long the series of a mount stay after its umount.",
    ),
    click.option(
        "--nfs.scrapers",
        "scrapers",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Prometheus servers that scrape this agent. A new mount shows zeros in as many answers before its counts.",
    ),
    click.option(
        "--nfs.metadata-url",
        "metadata_url",
        metavar="URL",
        help="URL of the instance metadata, for the network bandwidth. Empty: do not ask.  [default: OCI's, on an instance of OCI]",
    ),
    click.option(
        "--nfs.network-bandwidth",
        "network_bandwidth",
        type=units.bandwidth,
        metavar="RATE",
        help="Bandwidth of this host's network, e.g. 10Gbit/s, where no instance metadata answers.",
    ),
)


def filter_options(command: Command) -> Command:
    """Add the flags that choose the mounts and operations with series."""
    return reduce(lambda decorated, option: option(decorated), reversed(_FILTERS), command)


def agent_options(command: Command) -> Command:
    """Add every flag of an agent that serves."""
    every = (procfs_options, *_SERVED, filter_options, exact_options)
    return reduce(lambda decorated, option: option(decorated), reversed(every), command)
