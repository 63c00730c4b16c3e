# SPDX-License-Identifier: Apache-2.0
"""A row of the catalogue."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")

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
    detail: str = ""  # further text for the page of metrics

    @property
    def family_name(self) -> str:
        """Name without the suffix of the type, as the library and OpenMetrics name a family."""
        return self.name.removesuffix("_info" if self.kind == "info" else "_total")

    @property
    def help_text(self) -> str:
        """HELP as exposed: meaning, then origin."""
        return f"{self.help} Source: {self.origin}."

    def with_tags(self, labels: Sequence[str]) -> "Declaration":
        """Return the metric with further labels, which the configuration names."""
        return replace(self, labels=(*self.labels, *labels)) if labels else self

    def check(self, labels: Sequence[str]) -> None:
        """Check the names of label values, in the order of the values, so that no value gets another name.

        Raises:
            ValueError: these are other names, or they have another order than `labels`.
        """
        if tuple(labels) != self.labels:
            raise ValueError(f"{self.name}: values of {', '.join(labels)} for the labels {', '.join(self.labels)}")

    def labelled(self, values: Sequence[str]) -> dict[str, str]:
        """Return label values by label, or raise ValueError for another number of values. The values have the order of `labels`.

        An escape replaces each control character, because names of exports, processes and resources come from outside, and
        `curl` in a terminal would obey them. The text formats escape a newline themselves.
        """
        if len(values) != len(self.labels):
            raise ValueError(f"{self.name}: {len(values)} label values for {len(self.labels)} labels")
        return dict(zip(self.labels, map(_without_controls, values), strict=True))


def _without_controls(value: str) -> str:
    return value if value.isprintable() else _CONTROL.sub(lambda sign: sign[0].encode("unicode_escape").decode(), value)
