"""Saved readings and output of nfs-utils, for the commands that take them, and the reports of `iostat` about them."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fss_exporter.cli.ceilings import MountSettings
from fss_exporter.errors import UsageError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.traffic import Traffic, together
from fss_exporter.nfs.procfs import decode
from fss_exporter.nfs.superblocks import Reading
from fss_toolbox.cli.iostat_report import Report, mount_points
from fss_toolbox.readings.nfs_utils_output import is_mountstats_output, is_nfsiostat_output, parse_nfsiostat_output
from fss_toolbox.readings.rates import traffic
from fss_toolbox.readings.saved_readings import SavedInterval, between, read_saved, since_mount

if TYPE_CHECKING:
    from fss_exporter.model.service_table import SeriesKey

ALONE = "--from and --to belong together: give an earlier and a later mountstats file"
_LARGEST_FILE = 256 << 20  # bytes; 300 mounts are half a megabyte


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


def one_file(path: Path, mounts: MountSettings) -> Report:
    """Return a report of one saved output of nfs-utils: nfsiostat has rates, mountstats has means since each mount."""
    text = text_of(path)
    if is_mountstats_output(text):
        saved = read_saved(str(path), text, None, mounts.address_map, mounts.services)
        means = since_mount_report(saved.reading, mounts.overrides)
        return replace(means, source=f"{path} (mountstats)", time=None, notes=(*saved.notes, *means.notes))
    if not is_nfsiostat_output(text):
        raise UsageError(f"{path}: not the output of nfsiostat or mountstats. {ALONE}")
    report = parse_nfsiostat_output(str(path), text)
    rates = {key: mounts.overrides.priced(one) for key, one in report.traffic.items()}
    return Report(f"{path} (nfsiostat)", None, None, rates, report.mount_points, report.notes)


def two_files(
    before: Path, after: Path, mountinfo: tuple[Path, ...], seconds: float | None, mounts: MountSettings
) -> Report:
    """Return a report of two saved readings of mountstats."""
    saved = saved_interval(before, after, mountinfo, seconds, mounts)
    rates = traffic({}, saved.accounts.mounts, saved.seconds)
    points = mount_points(saved.accounts.superblocks)
    return Report(f"{before} to {after}", None, saved.seconds, rates, points, saved.notes)


def since_mount_report(reading: Reading, overrides: CostOverrides) -> Report:
    """Return a report of the means since each mount."""
    parts: dict[SeriesKey, list[Traffic]] = defaultdict(list)
    for superblock in reading.superblocks:  # one by one, because superblocks of one export differ in age
        accounts = since_mount(replace(reading, superblocks=(superblock,)), overrides)
        rates_of_one = traffic({}, accounts.mounts, max(superblock.record.age_s, 1))
        parts[superblock.key].append(rates_of_one[superblock.key])
    rates = {key: together(several) for key, several in parts.items()}
    notes = (
        ("means since each mount, whose estimate is coarse: give an INTERVAL for what happens now",) if rates else ()
    )
    return Report("this host since mount", datetime.now(UTC), None, rates, mount_points(reading.superblocks), notes)
