# SPDX-License-Identifier: Apache-2.0
"""Exact mode with the flags of a command."""

from collections.abc import Callable

from fss_exporter.cli.flags import ExactFlags
from fss_exporter.flag_records import KernelFlags
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.sizes.counted_costs import CountedCosts
from fss_kernel_counting.sizes.size_reader import ExactReader
from fss_kernel_counting.tracefs import Sources


def exact(flags: ExactFlags, read: Callable[[], Reading], mounts: MountSettings, tick_s: float = 1.0) -> CountedCosts:
    """Return the counting source around `read`, which reads mountstats once, each `tick_s` seconds or less often."""
    required = flags.exact == "on"
    reader = ExactReader(read, sources(flags), mounts.address_map, required=required, tick_s=tick_s)
    return CountedCosts(reader, mounts.overrides)


def sources(flags: KernelFlags) -> Sources:
    """Return the places of the kernel's files by the flags."""
    return Sources(tracefs=flags.tracefs_places, sysfs=flags.sysfs)
