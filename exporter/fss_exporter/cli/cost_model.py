"""Measured costs of the configuration as fss_cost_model_info."""

from collections.abc import Iterator

from fss_exporter.catalogue import Family, family
from fss_exporter.model.cost_overrides import CostOverride


class CostModelSource:
    """One info series for each override."""

    success = True
    duration_seconds = 0.0

    def __init__(self, rows: tuple[CostOverride, ...]) -> None:
        self._rows = rows

    def collect(self) -> Iterator[Family]:
        """Yield the family fss_cost_model_info."""
        yield family("fss_cost_model_info", ((_labels(row), 1.0) for row in self._rows))


def _labels(row: CostOverride) -> tuple[str, ...]:
    fixed, factor = (f"{row.io_operations:g}", "") if row.io_operations is not None else ("", f"{row.factor:g}")
    return row.operation, fixed, factor, row.date, row.source
