"""The sixteen measured rows of the white paper against the model."""

from pathlib import Path

from tools.check.measured_rows import MEASURED, table, worst

COST_MODEL = Path(__file__).parents[3] / "docs" / "cost-model.md"


def test_there_are_sixteen_rows() -> None:
    assert len(MEASURED) == len({row[:3] for row in MEASURED}) == 16


def test_the_documented_error_is_that_of_the_worst_row() -> None:
    assert f"The model is at most {100 * worst():.1f} % off" in " ".join(COST_MODEL.read_text().split())


def test_iops_and_megabytes_of_each_row_agree() -> None:
    """One total that the paper prints does not. The table says so."""
    assert [row for row in MEASURED if abs(row.iops * row.size / (row.megabytes * 1e6) - 1) > 0.02] == []
    assert "955 for each, which is 3,820" in "\n".join(table())
