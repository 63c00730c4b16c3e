"""A benchmark against the ceilings."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.limits import STANDARD, Limits
from fss_exporter.model.operations import read_io_operations, write_io_operations
from fss_toolbox.sizing.benchmark import Bottleneck, Direction, Job, Storage, job_traffic, judge
from fss_toolbox.sizing.uses import IOPS

KIB = 1024
MIB = 1024 * KIB


def direction(operations: float, size: int, latency: float = 0.001, *, one_size: bool = True) -> Direction:
    count = round(operations * 60)
    return Direction(operations, operations * size, count, count * size, one_size, latency)


def reads(operations: float, size: int, depth: int | None = 8, latency: float = 0.001, *, one_size: bool = True) -> Job:
    return Job("r", 0, direction(operations, size, latency, one_size=one_size), Direction(), depth)


def test_a_job_that_did_nothing_costs_nothing() -> None:
    verdict = judge([Job("idle", 0, Direction(), Direction(), 4)], Storage(STANDARD.limits))
    assert verdict.traffic.operations == {}
    assert verdict.bottleneck is Bottleneck.UNKNOWN
    assert verdict.allowed is None


@given(st.floats(1, 1e5), st.integers(0, MIB), st.floats(1, 1e5), st.integers(0, MIB))
def test_known_sizes_have_an_exact_cost(read_rate: float, read_size: int, write_rate: float, write_size: int) -> None:
    job = Job("rw", 0, direction(read_rate, read_size), direction(write_rate, write_size), 8)
    iops = job_traffic(job, MIB).iops
    assert iops is not None
    expected = read_rate * read_io_operations(read_size) + write_rate * write_io_operations(write_size)
    assert iops.lower == iops.upper == pytest.approx(expected)


@given(st.floats(1, 1e5), st.integers(1, 8 * MIB), st.integers(KIB, MIB))
def test_mixed_sizes_have_bounds_around_the_cost_of_the_mean(rate: float, size: int, cap: int) -> None:
    mixed = job_traffic(reads(rate, size, one_size=False), cap)
    assert mixed.written_bytes == 0
    iops = mixed.iops
    exact = job_traffic(reads(rate, size), cap).iops
    assert iops is not None
    assert exact is not None
    assert iops.lower <= iops.point <= iops.upper
    assert iops.lower <= exact.point * (1 + 1e-9)


def test_a_ceiling_met_tells_how_far_the_model_is_off() -> None:
    verdict = judge([reads(24_000, 32 * KIB, 64, 0.0026)], Storage(STANDARD.limits))
    assert verdict.bottleneck is Bottleneck.CEILING
    assert verdict.first is not None
    assert verdict.first.resource == IOPS
    assert verdict.allowed == pytest.approx(25_000)
    assert verdict.error == pytest.approx(25_000 / 24_000 - 1)


def test_far_above_the_ceiling_is_not_this_shape() -> None:
    assert judge([reads(90_000, 4 * KIB)], Storage(STANDARD.limits)).bottleneck is Bottleneck.ABOVE


def test_a_filled_depth_below_the_ceiling_is_latency() -> None:
    assert judge([reads(8000, 4 * KIB, 8, 0.001)], Storage(STANDARD.limits)).bottleneck is Bottleneck.LATENCY


def test_a_depth_that_is_not_filled_is_the_client() -> None:
    assert judge([reads(2000, 4 * KIB, 8, 0.001)], Storage(STANDARD.limits)).bottleneck is Bottleneck.CLIENT


def test_a_benchmark_without_a_queue_depth_has_no_bottleneck() -> None:
    assert judge([reads(2000, 4 * KIB, None)], Storage(STANDARD.limits)).bottleneck is Bottleneck.UNKNOWN


def test_without_a_ceiling_there_is_a_cost_and_no_prediction() -> None:
    verdict = judge([reads(90_000, 4 * KIB, 90, 0.001)], Storage(Limits()))
    assert verdict.traffic.iops is not None
    assert verdict.traffic.iops.point == 180_000
    assert verdict.allowed is None
    assert verdict.error is None
    assert verdict.bottleneck is Bottleneck.LATENCY


def test_jobs_that_ran_together_share_the_ceiling() -> None:
    verdict = judge([reads(12_000, 32 * KIB), reads(12_500, 32 * KIB)], Storage(STANDARD.limits))
    assert verdict.bottleneck is Bottleneck.CEILING
    assert verdict.depth == 16
    assert verdict.in_flight == pytest.approx(24.5)
