"""Kinds of flag values that click does not know."""

import re

import click

_UNITS_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_DURATION = re.compile(r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?")


def parse_duration(text: str) -> float:
    """Seconds of a duration as Prometheus writes it: `500ms`, `1s`, `1m30s`.

    Raises:
        ValueError: not such a duration.
    """
    match = _DURATION.fullmatch(text)
    if not match or not text:
        raise ValueError(text)
    units = ("y", "w", "d", "h", "m", "s", "ms")
    return sum(int(number) * _UNITS_SECONDS[unit] for unit, number in zip(units, match.groups(), strict=True) if number)


def duration(text: str) -> float:
    """A flag's duration in seconds, more than none."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0.0
    if not seconds:
        raise click.BadParameter(f"{text!r} is not a length of time; write it like 500ms, 1s or 1m30s")
    return seconds
