"""Parse and print sizes, rates and times for people. A wrong text raises click.BadParameter with the right form."""

import math
import re

import click

from fss_exporter.durations import parse_duration

_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([A-Za-z]*)", re.ASCII)
_BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_LARGEST = 1e18
_DAY_SECONDS = 86400.0
NOT_KNOWN = "-"


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


def latency(text: str) -> float:
    """Seconds of `2ms`, `500us`, `0.5ms` or `1s`, up to a day."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(us|µs|ms|s)", text)
    seconds = float(match[1]) * {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}[match[2]] if match else 0.0
    if 0 < seconds <= _DAY_SECONDS:
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
    if not 0 < seconds <= _DAY_SECONDS:
        raise click.BadParameter(f"{text!r} is not an interval. Give seconds up to a day, like 5, 0.5 or 1m")
    return seconds


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text.strip())
    if match is None or not math.isfinite(float(match[1])) or float(match[1]) > _LARGEST:
        raise click.BadParameter(f"{text!r} is not {what}. Write it like {example}")
    return float(match[1]), match[2]


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
