"""Families of the catalogue as text, and as families of `prometheus_client` for a comparison with its writers."""

from collections.abc import Iterable

from prometheus_client.metrics_core import Metric as LibraryFamily
from prometheus_client.registry import Collector

from fss_exporter.catalogue import Family, text


def written(families: Iterable[Family]) -> str:
    """The text format."""
    return b"".join(text.plain(families)).decode()


class AsLibrary(Collector):
    """The same families for `prometheus_client`."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = list(map(_converted, families))

    def collect(self) -> list[LibraryFamily]:
        return self._families


def _converted(family: Family) -> LibraryFamily:
    converted = LibraryFamily(family.name, family.metric.help_text, family.metric.kind)
    for sample in family.samples:
        converted.add_sample(*sample)
    return converted
