# SPDX-License-Identifier: Apache-2.0
"""The plug of kernel counting: what an agent expects of it. An agent without exact mode imports nothing of kernel counting."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol

from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.nfs.accounts import CostSource
from fss_exporter.nfs.address_states import Tails
from fss_exporter.nfs.collector import Counter
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.superblocks import Reading

_PLUG: Final = "fss_kernel_counting.agent_counting"


class KernelCounting(Protocol):
    """Counting in the kernel: a source of readings with costs, and counters beside the NFS collector."""

    costs: CostSource  # by the last reading
    counters: Sequence[Counter]
    tails: Tails

    def read(self) -> Reading:
        """Read mountstats once, and count. SourceError if mountstats is unreadable."""

    def open(self) -> None:
        """Begin to count before the first reading. UsageError if counting is required and impossible."""

    def start(self) -> None:
        """Start the loops of the counters, after the first reading."""

    def ends(self) -> Sequence[Callable[[], None]]:
        """Return functions that end the counting. They may run at the same time."""


def kernel_counting(
    flags: NfsFlags, mounts: MountSettings, new_reader: Callable[[], Callable[[], Reading]]
) -> KernelCounting:
    """Return the counting that the flags ask for. `new_reader` returns a further reader of mountstats."""
    made: KernelCounting = import_module(_PLUG).AgentCounting(flags, mounts, new_reader)
    return made


def remove_remains(places: tuple[Path, ...]) -> None:
    """Remove what a killed agent has left in the kernel. `places` are possible mount points of tracefs."""
    if any(map(_has_remains, places)):
        import_module(_PLUG).remove_remains(places)


def _has_remains(place: Path) -> bool:
    try:
        return any((place / "instances").glob("fss-exporter*"))
    except OSError:  # only root may look into tracefs
        return False


def log_remains(places: tuple[Path, ...]) -> None:
    """Log what an agent in exact mode leaves in the kernel at its end."""
    import_module(_PLUG).log_remains(places)
