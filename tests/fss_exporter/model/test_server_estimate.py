"""Bounds from what OCI publishes: they hold every workload that fits the figures, and are no wider than they must be."""

import math
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.estimate import NO_COST, Bounds
from fss_exporter.model.operations import read_io_operations
from fss_exporter.model.server_estimate import (
    BUCKETS,
    estimate_metadata,
    estimate_reads_by_size,
    estimate_writes_by_size,
)

KIB = 1024
MIB = 1024 * KIB
sizes = st.one_of(
    st.integers(min_value=0, max_value=MIB),
    st.sampled_from([0, 1, 4 * KIB, 8 * KIB, 8 * KIB + 1, 32 * KIB, 32 * KIB + 1, 64 * KIB, 64 * KIB + 1, MIB]),
)
workloads = st.lists(sizes, min_size=1, max_size=40)


def bucket_of(size: int) -> int:
    return next(at for at, bucket in enumerate(BUCKETS) if size <= bucket.up_to_bytes)


def published(requests: list[int]) -> tuple[list[float], float]:
    """What OCI would publish of these READs, all within one second."""
    counts = Counter(bucket_of(size) for size in requests)
    return [float(counts[at]) for at in range(len(BUCKETS))], float(sum(requests))


def test_no_requests_cost_nothing() -> None:
    assert estimate_reads_by_size([0, 0, 0], 0.0) == NO_COST
    assert estimate_reads_by_size([0, 0, 0], 5e6) == NO_COST
    assert estimate_metadata({}) == NO_COST
    assert Bounds.total([]) == NO_COST


@pytest.mark.parametrize(
    ("rates", "bytes_per_second", "point"),
    [
        ([100, 0, 0], 100 * 4096.0, 200),
        ([100, 0, 0], 0.0, 200),
        ([0, 100, 0], 100 * 32.0 * KIB, 200),
        ([0, 100, 0], 100 * 36.0 * KIB, 300),
        ([0, 100, 0], 100 * 64.0 * KIB, 300),
        ([0, 0, 100], 100 * 1.0 * MIB, 3300),
        ([0, 0, 100], 100 * 256.0 * KIB, 900),
        ([0, 0, 100], 100 * (256.0 * KIB - 10), 900),
    ],
    ids=["4 KiB", "empty", "32 KiB", "36 KiB", "64 KiB", "1 MiB", "256 KiB", "rounded down"],
)
def test_requests_of_one_size_are_estimated_exactly(rates: list[float], bytes_per_second: float, point: float) -> None:
    assert estimate_reads_by_size(rates, bytes_per_second).point == point
    assert estimate_writes_by_size(rates, bytes_per_second).point == 2 * point


def test_two_sizes_whose_mean_is_a_page_multiple_are_not_taken_for_one() -> None:
    """60 READs of 32 KiB and 40 of 272 KiB move as much as 100 of 128 KiB, and cost more."""
    requests = [32 * KIB] * 60 + [272 * KIB] * 40
    bounds = estimate_reads_by_size(*published(requests))
    assert sum(requests) == 100 * 128 * KIB
    assert bounds.point > 100 * read_io_operations(128 * KIB)
    assert bounds.lower <= sum(map(read_io_operations, requests)) <= bounds.upper


def test_a_mean_that_is_no_page_multiple_is_no_single_size() -> None:
    bounds = estimate_reads_by_size([0, 0, 100], 100 * (256.0 * KIB + 1000))

    assert bounds.point == (bounds.lower + bounds.upper) / 2
    assert bounds.lower < bounds.point < bounds.upper


def test_without_throughput_the_buckets_alone_bound_it() -> None:
    assert estimate_reads_by_size([10, 0, 0], None) == (20, 20, 20)
    lower, point, upper = estimate_reads_by_size([0, 0, 10], None)
    assert (lower, point, upper) == (40, 185, 330)
    assert estimate_reads_by_size([0, 10, 0], None) == (20, 25, 30)


def test_a_request_of_the_middle_bucket_needs_24_kib_beyond_its_8_kib_to_start_a_second_block() -> None:
    bounds = estimate_reads_by_size([0, 10, 0], 10 * 8 * KIB + 5 * 24 * KIB)

    assert (bounds.lower, bounds.upper) == pytest.approx((20, 25))


