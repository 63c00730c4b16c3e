"""A stated workload and what it costs."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES, READ, WRITE, read_io_operations, write_io_operations
from fss_toolbox.sizing.workload import Transfers, transfer_cost, workload

KIB = 1024
MIB = 1024 * KIB
sizes = st.integers(0, 64 * MIB)
caps = st.integers(KIB, MIB)


@pytest.mark.parametrize("name", ["READ", "WRITE", "FOO", "getattr", "NLM_", "NLM_FOO", "NLM_NULL", ""])
def test_an_operation_without_a_fixed_cost_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} "):
        workload(None, None, {name: 1.0})


def test_a_transfer_up_to_the_cap_is_one_call_of_the_table() -> None:
    assert transfer_cost(READ, MIB) == (1, 33)
    assert transfer_cost(WRITE, MIB) == (1, 66)
    assert transfer_cost(READ, 0) == (1, 2)
    assert transfer_cost(WRITE, 32 * KIB) == (1, 4)


def test_a_transfer_above_the_cap_is_split_by_the_client() -> None:
    assert transfer_cost(READ, 4 * MIB) == (4, 4 * 33)
    assert transfer_cost(READ, MIB + 1) == (2, 33 + 2)
    assert transfer_cost(WRITE, MIB, 64 * KIB) == (16, 16 * 6)


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


def test_free_all_costs_twice_the_other_lock_calls() -> None:
    traffic = workload(None, None, {"NLM_FREE_ALL": 1.0, "NLM_UNLOCK": 1.0})
    costs = {name: rate.iops.point for name, rate in traffic.operations.items() if rate.iops}
    assert costs == {"NLM_FREE_ALL": 8.0, "NLM_UNLOCK": 4.0}


def test_only_what_moves_bytes_has_a_size() -> None:
    traffic = workload(Transfers(10.0, 64 * KIB), None, {"GETATTR": 5.0})
    assert traffic.mean_read_bytes == 64 * KIB
    assert traffic.mean_written_bytes is None
    assert set(traffic.operations) == {READ, "GETATTR"}
    assert WRITE not in traffic.operations
