"""Shapes, ceilings and thresholds against their sources."""

import pytest

from fss_exporter.model.limits import SHAPES, shape_of


@pytest.mark.parametrize("observed", [None, 0, 1])
def test_absent_zero_and_one_gbit_are_the_standard_shape(observed: int | None) -> None:
    assert shape_of(observed) is SHAPES["standard"]


@pytest.mark.parametrize(
    ("observed", "name", "read"), [(20, "hpmt-20", 2.5e9), (40, "hpmt-40", 5e9), (80, "hpmt-80", 10e9)]
)
def test_a_high_performance_shape_reads_what_its_gbit_say(observed: int, name: str, read: float) -> None:
    shape = shape_of(observed)
    assert (shape.name, shape.limits.read_bytes_per_second) == (name, read)


def test_an_unpublished_ceiling_is_none() -> None:
    limits = SHAPES["hpmt-20"].limits
    assert (limits.iops, limits.write_bytes_per_second) == (None, None)


def test_an_undocumented_throughput_states_its_read_bandwidth_and_nothing_else() -> None:
    shape = shape_of(1600)
    assert shape.name == "hpmt-1600"
    assert shape.limits.read_bytes_per_second == 200e9
    assert (shape.limits.iops, shape.limits.connections) == (None, None)


def test_the_standard_shape_bears_what_the_white_paper_says() -> None:
    limits = SHAPES["standard"].limits
    assert (limits.iops, limits.read_bytes_per_second, limits.write_bytes_per_second) == (50_000, 1e9, 1e9)
