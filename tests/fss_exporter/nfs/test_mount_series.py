"""The text of the series of mounts is made once for each series."""

from prometheus_client.core import Metric
from tests.fss_exporter.nfs.fed_accounts import accounts, reading
from tests.fss_exporter.nfs.records import Names, mountinfo, mountstats

from fss_exporter.catalogue import PreparedFamily, Series
from fss_exporter.nfs.mount_series import MountSeries

OTHER: Names = {"device": "10.0.0.3:/b", "mount_point": "/mnt/b"}


def series_of(family: Metric, export: str) -> list[Series]:
    assert isinstance(family, PreparedFamily)
    return [series for series in family.series if export in series.labels]


def test_a_mount_that_comes_or_goes_leaves_the_text_of_the_others_as_it_is() -> None:
    one = accounts(reading(mountstats({}))).mounts
    both = accounts(
        reading(mountstats({}), mountstats({}, **OTHER), info=mountinfo() + mountinfo(superblock="0:41", **OTHER))
    ).mounts
    new = both.keys() - one.keys()
    made = MountSeries(by_operation=True)
    answers = [list(made.families("lab", *shown)) for shown in ((one, ()), (both, new), (both, ()), (one, ()))]

    for families in zip(*answers, strict=True):
        first, *later = [series_of(family, "/a") for family in families]
        for again in later:
            assert [id(series) for series in again] == [id(series) for series in first]
    assert series_of(answers[2][0], "/b")
