# SPDX-License-Identifier: Apache-2.0
"""Lengths of time: as Prometheus and Go write them (`300us`, `500ms`, `1s`, `1m30s`, `1.5h`), and in words."""

import re

_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST_SECONDS = 3650 * 86400.0  # the system's own waits end at 292 years
_TERM = re.compile(r"(\d+(?:\.\d+)?)(us|µs|ms|[smhdw])", re.ASCII)
_WHOLE = re.compile(rf"(?:{_TERM.pattern})+", re.ASCII)


def parse_duration(text: str) -> float:
    """Return the seconds of a duration. `0` needs no unit.

    Raises:
        ValueError: the text is no duration, or longer than ten years. The message shows the format.
    """
    if text == "0":
        return 0.0
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a length of time. Write it like 500ms, 1s or 1m30s")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _TERM.findall(text))
    if seconds > LONGEST_SECONDS:
        raise ValueError(f"{text[:40]!r} is longer than 10 years. Write a length of time like 500ms, 1s or 1m30s")
    return seconds


def in_words(seconds: float) -> str:
    """Return a length of time in whole units: `90 s`, `12 min`, `5 h`, `3 days`."""
    for most, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < most:
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"
