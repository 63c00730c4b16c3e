"""A stated workload and what it costs."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.cost_overrides import CostOverride, CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES, READ, WRITE, read_io_operations, write_io_operations
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.sizing.workload import Transfers, priced, scaled, transfer_cost, with_amount, workload

KIB = 1024
MIB = 1024 * KIB
sizes = st.integers(0, 64 * MIB)
caps = st.integers(KIB, MIB)


@pytest.mark.parametrize("name", ["READ", "WRITE", "FOO", "getattr", "NLM_", "NLM_FOO", "NLM_NULL", "LOCK", ""])
def test_an_operation_without_a_fixed_cost_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} "):
        workload(None, None, {name: 1.0})


def test_a_transfer_up_to_the_cap_is_one_call_of_the_table() -> None:
    assert transfer_cost(READ, MIB) == (1, 33)
    assert transfer_cost(WRITE, MIB) == (1, 66)
    assert transfer_cost(READ, 0) == (1, 2)
    assert transfer_cost(WRITE, 32 * KIB) == (1, 4)


def test_the_operations_of_a_workload_are_the_calls_on_the_wire() -> None:
    """10 reads of 2 MiB a second are 20 READs, and a lock call is one operation."""
    traffic = workload(Transfers(10, 2 * MIB), None, {"NLM_LOCK": 100, "RENAME": 7})

    calls = {name: rate.operations for name, rate in traffic.operations.items()}
    assert calls == {"READ": 20, "NLM_LOCK": 100, "RENAME": 7}


def test_half_of_a_load_has_half_of_every_figure() -> None:
    load = Traffic(
        {"READ": OperationTraffic(10, Bounds(20, 30, 40), retransmissions=2, rtt_seconds=1)}, 100, 50, lock_iops=8
    )

    assert scaled(load, 0.5) == Traffic(
        {"READ": OperationTraffic(5, Bounds(10, 15, 20), retransmissions=1, rtt_seconds=0.5)}, 50, 25, lock_iops=4
    )
    assert scaled(replace(load, lock_iops=None), 0.5).lock_iops is None


@pytest.mark.parametrize(
    ("override", "iops"),
    [
        (CostOverride("NLM", 5.0, 1.0, "2026-11-22", "x"), Bounds(2_550, 2_550, 2_550)),
        (CostOverride("RENAME", 9.5, 1.0, "2026-11-22", "x"), Bounds(2_525, 2_525, 2_525)),
        (CostOverride("READ", None, 0.5, "2026-11-22", "x"), Bounds(1_625, 1_625, 1_625)),
    ],
    ids=["lock calls", "an operation", "a factor of READ"],
)
def test_a_measured_cost_takes_the_place_of_the_tables(override: CostOverride, iops: Bounds) -> None:
    """By the table, 50 READs of 1 MiB cost 1,650, 100 lock calls 400, and 50 RENAMEs 400."""
    load = workload(Transfers(50, MIB), None, {"NLM_LOCK": 100, "RENAME": 50})

    assert load.iops == Bounds.exact(2_450)
    assert priced(load, CostOverrides((override,))).iops == iops
    assert priced(load, CostOverrides(())) == load


@given(sizes, caps)
def test_splitting_costs_what_its_pieces_cost(size: int, cap: int) -> None:
    pieces = [cap] * (size // cap) + ([size % cap] if size % cap or not size else [])
    assert transfer_cost(READ, size, cap) == (len(pieces), sum(map(read_io_operations, pieces)))
    assert transfer_cost(WRITE, size, cap) == (len(pieces), sum(map(write_io_operations, pieces)))


@given(st.floats(0, 1e6), st.integers(0, LARGEST_TRANSFER_BYTES), st.floats(0, 1e6), st.integers(0, MIB))
def test_reads_and_writes_add_up_by_their_costs(reads: float, read_size: int, writes: float, write_size: int) -> None:
    traffic = workload(Transfers(reads, read_size), Transfers(writes, write_size), {"LOOKUP": 7.0, "NLM_LOCK": 3.0})
    assert traffic.iops is not None
    expected = reads * read_io_operations(read_size) + writes * write_io_operations(write_size) + 7 * 2 + 3 * 4
    assert traffic.iops.lower == traffic.iops.point == traffic.iops.upper == pytest.approx(expected)
    assert traffic.read_bytes == reads * read_size
    assert traffic.written_bytes == writes * write_size


def test_nothing_stated_is_no_traffic() -> None:
    empty = workload(None, None, {})
    assert empty.operations == {}
    assert empty.iops is None


MIX = Traffic(
    {
        "READ": OperationTraffic(10, Bounds.exact(330)),
        "GETATTR": OperationTraffic(100, Bounds.exact(100)),
        "RENAME": OperationTraffic(10, Bounds.exact(80)),
    },
    read_bytes=10 << 20,
)


def whole(iops: float, read_bytes: float, written_bytes: float = 0.0) -> Traffic:
    return Traffic({"all operations": OperationTraffic(0.0, Bounds.exact(iops))}, read_bytes, written_bytes)


def test_reads_follow_the_bytes_and_other_operations_take_the_rest() -> None:
    traffic = with_amount(MIX, whole(660 + 360, 20 << 20))

    assert traffic is not None
    assert {name: rate.operations for name, rate in traffic.operations.items()} == pytest.approx(
        {"READ": 20, "GETATTR": 200, "RENAME": 20}
    )
    assert traffic.iops == pytest.approx((1_020, 1_020, 1_020))


def test_bytes_that_cost_more_than_all_iops_scale_the_whole_mix() -> None:
    traffic = with_amount(MIX, whole(510, 40 << 20))

    assert traffic is not None
    assert traffic.iops == pytest.approx((510, 510, 510))
    assert traffic.read_bytes == 40 << 20


def test_classes_grow_with_their_operations() -> None:
    """An agent counts durations by class: 1 READ and 100 other requests are in flight."""
    metadata = OperationTraffic(110, Bounds.exact(180), execute_seconds=100)
    reads = replace(MIX.operations["READ"], execute_seconds=1)
    traffic = with_amount(replace(MIX, classes={"read": reads, "metadata_read": metadata}), whole(660 + 360, 20 << 20))

    assert traffic is not None
    assert traffic.iops == pytest.approx((1_020, 1_020, 1_020))
    assert traffic.all_operations.operations == pytest.approx(240)
    assert traffic.all_operations.execute_seconds == pytest.approx(202)


def test_writes_that_no_scraped_client_makes_have_no_mix() -> None:
    assert with_amount(MIX, whole(5_000, 10 << 20, 1e6)) is None


def test_a_mix_without_a_cost_explains_nothing() -> None:
    idle = Traffic({"NULL": OperationTraffic(5, Bounds.exact(0))})
    assert with_amount(idle, whole(5_000, 0)) is None
