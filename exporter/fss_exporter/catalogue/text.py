"""Write families as text, byte for byte as `prometheus_client`, without a Sample object for each number.

A family of the catalogue has prepared text, so the writer only joins text and numbers. `prometheus_client` writes all
other families.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from prometheus_client import exposition
from prometheus_client.metrics_core import Metric as PrometheusFamily
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from fss_exporter.catalogue.metric import Family, Metric

_END = b"# EOF\n"
_SERIES_IN_A_PIECE = 256  # some 40 kB, which stay in the processor's cache from the joining to the compressing
_FIRST_WITH_EXPONENT = 1_000_000
_EXACT_INTEGERS = 1 << 53
_DIGITS_WITHOUT_EXPONENT = 6
_EXPONENTS = tuple(f"e+{exponent:02d}" for exponent in range(17))  # repr() has exponents itself from 1e16 on


class _SingleFamily(Collector):
    """A single family, for writers that ask a collector."""

    def __init__(self, family: PrometheusFamily) -> None:
        self._family = family

    def collect(self) -> Iterable[PrometheusFamily]:
        return (self._family,)


def plain(families: Iterable[PrometheusFamily]) -> Iterator[bytes]:
    """Prometheus text format 0.0.4, piece by piece."""
    return _pieces(families, exposition.generate_latest)


def open_metrics(families: Iterable[PrometheusFamily]) -> Iterator[bytes]:
    """OpenMetrics 1.0.0, piece by piece."""
    yield from _pieces(families, _open_metrics_part)
    yield _END


def _open_metrics_part(collector: Collector) -> bytes:
    whole: bytes = openmetrics.generate_latest(collector)
    return whole.removesuffix(_END)


def _pieces(families: Iterable[PrometheusFamily], write_one: Callable[[Collector], bytes]) -> Iterator[bytes]:
    """Bounded pieces: a large tenancy's text is 30 MB, too much to hold at once."""
    for family in families:
        if isinstance(family, Family):
            yield _head(family.metric, write_one)
            for begin in range(0, len(family.series), _SERIES_IN_A_PIECE):
                yield _lines(family, begin, begin + _SERIES_IN_A_PIECE).encode()
            yield b"\n"
        else:
            yield write_one(_SingleFamily(family))


@cache
def _head(metric: Metric, write_one: Callable[[Collector], bytes]) -> bytes:
    """Return HELP and TYPE of a row without the last end of line. The text never changes."""
    return write_one(_SingleFamily(Family(metric))).removesuffix(b"\n")


def _lines(family: Family, begin: int, end: int) -> str:
    texts = [series.text for series in family.series[begin:end]]
    parts = [""] * (2 * len(texts))
    parts[::2] = texts
    parts[1::2] = map(number, family.values[begin:end])
    return "".join(parts)


def number(value: int | float) -> str:  # noqa: PYI041  # the two are written in different ways
    """Return a value in the form of `floatToGoString`. Whole numbers take a faster way."""
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
    return str(floatToGoString(value))


def _with_exponent(digits: str) -> str:
    exponent = _EXPONENTS[len(digits) - 1]
    if digits[-1] != "0":
        return f"{digits[0]}.{digits[1:]}{exponent}"
    significant = digits.rstrip("0")
    return f"{significant[0]}.{significant[1:]}{exponent}" if len(significant) > 1 else f"{significant}{exponent}"
