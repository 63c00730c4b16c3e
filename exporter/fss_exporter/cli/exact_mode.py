"""The readers of the kernel's tables with the flags of a command: sizes, durations and the load by process."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fss_exporter.cli.ceilings import MountSettings
from fss_exporter.cli.flags import ExactFlags
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.errors import UsageError
from fss_exporter.nfs.exact.counted_costs import CountedCosts
from fss_exporter.nfs.exact.latency_reader import LatencyReader
from fss_exporter.nfs.exact.size_reader import ExactReader
from fss_exporter.nfs.exact.tracefs import PLACES, Sources, Unavailable
from fss_exporter.nfs.superblocks import Reading

if TYPE_CHECKING:
    from fss_exporter.nfs.processes.counting import ProcessReader

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Exact:
    """A source of readings with set-up and end, and the costs for the readings."""

    reader: ExactReader
    costs: CountedCosts
    required: bool

    def open(self) -> None:
        """Set up exact mode. After a failure, log once, or fail if exact mode is required.

        Raises:
            UsageError: exact mode is required and impossible.
        """
        try:
            self.reader.open()
        except Unavailable as reason:
            if self.required:
                raise UsageError(f"--nfs.exact=on: {reason}") from reason
            _LOG.warning("READ and WRITE are estimated, not counted: %s", reason)


def exact(flags: ExactFlags, read: Callable[[], Reading], mounts: MountSettings) -> Exact:
    """Return the counting source around `read`, which reads mountstats once."""
    reader = ExactReader(read, sources(flags), mounts.address_map)
    return Exact(reader, CountedCosts(lambda: reader.counts, mounts.overrides), required=flags.exact == "on")


def latency_reader(flags: NfsFlags, read: Callable[[], Reading], mounts: MountSettings) -> LatencyReader:
    """Return the loop that counts durations of requests. `read` reads mountstats once."""
    rtt, retention_s = flags.exact_rtt, flags.series_retention_s
    return LatencyReader(read, sources(flags), mounts.address_map, rtt=rtt, retention_s=retention_s)


def sources(flags: ExactFlags) -> Sources:
    """Return the places of the kernel's files by the flags."""
    return Sources(tracefs=PLACES if flags.tracefs is None else (flags.tracefs,), sysfs=flags.sysfs)


def process_reader(flags: NfsFlags, reading: Callable[[], Reading | None], mounts: MountSettings) -> "ProcessReader":
    """Return the loop that counts the load of each process. `reading` returns the last reading of mountstats."""
    # few agents need it
    from fss_exporter.nfs.processes.counting import ProcessCounting, ProcessReader  # noqa: PLC0415
    from fss_exporter.nfs.processes.process_session import OF_AGENT  # noqa: PLC0415

    counting = ProcessCounting(
        OF_AGENT,
        writers=flags.writers,
        sources=replace(sources(flags), procfs=flags.procfs, pod_logs=flags.pod_logs),
        address_map=mounts.address_map,
        overrides=mounts.overrides,
    )
    return ProcessReader(counting, flags.processes, reading, flags.scrapers)
