"""Which resources are wanted, by their tags. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
"""A listed resource, plain JSON."""


@dataclass(frozen=True, slots=True)
class Tags:
    """Which resources are wanted, by tag: `key` is a freeform tag, `namespace.key` a defined one.

    Attributes:
        include: all of these have to be there; a value may end in `*`.
        exclude: none of these may be there.
    """

    include: Mapping[str, str] = field(default_factory=dict)
    exclude: Mapping[str, str] = field(default_factory=dict)

    def wants(self, row: Row) -> bool:
        """Whether a listed resource is included, and not excluded."""
        return self.spares(row) and all(_has_tag(row, key, value) for key, value in self.include.items())

    def spares(self, row: Row) -> bool:
        """Whether a listed resource is not excluded."""
        return not any(_has_tag(row, key, value) for key, value in self.exclude.items())


def _has_tag(row: Row, key: str, wanted: str) -> bool:
    namespace, _, name = key.rpartition(".")
    found = (row.get("freeformTags") or {}).get(key)
    if found is None and namespace:
        found = ((row.get("definedTags") or {}).get(namespace) or {}).get(name)
    if found is None:
        return False
    return str(found).startswith(wanted[:-1]) if wanted.endswith("*") else str(found) == wanted
