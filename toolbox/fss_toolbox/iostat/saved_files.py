# SPDX-License-Identifier: Apache-2.0
"""Reports of `iostat` about files that an operator names: saved readings of mountstats, and saved output of nfs-utils."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from fss_exporter import units
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import flag
from fss_exporter.nfs.mount_settings import MountSettings
from fss_toolbox.iostat.nfs_utils_output import (
    RECORD_INSTEAD,
    is_nfsiostat_output,
    parse_nfsiostat_output,
    refuse_rows_without_mount,
)
from fss_toolbox.iostat.saved_readings import between, means_since_mount, read_saved
from fss_toolbox.iostat.traffic_report import Report
from fss_toolbox.pasted_text import text_of_file, without_margin
from fss_toolbox.sizing.workload import priced

ALONE = "--from and --to belong together: give an earlier and a later mountstats file"

# Seconds. A mount without a printed age is older than any interval: if only the later file has it, its counts are unknown.
_LONG_AGO_S = 10**9

_NFS_LINE = re.compile(
    r"(?m)^(?P<margin>[^\n]{0,100}?)(?:device [^\s:]+:\S* mounted on |Stats for \S|[^\s:]+:\S* mounted on [^\n]*:[^\S\n]*$)"
)

_AGES = re.compile(r"(?m)^[^\S\n]*(?:NFS mount )?age:")
_JOINED = re.compile(
    r"(?m) mounted on \S+(?: with fstype \S+ statvers=\S+[^\S\n]+opts:|:[^\S\n]+ops?/s[^\S\n]+rpc bklog)|^Stats for [^\n]{1,9000}? NFS mount options:"
)


@dataclass(frozen=True, kw_only=True)
class SavedFlags:
    """The flags of two saved readings."""

    seconds: float | None = flag(
        "--elapsed",
        "Time between the two saved readings, or since the mount for one. Without it the ages of the mounts give the time, to the second.",
        type=units.duration,
    )


def report_of_output(path: Path, mountinfo: tuple[Path, ...], seconds: float | None, mounts: MountSettings) -> Report:
    """Return a report of one saved file: nfsiostat has rates. mountstats, the kernel's file or the tool, has means since each mount.

    Raises:
        UsageError: the file cannot be read, or is another file.
    """
    text = pasted_text_of(path)
    refuse_rows_without_mount(str(path), text)
    if not is_nfsiostat_output(text):
        if seconds is not None and _AGES.search(text):
            raise UsageError(f"{path}: states the age of each mount: leave out --elapsed")
        texts = [text_of(each) for each in mountinfo]
        age_s = None if seconds is None else round(seconds)
        saved = read_saved(str(path), text, texts[-1] if texts else None, mounts.address_map, mounts.services, age_s)
        return means_since_mount(saved, mounts.overrides)
    if mountinfo or seconds is not None:
        raise UsageError(f"{path}: nfsiostat has rates: leave out --mountinfo and --elapsed")
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
    lookups = (mounts.address_map, mounts.services)
    ages = (None, None) if seconds is None else (_LONG_AGO_S, _LONG_AGO_S + round(seconds))
    earlier = read_saved(str(before), pasted_text_of(before), texts[0] if texts else None, *lookups, ages[0])
    later = read_saved(str(after), pasted_text_of(after), texts[-1] if texts else None, *lookups, ages[1])
    return between(earlier, later, seconds, mounts.overrides)


def pasted_text_of(path: Path) -> str:
    """Return the text of mountstats or of a tool of nfs-utils, without what a mail or a page puts in front of each line.

    Raises:
        UsageError: it cannot be read, is far too long, or has lost its line ends.
    """
    text = text_of(path)
    if _JOINED.search(text):
        raise UsageError(
            f"{path}: its lines are joined into one. Save the text with its line ends, or {RECORD_INSTEAD}"
        )
    return without_margin(text, _NFS_LINE)


def text_of(path: Path) -> str:
    """Return the text of a file an operator named.

    Raises:
        UsageError: it cannot be read, or is far too long.
    """
    try:
        with path.open("rb") as file:
            return text_of_file(file)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
