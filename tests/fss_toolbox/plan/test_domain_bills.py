"""The bill of an availability domain, from what pollers export to a real Prometheus."""

from collections.abc import Iterator

import pytest
from tests import processes

from fss_exporter.model.traffic import Traffic
from fss_toolbox.plan.domain_bills import with_bills
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import Prometheus
from fss_toolbox.sizing.domain_bill import DomainBill

NOW = 1_790_000_000
SEEN = NOW - 400  # longer ago than Prometheus looks back by itself
TB = 10**12

FRANKFURT, ASHBURN = "eu-frankfurt-1", "us-ashburn-1"
# region, availability domain and billed bytes by file system
FILE_SYSTEMS = {
    "fs-1": (FRANKFURT, "AD-1", 20 * TB),
    "fs-2": (FRANKFURT, "AD-1", 10 * TB),
    "fs-3": (FRANKFURT, "AD-2", 1 * TB),
    "fs-4": (ASHBURN, "AD-1", 5 * TB),
}
# region, availability domain and shape by mount target
MOUNT_TARGETS = {
    "a": (FRANKFURT, "AD-1", "hpmt-20"),
    "b": (FRANKFURT, "AD-1", "hpmt-40"),
    "c": (FRANKFURT, "AD-1", "standard"),
    "d": (FRANKFURT, "AD-2", "unknown"),
    "e": (ASHBURN, "AD-1", "hpmt-20"),
    "f": (ASHBURN, "AD-3", "hpmt-20"),
}


def history() -> Iterator[str]:
    """Two pollers of the same tenancy, of which one stands by."""
    samples = []
    for instance in ("poller-0", "poller-1"):
        for file_system, (region, domain, size) in FILE_SYSTEMS.items():
            own = f'instance="{instance}",tenancy="t",region="{region}",file_system_id="{file_system}"'
            samples.append(f'fss_file_system_info{{{own},availability_domain="{domain}"}} 1 {SEEN}\n')
            samples.append(f"fss_file_system_metered_bytes{{{own}}} {size} {SEEN}\n")
        for mount_target, (region, domain, shape) in MOUNT_TARGETS.items():
            own = f'instance="{instance}",tenancy="t",region="{region}",mount_target_id="{mount_target}"'
            samples.append(f'fss_mount_target_info{{{own},availability_domain="{domain}",shape="{shape}"}} 1 {SEEN}\n')
    yield from sorted(samples)  # the samples of a family stand together
    yield "# EOF\n"


@pytest.fixture(scope="module")
def bills(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DomainBill | None]:
    """The bills by mount target, and of a load that no poller lists."""
    with processes.prometheus_of(history(), tmp_path_factory.mktemp("bills")) as server:
        prometheus = Prometheus(lambda path: processes.get(server.url + path), NOW)
        loads = {name: Load("", Traffic({}), mount_target_id=name) for name in (*MOUNT_TARGETS, "")}
        return {name: load.bill for name, load in with_bills(prometheus, loads).items()}


def test_each_domain_has_its_own_stored_data_and_its_mount_targets_of_mixed_shapes(
    bills: dict[str, DomainBill | None],
) -> None:
    assert {name: bills[name] for name in "abc"} == {
        "a": DomainBill(30 * TB, 60 * TB, 20 * TB),
        "b": DomainBill(30 * TB, 60 * TB, 40 * TB),
        "c": DomainBill(30 * TB, 60 * TB, 0.0),
    }


def test_a_domain_of_another_region_with_the_same_name_has_a_bill_of_its_own(
    bills: dict[str, DomainBill | None],
) -> None:
    assert bills["e"] == DomainBill(5 * TB, 20 * TB, 20 * TB)


def test_a_mount_target_of_a_shape_without_a_price_is_entitled_to_nothing(bills: dict[str, DomainBill | None]) -> None:
    assert bills["d"] == DomainBill(1 * TB, 0.0, 0.0)


@pytest.mark.parametrize("name", ["f", ""], ids=["no billed sizes", "no poller lists it"])
def test_a_load_without_billed_sizes_in_its_domain_has_no_bill(bills: dict[str, DomainBill | None], name: str) -> None:
    assert bills[name] is None
