"""Measured costs of the configuration: handed to the agent and poller, and shown as fss_cost_model_info."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fss_exporter.catalogue import Family, family
from fss_exporter.cli.runtime import Part
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverride, CostOverrides

if TYPE_CHECKING:
    from fss_exporter.settings import Settings


def overrides_of(settings: "Settings | None") -> CostOverrides:
    """Return the overrides of a configuration. Empty without a configuration."""
    return settings.cost_model.overrides if settings else NO_OVERRIDES


class CostModelSource:
    """One info series for each override."""

    success = True
    duration_seconds = 0.0

    def __init__(self, rows: tuple[CostOverride, ...]) -> None:
        self._rows = rows

    def describe(self) -> Iterable[Family]:
        """Nothing: registering does no work."""
        return ()

    def collect(self) -> Iterable[Family]:
        """Yield the family fss_cost_model_info."""
        shown = family("fss_cost_model_info")
        for row in self._rows:
            fixed = "" if row.io_operations is None else f"{row.io_operations:g}"
            factor = f"{row.factor:g}" if row.io_operations is None else ""
            shown.add_metric((row.operation, fixed, factor, row.date, row.source), 1.0)
        yield shown


def cost_model_part(rows: tuple[CostOverride, ...]) -> Part:
    """Return a part of the running exporter that shows the overrides."""
    return Part(name="cost_model", source=CostModelSource(rows), start=_nothing, stop=_nothing)


def _nothing() -> None:
    return
