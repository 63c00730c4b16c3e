"""Exact mode with the flags of a command: the reader of the kernel's tables of sizes, and the costs."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from fss_exporter.cli.ceilings import MountSettings
from fss_exporter.cli.flags import ExactFlags
from fss_exporter.errors import UsageError
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.sizes.counted_costs import CountedCosts
from fss_kernel_counting.sizes.size_reader import ExactReader
from fss_kernel_counting.tracefs import PLACES, Sources, Unavailable

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


def sources(flags: ExactFlags) -> Sources:
    """Return the places of the kernel's files by the flags."""
    return Sources(tracefs=PLACES if flags.tracefs is None else (flags.tracefs,), sysfs=flags.sysfs)
