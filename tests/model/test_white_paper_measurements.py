"""The sixteen measured rows of the white paper against the model."""

import pytest
from tools.measured_rows import MEASURED, Measured, modelled

MISPRINT = (1 << 20, "read", 4)


def test_there_are_sixteen_rows() -> None:
    assert len(MEASURED) == len({row[:3] for row in MEASURED}) == 16


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: f"{row.size}-{row.direction}-{row.mount_targets}")
def test_the_model_is_near_the_measurement(row: Measured) -> None:
    own = modelled(row)
    off = 0.03 if row[:3] == MISPRINT else 0.023
    assert own.iops == pytest.approx(row.iops, rel=off)
    assert own.megabytes == pytest.approx(row.megabytes, rel=0.025 if row[:3] == MISPRINT else 0.055)


def test_the_misprint_contradicts_its_own_row() -> None:
    (row,) = [row for row in MEASURED if row[:3] == MISPRINT]
    assert abs(row.megabytes * 1e6 / row.size - row.iops) > 100
