"""The ceilings that a mount is compared with."""

import pytest

from fss_exporter.model.service_table import NONE, OCI_FSS, SeriesKey
from fss_exporter.model.traffic import Traffic
from fss_toolbox.ceilings import JudgedBy, judge

LOAD = Traffic(read_bytes=9e8)


@pytest.mark.parametrize(
    ("service", "read_limits", "source"),
    [(OCI_FSS.name, [1e9], JudgedBy.SHAPE), (NONE.name, [], JudgedBy.NOTHING)],
)
def test_an_nfs4_mount_of_an_unknown_service_is_compared_with_no_ceiling_of_oci(
    service: str, read_limits: list[float], source: JudgedBy
) -> None:
    mount = SeriesKey("10.9.9.9", "filer.example.com", "/vol", service)

    compared = judge("standard", None).of(mount)(LOAD)

    assert judge("standard", None).source(mount) is source
    assert [use.limit for use in compared if use.resource == "read bandwidth" and use.limit] == read_limits
