# SPDX-License-Identifier: Apache-2.0
"""A row of the catalogue."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "info", "histogram"]


@dataclass(frozen=True, slots=True)
class Declaration:
    """One exported metric."""

    name: str  # name on `/metrics`, with `_total` and `_info`
    kind: Kind  # Prometheus type. `info` is exposed as a gauge with value 1
    labels: tuple[str, ...]  # all label names
    unit: str  # base unit (`bytes`, `seconds`, `ratio`, `operations`, `operations_per_second`, `info`, ...)
    help: str  # meaning and unit in sentences, without the origin. Every scrape contains the text
    origin: str  # original column, OCI metric or calculation of the number
    diagnostic: bool = False  # True if no rule or dashboard uses the metric and people read the metric
    detail: str = ""  # further text for the page of metrics

    @property
    def family_name(self) -> str:
        """Name without the suffix of the type, as the library and OpenMetrics name a family."""
        return self.name.removesuffix("_info" if self.kind == "info" else "_total")

    @property
    def help_text(self) -> str:
        """HELP as exposed: meaning, then origin."""
        return f"{self.help} Source: {self.origin}."

    def labelled(self, values: Sequence[str]) -> dict[str, str]:
        """Return label values by label, or raise ValueError for another number of values. The values have the order of `labels`."""
        if len(values) != len(self.labels):
            raise ValueError(f"{self.name}: {len(values)} label values for {len(self.labels)} labels")
        return dict(zip(self.labels, values, strict=True))
