"""Accounts fed with a reading a second, put together from records, and what they counted."""

from tests.fss_exporter.nfs.records import mountinfo

from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join

KEY = SeriesKey("10.0.0.3", "10.0.0.3", "/a")


def reading(*records: str, info: str | None = None) -> Reading:
    return join(parse_mountstats("".join(records)), parse_mountinfo(mountinfo() if info is None else info))


def accounts(*readings: Reading) -> Accounts:
    """Fed with one reading a second."""
    result = Accounts()
    for second, seen in enumerate(readings):
        result.apply(seen, float(second))
    return result


def total(result: Accounts, operation: str, key: SeriesKey = KEY) -> int:
    return result.mounts[key].operations[operation].operations
