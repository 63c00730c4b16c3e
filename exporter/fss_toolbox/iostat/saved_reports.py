"""Reports of `iostat` about saved readings and saved output of nfs-utils, and the means since each mount."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fss_exporter.errors import UsageError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.traffic import Traffic, together
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.superblocks import Reading
from fss_toolbox.iostat.nfs_utils_output import is_mountstats_output, is_nfsiostat_output, parse_nfsiostat_output
from fss_toolbox.iostat.rates import traffic
from fss_toolbox.iostat.saved_files import saved_interval, text_of
from fss_toolbox.iostat.saved_readings import read_saved, since_mount
from fss_toolbox.iostat.traffic_report import Report, mount_points
from fss_toolbox.sizing.workload import priced

if TYPE_CHECKING:
    from fss_exporter.model.service_table import SeriesKey

ALONE = "--from and --to belong together: give an earlier and a later mountstats file"


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
    rates = {key: priced(traffic, mounts.overrides) for key, traffic in report.traffic.items()}
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
