"""Reports of `iostat` on saved files: two readings of mountstats, or output of the tools of nfs-utils."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from fss_exporter.cli.ceilings import MountSettings
from fss_exporter.cli.iostat_report import Report, mount_points
from fss_exporter.cli.saved_files import saved_interval, text_of
from fss_exporter.errors import UsageError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.nfs.nfs_utils_output import is_mountstats_output, is_nfsiostat_output, parse_nfsiostat_output
from fss_exporter.nfs.rates import traffic
from fss_exporter.nfs.saved_readings import read_saved, since_mount
from fss_exporter.nfs.superblocks import Reading

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
    rates = {key: mounts.overrides.priced(one) for key, one in report.traffic.items()}
    return Report(f"{path} (nfsiostat)", None, None, rates, report.mount_points, report.notes)


def two_files(
    before: Path, after: Path, mountinfo: tuple[Path, ...], seconds: float | None, mounts: MountSettings
) -> Report:
    """Return a report of two saved readings of mountstats."""
    between = saved_interval(before, after, mountinfo, seconds, mounts)
    rates = traffic({}, between.accounts.mounts, between.seconds)
    source = f"{before} to {after}"
    return Report(source, None, between.seconds, rates, mount_points(between.accounts.superblocks), between.notes)


def since_mount_report(reading: Reading, overrides: CostOverrides) -> Report:
    """Return a report of the means since each mount."""
    accounts = since_mount(reading, overrides)
    ages = {superblock.key: max(superblock.record.age_s, 1) for superblock in reading.superblocks}
    rates = {key: traffic({}, {key: accounts.mounts[key]}, age)[key] for key, age in ages.items()}
    notes = (
        ("means since each mount, whose estimate is coarse: give an INTERVAL for what happens now",) if rates else ()
    )
    return Report("this host since mount", datetime.now(UTC), None, rates, mount_points(reading.superblocks), notes)
