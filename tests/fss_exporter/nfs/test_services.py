"""Which service a mount is of, and what its operations count as there."""

import pytest
from tests.fss_exporter.nfs.records import mountinfo, mountstats

from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import TB, SeriesKey
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mount_services import BY_NAME, Claim, Services
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.nfs.totals import MountTotals

NAS = "0a1b2c-xyz.cn-hangzhou.nas.aliyuncs.com"
NAS_CAPACITY = Claim("apsara-nas", "capacity", 10_000 * 1024**3, server="*.nas.aliyuncs.com")


@pytest.mark.parametrize(
    ("claims", "server", "fstype", "service", "cost", "stated"),
    [
        ((), "10.0.0.3", "nfs", "oci-fss", "weighted", False),
        ((), "10.0.0.3", "nfs4", "none", "unknown", False),
        ((), NAS, "nfs", "apsara-nas", "plain", True),
        ((), NAS, "nfs4", "apsara-nas", "plain", True),
        ((Claim("none", server=NAS),), NAS, "nfs", "none", "unknown", True),
        ((Claim("none", address="10.0.0.*"),), "10.0.0.3", "nfs", "none", "unknown", True),
        ((Claim("apsara-nas", address="10.0.1.*"),), "10.0.0.3", "nfs", "oci-fss", "weighted", False),
        ((Claim("apsara-nas", export="/a", address="10.0.0.3"),), "10.0.0.3", "nfs", "apsara-nas", "plain", True),
        ((Claim("apsara-nas", export="/b", address="10.0.0.3"),), "10.0.0.3", "nfs", "oci-fss", "weighted", False),
        ((Claim("none"), Claim("apsara-nas")), "10.0.0.3", "nfs", "none", "unknown", True),
        ((Claim("oci-fss", "standard"),), "10.0.0.3", "nfs4", "oci-fss", "unknown", True),
        ((Claim("apsara-nas", server="NAS-*"),), "nas-1", "nfs", "apsara-nas", "plain", True),
        ((Claim("apsara-nas", server="nas[1]?*"),), "nas[1]?.lab", "nfs", "apsara-nas", "plain", True),
        ((Claim("apsara-nas", server="nas-[12]"),), "nas-1", "nfs", "oci-fss", "weighted", False),
        ((Claim("apsara-nas", server="nas-?"),), "nas-1", "nfs", "oci-fss", "weighted", False),
    ],
)
def test_what_an_operator_says_counts_more_than_a_name_and_a_name_more_than_a_guess(
    claims: tuple[Claim, ...], server: str, fstype: str, service: str, cost: str, *, stated: bool
) -> None:
    storage = Services(claims).of(SeriesKey("10.0.0.3", server, "/a"), fstype)

    assert (storage.service.name, storage.cost, storage.stated) == (service, cost, stated)


def test_ceilings_are_known_where_kind_and_capacity_are() -> None:
    key = SeriesKey("10.0.0.3", NAS, "/a")

    assert Services([NAS_CAPACITY]).of(key, "nfs").ceilings == Limits(bytes_per_second=1500 << 20)
    assert BY_NAME.of(key, "nfs").ceilings == Limits()
    assert Services([Claim("lustre", "mbps-per-tb-125")]).of(key, "nfs").ceilings == Limits()
    assert Services([Claim("lustre", "mbps-per-tb-125", 40 * TB)]).of(key, "nfs").ceilings.bytes_per_second == 5e9


def counted(device: str, fstype: str, services: Services = BY_NAME) -> MountTotals:
    """What two looks a second apart add up to."""

    def look(age: int, operations: dict[str, int], read: int) -> Reading:
        stats = mountstats(operations, device=device, fstype=fstype, age=age, read_bytes=read, vfs_locks=age)
        info = mountinfo(device=device, fstype=fstype)
        return join(parse_mountstats(stats), parse_mountinfo(info), services=services)

    accounts = Accounts()
    accounts.apply(look(1000, {"READ": 5, "WRITE": 1, "GETATTR": 1, "OPEN": 1}, 0), 0.0)
    accounts.apply(look(1001, {"READ": 105, "WRITE": 21, "GETATTR": 51, "OPEN": 9, "CLOSE": 3}, 100 << 20), 1.0)
    (totals,) = accounts.mounts.values()
    return totals


@pytest.mark.parametrize("fstype", ["nfs", "nfs4"])
def test_a_read_or_write_of_apsara_nas_counts_one_whatever_its_size_and_all_else_nothing(fstype: str) -> None:
    totals = counted(f"{NAS}:/share", fstype)

    costs = {name: operation.cost for name, operation in totals.operations.items() if operation.cost is not None}
    assert {name: cost.point for name, cost in costs.items()} == {"READ": 100, "WRITE": 20}
    assert all(cost.lower == cost.point == cost.upper for cost in costs.values())
    assert totals.operations["GETATTR"].operations == 50
    assert totals.lock_io_operations is None


def test_an_nfsv3_mount_without_a_claim_counts_as_oci_file_storage() -> None:
    totals = counted("10.0.0.3:/a", "nfs")

    read, getattr_ = totals.operations["READ"].cost, totals.operations["GETATTR"].cost
    assert read is not None
    assert getattr_ is not None
    assert (read.point, getattr_.point) == (3300, 50)
    assert totals.lock_io_operations == 4


@pytest.mark.parametrize(
    ("device", "fstype", "services"),
    [("10.0.0.3:/a", "nfs4", BY_NAME), ("10.0.0.3:/a", "nfs", Services([Claim("none")]))],
)
def test_a_mount_of_an_unknown_service_keeps_its_raw_counters(device: str, fstype: str, services: Services) -> None:
    totals = counted(device, fstype, services)

    assert totals.operations["READ"].operations == 100
    assert all(operation.cost is None for operation in totals.operations.values())
