# SPDX-License-Identifier: Apache-2.0
"""Parse sizes, rates and durations that people write. A wrong text raises click.BadParameter with the right form."""

import math
import re
from contextlib import suppress

import click

from fss_exporter.durations import parse_duration

_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([A-Za-z]*)", re.ASCII)
_BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_LARGEST = 1e18
_SMALLEST = 1e-9  # Smaller figures are typing errors, and quotients by them overflow
_DAY_SECONDS = 86400.0


def size(text: str) -> int:
    """Return the bytes of a size in the notation of fio and dd: `32k` and `32KiB` are 32,768, `1MB` is 1,000,000."""
    number, unit = _split(text, "a size", "32k, 1MiB or 1MB")
    letter, rest = unit[:1].lower(), unit[1:].lower()
    if letter == "b" and not rest:
        return round(number)
    if letter in _BINARY and rest in {"", "ib"}:
        return round(number * _BINARY[letter])
    if letter in _DECIMAL and rest == "b":
        return round(number * _DECIMAL[letter])
    raise click.BadParameter(f"{text!r} is not a size. Write it like 32k, 1MiB or 1MB")


def bandwidth(text: str) -> float:
    """Bytes per second of `500MB/s`, `4GiB/s` or, in bits, `10Gbit/s`."""
    short = text.removesuffix("/s")
    number, unit = _split(short, "a bandwidth", "500MB/s or 10Gbit/s")
    if not unit:
        raise click.BadParameter(f"{text!r} has no unit. Write it like 500MB/s or 10Gbit/s")
    if re.fullmatch("[kKmMgGtT]?b", unit):
        raise click.BadParameter(f"{text!r} can be bits or bytes. Write it like 500MB/s or 10Gbit/s")
    if bits := re.fullmatch("([kKmMgGtT]?)(?:bit|bps)", unit):
        return number * _DECIMAL[bits[1].lower()] / 8
    try:
        return float(size(short))
    except click.BadParameter:
        raise click.BadParameter(f"{text!r} is not a bandwidth. Write it like 500MB/s or 10Gbit/s") from None


def network(text: str) -> float:
    """Bytes per second of a network in the notation of `bandwidth`, more than 0."""
    if rate := bandwidth(text):
        return rate
    raise click.BadParameter(f"{text!r}: the bandwidth of a network must be more than 0")


def rate(text: str) -> float:
    """A number per second: `5000`, `5k`, `5000/s`."""
    number, unit = _split(text.removesuffix("/s"), "a rate", "5000 or 5k")
    if unit.lower() not in {"", "k", "m"}:
        raise click.BadParameter(f"{text!r} is not a rate. Write it like 5000 or 5k")
    return number * _DECIMAL[unit.lower()]


def count(text: str) -> int:
    """A whole number, at least 1: `5000`, `5k`, `10M`."""
    number, unit = _split(text, "a number", "5000, 5k or 10M")
    whole = number * _DECIMAL.get(unit.lower(), 0)
    if unit.lower() not in {"", "k", "m", "g"} or whole != int(whole) or not whole:
        raise click.BadParameter(f"{text!r} is not a whole number of at least 1. Write it like 5000, 5k or 10M")
    return int(whole)


def duration(text: str) -> float:
    """Return the seconds of a duration such as `500ms`, `1s` or `1m30s`, more than none."""
    try:
        seconds = parse_duration(text)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from wrong
    if not seconds:
        raise click.BadParameter("must be longer than 0. Write it like 500ms, 1s or 1m30s")
    return seconds


def latency(text: str) -> float:
    """Seconds of a duration such as `2ms`, `500us` or `1s`, up to a day."""
    with suppress(ValueError):
        seconds = parse_duration(text)
        if _SMALLEST <= seconds <= _DAY_SECONDS:
            return seconds
    raise click.BadParameter(f"{text!r} is not a length of time. Write it like 2ms, 500us or 1s")


def interval(text: str) -> float:
    """Return the seconds between two reports: a number as for `nfsiostat`, or a duration."""
    try:
        seconds = float(text) if text.isascii() and "_" not in text else 0.0
    except ValueError:
        try:
            seconds = parse_duration(text)
        except ValueError:
            seconds = 0.0
    if not _SMALLEST <= seconds <= _DAY_SECONDS:
        raise click.BadParameter(f"{text!r} is not an interval. Give seconds up to a day, like 5, 0.5 or 1m")
    return seconds


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text.strip())
    number = float(match[1]) if match else math.inf
    if match is None or not (number == 0 or _SMALLEST <= number <= _LARGEST):
        raise click.BadParameter(f"{text!r} is not {what}. Write it like {example}")
    return number, match[2]
