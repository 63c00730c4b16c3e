"""Metric namespaces as data: a namespace is rows, a row tells its streams. A further service is a further table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fss_exporter.demo.region.activity import Activity

Value = Callable[[int], float | None]
"""The raw value of a minute (epoch seconds // 60, the minute that *ends* then); None where nothing is emitted."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One metric stream.

    Attributes:
        compartment_id: where its resource lives.
        resource_id: who emits it; with this resource the stream ends.
        dimensions: as published.
        value: raw value by minute.
    """

    compartment_id: str
    resource_id: str
    dimensions: Mapping[str, str]
    value: Value


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of a namespace.

    Attributes:
        name: in the documented case.
        unit: as the documentation prints it, for the metadata of each stream.
        display_name: likewise.
        dimensions: documented dimension keys of its streams.
        streams: every stream of it in a tenancy.
    """

    name: str
    unit: str
    display_name: str
    dimensions: tuple[str, ...]
    streams: Callable[[Activity], Iterable[Stream]]

    @property
    def metadata(self) -> Mapping[str, str]:
        """What accompanies each stream."""
        return {"unit": self.unit, "displayName": self.display_name}


@dataclass(frozen=True, slots=True)
class Namespace:
    """A metric namespace, e.g. `oci_filestorage`."""

    name: str
    rows: tuple[Row, ...]
