"""The flags of the kernel's files of a host."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fss_exporter.flag_records import flag

PROCFS: Final = Path("/proc")


@dataclass(frozen=True, kw_only=True)
class ProcfsFlags:
    """The flags of a host's procfs."""

    procfs: Path = flag("--path.procfs", "Where procfs is mounted.", PROCFS)
    pid: str = flag("--path.pid", "Process whose mounts are read: a number or self.", "1")


@dataclass(frozen=True, kw_only=True)
class KernelFlags:
    """The flags of the places where the kernel counts."""

    tracefs: Path | None = flag(
        "--path.tracefs", "Where tracefs is mounted.  [default: /sys/kernel/tracing, else /sys/kernel/debug/tracing]"
    )
    sysfs: Path = flag("--path.sysfs", "Where sysfs is mounted.", Path("/sys"))
