"""The bill of an availability domain, from what a poller exports."""

from collections.abc import Iterator, Mapping

from tests.fss_toolbox.plan.planned import Series, answering

from fss_exporter.model.traffic import Traffic
from fss_toolbox.plan.domain_bills import with_bills
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import Prometheus
from fss_toolbox.sizing.domain_bill import DomainBill

REGION = {"tenancy": "t", "region": "eu-frankfurt-1"}


def prometheus(stored: Mapping[str, float], shapes: Mapping[tuple[str, str], str]) -> Prometheus:
    """A server with stored bytes by availability domain, and mount targets by OCID and domain with their shape."""

    @answering
    def server(query: str, _: bool) -> Iterator[Series]:
        if "metered_bytes" in query:
            for domain, value in stored.items():
                yield REGION | {"availability_domain": domain}, str(value)
        else:
            for (ocid, domain), shape in shapes.items():
                yield REGION | {"availability_domain": domain, "mount_target_id": ocid, "shape": shape}, "1"

    return Prometheus(server)


def load(ocid: str) -> Load:
    return Load("", Traffic({}), mount_target_id=ocid)


def test_each_domain_has_its_own_stored_data_and_its_mount_targets_of_mixed_shapes() -> None:
    server = prometheus(
        {"AD-1": 30e12, "AD-2": 1e12},
        {("a", "AD-1"): "hpmt-20", ("b", "AD-1"): "hpmt-40", ("c", "AD-1"): "standard", ("d", "AD-2"): "standard"},
    )
    loads = with_bills(server, {name: load(name) for name in "abcd"})

    assert {name: of.bill for name, of in loads.items()} == {
        "a": DomainBill(30e12, 60e12, 20e12),
        "b": DomainBill(30e12, 60e12, 40e12),
        "c": DomainBill(30e12, 60e12, 0.0),
        "d": DomainBill(1e12, 0.0, 0.0),
    }


def test_a_domain_whose_stored_data_are_not_known_has_no_bill() -> None:
    loads = with_bills(prometheus({}, {("a", "AD-1"): "hpmt-20"}), {"a": load("a")})

    assert loads["a"].bill is None


def test_a_load_that_no_poller_lists_has_no_bill() -> None:
    loads = with_bills(prometheus({"AD-1": 1e12}, {}), {"10.0.0.5": load("")})

    assert loads["10.0.0.5"].bill is None
