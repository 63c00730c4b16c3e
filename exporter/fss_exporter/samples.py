# SPDX-License-Identifier: Apache-2.0
"""Find samples of one collection by name and label."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

Labels = Mapping[str, str]


class HasSamples(Protocol):
    """A family of the catalogue, or of a parser."""

    @property
    def samples(self) -> Sequence[Any]:
        """Tuples that begin with name, labels and value."""


class Samples:
    """An index over metric families by the names on `/metrics`, `_total` and `_info` included."""

    def __init__(self, families: Iterable[HasSamples]) -> None:
        self._by_name: dict[str, list[tuple[Labels, float]]] = defaultdict(list)
        for family in families:
            for name, labels, value, *_ in family.samples:
                self._by_name[name].append((labels, value))

    @property
    def not_finite(self) -> int:
        """Number of samples without a finite number."""
        return sum(not math.isfinite(value) for _, _, value in self)

    def finite(self) -> "Samples":
        """Return the samples with a finite number. On a page from outside any other figure is unknown."""
        known = Samples(())
        for name, own in self._by_name.items():
            known._by_name[name] = [sample for sample in own if math.isfinite(sample[1])]
        return known

    def __iter__(self) -> Iterator[tuple[str, Labels, float]]:
        """Name, labels and value of every sample."""
        for name, family_samples in self._by_name.items():
            for labels, value in family_samples:
                yield name, labels, value

    def all(self, name: str) -> Iterator[tuple[Labels, float]]:
        """Every sample of a name."""
        yield from self._by_name.get(name, ())

    def by(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """Return values by the given labels. Samples with equal labels are added up."""
        sums: dict[tuple[str, ...], float] = defaultdict(float)
        for own, value in self.all(name):
            sums[tuple(own.get(label, "") for label in labels)] += value
        return dict(sums)
