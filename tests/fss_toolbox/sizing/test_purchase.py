"""What to buy of another service for a load, with figures of its document."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import APSARA_NAS, BLOCK_VOLUME, GB, GIB, LUSTRE, NONE, SERVICES, TIB
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.sizing.purchase import clients_share, in_flight, offers
from fss_toolbox.sizing.uses import known_uses
from fss_toolbox.sizing.workload import plain

MIB = 1 << 20


def load(reads: float = 0.0, writes: float = 0.0, read_bytes: float = 0.0, written_bytes: float = 0.0) -> Traffic:
    rates = {"READ": reads, "WRITE": writes}
    return plain(
        Traffic({name: OperationTraffic(rate) for name, rate in rates.items() if rate}, read_bytes, written_bytes)
    )


READS_300 = load(reads=300, read_bytes=300 * MIB)


def bought(wanted: Traffic, service: str, target: float = 1.0) -> dict[str, float | None]:
    return {offer.kind.name: offer.capacity_bytes for offer in offers(wanted, SERVICES[service], target)}


@pytest.mark.parametrize(
    ("wanted", "size"), [(1, 31.2), (31.2, 31.2), (31.3, 41.6), (41.6, 41.6), (120, 124.8), (125, 166.4), (500, 540.8)]
)
def test_a_lustre_file_system_grows_in_the_steps_of_its_document(wanted: float, size: float) -> None:
    assert LUSTRE.kinds["mbps-per-tb-125"].on_sale(wanted * TIB) == pytest.approx(size * TIB)


def test_a_load_above_every_volume_is_reported() -> None:
    purchase = bought(load(reads=30_000, read_bytes=30_000 * 4096), "block-volume")

    assert purchase["vpu-0"] is purchase["vpu-10"] is None
    assert purchase["vpu-20"] == pytest.approx(400 * GB)


@pytest.mark.parametrize(
    ("service", "kind", "wanted", "capacity"),
    [
        ("apsara-nas", "capacity", 300 * MIB, 2000 * GIB),
        ("apsara-nas", "performance", 1200 * MIB, 2000 * GIB),
        ("lustre", "mbps-per-tb-250", 10e9, 41.6 * TIB),
        ("lustre", "mbps-per-tb-1000", 1e9, 31.2 * 1024 * GIB),
        ("block-volume", "vpu-10", 480e6, 1000 * GB),
        ("block-volume", "vpu-10", 481e6, None),
        ("oci-fss", "hpmt-20", 2.5e9, 0),
    ],
)
def test_the_capacity_to_buy_for_a_bandwidth(service: str, kind: str, wanted: float, capacity: float | None) -> None:
    assert bought(load(reads=1, read_bytes=wanted), service)[kind] == (
        capacity if capacity is None else pytest.approx(capacity)
    )


def test_a_load_of_the_whole_share_of_a_ceiling_has_an_offer() -> None:
    """700 MB/s / 0.7 is computed as a little more than 1 GB/s."""
    assert bought(load(reads=1, read_bytes=700e6), "oci-fss", 0.7)["standard"] == 0


def test_nothing_is_offered_where_nothing_is_published() -> None:
    assert offers(READS_300, NONE, 0.8) == []
    assert offers(load(), LUSTRE, 0.8) == []


@given(
    st.floats(1, 1e5),
    st.floats(1, 1e10),
    st.floats(0.1, 1.0),
    st.sampled_from((APSARA_NAS.name, "lustre", "block-volume")),
)
def test_what_is_bought_bears_the_load_at_the_target(
    reads: float, read_bytes: float, target: float, service: str
) -> None:
    wanted = load(reads=reads, read_bytes=read_bytes)
    for offer in offers(wanted, SERVICES[service], target):
        if offer.capacity_bytes:
            for use in known_uses(wanted, offer.kind.ceilings(offer.capacity_bytes)):
                assert use.ratio is not None
                assert use.ratio <= target * 1.000001


def test_only_known_ceilings_have_shares() -> None:
    wanted = load(reads=100, writes=50, read_bytes=4e6, written_bytes=2e6)

    assert known_uses(wanted, Limits()) == ()
    shares = {use.resource: use.ratio for use in known_uses(wanted, BLOCK_VOLUME.ceilings("vpu-10", 50 * GB))}
    assert shares == {"IOPS": 0.05, "bandwidth, reads and writes together": 0.25}


def test_writes_to_apsara_nas_take_the_latency_its_document_states() -> None:
    capacity = APSARA_NAS.kinds["capacity"]
    concurrency = in_flight(load(writes=10_000, written_bytes=10_000 * 4096), capacity, None)

    assert concurrency is not None
    assert (concurrency.latency_seconds, concurrency.most) == (0.010, 128)
    assert concurrency.needed == pytest.approx(100)
    assert concurrency.completed(128) == pytest.approx(12_800)
    large = in_flight(load(writes=100, written_bytes=100 * 512 * 1024), capacity, None)
    assert large is not None
    assert large.latency_seconds == 0.100


@pytest.mark.parametrize(("per_second", "is_exceeded"), [(1_280, False), (1_281, True), (1_279, False)])
def test_as_many_requests_as_the_service_takes_are_not_too_many(per_second: int, is_exceeded: bool) -> None:
    """1,280 requests of 0.1 s are the 128 that Apsara NAS takes, and are computed as a little more or less."""
    waiting = in_flight(load(writes=per_second, written_bytes=per_second * MIB), APSARA_NAS.kinds["capacity"], 0.1)

    assert waiting is not None
    assert waiting.exceeded is is_exceeded


def test_no_latency_no_in_flight() -> None:
    assert in_flight(READS_300, APSARA_NAS.kinds["capacity"], None) is None
    assert in_flight(load(), None, 0.001) is None
    concurrency = in_flight(READS_300, None, 0.01)
    assert concurrency is not None
    assert concurrency.most is None


def test_clients_needed_are_those_of_one_clients_figures() -> None:
    capacity, performance = APSARA_NAS.kinds["capacity"], APSARA_NAS.kinds["performance"]

    assert clients_share(READS_300, capacity) == pytest.approx(2)
    assert clients_share(READS_300, performance) == pytest.approx(1)
    assert clients_share(load(reads=28_000, read_bytes=28_000 * 4096), capacity) == pytest.approx(2)
    both = load(reads=7_000, writes=5_000, read_bytes=7_000 * 4096, written_bytes=5_000 * 4096)
    assert clients_share(both, capacity) == pytest.approx(1), "half of the reads and half of the writes of one client"
    assert clients_share(READS_300, LUSTRE.kinds["mbps-per-tb-125"]) is None
