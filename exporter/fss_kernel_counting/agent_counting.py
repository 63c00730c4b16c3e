# SPDX-License-Identifier: Apache-2.0
"""Everything that the kernel counts for an agent, as the exporter plugs it in: a source of costs, and counters.

`fss_exporter.cli.counting_plug` names this module and says what it must have.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fss_exporter.cli.counting_plug import KernelCounting
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting import remains
from fss_kernel_counting.durations.latency_reader import LatencyReader
from fss_kernel_counting.exact_mode import exact, sources
from fss_kernel_counting.processes.counting import ProcessCounting
from fss_kernel_counting.processes.process_reader import ProcessReader
from fss_kernel_counting.tracefs import OF_AGENT, Sources

_LOG = logging.getLogger(__name__)


class AgentCounting(KernelCounting):
    """Sizes and durations of requests, and the processes behind them if a flag asks for them.

    Args:
        flags: flags of the agent.
        mounts: settings of the mounts.
        new_reader: returns a further reader of mountstats, because each loop needs its own.
    """

    def __init__(self, flags: NfsFlags, mounts: MountSettings, new_reader: Callable[[], Callable[[], Reading]]) -> None:
        self.costs = exact(flags, new_reader(), mounts, flags.tick_s)
        latency = self._latency = LatencyReader(
            new_reader(),
            sources(flags),
            mounts.address_map,
            objectives=mounts.p99_objectives,
            rtt=flags.exact_rtt,
        )
        self.tails = latency
        self._readers: list[LatencyReader | ProcessReader] = [latency]
        if flags.processes or flags.jobs:
            self._readers.append(self._process_reader(flags, mounts))
        self.counters = [self.costs, *self._readers]

    def _process_reader(self, flags: NfsFlags, mounts: MountSettings) -> ProcessReader:
        counting = ProcessCounting(
            OF_AGENT,
            writers=flags.writers,
            sources=replace(sources(flags), procfs=flags.procfs, pod_logs=flags.pod_logs),
            mounts=mounts,
        )
        return ProcessReader(
            counting, flags.processes, lambda: self.costs.reader.reading, flags.scrapers, most_jobs=flags.jobs
        )

    def read(self) -> Reading:
        """Read mountstats and the tables of sizes once.

        Raises:
            SourceError: mountstats is unreadable.
        """
        reading = self.costs.reader.read()
        self._latency.note(reading)
        return reading

    def open(self) -> None:
        """Set the triggers of sizes before the first reading.

        Raises:
            UsageError: exact mode is required and impossible.
        """
        self.costs.reader.open()

    def start(self) -> None:
        """Start the loops of the other counters, after the first reading."""
        for reader in self._readers:
            reader.loop.start()

    def ends(self) -> list[Callable[[], None]]:
        """Return functions that stop the loops and remove the triggers. They may run at the same time."""
        return [self.costs.reader.close, *(reader.stop for reader in self._readers)]


def remove_remains(places: tuple[Path, ...]) -> None:
    """Remove what a killed program has left in the kernel, and log the result."""
    done = remains.remove(Sources(tracefs=places))
    if done.removed:
        _LOG.info("removed %s, which a killed program has left", ", ".join(map(str, done.removed)))
    for reason in done.kept:
        _LOG.warning("the kernel goes on counting for a program that is gone: %s. As root: fss-exporter clean", reason)


def log_remains(places: tuple[Path, ...]) -> None:
    """Log the instances that this agent leaves in the kernel at its end."""
    for path in remains.instances(places):
        _LOG.error(
            "%s is left, so the kernel goes on counting. The next start removes it, or: fss-exporter clean", path
        )
