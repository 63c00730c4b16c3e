"""The table of services, with the figures of its documents."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.service_table import GB, GIB, SERVICES, TB, CapacityCeiling, recognised
from fss_toolbox.sizing.purchase import InFlight

MIB = 1 << 20
KINDS = [(service.name, kind) for service in SERVICES.values() for kind in service.kinds.values()]
LINES = [line for _, kind in KINDS for line in (kind.iops, kind.read, kind.write, kind.both) if line is not None]
CAPACITIES = st.floats(min_value=GB, max_value=1e18)


@pytest.mark.parametrize(
    ("service", "kind", "capacity", "expected"),
    [
        ("apsara-nas", "capacity", 1000 * GIB, Limits(bytes_per_second=150 * MIB)),
        ("apsara-nas", "capacity", 10_000 * GIB, Limits(bytes_per_second=1500 * MIB)),
        ("apsara-nas", "performance", 1000 * GIB, Limits(bytes_per_second=600 * MIB)),
        ("lustre", "mbps-per-tb-125", 40 * TB, Limits(bytes_per_second=5e9)),
        ("lustre", "mbps-per-tb-1000", 40 * TB, Limits(bytes_per_second=40e9)),
        ("block-volume", "vpu-10", 50 * GB, Limits(iops=3_000, bytes_per_second=24e6)),
        ("block-volume", "vpu-10", 1000 * GB, Limits(iops=25_000, bytes_per_second=480e6)),
        ("block-volume", "vpu-10", 5000 * GB, Limits(iops=25_000, bytes_per_second=480e6)),
        ("block-volume", "vpu-20", 400 * GB, Limits(iops=30_000, bytes_per_second=240e6)),
        ("block-volume", "vpu-120", 100 * GB, Limits(iops=22_500, bytes_per_second=180e6)),
        ("block-volume", "vpu-120", 2000 * GB, Limits(iops=300_000, bytes_per_second=2_680e6)),
        ("block-volume", "vpu-0", 100 * GB, Limits(200, bytes_per_second=24e6)),
        ("oci-fss", "standard", None, Limits(50_000, 1e9, 1e9)),
        ("oci-fss", "hpmt-20", None, Limits(read_bytes_per_second=2.5e9)),
        ("lustre", "mbps-per-tb-125", None, Limits()),
        ("lustre", "a tier of next year", 40 * TB, Limits()),
        ("none", "", 40 * TB, Limits()),
    ],
)
def test_ceilings_are_those_of_the_documents(service: str, kind: str, capacity: float | None, expected: Limits) -> None:
    assert SERVICES[service].ceilings(kind, capacity) == expected


@pytest.mark.parametrize(
    ("server", "service"),
    [
        ("0a1b2c-xyz.cn-hangzhou.nas.aliyuncs.com", "apsara-nas"),
        ("0A1B2C.CN-HANGZHOU.NAS.ALIYUNCS.COM.", "apsara-nas"),
        ("nas.aliyuncs.com", None),
        ("evil-nas.aliyuncs.com.example.org", None),
        ("10.80.1.10", None),
        ("", None),
    ],
)
def test_a_service_is_recognised_by_the_end_of_the_servers_name(server: str, service: str | None) -> None:
    service_of = recognised(server)

    assert (service_of and service_of.name) == service


def test_what_an_operation_costs_is_a_rule_of_the_service() -> None:
    assert {service.name: service.cost for service in SERVICES.values()} == {
        "oci-fss": "weighted",
        "apsara-nas": "plain",
        "lustre": "plain",
        "block-volume": "plain",
        "none": "unknown",
    }


def test_every_figure_has_a_source_and_a_date() -> None:
    for line in LINES:
        assert line.source.document
        assert line.source.dated[:2] == "20"
        assert line.per_unit or line.most


def test_shapes_of_oci_file_storage_are_not_typed_a_second_time() -> None:
    for name, shape in SHAPES.items():
        ceilings = SERVICES["oci-fss"].ceilings(name, None)
        assert ceilings.iops == shape.limits.iops
        assert ceilings.read_bytes_per_second == shape.limits.read_bytes_per_second
        assert ceilings.write_bytes_per_second == shape.limits.write_bytes_per_second


@given(st.sampled_from(LINES), CAPACITIES, CAPACITIES)
def test_more_capacity_never_bears_less(line: CapacityCeiling, one: float, other: float) -> None:
    small, large = sorted((one, other))

    assert (line.at(small) or 0) <= (line.at(large) or 0)


@given(st.sampled_from(LINES), st.floats(min_value=1, max_value=1e12))
def test_the_capacity_to_buy_bears_what_is_wanted_and_hardly_more(line: CapacityCeiling, wanted: float) -> None:
    capacity = line.capacity_for(wanted)

    if capacity is None:
        assert line.most is not None
        assert wanted > line.most
    elif capacity:
        assert line.at(capacity) == pytest.approx(wanted)


@pytest.mark.parametrize("capacity", [0, -1, float("nan"), float("inf")])
def test_an_impossible_capacity_is_refused(capacity: float) -> None:
    with pytest.raises(ValueError, match="capacity"):
        SERVICES["lustre"].ceilings("mbps-per-tb-125", capacity)


def test_what_one_client_of_apsara_nas_was_seen_to_reach() -> None:
    kinds = SERVICES["apsara-nas"].kinds
    capacity, performance = kinds["capacity"], kinds["performance"]

    assert capacity.in_flight == 128
    assert capacity.one_client is not None
    assert performance.one_client is not None
    assert (capacity.one_client.read_iops, capacity.one_client.write_iops) == (14_000, 10_000)
    assert capacity.one_client.read_bytes_per_second == 150 * MIB
    assert performance.one_client.read_bytes_per_second == 300 * MIB
    assert capacity.write_latency == {4096: 0.010, 8192: 0.015, 1024**2: 0.100}


def test_128_requests_in_flight_at_the_stated_latency_make_the_stated_iops() -> None:
    waiting = InFlight(0.010, 4096, needed=128, most=128)

    assert waiting.completed(128) == pytest.approx(12_800)  # one client was seen to write 10,000
    assert not waiting.exceeded
    assert waiting.completed(2) == 200  # what a slot table of 2 leaves
