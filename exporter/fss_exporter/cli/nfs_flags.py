# SPDX-License-Identifier: Apache-2.0
"""The flags of the agent, for `serve` and `once`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from fss_exporter import units
from fss_exporter.cli.flags import ExactFlags, check_url, network
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import ProcfsFlags, flag, switch
from fss_exporter.instance_metadata import METADATA_URL, is_oci_instance
from fss_exporter.nfs.mountinfo import MountFilter, name_expression

MAX_MOUNTS: Final = 2000
MOST_PROCESSES: Final = 100


@dataclass(frozen=True, kw_only=True)
class MountFlags(ProcfsFlags):
    """The flags that choose mounts and series of this host."""

    mounts_include: str | None = flag(
        "--nfs.mounts-include",
        "Read only mounts whose mount point, export, server or server:export matches RE completely.",
        metavar="RE",
    )
    mounts_exclude: str | None = flag(
        "--nfs.mounts-exclude", "Leave out mounts that match RE completely.", metavar="RE"
    )
    operations: str = flag(
        "--nfs.operations",
        "Count operations by name (22 series a mount), or only by class (4).",
        "all",
        type=click.Choice(("all", "none")),
    )
    max_mounts: int = flag(
        "--nfs.max-mounts",
        "Most superblocks to read. Leave out the rest, and count them in fss_nfs_superblocks_left_out.",
        MAX_MOUNTS,
        type=click.IntRange(min=1),
    )
    network: str | None = flag(
        "--nfs.network",
        "Name of this host's network, as the poller has it. Clients and mount targets are joined by network and address."
        "  [default: the region, from the instance metadata]",
        type=network,
        metavar="NAME",
    )
    metadata_url: str | None = flag(
        "--nfs.metadata-url",
        "URL of the instance metadata, for region and network bandwidth. Empty: do not ask."
        "  [default: OCI's, on an instance of OCI]",
        metavar="URL",
    )

    fstab: Path | None = flag(
        "--path.fstab",
        "File of mounts, for the number of those that are gone.  [default: /etc/fstab, if it is that of the host]",
        metavar="FILE",
    )

    def metadata_place(self, sysfs: Path) -> str:
        """Return the URL of the instance metadata. Empty outside of OCI without a flag."""
        if self.metadata_url is not None:
            return self.metadata_url
        return METADATA_URL if is_oci_instance(sysfs) else ""

    @property
    def wanted_mounts(self) -> MountFilter:
        """The mounts to read."""
        return MountFilter(self.mounts_include, self.mounts_exclude, self.max_mounts)

    def check(self) -> None:
        """Refuse wrong flags with a UsageError before anything runs."""
        if not self.procfs.is_dir():
            raise UsageError(f"--path.procfs={self.procfs}: not a directory. Give the place where procfs is mounted")
        for which, text in (("include", self.mounts_include), ("exclude", self.mounts_exclude)):
            if not text:
                continue
            try:
                name_expression(text)
            except ValueError as wrong:
                raise UsageError(f"--nfs.mounts-{which}={text[:80]}: {wrong}") from wrong
        if self.metadata_url:
            check_url("--nfs.metadata-url", self.metadata_url)


@dataclass(frozen=True, kw_only=True)
class NfsFlags(MountFlags, ExactFlags):
    """The flags of the agent; times in seconds."""

    tick_s: float = flag("--nfs.tick", "Time between two readings.", 1.0, written="1s", type=units.duration)
    scrapers: int = flag(
        "--nfs.scrapers",
        "Prometheus servers that scrape this agent. A new mount shows zeros in as many answers before its counts.",
        1,
        type=click.IntRange(min=1),
    )
    network_bandwidth: float | None = flag(
        "--nfs.network-bandwidth",
        "Bandwidth of this host's network, e.g. 10Gbit/s, where no instance metadata answers.",
        type=units.network,
        metavar="RATE",
    )
    processes: int = flag(
        "--nfs.exact.processes",
        "Show the load of the N processes that cost each mount target most. Names and pods become visible. 0: off.",
        0,
        type=click.IntRange(min=0, max=MOST_PROCESSES),
        metavar="N",
    )
    jobs: int = flag(
        "--nfs.exact.jobs",
        "Show the load of the N batch jobs (Slurm, PBS, LSF) that cost each mount target most. Job numbers become visible. 0: off.",
        0,
        type=click.IntRange(min=0, max=MOST_PROCESSES),
        metavar="N",
    )
    writers: bool = switch(
        "--nfs.exact.writers",
        "Give delayed write-back to the process that wrote. Each dirtied page of any file system costs a little more.",
    )
    exact_rtt: bool = switch("--nfs.exact.rtt", "In exact mode, count round-trip times as well as whole durations.")
    pod_logs: Path = flag(
        "--path.pod-logs", "Folder of pod logs on a Kubernetes node, for the names of pods.", Path("/var/log/pods")
    )

    def check(self) -> None:
        """Refuse wrong flags with a UsageError before anything runs."""
        super().check()
        need_exact_mode = {
            "--nfs.exact.rtt": self.exact_rtt,
            f"--nfs.exact.processes={self.processes}": self.processes,
            f"--nfs.exact.jobs={self.jobs}": self.jobs,
        }
        for given, is_given in need_exact_mode.items():
            if is_given and self.exact == "off":
                raise UsageError(f"{given}: the kernel counts in exact mode only. Add --nfs.exact=auto")
        if self.writers and not (self.processes or self.jobs):
            raise UsageError("--nfs.exact.writers: no process is counted. Add --nfs.exact.processes=10")
