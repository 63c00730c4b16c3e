"""A histogram of sizes as a workload."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.operations import READ, WRITE, read_io_operations, write_io_operations
from fss_toolbox.sizing.size_classes import TransferClass, classes_io_operations

KIB = 1024
BOUNDS = [blocks * 32 * KIB for blocks in (1, 2, 4, 8, 16, 32)]


def classes(sizes: list[int]) -> list[TransferClass]:
    edges = zip([0, *BOUNDS], BOUNDS, strict=False)
    return [TransferClass(low, high, sum(low < max(1, size) <= high for size in sizes)) for low, high in edges]


@given(st.lists(st.integers(0, 1024 * KIB), max_size=30))
def test_the_cost_of_any_sizes_lies_between_the_bounds_of_their_classes(sizes: list[int]) -> None:
    for operation, cost in ((READ, read_io_operations), (WRITE, write_io_operations)):
        lower, point, upper = classes_io_operations(operation, classes(sizes), sum(sizes))

        assert lower <= sum(map(cost, sizes)) <= upper
        assert lower <= point <= upper


@given(st.lists(st.integers(0, 64 * KIB)))
def test_classes_of_one_block_are_exact(sizes: list[int]) -> None:
    cost = sum(map(read_io_operations, sizes))

    assert classes_io_operations(READ, classes(sizes), sum(sizes)) == (cost, cost, cost)


@pytest.mark.parametrize("size", [128 * KIB, 1024 * KIB])
def test_the_payload_tells_where_in_a_wide_class_the_point_lies(size: int) -> None:
    assert classes_io_operations(READ, classes([size] * 10), size * 10).point == 10 * read_io_operations(size)


def test_a_read_that_carries_less_than_it_asks_for_stays_within_its_class() -> None:
    lower, point, upper = classes_io_operations(READ, classes([1024 * KIB]), 100)

    assert (lower, point, upper) == (18, 18, 33)


def test_the_payload_that_other_classes_leave_places_the_point() -> None:
    """10 READs of 600 KiB move 6,000 KiB of 5,120 to 10,240. Up to 32 MiB are those of 1,000 READs of up to 32 KiB.

    So the 10 READs move 6,000 to 10,240 KiB, in the middle 8,120, which is 3,000 / 5,120 of the way.
    """
    bounds = classes_io_operations(READ, classes([32 * KIB] * 1_000 + [600 * KIB] * 10), (32_000 + 6_000) * KIB)

    least, most = 1_000 * 2 + 10 * 18, 1_000 * 2 + 10 * 33
    assert bounds == pytest.approx((least, least + 3_000 / 5_120 * (most - least), most))
