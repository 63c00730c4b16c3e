# SPDX-License-Identifier: Apache-2.0
"""Figures with their units as text, for tables and sentences at a prompt."""

import math

NOT_KNOWN = "-"


def number(value: float | None) -> str:
    """A count or rate: as many digits as matter."""
    if value is None or not math.isfinite(value):
        return NOT_KNOWN
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 1 else f"{value:.3g}"


def megabytes(value: float | None) -> str:
    """Bytes per second as MB/s."""
    return NOT_KNOWN if value is None else f"{value / 1e6:,.2f}"


def kibibytes(value: float | None) -> str:
    """Bytes as KiB."""
    return NOT_KNOWN if value is None else f"{value / 1024:,.1f}"


def bounds(least: float, most: float, same: str = "") -> str:
    """Return two bounds of a figure as text, and `same` for equal bounds."""
    return same if least == most else f"{number(least)} to {number(most)}"


def milliseconds(value: float | None) -> str:
    """Seconds as milliseconds."""
    return NOT_KNOWN if value is None else f"{value * 1000:,.2f}"


def percent(value: float | None) -> str:
    """A ratio as per cent."""
    return NOT_KNOWN if value is None else f"{value * 100:.1f} %"


def duration(seconds: float) -> str:
    """Return a length of time as text: `20.00 ms`, `2.50 s`, `39.0 min`, `5.2 h`, `3.1 days`."""
    for most, divisor, unit in ((1, 0.001, "ms"), (120, 1, "s")):
        if seconds < most:
            return f"{seconds / divisor:.2f} {unit}"
    for most, divisor, unit in ((7200, 60, "min"), (172800, 3600, "h")):
        if seconds < most:
            return f"{seconds / divisor:.1f} {unit}"
    return f"{seconds / 86400:,.1f} days"


def capacity(size_bytes: float) -> str:
    """Return a capacity in TB, or in GB below 1 TB."""
    return f"{size_bytes / 1e12:,.2f} TB" if size_bytes >= 1e12 else f"{size_bytes / 1e9:,.0f} GB"


def amount(value: float | None, unit: str) -> str:
    """Return a figure with the unit. Bytes are MB/s."""
    if value is None:
        return NOT_KNOWN
    return f"{megabytes(value)} MB/s" if unit == "B/s" else f"{number(value)} {unit}"
