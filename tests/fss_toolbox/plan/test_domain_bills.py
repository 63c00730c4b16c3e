"""The bill of an availability domain, from what a poller exports."""

import json
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from fss_exporter.model.traffic import Traffic
from fss_toolbox.plan.domain_bills import with_bills
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import Prometheus
from fss_toolbox.sizing.domain_bill import DomainBill

REGION = {"tenancy": "t", "region": "eu-frankfurt-1"}
NOW = 1_790_000_000


def prometheus(stored: Mapping[str, float], shapes: Mapping[tuple[str, str], str]) -> Prometheus:
    """A server with stored bytes by availability domain, and mount targets by OCID and domain with their shape."""

    def answer(path: str) -> str:
        query = parse_qs(urlsplit(path).query)["query"][0]
        if "metered_bytes" in query:
            rows = [(REGION | {"availability_domain": domain}, value) for domain, value in stored.items()]
        else:
            rows = [
                (REGION | {"availability_domain": domain, "mount_target_id": ocid, "shape": shape}, 1.0)
                for (ocid, domain), shape in shapes.items()
            ]
        result = [{"metric": labels, "value": [NOW, str(value)]} for labels, value in rows]
        return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})

    return Prometheus(answer)


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
