"""Exact mode with the flags of a command: the reader of the kernel's tables of sizes, and the costs."""

import logging
from collections.abc import Callable, Iterable

from fss_exporter.background import Worker
from fss_exporter.catalogue import Family
from fss_exporter.cli.flags import ExactFlags
from fss_exporter.errors import UsageError
from fss_exporter.nfs.collector import Answer
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.sizes.counted_costs import CountedCosts
from fss_kernel_counting.sizes.size_reader import ExactReader
from fss_kernel_counting.tracefs import Sources, Unavailable

_LOG = logging.getLogger(__name__)


class Exact:
    """A source of readings with set-up and end, and the costs for the readings. A required one must be possible."""

    def __init__(self, reader: ExactReader, costs: CountedCosts, *, required: bool) -> None:
        self.reader = reader
        self.costs = costs
        self._required = required

    @property
    def loop(self) -> Worker:
        """The guard of the looks at the tables."""
        return self.reader.loop

    def open(self) -> None:
        """Set up exact mode. After a failure, log once, or fail if exact mode is required.

        Raises:
            UsageError: exact mode is required and impossible.
        """
        try:
            self.reader.open()
        except Unavailable as reason:
            if self._required:
                raise UsageError(f"--nfs.exact=on: {reason}") from reason
            _LOG.warning("READ and WRITE are estimated, not counted: %s", reason)

    def families(self, answer: Answer) -> Iterable[Family]:
        """Return the metric families of the counts so far."""
        return self.costs.families(answer)


def exact(flags: ExactFlags, read: Callable[[], Reading], mounts: MountSettings, tick_s: float = 1.0) -> Exact:
    """Return the counting source around `read`, which reads mountstats once, each `tick_s` seconds or less often."""
    reader = ExactReader(read, sources(flags), mounts.address_map, tick_s=tick_s)
    return Exact(reader, CountedCosts(lambda: reader.counts, mounts.overrides), required=flags.exact == "on")


def sources(flags: ExactFlags) -> Sources:
    """Return the places of the kernel's files by the flags."""
    return Sources(tracefs=flags.tracefs_places, sysfs=flags.sysfs)
