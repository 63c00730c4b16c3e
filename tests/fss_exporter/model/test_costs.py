"""The cost table against the white paper's own figures, and the laws of its arithmetic."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.operations import (
    FIXED_COSTS,
    NFS3_OPERATIONS,
    READ,
    WRITE,
    nlm_io_operations,
    read_io_operations,
    write_io_operations,
)

KIB, MIB = 1024, 1024 * 1024

KERNEL_PROCEDURES = (
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR "
    "READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT"
).split()

sizes = st.integers(0, 4 * MIB)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 bytes"):
        read_io_operations(-1)


def test_every_procedure_the_kernel_prints_has_a_row_and_no_other() -> None:
    assert sorted(KERNEL_PROCEDURES) == sorted(NFS3_OPERATIONS)


def test_only_read_and_write_depend_on_their_size() -> None:
    assert NFS3_OPERATIONS - FIXED_COSTS.keys() == {READ, WRITE}


@pytest.mark.parametrize(
    ("name", "io_operations"),
    [
        ("NULL", 0),
        ("GETATTR", 1),
        ("COMMIT", 1),
        ("LOOKUP", 2),
        ("SETATTR", 2),
        ("CREATE", 4),
        ("READDIRPLUS", 4),
        ("RENAME", 8),
    ],
)
def test_an_operation_costs_what_the_table_says(name: str, io_operations: int) -> None:
    assert FIXED_COSTS[name] == io_operations


@pytest.mark.parametrize(("procedure", "io_operations"), [("LOCK", 4), ("UNLOCK", 4), ("FREE_ALL", 8)])
def test_a_lock_call_costs_four_and_free_all_eight(procedure: str, io_operations: int) -> None:
    assert nlm_io_operations(procedure) == io_operations


@pytest.mark.parametrize(
    ("size", "read", "write"),
    [(0, 2, 4), (1, 2, 4), (32 * KIB, 2, 4), (32 * KIB + 1, 3, 6), (64 * KIB, 3, 6), (MIB, 33, 66), (MIB + 1, 34, 68)],
)
def test_a_transfer_costs_one_for_each_started_block(size: int, read: int, write: int) -> None:
    assert (read_io_operations(size), write_io_operations(size)) == (read, write)


@given(sizes, sizes)
def test_a_larger_transfer_never_costs_less(one: int, other: int) -> None:
    small, large = sorted((one, other))
    assert read_io_operations(small) <= read_io_operations(large)


@given(sizes)
def test_a_write_costs_twice_a_read(size: int) -> None:
    assert write_io_operations(size) == 2 * read_io_operations(size)


@given(sizes, sizes)
def test_two_transfers_never_cost_less_than_their_bytes_in_one(one: int, other: int) -> None:
    assert read_io_operations(one) + read_io_operations(other) >= read_io_operations(one + other)
