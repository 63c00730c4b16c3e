# SPDX-License-Identifier: Apache-2.0
"""Reports of `iostat` about files that an operator names: saved readings of mountstats, and saved output of nfs-utils."""

from dataclasses import dataclass, replace
from pathlib import Path

from fss_exporter.errors import UsageError
from fss_exporter.flag_records import FiniteRange, flag
from fss_exporter.nfs.mount_settings import MountSettings
from fss_toolbox.iostat.nfs_utils_output import is_mountstats_output, is_nfsiostat_output, parse_nfsiostat_output
from fss_toolbox.iostat.saved_readings import between, read_saved, since_mount
from fss_toolbox.iostat.traffic_report import Report
from fss_toolbox.pasted_text import text_of_bytes
from fss_toolbox.sizing.workload import priced

ALONE = "--from and --to belong together: give an earlier and a later mountstats file"
_LARGEST_FILE = 256 << 20  # bytes; 300 mounts are half a megabyte


@dataclass(frozen=True, kw_only=True)
class SavedFlags:
    """The flags of two saved readings."""

    seconds: float | None = flag(
        "--seconds",
        "Time between the two saved readings. Without it the ages of the mounts give the time, to the second.",
        type=FiniteRange(0.001, 1e9),
    )


def report_of_output(path: Path, mounts: MountSettings) -> Report:
    """Return a report of one saved output of nfs-utils: nfsiostat has rates, mountstats has means since each mount.

    Raises:
        UsageError: the file cannot be read, or is another file.
    """
    text = text_of(path)
    if is_mountstats_output(text):
        saved = read_saved(str(path), text, None, mounts.address_map, mounts.services)
        means = since_mount(f"{path} (mountstats)", saved.reading, mounts.overrides)
        return replace(means, notes=(*saved.notes, *means.notes))
    if not is_nfsiostat_output(text):
        raise UsageError(f"{path}: not the output of nfsiostat or mountstats. {ALONE}")
    report = parse_nfsiostat_output(str(path), text)
    return replace(report, traffic={key: priced(load, mounts.overrides) for key, load in report.traffic.items()})


def report_of_interval(
    before: Path, after: Path, mountinfo: tuple[Path, ...], seconds: float | None, mounts: MountSettings
) -> Report:
    """Return the report of the interval between two saved readings, with addresses and services of the configuration.

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
    return text_of_bytes(raw)
