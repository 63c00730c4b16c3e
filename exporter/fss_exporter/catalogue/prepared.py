# SPDX-License-Identifier: Apache-2.0
"""Families whose text is prepared: all but histograms.

The labels of a series never change, so the text is written once, by the writer of `prometheus_client`, and a scrape only adds
the numbers. docs/decisions/client-python.md has the figures. `web.exposition` uses the text. For anybody else the families are
like any other of the library: `samples` are made on request.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.core import Metric, Sample
from prometheus_client.utils import floatToGoString

from fss_exporter.catalogue.declaration import Declaration

_SERIES_IN_A_PIECE: Final = 256  # some 40 kB, which stay in the processor's cache from the joining to the compressing
_EXACT_INTEGERS: Final = 1 << 53
_DIGITS_WITHOUT_EXPONENT: Final = 6
_EXPONENTS: Final = tuple(f"e+{exponent:02d}" for exponent in range(17))  # repr() has exponents itself from 1e16 on
_IS_ESCAPED: Final = re.compile(r'["\\\n]')


@dataclass(frozen=True, slots=True, eq=False)  # a registry tells collectors apart by identity
class Collected:
    """Families of one collection, in the form of a collector for the writers of the library."""

    families: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        """Return the families."""
        return self.families


class Series:
    """One time series with prepared text. Labels are values in the order of the declaration."""

    __slots__ = ("labels", "text")

    def __init__(self, declared: Declaration, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self.text = _prepared(declared, declared.labelled(self.labels))


class PreparedFamily(Metric):
    """A counter, gauge or info whose series have prepared text. `series` and `values` have equal order and length."""

    def __init__(self, declared: Declaration, series: Sequence[Series], values: Sequence[float]) -> None:
        super().__init__(declared.family_name, declared.help_text, declared.kind)
        self.declared = declared
        self.series = series
        self.values = values

    @property
    def samples(self) -> list[Sample]:
        """The values with names and labels."""
        name, labelled = self.declared.name, self.declared.labelled
        return [
            Sample(name, labelled(series.labels), value) for series, value in zip(self.series, self.values, strict=True)
        ]

    @samples.setter
    def samples(self, _: list[Sample]) -> None:
        """Keep nothing. The constructor of the library sets an empty list."""

    def extend(self, other: "PreparedFamily") -> None:
        """Add the series of another part of the same family."""
        self.series, self.values = [*self.series, *other.series], [*self.values, *other.values]

    def pieces(self) -> Iterator[bytes]:
        """Yield the lines of all samples, as the library writes them, in bounded pieces: a tenancy's text may have 30 MB."""
        for begin in range(0, len(self.series), _SERIES_IN_A_PIECE):
            end = begin + _SERIES_IN_A_PIECE
            texts = [series.text for series in self.series[begin:end]]
            parts = ["\n"] * (3 * len(texts))
            parts[::3] = texts
            parts[1::3] = map(number, self.values[begin:end])
            yield "".join(parts).encode()


def number(value: int | float) -> str:  # noqa: PYI041  # the two are written in different ways
    """Return a value as `floatToGoString` of the library writes it, in 0.6 of the time: numbers are a fifth of a scrape's CPU."""
    shortest = f"{value}.0" if type(value) is int and 0 <= value < _EXACT_INTEGERS else repr(value)
    point = shortest.find(".")
    if 0 < point <= _DIGITS_WITHOUT_EXPONENT:
        return shortest
    if point > 0 and value > 0:
        digits = f"{shortest[1:point]}{shortest[point + 1 :]}".rstrip("0")
        return f"{shortest[0]}.{digits}{_EXPONENTS[point - 1]}" if digits else f"{shortest[0]}{_EXPONENTS[point - 1]}"
    written: str = floatToGoString(value)  # the library has no types here
    return written


def _prepared(declared: Declaration, labels: dict[str, str]) -> str:
    """Return the line of a series without the value."""
    if _IS_ESCAPED.search("".join(labels.values())):
        return _line(declared, labels)
    return _template(declared) % labels


@cache
def _template(declared: Declaration) -> str:
    """Return the line of a series with places for label values. A host with 1,000 mounts has 61,000 series."""
    return _line(declared, {label: f"%({label})s" for label in declared.labels})


def _line(declared: Declaration, labels: dict[str, str]) -> str:
    """Return the line of a series without the value, as the library writes it."""
    family = Metric(declared.family_name, "", declared.kind)
    family.samples = [Sample(declared.name, labels, 0.0)]
    return generate_latest(Collected([family])).decode().removesuffix("0.0\n").rpartition("\n")[2]
