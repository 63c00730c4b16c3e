"""Saved readings of mountstats, as files that an operator names."""

from dataclasses import dataclass
from pathlib import Path

from fss_exporter.errors import UsageError
from fss_exporter.flag_records import FiniteRange, flag
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.procfs import decode
from fss_toolbox.iostat.saved_readings import SavedInterval, between, read_saved

_LARGEST_FILE = 256 << 20  # bytes; 300 mounts are half a megabyte


@dataclass(frozen=True, kw_only=True)
class SavedFlags:
    """The flags of two saved readings."""

    seconds: float | None = flag(
        "--seconds",
        "Time between the two saved readings. Without it the ages of the mounts give the time, to the second.",
        type=FiniteRange(0.001, 1e9),
    )


def saved_interval(
    before: Path, after: Path, mountinfo: tuple[Path, ...], seconds: float | None, mounts: MountSettings
) -> SavedInterval:
    """Return the interval between two saved readings, with addresses and services of the configuration.

    Raises:
        UsageError: a file cannot be read, or they are not two looks at one host in this order.
    """
    if len(mountinfo) > 2:
        raise UsageError("--mountinfo: give it once, or twice for --from and --to")
    texts = [text_of(path) for path in mountinfo]
    known = (mounts.address_map, mounts.services)
    earlier = read_saved(str(before), text_of(before), texts[0] if texts else None, *known)
    later = read_saved(str(after), text_of(after), texts[-1] if texts else None, *known)
    return between(earlier, later, seconds, mounts.overrides)


def text_of(path: Path) -> str:
    """Return the text of a file an operator named.

    Raises:
        UsageError: it cannot be read, or is far too long.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > _LARGEST_FILE:
        raise UsageError(f"{path}: larger than 256 MiB. Is this the right file?")
    return decode(raw).replace("\r\n", "\n")
