"""Families as the writer of `prometheus_client` writes them, and their declarations in the catalogue."""

from collections.abc import Iterable

from prometheus_client import generate_latest
from prometheus_client.core import Metric

from fss_exporter.catalogue import CATALOGUE, Declaration
from fss_exporter.catalogue.prepared import Held

_BY_FAMILY = {declared.family_name: declared for declared in CATALOGUE.values()}


def written(families: Iterable[Metric]) -> str:
    """The text format."""
    return generate_latest(Held(families)).decode()


def declaration(family: Metric) -> Declaration:
    """The row of the catalogue. KeyError for a family of the library itself."""
    return _BY_FAMILY[family.name]
