# SPDX-License-Identifier: Apache-2.0
"""Queries in MQL, the Monitoring Query Language, as text. Names from outside cannot change the meaning of a query. Pure.

Source: "Monitoring Query Language (MQL) Reference" of the OCI documentation, read 2026-09-05. The toolbox reads queries
(`fss_toolbox.mql`). The exporter only writes them.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

from fss_exporter.errors import MqlError

NAME: Final = re.compile(r"[A-Za-z][\w.$-]*", re.ASCII)  # a metric or a resource group
DIMENSION: Final = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


def query(
    metric: str,
    minutes: int,
    statistic: str,
    *,
    where: Mapping[str, str | Iterable[str]] | None = None,
    group_by: Iterable[str] | None = None,
) -> str:
    """Return a query with an interval of `minutes` (1 to 60) and a statistic such as `max`.

    `where` has a value, or several alternative values, by dimension. `group_by` has the dimensions to keep apart:
    empty merges all streams, None leaves the streams unchanged.

    Raises:
        MqlError: MQL cannot express a name or value.
    """
    name = _checked(NAME, metric, "not the name of a metric")
    selectors = ", ".join(select(dimension, wanted) for dimension, wanted in (where or {}).items())
    chosen = f"{{{selectors}}}" if selectors else ""
    return f"{name}[{minutes}m]{chosen}{_grouping(group_by)}.{statistic}()"


def select(dimension: str, wanted: str | Iterable[str]) -> str:
    """Return a condition on a dimension: exactly one value, or any of several.

    Raises:
        MqlError: MQL cannot express a value, or the value would select further values.
    """
    name = _checked(DIMENSION, dimension, "not the name of a dimension")
    if isinstance(wanted, str):
        return f'{name} = "{_value(wanted)}"'
    values = sorted({_value(value) for value in wanted})
    for value in values:
        if "|" in value or "*" in value or not value:
            raise MqlError("a value among several may hold no | and no *, and not be empty", query=value, column=1)
    if not values:
        raise MqlError("no value to select", query=dimension, column=1)
    return f'{name} = "{values[0]}"' if len(values) == 1 else f'{name} =~ "{"|".join(values)}"'


def number(value: float) -> str:
    """Return a number in plain decimal notation, because MQL has no exponents."""
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")


def _grouping(group_by: Iterable[str] | None) -> str:
    if group_by is None:
        return ""
    names = ", ".join(_checked(DIMENSION, name, "not the name of a dimension") for name in group_by)
    return f".groupBy({names})" if names else ".grouping()"


def _value(text: str) -> str:
    if '"' in text or not text.isprintable():
        raise MqlError("the value of a dimension may hold no quote and no control character", query=text, column=1)
    return text


def _checked(pattern: re.Pattern[str], text: str, refusal: str) -> str:
    if not pattern.fullmatch(text):
        raise MqlError(refusal, query=text, column=1)
    return text