def test_metadata_costs_what_was_measured_where_costs_were_measured() -> None:
    measured = {"REMOVE": 9.5, "GETATTR": 1.0}

    assert estimate_metadata({"Remove": 10, "GETATTR": 5}, measured) == Bounds.exact(100)
    assert estimate_metadata({"unheard of": 10}, measured) == (10, 10, 95)


@given(workloads)
def test_the_bounds_hold_every_workload_that_was_published(requests: list[int]) -> None:
    rates, moved = published(requests)
    bounds = estimate_reads_by_size(rates, moved)
    cost = sum(map(read_io_operations, requests))
    assert bounds.lower <= cost * (1 + 1e-12)
    assert cost <= bounds.upper * (1 + 1e-12)


@given(workloads)
def test_throughput_never_widens_what_the_buckets_say(requests: list[int]) -> None:
    rates, moved = published(requests)
    with_bytes, without = estimate_reads_by_size(rates, moved), estimate_reads_by_size(rates, None)
    assert without.lower <= with_bytes.lower * (1 + 1e-12)
    assert with_bytes.upper <= without.upper * (1 + 1e-12)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=3), st.one_of(st.none(), st.floats(0, 1e12)))
def test_whatever_is_published_the_bounds_are_in_order_and_finite(
    rates: list[float], bytes_per_second: float | None
) -> None:
    """Also where rates and throughput contradict each other, as rounded or torn figures do."""
    for bounds in (
        estimate_reads_by_size(rates, bytes_per_second),
        estimate_writes_by_size(rates, bytes_per_second),
    ):
        assert 0 <= bounds.lower <= bounds.point <= bounds.upper < math.inf


@given(workloads, st.integers(2, 1000))
def test_ten_times_the_requests_are_ten_times_the_cost(requests: list[int], factor: int) -> None:
    rates, moved = published(requests)
    once, often = (
        estimate_reads_by_size(rates, moved),
        estimate_reads_by_size([r * factor for r in rates], moved * factor),
    )
    assert often == pytest.approx([factor * value for value in once])


@pytest.mark.parametrize(
    "extreme",
    [
        [32 * KIB] * 50 + [96 * KIB] * 50,  # every request ends at a block's end
        [64 * KIB] * 50 + [MIB] * 50,
        [8 * KIB] * 10 + [32 * KIB] * 10 + [128 * KIB] * 10,
    ],
    ids=["cheapest", "full", "mixed"],
)
def test_the_lower_bound_is_reached(extreme: list[int]) -> None:
    rates, moved = published(extreme)
    assert estimate_reads_by_size(rates, moved).lower == pytest.approx(sum(map(read_io_operations, extreme)))


@pytest.mark.parametrize(
    "extreme",
    [
        [32 * KIB + 1] * 100,  # every request ends just behind a block's end
        [64 * KIB + 1] * 50 + [96 * KIB + 1] * 50,
        [0] * 20 + [32 * KIB + 1] * 40 + [992 * KIB + 1] * 40,
    ],
    ids=["one bucket", "the large bucket", "all buckets"],
)
def test_the_upper_bound_is_reached(extreme: list[int]) -> None:
    rates, moved = published(extreme)
    assert estimate_reads_by_size(rates, moved).upper == pytest.approx(sum(map(read_io_operations, extreme)), rel=1e-3)


def test_metadata_costs_what_the_table_says_in_whatever_case() -> None:
    assert estimate_metadata({"CREATE": 10, "GetAttr": 100, "setattr": 5, "REMOVE": 1}) == (158, 158, 158)


def test_a_name_that_is_no_procedure_may_be_any_and_claims_the_least() -> None:
    assert estimate_metadata({"ReadMetadata": 10}) == (10, 10, 80)


@given(st.lists(st.tuples(*[st.floats(0, 1e9)] * 3), max_size=5))
def test_independent_estimates_add_up(parts: list[tuple[float, float, float]]) -> None:
    whole = Bounds.total(Bounds(*part) for part in parts)
    assert whole == pytest.approx([sum(part[place] for part in parts) for place in range(3)])
