# SPDX-License-Identifier: Apache-2.0
"""Write families as text, in the Prometheus text format 0.0.4 or OpenMetrics 1.0.0.

A series has prepared text, so the writer only joins text and numbers. Tests compare with the writer of `prometheus_client`, byte
for byte. The exporter does not import that package: its import takes 8 MiB and a third of the CPU of a start.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from fss_exporter.catalogue.metric import Family, Metric, number as any_number

_END = b"# EOF\n"
_SERIES_IN_A_PIECE = 256  # some 40 kB, which stay in the processor's cache from the joining to the compressing
_FIRST_WITH_EXPONENT = 1_000_000
_EXACT_INTEGERS = 1 << 53
_DIGITS_WITHOUT_EXPONENT = 6
_EXPONENTS = tuple(f"e+{exponent:02d}" for exponent in range(17))  # repr() has exponents itself from 1e16 on


def plain(families: Iterable[Family]) -> Iterator[bytes]:
    """Prometheus text format 0.0.4, piece by piece."""
    return _pieces(families, _plain_head)


def open_metrics(families: Iterable[Family]) -> Iterator[bytes]:
    """OpenMetrics 1.0.0, piece by piece."""
    yield from _pieces(families, _open_metrics_head)
    yield _END


def _pieces(families: Iterable[Family], head: Callable[[Metric], bytes]) -> Iterator[bytes]:
    """Bounded pieces: a large tenancy's text is 30 MB, too much to hold at once."""
    for family in families:
        yield head(family.metric)
        for begin in range(0, len(family.series), _SERIES_IN_A_PIECE):
            yield _lines(family, begin, begin + _SERIES_IN_A_PIECE).encode()
        yield b"\n"


@cache
def _plain_head(metric: Metric) -> bytes:
    """Return HELP and TYPE without the last end of line. The text never changes."""
    text = metric.help_text.replace("\\", r"\\").replace("\n", r"\n")
    kind = "gauge" if metric.kind == "info" else metric.kind
    return f"# HELP {metric.name} {text}\n# TYPE {metric.name} {kind}".encode()


@cache
def _open_metrics_head(metric: Metric) -> bytes:
    text = metric.help_text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    name = Family(metric).name
    return f"# HELP {name} {text}\n# TYPE {name} {metric.kind}".encode()


def _lines(family: Family, begin: int, end: int) -> str:
    texts = [series.text for series in family.series[begin:end]]
    parts = [""] * (2 * len(texts))
    parts[::2] = texts
    parts[1::2] = map(number, family.values[begin:end])
    return "".join(parts)


def number(value: int | float) -> str:  # noqa: PYI041  # the two are written in different ways
    """Return a value as Go writes it. Whole numbers take a faster way."""
    if type(value) is int:
        if 0 <= value < _FIRST_WITH_EXPONENT:
            return f"{value}.0"
        if 0 < value < _EXACT_INTEGERS:
            return _with_exponent(str(value))
    else:
        shortest = repr(value)
        point = shortest.find(".")
        if 0 < point <= _DIGITS_WITHOUT_EXPONENT:
            return shortest
        if point > 0 and value > 0:
            if shortest[point:] == ".0":
                return _with_exponent(shortest[:point])
            return f"{shortest[0]}.{shortest[1:point]}{shortest[point + 1 :]}{_EXPONENTS[point - 1]}"
    return any_number(value)


def _with_exponent(digits: str) -> str:
    exponent = _EXPONENTS[len(digits) - 1]
    if digits[-1] != "0":
        return f"{digits[0]}.{digits[1:]}{exponent}"
    significant = digits.rstrip("0")
    return f"{significant[0]}.{significant[1:]}{exponent}" if len(significant) > 1 else f"{significant}{exponent}"
